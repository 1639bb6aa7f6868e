"""Images in another size, with another border or rotated, with OpenCV's values.

An image is a tensor (height, width, channels).
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from .._table.resampling import LINEAR, MOST_PIXELS, resample, short_size
from ..base import ArgumentError, ShapeError

__all__ = ["MOST_PIXELS", "bordered", "check_image", "resized", "rotated", "short_size"]

LINEAR_EXACT = 5
CONSTANT, REPLICATE, REFLECT, WRAP, REFLECT_101 = range(5)


def check_image(function: str, image: torch.Tensor) -> None:
    """Raise an error where a tensor is no image.

    Raises
    ------
    ShapeError
        It has other axes than three, or no pixels.
    """
    if image.dim() != 3 or 0 in image.shape:
        raise ShapeError(
            f"{function}: the image is {tuple(image.shape)}\n  expected (height, width, channels)"
        )


def resized(image: torch.Tensor, width: int, height: int, method: int) -> torch.Tensor:
    """An image in another size, as the operator ``nd.image.resize`` makes it.

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
    is_known = image.dtype in (torch.uint8, torch.float32, torch.float64)
    method = LINEAR if method == LINEAR_EXACT else method
    y = resample("imresize", image if is_known else image.float(), height, width, method)
    return _in_dtype(y, image.dtype)


def _in_dtype(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Numbers in a dtype: for integers rounded, and limited to those that it has."""
    if dtype.is_floating_point or x.dtype == dtype:
        return x.to(dtype)
    limits = torch.iinfo(dtype)
    return x.round_().clamp_(limits.min, limits.max).to(dtype)


def bordered(image: torch.Tensor, margins: tuple[int, ...], border: int, values) -> torch.Tensor:
    """An image with margins (top, bottom, left, right).

    Parameters
    ----------
    border : int
        OpenCV's number: 0 filled with values, 1 the outermost pixels again, 2 mirrored with them,
        3 from the other side, 4 mirrored without the outermost pixels.
    values : sequence of float
        For each channel; 0 for those that are not there.

    Raises
    ------
    ArgumentError
        A margin is negative, or there is no such kind.
    ShapeError
        It is no image.
    """
    check_image("copyMakeBorder", image)
    if border not in range(5):
        raise ArgumentError(f"copyMakeBorder: type is {border}\n  expected 0 to 4")
    if min(margins) < 0:
        raise ArgumentError(f"copyMakeBorder: the margins are {margins}\n  expected 0 or more")
    top, bottom, left, right = margins
    h, w, channels = image.shape
    if border != CONSTANT:
        rows, columns = _sources(h, top, bottom, border), _sources(w, left, right, border)
        return image.index_select(0, rows).index_select(1, columns)
    filled = image.new_empty(h + top + bottom, w + left + right, channels)
    filled[:] = _in_dtype(torch.tensor([*values, *[0.0] * channels][:channels]), image.dtype)
    filled[top : top + h, left : left + w] = image
    return filled


def _sources(size: int, before: int, after: int, border: int) -> torch.Tensor:
    """For each pixel of an axis with its two margins, the pixel of the image that it repeats."""
    at = torch.arange(-before, size + after)
    if border == REPLICATE:
        return at.clamp_(0, size - 1)
    if border == WRAP:
        return at % size
    if border == REFLECT:
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
