"""Changes of colours: functions of images (h, w, c) of floats, for operators and iterators.

c is 1, gray, or 3: red, green and blue. What draws a change, and what becomes of values below 0 or
above 255, is up to who calls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

Tensor = torch.Tensor

GRAY = (0.299, 0.587, 0.114)  # how bright red, green and blue are
# The principal components of the colours of ImageNet's pixels, and their deviations: AlexNet's.
EIGVAL = (55.46, 4.794, 1.148)
EIGVEC = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))
_TO_YIQ = (GRAY, (0.596, -0.274, -0.321), (0.211, -0.523, 0.311))
_FROM_YIQ = ((1.0, 0.956, 0.621), (1.0, -0.272, -0.647), (1.0, -1.107, 1.705))


def around_one(amount: float) -> tuple[float, float]:
    """The least and the greatest factor of a change by at most `amount`."""
    return max(0.0, 1 - amount), 1 + amount


def gray(x: Tensor) -> Tensor:
    """The brightness of each pixel: (h, w, 1)."""
    return x if x.shape[-1] == 1 else (x @ x.new_tensor(GRAY))[..., None]


def brightness(x: Tensor, factor: Tensor | float) -> Tensor:
    """All values times a factor."""
    return x * factor


def contrast(x: Tensor, factor: Tensor | float) -> Tensor:
    """The differences from the image's mean brightness times a factor."""
    return x * factor + (1 - factor) * gray(x).mean()


def saturation(x: Tensor, factor: Tensor | float) -> Tensor:
    """The differences of a pixel's channels from its brightness times a factor."""
    return x * factor + (1 - factor) * gray(x)


def lighting(
    x: Tensor, alpha: Tensor, eigval: Sequence = EIGVAL, eigvec: Sequence = EIGVEC
) -> Tensor:
    """One colour added to all pixels: each principal component times its alpha and deviation."""
    if x.shape[-1] == 1:
        return x
    components = [[v * deviation for v, deviation in zip(row, eigval)] for row in eigvec]
    components = torch.tensor(components, dtype=torch.float64, device=x.device)
    colour = (components @ alpha.to(components)).to(x)
    # Added to a row at once: three numbers at a time take twice as long.
    return (x.flatten(1) + colour.repeat(x.shape[1])).view(x.shape)


def hue(x: Tensor, factor: Tensor) -> Tensor:
    """Turn the colours by `factor` times 360 degrees; lightness and saturation stay."""
    if x.shape[-1] == 1:
        return x
    most, least = x.amax(-1, True), x.amin(-1, True)
    spread = most - least
    turned = _sixths(x, most, spread) + 6 * factor
    return torch.where(spread == 0, x, least + spread * _shares(turned))


def hue_in_yiq(x: Tensor, angle: float) -> Tensor:
    """Turn the colours about the axis of gray in YIQ; the brightness stays."""
    cos, sin = math.cos(angle), math.sin(angle)
    turn = torch.tensor([[1, 0, 0], [0, cos, -sin], [0, sin, cos]], dtype=torch.float64)
    matrix = torch.tensor(_FROM_YIQ, dtype=torch.float64) @ turn
    return x @ (matrix @ torch.tensor(_TO_YIQ, dtype=torch.float64)).T.to(x)


def hsl(x: Tensor, hue: float, saturation: float, lightness: float) -> Tensor:
    """Move the hue by sixths of a turn, and saturation and lightness by parts of the greatest."""
    x = x / 255
    most, least = x.amax(-1, True), x.amin(-1, True)
    spread, light = most - least, (most + least) / 2
    room = 1 - (2 * light - 1).abs()
    saturated = torch.where(room > 0, spread / torch.where(room > 0, room, 1), 0).clamp(0, 1)
    light = (light + lightness).clamp(0, 1)
    saturated = (saturated + saturation).clamp(0, 1)
    new_spread = (1 - (2 * light - 1).abs()) * saturated
    return (light + new_spread * (_shares(_sixths(x, most, spread) + hue) - 0.5)) * 255


def _sixths(x: Tensor, most: Tensor, spread: Tensor) -> Tensor:
    """The hue of each pixel (h, w, 1), in sixths of the circle from red; 0 of gray."""
    r, g, b = (x / torch.where(spread == 0, 1, spread)).split(1, -1)
    is_red, is_green, _ = (x == most).split(1, -1)
    return torch.where(is_red, g - b, torch.where(is_green, b - r + 2, r - g + 4))


def _shares(sixths: Tensor) -> Tensor:
    """How far red, green and blue of a hue are from the least of them: 1 is the greatest."""
    return (((sixths + sixths.new_tensor((0, 4, 2))) % 6 - 3).abs() - 1).clamp(0, 1)
