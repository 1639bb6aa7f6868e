"""Images in another size, to the last bit as OpenCV makes them for MXNet.

Each axis by itself: a pixel is a weighted sum of `taps` of the image. Of bytes the weights are
integers of 11 bits, and how the sums are rounded differs from kind to kind.
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch

from .. import _dtype
from ..base import ArgumentError, DTypeError, ShapeError

Tensor = torch.Tensor

NEAREST, LINEAR, CUBIC, AREA, LANCZOS = range(5)
# So many pixels an image may have whose size follows from its proportions, or as many as before: a
# file of few bytes can declare an image of one row. An image of 7680 x 4320 has fewer.
MOST_PIXELS = 1 << 25
_BITS = 11
_ONE = 1 << _BITS


def short_size(what: str, h: int, w: int, size: int) -> tuple[int, int]:
    """The height and width of an (h, w) image whose shorter side gets `size` pixels.

    Raises
    ------
    ShapeError
        That is more pixels than `MOST_PIXELS` and than the image has.
    """
    height, width = (size * h // w, size) if h > w else (size, size * w // h)
    if height * width > max(MOST_PIXELS, h * w):
        raise ShapeError(
            f"{what}: an image of {w} x {h} pixels with a shorter side of {size} "
            f"has {width} x {height}\n  expected at most {MOST_PIXELS} pixels"
        )
    return height, width


def resample(what: str, images: Tensor, height: int, width: int, interp: int) -> Tensor:
    """Images (..., h, w, c) as (..., height, width, c); `what` wants it, for the error.

    interp : 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos over 8 x 8 pixels.

    Raises
    ------
    ArgumentError
        There is no such interpolation, or a size is below 1.
    DTypeError
        The images are not of uint8, float32 or float64.
    """
    if interp not in (NEAREST, LINEAR, CUBIC, AREA, LANCZOS):
        raise ArgumentError(
            f"{what}: interp is {interp}\n  expected 0 (nearest), 1 (bilinear), 2 (bicubic), "
            "3 (area) or 4 (Lanczos)"
        )
    if height < 1 or width < 1 or 0 in images.shape:
        raise ArgumentError(
            f"{what}: from {tuple(images.shape)} to height {height}, width {width}\n"
            "  expected sizes of 1 or more"
        )
    is_bytes = images.dtype is torch.uint8
    if not is_bytes and images.dtype not in (torch.float32, torch.float64):
        found = _dtype.name(images.dtype)
        raise DTypeError(f"{what}: data is {found}\n  expected uint8, float32 or float64")
    h, w = images.shape[-3:-1]
    if (h, w) == (height, width):
        return images.clone()
    if interp == LINEAR and (h, w) == (2 * height, 2 * width):
        interp = AREA
    shrinks = h >= height and w >= width
    if interp == AREA and shrinks:
        return _area(images, height, width)
    rows, columns = _taps(h, height, interp), _taps(w, width, interp)
    if interp == NEAREST:
        return images.index_select(-3, _indices(rows[0], images)).index_select(
            -2, _indices(columns[0], images)
        )
    if is_bytes:
        y = _of_bytes(images, rows, columns, interp)
    else:
        y = _weighted(*_row_parts(_weighted(*_column_parts(images, columns)), rows))
    return y.unflatten(-1, (width, images.shape[-1]))


def _of_bytes(images: Tensor, rows, columns, interp: int) -> Tensor:
    across = _weighted(*_column_parts(images.to(torch.int32), columns))
    if interp in (LINEAR, AREA):
        # The sums of both rows are cut to 16 bits before they are added.
        (y, second), (alpha, beta) = _row_parts(across.bitwise_right_shift_(4), rows)
        y.mul_(alpha).bitwise_right_shift_(16)
        y.add_(second.mul_(beta).bitwise_right_shift_(16)).add_(2).bitwise_right_shift_(2)
    elif interp == CUBIC:  # in float32
        parts, weights = _row_parts(across, rows)
        y = _weighted([p.float() for p in parts], [w.float() / _ONE**2 for w in weights]).round_()
    else:
        y = _weighted(*_row_parts(across.to(torch.int64), rows))
        y.add_(1 << 2 * _BITS - 1).bitwise_right_shift_(2 * _BITS)
    return y.clamp_(0, 255).to(torch.uint8)


def _weighted(parts: list[Tensor], weights: list[Tensor]) -> Tensor:
    """The sum of the parts times their weights; it overwrites the parts."""
    y = parts[0].mul_(weights[0])
    for part, weight in zip(parts[1:], weights[1:]):
        y += part.mul_(weight)
    return y


def _column_parts(images: Tensor, taps) -> tuple[list[Tensor], list[Tensor]]:
    """Images (..., h, w, c) at each tap as (..., h, width * c), and the weight of each element."""
    values, channels = images.flatten(-2), images.shape[-1]
    places = taps[0].to(images.device)[..., None] * channels
    places = (places + torch.arange(channels, device=images.device)).flatten(1)
    # Faster than index_select, which copies the few channels of each pixel by themselves.
    parts = [values.gather(-1, i.expand(*values.shape[:-1], -1)) for i in places]
    return parts, [w.repeat_interleave(channels) for w in _weights(taps, images)]


def _row_parts(images: Tensor, taps) -> tuple[list[Tensor], list[Tensor]]:
    """Images (..., h, w * c) at each tap as (..., height, w * c), and the weight of each row."""
    parts = [images.index_select(-2, _indices(i, images)) for i in taps[0]]
    return parts, [w[:, None] for w in _weights(taps, images)]


def _weights(taps, images: Tensor) -> Tensor:
    """The weights of the taps; for images of integers those of 11 bits."""
    weights = taps[1].to(images.device)
    if not images.is_floating_point():
        weights = torch.round(weights * _ONE)
    return weights.to(images.dtype)


def _indices(indices: Tensor, images: Tensor) -> Tensor:
    return indices.reshape(-1).to(images.device)


@lru_cache(maxsize=256)
def _taps(size: int, target: int, interp: int) -> tuple[Tensor, Tensor]:
    """Which pixels of an axis each new pixel is made of, and their weights: (taps, target) each."""
    # OpenCV's scale is a quotient of a quotient: that decides where places are whole numbers.
    scale = 1 / (target / size)
    places = torch.arange(target, dtype=torch.float64)
    if interp == NEAREST:
        first = (places * scale).floor().long().clamp_(max=size - 1)
        return first[None], torch.ones(1, target)
    if interp == AREA:  # of an image that grows
        first = (places * scale).floor()
        part = ((places + 1) - (first + 1) * (target / size)).float()
        part = torch.where(part <= 0, 0, part - part.floor())
    else:
        middle = ((places + 0.5) * scale - 0.5).float()
        first = middle.floor()
        part = middle - first
    before, kernel = _KERNELS[interp]
    weights = kernel(part.float())
    indices = first.long() + torch.arange(-before, len(weights) - before)[:, None]
    return indices.clamp_(0, size - 1), weights


def _linear(part: Tensor) -> Tensor:
    return torch.stack([1 - part, part])


def _cubic(part: Tensor) -> Tensor:
    a = -0.75
    far, near = part + 1, 1 - part
    weights = [
        ((a * far - 5 * a) * far + 8 * a) * far - 4 * a,
        ((a + 2) * part - (a + 3)) * part * part + 1,
        ((a + 2) * near - (a + 3)) * near * near + 1,
    ]
    return torch.stack([*weights, 1 - weights[0] - weights[1] - weights[2]])


def _lanczos(part: Tensor) -> Tensor:
    distance = math.pi * (part.double() + torch.arange(3, -5, -1)[:, None])
    weights = torch.sin(distance) * torch.sin(distance / 4) / (distance * distance)
    whole = part < torch.finfo(torch.float32).eps  # exactly on a pixel
    weights = torch.where(whole, torch.eye(8, dtype=torch.float64)[:, 3:4], weights)
    return (weights / weights.sum(0)).float()


_KERNELS = {LINEAR: (0, _linear), AREA: (0, _linear), CUBIC: (1, _cubic), LANCZOS: (3, _lanczos)}


def _area(images: Tensor, height: int, width: int) -> Tensor:
    """The means of the areas that the new pixels cover in an image that shrinks."""
    h, w = images.shape[-3:-1]
    exact = images.dtype if images.is_floating_point() else torch.float32
    values = images.to(exact)
    if h % height == 0 and w % width == 0:
        size = (h // height, w // width)
        parts = values.reshape(
            *values.shape[:-3], height, size[0], width, size[1], values.shape[-1]
        )
        y = parts.sum((-4, -2)) / math.prod(size)
        if size == (2, 2) and not images.is_floating_point():
            return y.add_(0.5).to(torch.uint8)  # the one case in which a half is rounded up
    else:
        across = _weighted(*_column_parts(values, _covered(w, width)))
        y = _weighted(*_row_parts(across, _covered(h, height)))
        y = y.unflatten(-1, (width, images.shape[-1]))
    return y if images.is_floating_point() else y.round_().clamp_(0, 255).to(torch.uint8)


@lru_cache(maxsize=256)
def _covered(size: int, target: int) -> tuple[Tensor, Tensor]:
    """Which pixels of an axis a new one covers, and by how much: (pixels, target) each."""
    scale = size / target
    begin = torch.arange(target, dtype=torch.float64) * scale
    end = (begin + scale).clamp_(max=size)
    count = math.ceil(scale) + 1
    indices = begin.floor() + torch.arange(count)[:, None]
    shared = torch.minimum(indices + 1, end) - torch.maximum(indices, begin)
    shared = torch.where(shared < 1e-3, 0, shared)  # as little as rounding makes
    weights = shared / torch.minimum(torch.tensor(scale), size - begin)
    return indices.long().clamp_(max=size - 1), weights.float()
