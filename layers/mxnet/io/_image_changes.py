"""What `ImageRecordIter` does to an image, by its options; a `random.Random` draws."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace

import torch
import torch.nn.functional as F

from .._table import colours
from ..base import ShapeError
from ..image._functions import _get_interp_method, scale_down
from ..image._resize import MOST_PIXELS, bordered, resized, short_size

__all__ = [
    "CHANGES",
    "as_bytes",
    "changed",
    "hsl_shifted",
    "normalized",
    "resized_by",
    "resized_short",
]

# The options, and their defaults.
CHANGES = {
    "resize": -1,
    "rand_crop": False,
    "random_resized_crop": False,
    "max_rotate_angle": 0,
    "max_aspect_ratio": 0.0,
    "min_aspect_ratio": None,
    "max_shear_ratio": 0.0,
    "max_crop_size": -1,
    "min_crop_size": -1,
    "max_random_scale": 1.0,
    "min_random_scale": 1.0,
    "max_random_area": 1.0,
    "min_random_area": 1.0,
    "max_img_size": 1e10,
    "min_img_size": 0.0,
    "brightness": 0.0,
    "contrast": 0.0,
    "saturation": 0.0,
    "pca_noise": 0.0,
    "random_h": 0,
    "random_s": 0,
    "random_l": 0,
    "rotate": -1,
    "fill_value": 255,
    "inter_method": 1,
    "pad": 0,
}


def resized_by(image: torch.Tensor, w: int, h: int, method: int, draw: random.Random):
    """An image in another size, by a method that 9 chooses by the sizes, and 10 draws."""
    if method in (9, 10):
        method = _get_interp_method(method, (*image.shape[:2], h, w), draw)
    return resized(image, w, h, method)


def resized_short(image: torch.Tensor, o: SimpleNamespace, draw: random.Random) -> torch.Tensor:
    """An image whose shorter side has `o.resize` pixels."""
    h, w = short_size("resize", *image.shape[:2], o.resize)
    return resized_by(image, w, h, o.inter_method, draw)


def changed(image: torch.Tensor, o: SimpleNamespace, draw: random.Random) -> torch.Tensor:
    """An image (h, w, c) of uint8 in the size of `o.data_shape`, changed by the options `o`."""
    if o.resize > 0:
        image = resized_short(image, o, draw)
    image = _warped(image, o, draw)
    if o.pad > 0:
        image = bordered(image, (o.pad,) * 4, 0, (o.fill_value,) * image.shape[2])
    image = _cropped(image, o, draw)
    if image.shape[2] == 3 and any((o.brightness, o.contrast, o.saturation, o.pca_noise)):
        image = _recoloured(image, o, draw)
    if image.shape[2] == 3 and any((o.random_h, o.random_s, o.random_l)):
        image = hsl_shifted(image, o.random_h, o.random_s, o.random_l, draw)
    return image


def _warped(image: torch.Tensor, o: SimpleNamespace, draw: random.Random) -> torch.Tensor:
    """The image rotated, sheared, scaled and stretched, about its middle."""
    least, most = _aspect_ratios(o)
    stretches = (least, most) != (1, 1) and not o.random_resized_crop
    scales = (o.min_random_scale, o.max_random_scale) != (1, 1) and not o.random_resized_crop
    limits = (o.min_img_size, o.max_img_size) != (0, 1e10)
    turns = o.max_rotate_angle or o.rotate > 0 or o.max_shear_ratio
    if not (turns or limits or stretches or scales):
        return image
    angle = o.rotate if o.rotate > 0 else draw.uniform(-o.max_rotate_angle, o.max_rotate_angle)
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    shear = draw.uniform(-o.max_shear_ratio, o.max_shear_ratio)
    scale = draw.uniform(o.min_random_scale, o.max_random_scale) if scales else 1.0
    ratio = draw.uniform(least, most) if stretches else 1.0
    across = 2 * scale / (1 + ratio)
    down = ratio * across
    h, w = image.shape[:2]
    size = [max(o.min_img_size, min(o.max_img_size, scale * n)) for n in (w, h)]
    matrix = torch.tensor(
        [
            [across * cos - shear * sin * down, across * sin + shear * cos * down],
            [-sin * down, cos * down],
        ],
        dtype=torch.float64,
    )
    middle = torch.tensor([w, h], dtype=torch.float64)
    moved = (torch.tensor(size, dtype=torch.float64) - matrix @ middle) / 2
    inverse = torch.linalg.inv(matrix)
    width, height = int(size[0]), int(size[1])
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    at = (torch.stack([x, y], -1) - moved) @ inverse.T
    grid = at * 2 / (middle - 1).clamp_(min=1) - 1
    # What is outside is 0 in grid_sample, and fill_value here.
    pixels = image.permute(2, 0, 1)[None].float() - o.fill_value
    mode = "nearest" if o.inter_method == 0 else "bilinear"
    y = F.grid_sample(pixels, grid[None].float(), mode, "zeros", align_corners=True)
    return as_bytes((y + o.fill_value)[0].permute(1, 2, 0))


def _aspect_ratios(o: SimpleNamespace) -> tuple[float, float]:
    """The least and the greatest; `max_aspect_ratio` alone is how far they are from 1."""
    if o.min_aspect_ratio is None:
        return 1 - o.max_aspect_ratio, 1 + o.max_aspect_ratio
    return o.min_aspect_ratio, o.max_aspect_ratio


def as_bytes(x: torch.Tensor) -> torch.Tensor:
    """Values as bytes: rounded, and from 0 to 255."""
    return x.round().clamp_(0, 255).to(torch.uint8)


def _cropped(image: torch.Tensor, o: SimpleNamespace, draw: random.Random) -> torch.Tensor:
    """A part of the size that is wanted, or of a drawn one and then resized."""
    if o.random_resized_crop:
        return _random_resized(image, o, draw)
    _, want_h, want_w = o.data_shape
    if o.max_crop_size != -1 or o.min_crop_size != -1:
        part_h = part_w = _drawn_side(*image.shape[:2], o, draw)
    else:
        image = _enlarged(image, o, draw)
        part_h, part_w = want_h, want_w
    h, w = image.shape[:2]
    if o.rand_crop:
        y, x = draw.randint(0, h - part_h), draw.randint(0, w - part_w)
    else:
        y, x = (h - part_h) // 2, (w - part_w) // 2
    part = image[y : y + part_h, x : x + part_w]
    if (part_h, part_w) == (want_h, want_w):
        return part
    return resized_by(part, want_w, want_h, o.inter_method, draw)


def _random_resized(image: torch.Tensor, o: SimpleNamespace, draw: random.Random) -> torch.Tensor:
    """A part with a drawn area and proportions, in the size that is wanted."""
    _, want_h, want_w = o.data_shape
    h, w = image.shape[:2]
    size = _drawn_size(h, w, o, draw)
    if size is None:  # ten draws do not fit: the middle part with the wanted proportions
        part_w, part_h = scale_down((w, h), (want_w * (w + h), want_h * (w + h)))
        y, x = (h - part_h) // 2, (w - part_w) // 2
    else:
        part_w, part_h = size
        y, x = draw.randint(0, h - part_h), draw.randint(0, w - part_w)
    part = image[y : y + part_h, x : x + part_w]
    return resized_by(part, want_w, want_h, o.inter_method, draw)


def _drawn_side(h: int, w: int, o: SimpleNamespace, draw: random.Random) -> int:
    """The side of a square part, from `min_crop_size` to `max_crop_size`."""
    least, most = (n if n != -1 else min(h, w) for n in (o.min_crop_size, o.max_crop_size))
    side = draw.randint(least, most) if least <= most else 0
    if not 1 <= side <= min(h, w):
        raise ShapeError(
            f"min_crop_size is {o.min_crop_size}, max_crop_size {o.max_crop_size}, and the "
            f"image has {w} x {h} pixels\n  expected sizes in an order, that fit into it"
        )
    return side


def _enlarged(image: torch.Tensor, o: SimpleNamespace, draw: random.Random) -> torch.Tensor:
    """The image, enlarged where one of its sides is shorter than the one that is wanted."""
    _, want_h, want_w = o.data_shape
    h = image.shape[0]
    if h < want_h:
        image = _needed(image, 1, want_w, want_h / h, o, draw)
        image = resized_by(image, int(image.shape[1] * want_h / h), want_h, o.inter_method, draw)
    w = image.shape[1]
    if w < want_w:
        image = _needed(image, 0, want_h, want_w / w, o, draw)
        image = resized_by(image, want_w, int(image.shape[0] * want_w / w), o.inter_method, draw)
    return image


def _needed(image, axis: int, want: int, scale: float, o: SimpleNamespace, draw) -> torch.Tensor:
    """What to enlarge of an image: all of it, or the part of an axis that is needed in the end.

    MXNet enlarges all of it. Another part moves the pixels by less than one, so it is taken only
    where the whole would have more than `MOST_PIXELS`.
    """
    h, w = image.shape[:2]
    if h * w * scale**2 <= MOST_PIXELS:
        return image
    size = min(image.shape[axis], math.ceil(want / scale) + 1)
    left = image.shape[axis] - size
    return image.narrow(axis, draw.randint(0, left) if o.rand_crop else left // 2, size)


def _drawn_size(h: int, w: int, o: SimpleNamespace, draw: random.Random) -> tuple | None:
    """A width and height with a drawn area and proportions that fit; None after ten draws."""
    for _ in range(10):
        area = draw.uniform(o.min_random_area, o.max_random_area) * h * w
        ratio = draw.uniform(*_aspect_ratios(o))
        part_w, part_h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if draw.random() < 0.5:
            part_w, part_h = part_h, part_w
        if 1 <= part_w <= w and 1 <= part_h <= h:
            return part_w, part_h
    return None


def _recoloured(image: torch.Tensor, o: SimpleNamespace, draw: random.Random) -> torch.Tensor:
    """Brightness, contrast and saturation by a drawn factor, in a drawn order; a drawn colour."""
    x = image.float()
    kinds = ["brightness", "contrast", "saturation"]
    draw.shuffle(kinds)
    for kind in kinds:
        span = getattr(o, kind)
        if span:
            x = getattr(colours, kind)(x, 1 + draw.uniform(-span, span)).clamp_(0, 255)
    if o.pca_noise:
        x = colours.lighting(x, torch.tensor([draw.gauss(0, o.pca_noise) for _ in range(3)]))
    return as_bytes(x)


def hsl_shifted(
    image: torch.Tensor, hue: int, saturation: int, lightness: int, draw: random.Random
) -> torch.Tensor:
    """Hue (of 180), saturation and lightness (of 255) moved by drawn whole numbers up to these."""
    turn = draw.randint(-hue, hue) / 30
    lighter = draw.randint(-lightness, lightness) / 255
    richer = draw.randint(-saturation, saturation) / 255
    return as_bytes(colours.hsl(image.float(), turn, richer, lighter))


def normalized(image: torch.Tensor, o: SimpleNamespace, draw: random.Random, out: torch.Tensor):
    """Write ((x - mean) contrast + illumination) scale / std, mirrored or not, into (c, h, w)."""
    x = image.permute(2, 0, 1)
    if o.mirror or (o.rand_mirror and draw.random() < 0.5):
        x = x.flip(2)
    if out.dtype == torch.uint8:
        out.copy_(x)
        return
    y = torch.sub(x, o.mean) if o.mean is not None else x.to(torch.float32)
    if o.max_random_contrast or o.max_random_illumination:
        contrast = draw.uniform(-o.max_random_contrast, o.max_random_contrast)
        bright = draw.uniform(-o.max_random_illumination, o.max_random_illumination)
        y = y * (1 + contrast) + bright
    if o.factor is not None:
        y = y * o.factor
    if not out.dtype.is_floating_point:
        limits = torch.iinfo(out.dtype)
        y = y.round().clamp_(limits.min, limits.max)
    out.copy_(y)
