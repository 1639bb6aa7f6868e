"""Positions in arrays: as numbers, as coordinates, and counted by value."""

from __future__ import annotations

import math

import torch

from ..base import ArgumentError, ShapeError
from .attributes import Floats, Shape
from .index import check_inside
from .registry import Tensor, constant, op, zeros


@op
def _contrib_arange_like(
    data: Tensor,
    start: float = 0.0,
    step: float = 1.0,
    repeat: int = 1,
    ctx: str = "",
    axis: int | None = None,
) -> Tensor:
    """start, start + step, ... in the shape of data, or along one axis as a vector.

    Each comes `repeat` times. For integers start and step are truncated.
    """
    if not data.is_floating_point():
        start, step = int(start), int(step)
    shape = tuple(data.shape) if axis is None else (data.shape[axis],)
    at = torch.arange(math.prod(shape), device=data.device) // repeat
    if data.is_floating_point():
        at = at.double()
    return (start + step * at).to(data.dtype).reshape(shape)


_contrib_arange_like.grad(zeros)
_contrib_arange_like.grad(zeros)


@_contrib_arange_like.shaped
def _(data, axis):
    return data if axis is None else data[axis : axis + 1 or None] or None


@op(names_input=True)
def _contrib_index_array(data: Tensor, axes: Shape | None = None) -> Tensor:
    """The coordinates of each element, all or those of `axes`: (...) to (..., n), int64.

    Raises
    ------
    ArgumentError
        `data` has no such axis.
    """
    axes = range(data.dim()) if axes is None else axes
    if any(not -data.dim() <= axis < data.dim() for axis in axes):
        raise ArgumentError(
            f"_contrib_index_array: axes is {axes}, data is {tuple(data.shape)}\n"
            f"  expected axes of data's {data.dim()}"
        )
    ends = [torch.arange(size, device=data.device) for size in data.shape]
    every = torch.meshgrid(*ends, indexing="ij") if ends else ()
    found = [every[axis] for axis in axes]
    empty = torch.empty((*data.shape, 0), dtype=torch.int64, device=data.device)
    return torch.stack(found, -1) if found else empty


@_contrib_index_array.types
def _():
    return torch.int64


_contrib_index_array.grad(zeros)


@op
def _contrib_index_copy(old_tensor: Tensor, index_vector: Tensor, new_tensor: Tensor) -> Tensor:
    """old_tensor with the rows of new_tensor at the indices; of equal indices the last counts.

    old_tensor : (n, ...)      index_vector : (k,)      new_tensor : (k, ...)
    """
    if index_vector.shape != new_tensor.shape[:1] or old_tensor.shape[1:] != new_tensor.shape[1:]:
        raise ShapeError(
            f"_contrib_index_copy: old_tensor is {tuple(old_tensor.shape)}, index_vector is "
            f"{tuple(index_vector.shape)}, new_tensor is {tuple(new_tensor.shape)}\n"
            "  expected (n, ...), (k,) and (k, ...)"
        )
    check_inside("_contrib_index_copy", index_vector, 0, old_tensor.shape[0] - 1)
    return old_tensor.index_copy(0, index_vector.long(), new_tensor)


@_contrib_index_copy.types
def _(old_tensor):
    return old_tensor


@op("ravel_multi_index", names_input=True)
def _ravel_multi_index(data: Tensor, shape: Shape | None = None) -> Tensor:
    """The number of each element that coordinates name, counted row by row.

    data : (axes, n)      y : (n,)      shape : of the array; its first size may be -1
    """
    if data.dim() != 2 or len(data) != len(shape or ()):
        raise ShapeError(
            f"_ravel_multi_index: data is {tuple(data.shape)}, shape is {shape}\n"
            "  expected a row of data for each axis of shape"
        )
    at = torch.zeros_like(data[0])
    for row, size in zip(_whole(data), shape):
        at = at * size + row
    return at


@op("unravel_index", names_input=True)
def _unravel_index(data: Tensor, shape: Shape | None = None) -> Tensor:
    """The coordinates of elements from their numbers, counted row by row: (...) to (axes, ...).

    shape : of the array; its first size may be -1
    """
    if not shape:
        raise ArgumentError(f"_unravel_index: shape is {shape}\n  expected the shape of an array")
    rest, found = _whole(data), []
    for size in shape[:0:-1]:
        found.append(torch.fmod(rest, size))
        rest = torch.div(rest, size, rounding_mode="trunc")
    return torch.stack([rest, *found[::-1]])


def _whole(data: Tensor) -> Tensor:
    return data.trunc() if data.is_floating_point() else data


_ravel_multi_index.grad(zeros)
_unravel_index.grad(zeros)


@op(names_input=True)
def _histogram(
    data: Tensor,
    bins: Tensor | None = None,
    bin_cnt: int | None = None,
    range: Floats | None = None,
) -> tuple[Tensor, Tensor]:
    """How many values lie in each bin, as int64, and the edges of the bins.

    The edges are `bins`, ascending, or those of `bin_cnt` bins that share the `range` evenly. Each
    bin has its lower edge, the last one both; values outside are not counted.
    """
    if (bin_cnt is None) is not (range is None) or (bin_cnt is None) is (bins is None):
        given = None if bins is None else tuple(bins.shape)
        raise ArgumentError(
            f"_histogram: bins is {given}, bin_cnt is {bin_cnt}, range is {range}\n"
            "  expected bins, or bin_cnt and range"
        )
    if bins is None:
        if bin_cnt < 1 or len(range) != 2:
            raise ArgumentError(
                f"_histogram: bin_cnt is {bin_cnt}, range is {range}\n"
                "  expected 1 bin or more, and (least, most)"
            )
        low, high = _ends(*range)
        bins = torch.arange(bin_cnt + 1, dtype=torch.float64) * ((high - low) / bin_cnt) + low
        bins[-1] = high  # as NumPy has them, to the last bit
        bins = bins.to(data)
    else:
        if bins.dim() != 1 or len(bins) < 2:
            raise ShapeError(
                f"_histogram: bins is {tuple(bins.shape)}\n"
                "  expected two edges or more, on one axis"
            )
        low, high = bins[0], bins[-1]
    x = data.detach().reshape(-1)
    inside = ((x >= low) & (x <= high)).long()
    if bin_cnt is not None and x.is_floating_point():
        at = _bin(x, bins, low, high)
    else:
        at = torch.bucketize(x, bins[1:-1].to(x.dtype), right=True)
    count = torch.zeros(len(bins) - 1, dtype=torch.int64, device=x.device)
    count = count.index_add(0, at.clamp(0, len(bins) - 2), inside)
    return count, constant(bins.clone(), data)


def _bin(x, edges, low, high):
    """The bins of numbers, which share a range evenly: a sixth of the time of a search."""
    last = len(edges) - 2
    at = ((x - low) * ((last + 1) / (high - low))).long().clamp(0, last)
    return at + (x >= edges[at + 1]).long() - (x < edges[at]).long()


def _ends(low, high):
    if not low <= high:
        raise ArgumentError(f"_histogram: range is {(low, high)}\n  expected (least, most)")
    return (low, high) if low < high else (low - 0.5, high + 0.5)


@_histogram.gives
def _():
    return 2


@_histogram.takes
def _(bin_cnt):
    return ("data", "bins") if bin_cnt is None else ("data",)


@_histogram.types
def _(data):
    return torch.int64, data
