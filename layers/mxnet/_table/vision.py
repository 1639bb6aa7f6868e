"""Images in other sizes."""

from __future__ import annotations

from typing import Literal

import torch.nn.functional as F

from ..base import ArgumentError, ShapeError
from .attributes import Shape
from .registry import Tensor, op

_PARITY = {  # what is added to an even size, and to an odd one
    "to_even_down": (0, -1),
    "to_even_up": (0, 1),
    "to_odd_down": (-1, 0),
    "to_odd_up": (1, 0),
}


@op(names_input=True)
def _contrib_BilinearResize2D(
    data: Tensor,
    like: Tensor | None = None,
    height: int = 1,
    width: int = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: Literal[
        "like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"
    ] = "size",
    align_corners: bool = True,
) -> Tensor:
    """Images in another size, each pixel a linear mixture of the four nearest.

    data : (n, c, h, w)

    size: (height, width), or h and w times the scales where these are given. like: the size of the
    array `like`. odd_scale: times the scales, from an odd size (h - 1) scale + 1.
    to_even_down, to_odd_up, ...: to the next even or odd size. `align_corners` keeps the corner
    pixels where they are, else the corners of the corner pixels. A size of 1 takes the first row
    or column.
    """
    if data.dim() != 4 or (mode == "like" and (like is None or like.dim() != 4)):
        shape = None if like is None else tuple(like.shape)
        raise ShapeError(
            f"_contrib_BilinearResize2D: data is {tuple(data.shape)}, like is {shape}\n"
            "  expected (n, c, h, w), and like of 4 axes in mode 'like'"
        )
    scales = scale_height, scale_width
    like_size = None if like is None else like.shape[2:]
    size = _size(data.shape[2:], like_size, (height, width), scales, mode)
    for axis, n in zip((2, 3), size):
        if n == 1 and not align_corners:  # PyTorch would take the middle
            data = data.narrow(axis, 0, 1)
    return F.interpolate(data, tuple(size), mode="bilinear", align_corners=align_corners)


def _size(data, like, given, scales, mode):
    """The height and the width of the result, from those of `data` and `like`."""
    if mode == "like":
        return like
    if mode in _PARITY:
        return tuple([s + _PARITY[mode][s % 2] for s in data])
    if scales == (None, None) and mode == "size":
        return given
    if None in scales:
        raise ArgumentError(
            f"_contrib_BilinearResize2D: scale_height is {scales[0]}, scale_width is {scales[1]}\n"
            f"  expected both, with mode {mode!r}"
        )
    if mode == "size":
        return tuple([int(s * k) for s, k in zip(data, scales)])
    return tuple([int((s - s % 2) * k) + s % 2 for s, k in zip(data, scales)])


@_contrib_BilinearResize2D.shaped
def _(data, shapes, height, width, scale_height, scale_width, mode):
    if any(len(shape) != 4 for shape in shapes):
        return None
    scales = scale_height, scale_width
    size = _size(data[2:], shapes[-1][2:], (height, width), scales, mode)
    return (*data[:2], *size) if min(size) > 0 else None


@_contrib_BilinearResize2D.takes
def _(mode):
    return ("data", "like") if mode == "like" else ("data",)


@op
def _contrib_AdaptiveAvgPooling2D(data: Tensor, output_size: Shape = ()) -> Tensor:
    """The means of `output_size` windows that share the image evenly; one where it is not given.

    data : (n, c, h, w)      output_size : (height, width), or one number for both
    """
    size = output_size or (1,)
    if len(size) > 2 or min(size) < 0:
        raise ArgumentError(
            f"_contrib_AdaptiveAvgPooling2D: output_size is {size}\n"
            "  expected one or two numbers of 0 or more"
        )
    if data.dim() != 4:
        raise ShapeError(
            f"_contrib_AdaptiveAvgPooling2D: data is {tuple(data.shape)}\n  expected (n, c, h, w)"
        )
    return F.adaptive_avg_pool2d(data, size if len(size) == 2 else size * 2)


@_contrib_AdaptiveAvgPooling2D.shaped
def _(data, output_size):
    size = output_size or (1,)
    fits = len(data) == 4 and len(size) < 3 and min(size) > 0
    return (*data[:2], size[0], size[-1]) if fits else None
