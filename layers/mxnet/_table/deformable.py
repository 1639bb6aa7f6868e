"""Convolutions whose kernels have their points moved, each where it stands.

(Dai et al. 2017, Deformable Convolutional Networks; Zhu et al. 2019, Deformable ConvNets v2)
"""

from __future__ import annotations

import math
from functools import wraps
from typing import Literal

import torch
import torch.nn.functional as F

from ..base import ArgumentError, ShapeError
from .attributes import Shape
from .pixels import interpolated, pixel_rows
from .product import linear
from .registry import REQUIRED, Tensor, op

Layout = Literal["NCDHW", "NCHW", "NCW"] | None


@op
def _contrib_DeformableConvolution(
    data: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    kernel: Shape = REQUIRED,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: int = REQUIRED,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    layout: Layout = None,
) -> Tensor:
    """Convolution that reads each point of its kernel where `offset` moves it, between pixels too.

    data : (n, c, h, w)      weight : (num_filter, c / num_group, *kernel)      bias : (num_filter,)
    offset : (n, 2 num_deformable_group kernel points, *size of y), y and x for each point

    A part of the channels, c / num_deformable_group, has offsets of its own. A point that is not
    in the image counts as 0; between the last pixel and the edge it has the value of that pixel.
    """
    name = "_contrib_DeformableConvolution"
    steps = _steps(name, data.shape, kernel, stride, dilate, pad)
    groups = num_filter, num_group, num_deformable_group
    expected = _shapes(name, data.shape, kernel, *steps, *groups)
    _check(name, data, no_bias, layout, expected, offset=offset, weight=weight, bias=bias)
    y, x = _places(offset, kernel, steps, num_deformable_group)
    h, w = data.shape[2:]
    inside = (y >= 0) & (y < h) & (x >= 0) & (x < w)
    points = _points(data, y.clamp(0, h - 1), x.clamp(0, w - 1), inside)
    return _product(points, weight, bias, num_group, offset.shape)


@op
def _contrib_ModulatedDeformableConvolution(
    data: Tensor,
    offset: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    kernel: Shape = REQUIRED,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: int = REQUIRED,
    num_group: int = 1,
    num_deformable_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    im2col_step: int = 64,
    layout: Layout = None,
) -> Tensor:
    """DeformableConvolution with a weight for each point of the kernel; outside the image is 0.

    data : (n, c, h, w)      weight : (num_filter, c / num_group, *kernel)      bias : (num_filter,)
    offset : (n, 2 num_deformable_group kernel points, *size of y), y and x for each point
    mask : (n, num_deformable_group kernel points, *size of y)

    Between the last pixel and one pixel outside, the values fall to 0.
    """
    name = "_contrib_ModulatedDeformableConvolution"
    steps = _steps(name, data.shape, kernel, stride, dilate, pad)
    groups = num_filter, num_group, num_deformable_group
    expected = _shapes(name, data.shape, kernel, *steps, *groups)
    inputs = {"offset": offset, "mask": mask, "weight": weight, "bias": bias}
    _check(name, data, no_bias, layout, expected, **inputs)
    y, x = _places(offset, kernel, steps, num_deformable_group)
    h, w = data.shape[2:]
    weights = mask.reshape(len(mask), num_deformable_group, -1, *mask.shape[2:])
    y, x = (y + 1).clamp(0, h + 1), (x + 1).clamp(0, w + 1)
    points = _points(F.pad(data, (1, 1, 1, 1)), y, x, weights.permute(0, 3, 4, 1, 2))
    return _product(points, weight, bias, num_group, offset.shape)


def _steps(name, data, kernel, stride, dilate, pad):
    steps = stride or (1, 1), dilate or (1, 1), pad or (0, 0)
    if len(data) != 4 or any(len(size) != 2 for size in (kernel, *steps)):
        raise ShapeError(
            f"{name}: data is {tuple(data)}, kernel is {kernel}, stride {stride}, dilate {dilate}, "
            f"pad {pad}\n  expected (n, c, h, w) and two numbers of each"
        )
    return steps


def _shapes(name, data, kernel, stride, dilate, pad, num_filter, num_group, num_deformable_group):
    """The shapes of the other inputs."""
    groups = (data[1], num_group), (num_filter, num_group), (data[1], num_deformable_group)
    if any(count < 1 or whole % count for whole, count in groups):
        raise ShapeError(
            f"{name}: data is {tuple(data)}, num_filter is {num_filter}, num_group {num_group}, "
            f"num_deformable_group {num_deformable_group}\n"
            "  expected channels that both divide, and filters that num_group divides"
        )
    size = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, d, p in zip(data[2:], kernel, stride, dilate, pad)
    ]
    points = num_deformable_group * math.prod(kernel)
    return {
        "offset": (data[0], 2 * points, *size),
        "mask": (data[0], points, *size),
        "weight": (num_filter, data[1] // num_group, *kernel),
        "bias": (num_filter,),
    }


def _check(name, data, no_bias, layout, expected, **inputs):
    if layout not in (None, "NCHW"):
        raise ArgumentError(f"{name}: layout is {layout!r}\n  expected NCHW")
    if (inputs["bias"] is None) is not no_bias:
        raise ArgumentError(f"{name}: no_bias is {no_bias}\n  expected {not no_bias}")
    for key, tensor in inputs.items():
        if tensor is not None and tuple(tensor.shape) != expected[key]:
            raise ShapeError(
                f"{name}: {key} is {tuple(tensor.shape)} for data {tuple(data.shape)}\n"
                f"  expected {expected[key]}"
            )


def _places(offset, kernel, steps, groups):
    """Where the points of the kernel are: y and x, (n, height, width, groups, points)."""
    n, _, *size = offset.shape
    moved = offset.reshape(n, groups, math.prod(kernel), 2, *size).permute(3, 0, 4, 5, 1, 2)
    places = []
    for axis in 0, 1:
        stride, dilate, pad = (step[axis] for step in steps)
        start = torch.arange(size[axis], device=offset.device) * stride - pad
        point = torch.arange(kernel[axis], device=offset.device) * dilate
        if axis == 0:
            place = start[:, None, None, None] + point.repeat_interleave(kernel[1])
        else:
            place = start[:, None, None] + point.repeat(kernel[0])
        places.append(moved[axis] + place)
    return places


def _points(data, y, x, weight):
    """The data at the places, as (n, height width, groups, points, channels of a group)."""
    n, height, width, groups, points = y.shape
    h, w = data.shape[2:]
    image = torch.arange(n * groups, device=data.device).reshape(n, 1, groups, 1) * h * w
    first = image.expand(n, height * width, groups, points).flatten()
    bags = torch.arange(y.numel(), device=data.device)
    parts = [part.flatten() for part in (y, x, weight)]
    found = interpolated(pixel_rows(data, 1, groups), first, (h, w), *parts, bags)
    return found.reshape(n, height * width, groups, points, -1)


def _product(points, weight, bias, num_group, shape):
    """The convolution of points, once they are gathered, as (n, num_filter, height, width)."""
    n, places, groups, count, channels = points.shape
    filters = weight.flatten(2)
    if num_group == 1:
        filters = filters.reshape(-1, groups, channels, count).transpose(2, 3)
        y = linear(points.flatten(2).flatten(0, 1), filters.reshape(len(weight), -1), bias)
    else:
        columns = points.transpose(3, 4).reshape(n * places, num_group, -1).transpose(0, 1)
        filters = filters.reshape(num_group, -1, columns.shape[2])
        y = torch.bmm(columns, filters.mT).transpose(0, 1).flatten(1)
        y = y if bias is None else y + bias
    return y.reshape(n, places, -1).mT.reshape(n, -1, *shape[2:])


def _infer(data, kernel, stride, dilate, pad, num_filter, num_group, num_deformable_group, no_bias):
    name = "DeformableConvolution"
    steps = _steps(name, data, kernel, stride, dilate, pad)
    shapes = _shapes(name, data, kernel, *steps, num_filter, num_group, num_deformable_group)
    return {name: shape for name, shape in shapes.items() if name != "bias" or not no_bias}


_contrib_ModulatedDeformableConvolution.infer(_infer)


@_contrib_DeformableConvolution.infer
@wraps(_infer)
def _(**given):
    return {name: shape for name, shape in _infer(**given).items() if name != "mask"}


@_contrib_DeformableConvolution.shaped
@_contrib_ModulatedDeformableConvolution.shaped
def _(data, offset, num_filter):
    return data[0], num_filter, *offset[2:]


@_contrib_DeformableConvolution.takes
def _(no_bias):
    return ("data", "offset", "weight") + (() if no_bias else ("bias",))


@_contrib_ModulatedDeformableConvolution.takes
def _(no_bias):
    return ("data", "offset", "mask", "weight") + (() if no_bias else ("bias",))
