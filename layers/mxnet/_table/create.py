"""Arrays made of nothing but their attributes."""

from __future__ import annotations

from math import ceil, prod

import torch

from .. import _np_shape
from ..base import ArgumentError, ShapeError
from .attributes import DType, Shape
from .registry import REQUIRED, Tensor, op


@op
def _zeros(shape: Shape = (), ctx: str = "", dtype: DType = torch.float32, *, device) -> Tensor:
    """Zeros."""
    return torch.zeros(_sizes(shape), dtype=dtype, device=device)


@op
def _ones(shape: Shape = (), ctx: str = "", dtype: DType = torch.float32, *, device) -> Tensor:
    """Ones."""
    return torch.ones(_sizes(shape), dtype=dtype, device=device)


@op
def _full(
    shape: Shape | None = None,
    ctx: str = "",
    dtype: DType = torch.float32,
    value: float = REQUIRED,
    *,
    device,
) -> Tensor:
    """One value everywhere."""
    return torch.full(_sizes(shape or ()), value, dtype=dtype, device=device)


for _each in (_zeros, _ones, _full):

    @_each.shaped
    def _(shape):
        """A graph around it may tell the sizes that are not known."""
        return shape or None


def _sizes(shape):
    return shape if shape or _np_shape.is_on() else (1,)


@op
def _eye(
    N: int = REQUIRED,
    M: int = 0,
    k: int = 0,
    ctx: str = "",
    dtype: DType = torch.float32,
    *,
    device,
) -> Tensor:
    """Ones on the k-th diagonal of an N x M array (N x N where M is 0), zeros elsewhere."""
    y = torch.zeros(N, M or N, dtype=dtype, device=device)
    if -N < k < (M or N):
        y.diagonal(k).fill_(1)
    return y


@op
def _arange(
    start: float = REQUIRED,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: str = "",
    dtype: DType = torch.float32,
    *,
    device,
) -> Tensor:
    """Values from start up to stop, which is left out; from 0 to start where there is no stop.

    Each comes `repeat` times. In a graph with `infer_range` and without a stop: from start on, as
    many as the graph around it needs.
    """
    if stop is None:
        start, stop = 0, start
    count = _count(start, stop, step)
    if count <= 0:
        raise ArgumentError(
            f"_arange: start {start}, stop {stop}, step {step}: there are no values\n"
            "  expected one or more"
        )
    return _steps(count, start, step, repeat, dtype, device)


def _count(start, stop, step):
    return ceil((stop - start) / step)


@_arange.shaped
def _(start, stop, step, repeat):
    count = _count(*((0, start) if stop is None else (start, stop)), step)
    return (count * repeat,) if count > 0 and repeat > 0 else None


def _steps(count, start, step, repeat, dtype, device):
    if not dtype.is_floating_point:
        start, step = int(start), int(step)
    y = torch.arange(count, dtype=torch.float64, device=device).mul_(step).add_(start).to(dtype)
    return y if repeat == 1 else y.repeat_interleave(repeat)


@_arange.sized
def _(stop, infer_range):
    """From `start` on, as many as the graph around it has room for."""
    return _arange_of_shape if infer_range and stop is None else None


def _arange_of_shape(
    start,
    stop=None,
    step=1.0,
    repeat=1,
    infer_range=True,
    ctx="",
    dtype=torch.float32,
    *,
    device,
    shape,
):
    if shape is None:
        raise ShapeError(
            "_arange: infer_range is True, and nothing in the graph tells the shape\n"
            "  expected it in an operator beside an array of known shape"
        )
    count = prod(shape)
    return _steps(-(-count // repeat), start, step, repeat, dtype, device)[:count].reshape(shape)


@op
def _linspace(
    start: float = REQUIRED,
    stop: float = REQUIRED,
    num: int = REQUIRED,
    endpoint: bool = True,
    ctx: str = "",
    dtype: DType = torch.float32,
    *,
    device,
) -> Tensor:
    """`num` values evenly from start to stop, which is left out without `endpoint`."""
    count = num if endpoint else num + 1
    return torch.linspace(start, stop, count, dtype=torch.float64, device=device)[:num].to(dtype)


@_linspace.shaped
def _(num):
    return (num,)
