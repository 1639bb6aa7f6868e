"""Images in another size, with another border or rotated, with OpenCV's values.

An image is a tensor (height, width, channels). Of uint8, values differ from OpenCV's by 1 at most,
which rounds fractions of weights; of floats by 1e-5 of the largest.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from ..base import ArgumentError, ShapeError

__all__ = ["bordered", "check_image", "resized", "rotated"]

NEAREST, LINEAR, CUBIC, AREA, LANCZOS, LINEAR_EXACT = range(6)
CONSTANT, REPLICATE, REFLECT, WRAP, REFLECT_101 = range(5)


def check_image(function: str, image: torch.Tensor) -> None:
    """Raise an error where a tensor is no image."""
    if image.dim() != 3 or 0 in image.shape:
        raise ShapeError(
            f"{function}: the image is {tuple(image.shape)}\n  expected (height, width, channels)"
        )


def resized(image: torch.Tensor, width: int, height: int, method: int) -> torch.Tensor:
    """An image in another size.

    Parameters
    ----------
    method : int
        OpenCV's number: 0 the nearest pixel, 1 linear (and 5), 2 cubic, 3 means of areas where the
        image gets smaller on both axes, 4 Lanczos of 8 pixels. None of 0, 1, 2 and 4 takes more
        pixels into account when the image gets smaller.
    """
    check_image("imresize", image)
    if width < 1 or height < 1:
        raise ArgumentError(f"imresize: w is {width}, h is {height}\n  expected at least 1")
    if method not in range(6):
        raise ArgumentError(f"imresize: interp is {method}\n  expected 0 to 5")
    if (height, width) == image.shape[:2]:
        return image.clone()
    if method == NEAREST:
        rows, columns = (_nearest(n, m) for n, m in zip(image.shape, (height, width)))
        return image.index_select(0, rows).index_select(1, columns)
    if method == LINEAR and image.dtype == torch.uint8:
        return _interpolated(image, (height, width), "bilinear")
    x = image if image.dtype == torch.float64 else image.float()
    if method in (LINEAR, LINEAR_EXACT, CUBIC):
        mode = "bicubic" if method == CUBIC else "bilinear"
        return _as(_interpolated(x, (height, width), mode), image.dtype)
    shrinks = height <= image.shape[0] and width <= image.shape[1]
    for axis, size in ((0, height), (1, width)):
        x = _mixed(x, axis, *_weights(x.shape[axis], size, method, shrinks))
    return _as(x, image.dtype)


def _interpolated(image: torch.Tensor, size: tuple[int, int], mode: str) -> torch.Tensor:
    x = image.permute(2, 0, 1)[None]
    return F.interpolate(x, size, mode=mode, align_corners=False)[0].permute(1, 2, 0).contiguous()


def _as(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Rounded and limited to what the dtype has."""
    if dtype.is_floating_point:
        return x.to(dtype)
    limits = torch.iinfo(dtype)
    return x.round_().clamp_(limits.min, limits.max).to(dtype)


def _nearest(size: int, wanted: int) -> torch.Tensor:
    # As OpenCV computes the scale: a quotient of its own, whose rounding decides at whole numbers.
    scale = 1 / (wanted / size)
    return (torch.arange(wanted, dtype=torch.float64) * scale).long().clamp_(max=size - 1)


def _weights(size: int, wanted: int, method: int, shrinks: bool) -> tuple[torch.Tensor, ...]:
    """Which pixels of an axis each new one is mixed of, and how much of each: (wanted, taps)."""
    scale = 1 / (wanted / size)
    at = torch.arange(wanted, dtype=torch.float64)
    if method == AREA and shrinks:
        begin, end = (at * scale)[:, None], ((at + 1) * scale)[:, None]
        index = begin.long() + torch.arange(math.ceil(scale) + 1)
        weights = (torch.minimum(end, index + 1) - torch.maximum(begin, index)).clamp_(min=0)
        weights /= weights.sum(1, keepdim=True)
    elif method == AREA:
        first = (at * scale).floor()
        part = (at + 1 - (first + 1) * (wanted / size)).float().double()  # as in OpenCV
        part = torch.where(part <= 0, 0, part - part.floor())[:, None]
        part[first >= size - 1] = 0
        index = first.long()[:, None] + torch.arange(2)
        weights = torch.cat([1 - part, part], 1)
    else:
        centre = ((at + 0.5) * scale - 0.5)[:, None]
        index = centre.floor().long() + torch.arange(-3, 5)
        distance = centre - index
        weights = torch.sinc(distance) * torch.sinc(distance / 4)
        weights /= weights.sum(1, keepdim=True)
    return index.clamp_(0, size - 1), weights


def _mixed(x: torch.Tensor, axis: int, index: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    weights = weights.to(x.dtype).reshape(len(index), -1, *[1] * (x.dim() - axis - 1))
    y = x.index_select(axis, index[:, 0]) * weights[:, 0]
    for tap in range(1, index.shape[1]):
        y.addcmul_(x.index_select(axis, index[:, tap]), weights[:, tap])
    return y


def bordered(image: torch.Tensor, margins: tuple[int, ...], kind: int, values) -> torch.Tensor:
    """An image with margins (top, bottom, left, right).

    Parameters
    ----------
    kind : int
        OpenCV's number: 0 filled with values, 1 the outermost pixels again, 2 mirrored with them,
        3 from the other side, 4 mirrored without the outermost pixels.
    values : sequence of float
        For each channel; 0 for those that are not there.
    """
    check_image("copyMakeBorder", image)
    if kind not in range(5):
        raise ArgumentError(f"copyMakeBorder: type is {kind}\n  expected 0 to 4")
    if min(margins) < 0:
        raise ArgumentError(f"copyMakeBorder: the margins are {margins}\n  expected 0 or more")
    top, bottom, left, right = margins
    h, w, channels = image.shape
    if kind != CONSTANT:
        rows, columns = _sources(h, top, bottom, kind), _sources(w, left, right, kind)
        return image.index_select(0, rows).index_select(1, columns)
    filled = image.new_empty(h + top + bottom, w + left + right, channels)
    filled[:] = _as(torch.tensor([*values, *[0.0] * channels][:channels]), image.dtype)
    filled[top : top + h, left : left + w] = image
    return filled


def _sources(size: int, before: int, after: int, kind: int) -> torch.Tensor:
    """Which pixel of an axis each one is, from so many before the first to those after the last."""
    at = torch.arange(-before, size + after)
    if kind == REPLICATE:
        return at.clamp_(0, size - 1)
    if kind == WRAP:
        return at % size
    if kind == REFLECT:
        at %= 2 * size
        return torch.minimum(at, 2 * size - 1 - at)
    at %= max(1, 2 * size - 2)
    return torch.minimum(at, 2 * size - 2 - at)


def rotated(images: torch.Tensor, degrees: torch.Tensor, zoom: int) -> torch.Tensor:
    """Images (n, c, h, w) rotated about their middle, by an angle for each; 0 where there is none.

    `zoom` is 1 to have no pixel without an image there, -1 to have all pixels of the image in it.
    """
    n, _, h, w = images.shape
    angle = degrees.to(torch.float64) * (math.pi / 180)
    cos, sin = angle.cos(), angle.sin()
    # How much larger than the image the box around the rotated one is.
    room = torch.maximum((w * cos.abs() + h * sin.abs()) / w, (h * cos.abs() + w * sin.abs()) / h)
    scale = room**-zoom
    cos, sin = (part[:, None, None] * scale[:, None, None] for part in (cos, sin))
    y = torch.arange(h, dtype=torch.float64)[:, None] - (h - 1) / 2
    x = torch.arange(w, dtype=torch.float64) - (w - 1) / 2
    # Coordinates of grid_sample: -1 and 1 are the middles of the outermost pixels.
    across = (cos * x - sin * y) / max((w - 1) / 2, 0.5)
    down = (sin * x + cos * y) / max((h - 1) / 2, 0.5)
    grid = torch.stack([across, down], -1).to(images.dtype)
    return F.grid_sample(images, grid, padding_mode="zeros", align_corners=True)
