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
    h, w = data.shape[2:]
    if mode == "like":
        size = like.shape[2:]
    elif mode in _PARITY:
        size = [s + _PARITY[mode][s % 2] for s in (h, w)]
    elif scale_height is None and scale_width is None and mode == "size":
        size = (height, width)
    elif scale_height is None or scale_width is None:
        raise ArgumentError(
            f"_contrib_BilinearResize2D: scale_height is {scale_height}, scale_width is "
            f"{scale_width}\n  expected both, with mode {mode!r}"
        )
    elif mode == "size":
        size = (int(h * scale_height), int(w * scale_width))
    else:
        size = [int((s - s % 2) * k) + s % 2 for s, k in ((h, scale_height), (w, scale_width))]
    for axis, n in zip((2, 3), size):
        if n == 1 and not align_corners:  # PyTorch would take the middle
            data = data.narrow(axis, 0, 1)
    return F.interpolate(data, tuple(size), mode="bilinear", align_corners=align_corners)


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
