"""Over axes: sums, means, extremes, norms.

`axis` is one axis, several, or None for all; `exclude` takes the others instead; `keepdims` leaves
the axes with size 1. What is reduced to one number has the shape (1,).
"""

from __future__ import annotations

import math
from typing import Literal

import torch

from ..base import ArgumentError, ShapeError
from .attributes import Axis, DType
from .registry import Tensor, family, op, zeros


def reduce(name, function, doc, *aliases, **rules):
    """Register y = function(data, axes, keepdims)."""

    def template(function):
        def row(
            data: Tensor, axis: Axis = None, keepdims: bool = False, exclude: bool = False
        ) -> Tensor:
            if axis is not None and len(axis) == 1 and not exclude:  # nearly always
                try:
                    y = function(data, axis, keepdims)
                except IndexError:
                    _axes(name, data, axis)
                    raise
                if data.dim():
                    return y if y.dim() else y.reshape(1)
            over = _axes(name, data, axis, exclude)
            if not over:  # each element alone; PyTorch takes no axes for all axes
                y = function(data.unsqueeze(-1), (-1,), False)
            else:
                y = function(data, over, keepdims)
            return y if y.dim() else y.reshape(1)

        return row

    row = family(template, function, name, doc, *aliases, **rules)
    row.shaped(_reduced_shape)
    return row


def _reduced_shape(data, axis, keepdims, exclude):
    count = len(data)
    given = {a % count for a in axis or ()}
    if len(given) < len(axis or ()) or any(not -count <= a < count for a in axis or ()):
        return None
    over = {a for a in range(count) if not axis or (a in given) is not exclude}
    sizes = [1 if a in over else n for a, n in enumerate(data) if keepdims or a not in over]
    return tuple(sizes) or (1,)


def _axes(name, data, axis, exclude=False):
    """The axes to reduce over, from 0 up: those given, the others with `exclude`, or all."""
    count = data.dim()
    if not axis:
        return tuple(range(count))
    if len(axis) == 1 and -count <= axis[0] < count:  # nearly always
        one = axis[0] % count
        return tuple([a for a in range(count) if a != one]) if exclude else (one,)
    given = {a + count if a < 0 else a for a in axis}
    if len(given) < len(axis) or not given <= {*range(count)}:
        raise ShapeError(
            f"{name}: axis is {axis}, data is {tuple(data.shape)}\n"
            f"  expected axes from {-count} to {count - 1}, each once"
        )
    return tuple(a for a in range(count) if (a in given) is not exclude)


def _sum(x, axes, keepdims):
    if x.is_floating_point():
        return torch.sum(x, axes, keepdims)
    return torch.sum(x, axes, keepdims, dtype=x.dtype)


def _mean(x, axes, keepdims):
    if x.is_floating_point():
        return torch.mean(x, axes, keepdims)
    return torch.mean(x, axes, keepdims, dtype=torch.float64).to(x.dtype)


def _nansum(x, axes, keepdims):
    return torch.nansum(x, axes, keepdims, dtype=x.dtype)


def _prod(x, axes, keepdims):
    for axis in reversed(axes):
        x = torch.prod(x, axis, keepdims, dtype=x.dtype)
    return x


def _nanprod(x, axes, keepdims):
    return _prod(torch.where(torch.isnan(x), torch.ones_like(x), x), axes, keepdims)


reduce("sum", _sum, "The sum over axes.", "sum_axis")
reduce("_square_sum", lambda x, *over: _sum(x * x, *over), "The sum of squares over axes.")
reduce("mean", _mean, "The mean over axes.")
reduce("prod", _prod, "The product over axes.")
reduce("nansum", _nansum, "The sum over axes, NaN taken as 0.")
reduce("nanprod", _nanprod, "The product over axes, NaN taken as 1.")
maximum = reduce("max", torch.amax, "The largest value over axes.", "max_axis")
minimum = reduce("min", torch.amin, "The smallest value over axes.", "min_axis")


@maximum.grad
@minimum.grad
def _(dy, y, data, axis, exclude):  # each of the equal ones takes it all
    shape = list(data.shape)
    for a in _axes("max", data, axis, exclude):
        shape[a] = 1
    return dy.reshape(shape) * (data == y.reshape(shape))


@op
def norm(
    data: Tensor,
    ord: int = 2,
    axis: Axis = None,
    out_dtype: DType | None = None,
    keepdims: bool = False,
) -> Tensor:
    """The norm over axes: Σ|x| for ord 1, √Σx² for ord 2. Its gradient at 0 is 0.

    Raises
    ------
    ArgumentError
        `ord` is neither 1 nor 2.
    ShapeError
        An axis is not one of `data`, or is there twice.
    """
    if ord not in (1, 2):
        raise ArgumentError(f"norm: ord is {ord}\n  expected 1 or 2")
    x = data if data.is_floating_point() else data.double()
    y = torch.linalg.vector_norm(x, ord, _axes("norm", data, axis), keepdims)
    y = y.to(out_dtype or data.dtype)
    return y if y.dim() else y.reshape(1)


@norm.shaped
def _(data, ord, axis, keepdims):
    return _reduced_shape(data, axis, keepdims, False) if ord in (1, 2) else None


def _argument(function, data, axis, keepdims):
    if axis is None:
        y = function(data).reshape([1] * data.dim() if keepdims else 1)
    else:
        y = function(data, axis, keepdims)
    y = y.to(data.dtype)
    return y if y.dim() else y.reshape(1)


@op
def argmax(data: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the largest value along an axis, the first of equal ones, in data's dtype.

    Without an axis the index into the flattened array.
    """
    return _argument(torch.argmax, data, axis, keepdims)


@op
def argmin(data: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The index of the smallest value along an axis, the first of equal ones, in data's dtype.

    Without an axis the index into the flattened array.
    """
    return _argument(torch.argmin, data, axis, keepdims)


@op
def argmax_channel(data: Tensor) -> Tensor:
    """The index of the largest value along axis 1."""
    return _argument(torch.argmax, data, 1, False)


@argmax.shaped
@argmin.shaped
def _(data, axis, keepdims):
    return _reduced_shape(data, None if axis is None else (axis,), keepdims, False)


@argmax_channel.shaped
def _(data):
    return _reduced_shape(data, (1,), False, False)


argmax.grad(zeros)
argmin.grad(zeros)
argmax_channel.grad(zeros)


@op(names_input=True)
def L2Normalization(
    data: Tensor, eps: float = 1e-10, mode: Literal["channel", "instance", "spatial"] = "instance"
) -> Tensor:
    """x / √(Σx² + eps), the sum over all of a sample, over its channels, or over each channel.

    data : (batch, channel, ...)

    Raises
    ------
    ArgumentError
        `data` has fewer than 3 axes, and `mode` is not 'instance'.
    """
    over = {"instance": range(1, data.dim()), "channel": (1,), "spatial": range(2, data.dim())}
    if mode != "instance" and data.dim() < 3:
        raise ArgumentError(
            f"L2Normalization: mode is {mode!r}, data is {tuple(data.shape)}\n"
            "  expected data (batch, channel, ...) of 3 axes or more"
        )
    square = data * data
    if over[mode]:  # of one axis each number is a sample
        square = torch.sum(square, tuple(over[mode]), True)
    return data / torch.sqrt(square + eps)


@L2Normalization.shaped
def _(data, mode):
    return data if mode == "instance" or len(data) > 2 else None


@op(names_input=True)
def moments(data: Tensor, axes: Axis = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The mean and the variance Σ(x - mean)² / n over axes, None for all.

    Raises
    ------
    ShapeError
        An axis is not one of `data`, or is there twice.
    """
    over = _axes("moments", data, axes)
    if data.is_floating_point():
        var, mean = torch.var_mean(data, over, correction=0, keepdim=keepdims)
    else:  # the mean is truncated before it is subtracted
        var = _mean(torch.square(data - _mean(data, over, True)), over, keepdims)
        mean = _mean(data, over, keepdims)
    return (mean, var) if mean.dim() else (mean.reshape(1), var.reshape(1))


@moments.shaped
def _(data, axes, keepdims):
    shape = _reduced_shape(data, axes, keepdims, False)
    return shape and [shape, shape]


@moments.gives
def _():
    return 2


@op("cumsum", names_input=True)
def _np_cumsum(a: Tensor, axis: int | None = None, dtype: DType | None = None) -> Tensor:
    """The sums of the elements up to each along an axis, by default of the flattened array."""
    if axis is None:
        a, axis = a.reshape(-1), 0
    kind = torch.int64 if a.dtype is torch.bool else a.dtype
    return torch.cumsum(a, axis, dtype=dtype or kind)


@_np_cumsum.shaped
def along_axis(a, axis):
    """The shape of what an operator computes along an axis, or with None of a flattened array."""
    if axis is None:
        return (math.prod(a),)
    return a if -len(a) <= axis < len(a) else None


@_np_cumsum.types
def _(a, dtype):
    return dtype or (torch.int64 if a is torch.bool else a)


@op
def _contrib_allclose(
    a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = True
) -> Tensor:
    """1 where |a - b| ≤ atol + rtol |b| for all elements, else 0: a uint8 array of shape ().

    An infinity is close to itself alone; with `equal_nan` NaN is close to NaN.
    """
    if a.shape != b.shape or a.dtype is not b.dtype:
        raise ShapeError(
            f"allclose: a is {tuple(a.shape)} {a.dtype}, b is {tuple(b.shape)} {b.dtype}\n"
            "  expected the same shape and dtype"
        )
    close = torch.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return close.all().to(torch.uint8)


@_contrib_allclose.types
def _():
    return torch.uint8
