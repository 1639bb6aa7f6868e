"""Images as data of a network: from pixels to tensors, parts and sizes, and random changes.

An image is (h, w, c) with values from 0 to 255. Random changes draw one number for the image, from
PyTorch's generator. What is computed of integers is cut to integers, of bytes to 0 and 255.
"""

from __future__ import annotations

import torch

from ..base import ArgumentError, ShapeError
from . import colours
from .attributes import Floats, Shape
from .registry import REQUIRED, Tensor, op
from .resampling import resample, short_size


def _expect_axes(name: str, data: Tensor, *counts: int, form: str) -> None:
    if data.dim() not in counts:
        raise ShapeError(f"{name}: data is {tuple(data.shape)}\n  expected {form}")


def _expect_image(name: str, data: Tensor) -> None:
    _expect_axes(name, data, 3, form="(h, w, c)")
    if data.shape[-1] not in (1, 3):
        raise ShapeError(f"{name}: data is {tuple(data.shape)}\n  expected (h, w, 3) or (h, w, 1)")


def _computable(data: Tensor) -> Tensor:
    return data if data.dtype is torch.float64 else data.float()


def _in_dtype_of(data: Tensor, y: Tensor) -> Tensor:
    return (y.clamp(0, 255) if data.dtype is torch.uint8 else y).to(data.dtype)


@op(names_input=True)
def _image_to_tensor(data: Tensor) -> Tensor:
    """Pixels as a network takes them: the channels first, and from 0 to 1, y = data / 255.

    data : (h, w, c) or (n, h, w, c)      y : (c, h, w) or (n, c, h, w), float32
    """
    _expect_axes("_image_to_tensor", data, 3, 4, form="(h, w, c) or (n, h, w, c)")
    return data.movedim(-1, -3).to(torch.float32).contiguous() / 255


@_image_to_tensor.shaped
def _(data):
    return (*data[:-3], data[-1], *data[-3:-1]) if len(data) in (3, 4) else None


@_image_to_tensor.types
def _():
    return torch.float32


@op(names_input=True)
def _image_normalize(
    data: Tensor, mean: Floats = (0.0, 0.0, 0.0, 0.0), std: Floats = (1.0, 1.0, 1.0, 1.0)
) -> Tensor:
    """Channels with other means and deviations, y = (data - mean) / std.

    data : (c, h, w) or (n, c, h, w), c is 1 or 3      mean, std : one number, or one per channel
    """
    form = "(c, h, w) or (n, c, h, w), with 1 or 3 channels"
    _expect_axes("_image_normalize", data, 3, 4, form=form)
    channels = data.shape[-3]
    if channels not in (1, 3):
        raise ShapeError(f"_image_normalize: data is {tuple(data.shape)}\n  expected {form}")
    values = _computable(data)
    numbers = []
    for name, given, default in (("mean", mean, 0.0), ("std", std, 1.0)):
        given = given[:1] if given == (default,) * 4 else given  # the default is four numbers
        if len(given) not in (1, channels):
            raise ArgumentError(
                f"_image_normalize: {name} is {given}, data is {tuple(data.shape)}\n"
                f"  expected one number or {channels}"
            )
        numbers.append(torch.tensor(given, dtype=values.dtype, device=data.device)[:, None, None])
    return _in_dtype_of(data, (values - numbers[0]) / numbers[1])


@op(view=True)
def _image_crop(
    data: Tensor,
    x: int = REQUIRED,
    y: int = REQUIRED,
    width: int = REQUIRED,
    height: int = REQUIRED,
) -> Tensor:
    """The part of an image whose upper left pixel is in row y and column x.

    data : (h, w, c) or (n, h, w, c)      y : (height, width, c) or (n, height, width, c)
    """
    _expect_axes("_image_crop", data, 3, 4, form="(h, w, c) or (n, h, w, c)")
    h, w = data.shape[-3:-1]
    if not (0 <= x < x + width <= w and 0 <= y < y + height <= h):
        raise ArgumentError(
            f"_image_crop: x={x}, y={y}, width={width}, height={height} of {tuple(data.shape)}\n"
            f"  expected a part within width {w} and height {h}"
        )
    return data.narrow(-3, y, height).narrow(-2, x, width)


@op(traceable=False)
def _image_resize(
    data: Tensor, size: Shape = (), keep_ratio: bool = False, interp: int = 1
) -> Tensor:
    """Images in another size, of uint8, float32 or float64.

    data : (h, w, c) or (n, h, w, c)
    size : (width, height); or one number for both, with `keep_ratio` for the shorter side
    interp : 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos over 8 x 8 pixels
    """
    _expect_axes("_image_resize", data, 3, 4, form="(h, w, c) or (n, h, w, c)")
    if len(size) not in (1, 2) or min(size) < 1:
        raise ArgumentError(
            f"_image_resize: size is {size}\n  expected (width, height), or a number"
        )
    width, height = size * (3 - len(size)) if len(size) == 1 else size
    if len(size) == 1 and keep_ratio:
        height, width = short_size("_image_resize", *data.shape[-3:-1], size[0])
    return resample("_image_resize", data, height, width, interp)


@op(same=True)
def _image_flip_left_right(data: Tensor) -> Tensor:
    """The image mirrored, left to right.

    data : (h, w, c), c is 1 or 3
    """
    _expect_image("_image_flip_left_right", data)
    return data.flip(1)


@op(same=True)
def _image_flip_top_bottom(data: Tensor) -> Tensor:
    """The image mirrored, top to bottom.

    data : (h, w, c), c is 1 or 3
    """
    _expect_image("_image_flip_top_bottom", data)
    return data.flip(0)


def _flipped_or_not(data: Tensor, axis: int) -> Tensor:
    is_flipped = torch.rand(1, device=data.device) < 0.5
    # Both are made, so that no graph breaks. To choose an image is faster than torch.where, which
    # chooses each byte by itself.
    return torch.stack([data, data.flip(axis)]).index_select(0, is_flipped.long())[0]


@op(same=True, draws=True)
def _image_random_flip_left_right(data: Tensor) -> Tensor:
    """The image, mirrored left to right with probability 1/2.

    data : (h, w, c), c is 1 or 3
    """
    _expect_image("_image_random_flip_left_right", data)
    return _flipped_or_not(data, 1)


@op(same=True, draws=True)
def _image_random_flip_top_bottom(data: Tensor) -> Tensor:
    """The image, mirrored top to bottom with probability 1/2.

    data : (h, w, c), c is 1 or 3
    """
    _expect_image("_image_random_flip_top_bottom", data)
    return _flipped_or_not(data, 0)


def _randomly(name: str, change, data: Tensor, low: float, high: float) -> Tensor:
    """The image, changed by a factor that is drawn from [low, high)."""
    _expect_image(name, data)
    if low < 0 or high < 0:
        raise ArgumentError(
            f"{name}: min_factor is {low}, max_factor is {high}\n  expected 0 or more"
        )
    values = _computable(data)
    return _in_dtype_of(data, change(values, _factor(values, low, high)))


def _factor(values: Tensor, low: float, high: float) -> Tensor:
    return torch.rand((), dtype=values.dtype, device=values.device) * (high - low) + low


@op(same=True, draws=True)
def _image_random_brightness(
    data: Tensor, min_factor: float = REQUIRED, max_factor: float = REQUIRED
) -> Tensor:
    """The image times a factor that is drawn from [min_factor, max_factor).

    data : (h, w, c), c is 1 or 3
    """
    return _randomly("_image_random_brightness", colours.brightness, data, min_factor, max_factor)


@op(same=True, draws=True)
def _image_random_contrast(
    data: Tensor, min_factor: float = REQUIRED, max_factor: float = REQUIRED
) -> Tensor:
    """The differences from the mean brightness times a factor from [min_factor, max_factor).

    data : (h, w, c), c is 1 or 3
    """
    return _randomly("_image_random_contrast", colours.contrast, data, min_factor, max_factor)


@op(same=True, draws=True)
def _image_random_saturation(
    data: Tensor, min_factor: float = REQUIRED, max_factor: float = REQUIRED
) -> Tensor:
    """The differences of a pixel's channels from its brightness times a factor that is drawn.

    data : (h, w, c), c is 1, which changes nothing, or 3
    """
    return _randomly("_image_random_saturation", colours.saturation, data, min_factor, max_factor)


@op(same=True, draws=True)
def _image_random_hue(
    data: Tensor, min_factor: float = REQUIRED, max_factor: float = REQUIRED
) -> Tensor:
    """The colours turned by 360 degrees times a factor from [min_factor, max_factor).

    data : (h, w, c), c is 1, which changes nothing, or 3
    """
    return _randomly("_image_random_hue", colours.hue, data, min_factor, max_factor)


@op(same=True, draws=True, traceable=False)
def _image_random_color_jitter(
    data: Tensor,
    brightness: float = REQUIRED,
    contrast: float = REQUIRED,
    saturation: float = REQUIRED,
    hue: float = REQUIRED,
) -> Tensor:
    """Brightness, contrast, saturation and hue changed, in random order.

    data : (h, w, c), c is 1 or 3

    Each by a factor from [max(0, 1 - a), 1 + a), where a is its argument; one of 0 is left out.
    """
    _expect_image("_image_random_color_jitter", data)
    changes = [
        (colours.brightness, brightness),
        (colours.contrast, contrast),
        (colours.saturation, saturation),
        (colours.hue, hue),
    ]
    y = data.clone()
    for i in torch.randperm(len(changes)).tolist():
        change, amount = changes[i]
        if amount > 0:
            values = _computable(y)
            factor = _factor(values, *colours.around_one(amount))
            y = _in_dtype_of(data, change(values, factor))
    return y


def _lit(data: Tensor, alpha: Tensor) -> Tensor:
    if data.shape[-1] == 1:
        return data.clone()
    return _in_dtype_of(data, colours.lighting(_computable(data), alpha))


@op(same=True)
def _image_adjust_lighting(data: Tensor, alpha: Floats = REQUIRED) -> Tensor:
    """Another light, as AlexNet adds it: each principal component of colours times its alpha.

    data : (h, w, c), c is 1, which changes nothing, or 3      alpha : three numbers
    """
    _expect_image("_image_adjust_lighting", data)
    if len(alpha) != 3:
        raise ArgumentError(f"_image_adjust_lighting: alpha is {alpha}\n  expected three numbers")
    return _lit(data, torch.tensor(alpha, dtype=torch.float64, device=data.device))


@op(same=True, draws=True)
def _image_random_lighting(data: Tensor, alpha_std: float = 0.05) -> Tensor:
    """Another light, with alphas that are drawn with deviation `alpha_std`.

    data : (h, w, c), c is 1, which changes nothing, or 3
    """
    _expect_image("_image_random_lighting", data)
    return _lit(data, torch.randn(3, dtype=torch.float64, device=data.device) * alpha_std)
