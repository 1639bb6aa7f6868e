"""NumPy's functions of indices, conditions, and the numbers of elements."""

from __future__ import annotations

import inspect
from typing import Literal

import torch

from ..base import ArgumentError, UnsupportedError
from ..ndarray._index import get
from .attributes import Slice
from .np_arithmetic import promoted
from .registry import REQUIRED, Tensor, family, op, zeros


@op
def _npi_take(
    a: Tensor,
    indices: Tensor,
    axis: int | None = 0,
    mode: Literal["raise", "clip", "wrap"] = "raise",
) -> Tensor:
    """The slices of `a` at the indices, whose shape takes the place of the axis."""
    if axis is None:
        a, axis = a.reshape(-1), 0
    axis = axis % a.dim()
    at, size = indices.long(), a.shape[axis]
    if mode == "clip":
        at = at.clamp(0, size - 1)
    elif mode == "wrap":
        at = at % size
    elif at.numel() and not at.is_meta and not -size <= int(at.min()) <= int(at.max()) < size:
        raise IndexError(f"take: an index is out of bounds for axis {axis} with size {size}")
    at = torch.where(at < 0, at + size, at)
    y = a.index_select(axis, at.reshape(-1))
    return y.reshape(a.shape[:axis] + at.shape + a.shape[axis + 1 :])


_npi_take.types(lambda a: a)


@op
def _npi_where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x where the condition is not 0, else y."""
    if x.dtype is not y.dtype:
        dtype = promoted(x, y)
        x, y = x.to(dtype), y.to(dtype)
    return torch.where(condition != 0, x, y)


@op
def _npi_where_lscalar(condition: Tensor, x: Tensor, scalar: float = 0.0) -> Tensor:
    """x where the condition is not 0, else the scalar."""
    return torch.where(condition != 0, x, _in_kind(scalar, x))


@op
def _npi_where_rscalar(condition: Tensor, y: Tensor, scalar: float = 0.0) -> Tensor:
    """The scalar where the condition is not 0, else y."""
    return torch.where(condition != 0, _in_kind(scalar, y), y)


@op
def _npi_where_scalar2(condition: Tensor, x: float = 0.0, y: float = 0.0) -> Tensor:
    """x where the condition is not 0, else y, which are numbers; float32."""
    return torch.where(condition != 0, torch.tensor(float(x)), torch.tensor(float(y)))


def _in_kind(number, like):
    """Return a number as a tensor that does not change integers without need."""
    whole = not like.is_floating_point() and number % 1 == 0
    dtype = like.dtype if whole else torch.result_type(like, float(number))
    return torch.tensor(int(number) if whole else number, dtype=dtype, device=like.device)


_npi_where.types(lambda x, y: promoted(torch.empty(0, dtype=x), torch.empty(0, dtype=y)))
_npi_where_lscalar.types(lambda x: x)
_npi_where_rscalar.types(lambda y: y)
_npi_where_scalar2.types(lambda: torch.float32)


@op("_npi_nonzero")
def _npx_nonzero(a: Tensor) -> Tensor:
    """The indices of the elements that are not 0, a row for each: int64."""
    return torch.nonzero(a if a.dim() else a.reshape(1))


_npx_nonzero.types(lambda: torch.int64)
_npx_nonzero.grad(zeros)


@op(view=True)
def _npi_slice(
    data: Tensor, begin: Slice = REQUIRED, end: Slice = REQUIRED, step: Slice = ()
) -> Tensor:
    """The elements at [begin:end:step] of the first axes, as NumPy has them."""
    steps = step or (None,) * len(begin)
    return get(data, tuple(map(slice, begin, end, steps)), True)[0]


@op
def _npi_boolean_mask(data: Tensor, index: Tensor, axis: int = 0) -> Tensor:
    """The elements where a mask of the axes from `axis` on is not 0."""
    if data.is_meta:
        raise UnsupportedError("boolean_mask: the shape is known only at run time")
    return data[(slice(None),) * axis + (index != 0,)]


def _masked(data, mask, start_axis):
    """Return the mask with the axes of the data."""
    behind = data.dim() - start_axis - mask.dim()
    return (mask != 0).reshape((1,) * start_axis + mask.shape + (1,) * behind)


@op
def _npi_boolean_mask_assign_scalar(
    data: Tensor, mask: Tensor, value: float = REQUIRED, start_axis: int = 0
) -> Tensor:
    """The data with a number where the mask is not 0."""
    return torch.where(_masked(data, mask, start_axis), data.new_tensor(value), data)


@op
def _npi_boolean_mask_assign_tensor(
    data: Tensor, mask: Tensor, value: Tensor, start_axis: int = 0
) -> Tensor:
    """The data with other values where the mask is not 0."""
    if not data.dim():
        return torch.where(mask != 0, value.reshape(()), data)
    key = (slice(None),) * start_axis + (mask != 0,)
    return data.clone().index_put(_with_positions(data, key), value.to(data.dtype))


def _with_positions(data, key):
    """Return a key of slices and a mask as arrays of indices."""
    places = torch.arange(data.numel(), device=data.device).reshape(data.shape)[key]
    return torch.unravel_index(places, data.shape)


@op
def _npi_bincount(
    x: Tensor, weights: Tensor | None = None, minlength: int = 0, has_weights: bool = False
) -> Tensor:
    """Count each integer from 0 on in an array, or sum its weights."""
    return torch.bincount(x, weights, minlength)


@_npi_bincount.takes
def _(has_weights):
    return ["x", "weights"] if has_weights else ["x"]


@op
def _npi_diag_indices_from(arr: Tensor) -> Tensor:
    """The indices of the diagonal, a row for each axis: int64."""
    if arr.dim() < 2 or len(set(arr.shape)) != 1:
        raise ArgumentError(
            f"diag_indices_from: the array is {tuple(arr.shape)}\n"
            "  expected two axes or more of one size"
        )
    return torch.arange(arr.shape[0], device=arr.device).expand(arr.dim(), -1).clone()


_npi_diag_indices_from.types(lambda: torch.int64)


@op
def _npx_constraint_check(x: Tensor, msg: str = "Constraint violated.") -> Tensor:
    """True, a bool of the shape (), where no element is 0.

    Raises
    ------
    ArgumentError
        An element is 0: with the message.
    """
    if not x.is_meta and not bool(x.all()):
        raise ArgumentError(msg)
    return torch.ones((), dtype=torch.bool, device=x.device)


_npx_constraint_check.types(lambda: torch.bool)


@op
def _npi_unravel_index(indices: Tensor, shape: tuple[int, ...] = REQUIRED) -> Tensor:
    """The indices of places of the flattened array, a row for each axis."""
    return torch.stack(torch.unravel_index(indices.long(), shape))


_npi_unravel_index.types(lambda: torch.int64)


def _places(size, obj, start, stop, step, int_ind):
    """Return the places along an axis that an index, a slice or an array means."""
    if obj is not None:
        at = torch.nonzero(obj).reshape(-1) if obj.dtype is torch.bool else obj.long().reshape(-1)
    elif int_ind is not None:
        at = torch.tensor([int_ind])
    else:
        at = torch.tensor(range(*slice(start, stop, step).indices(size)), dtype=torch.int64)
    if at.numel() and not -size <= int(at.min()) <= int(at.max()) <= size:
        raise IndexError(f"index {at.tolist()} is out of bounds for an axis of size {size}")
    return torch.where(at < 0, at + size, at)


@op
def _npi_delete(
    arr: Tensor,
    obj: Tensor | None = None,
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    int_ind: int | None = None,
    axis: int | None = None,
) -> Tensor:
    """The array without the slices at some places along an axis."""
    if axis is None:
        arr, axis = arr.reshape(-1), 0
    kept = torch.ones(arr.shape[axis], dtype=torch.bool)
    if obj is None or obj.dtype is torch.bool:
        at = _places(arr.shape[axis], obj, start, stop, step, int_ind)
    else:  # as MXNet, which ignores those that are out of bounds, and negative ones
        at = obj[(obj >= 0) & (obj < arr.shape[axis])].long()
    kept[at] = False
    return arr.index_select(axis, torch.nonzero(kept).reshape(-1).to(arr.device))


def _inserted(arr, values, at, axis):
    """Return arr with values before the places `at`; one place takes them all."""
    if values.dim() < arr.dim() and len(at) == 1:
        values = values.expand(arr.shape[:axis] + arr.shape[axis + 1 :]).unsqueeze(axis)
    wanted = list(arr.shape)
    wanted[axis] = values.shape[axis] if values.dim() == arr.dim() and len(at) == 1 else len(at)
    at = at.expand(wanted[axis])
    order = torch.argsort(at, stable=True)
    source = torch.empty(arr.shape[axis] + len(at), dtype=torch.int64)
    is_new = torch.zeros(len(source), dtype=torch.bool)
    is_new[at[order] + torch.arange(len(at))] = True
    source[is_new], source[~is_new] = arr.shape[axis] + order, torch.arange(arr.shape[axis])
    joined = torch.cat([arr, values.to(arr.dtype).expand(wanted)], axis)
    return joined.index_select(axis, source.to(arr.device))


def insertion(name, doc, *extra):
    """Register a form of `insert`; with the input `obj` the places are an array."""

    def template(extra):
        def row(
            arr: Tensor,
            values: Tensor | None = None,
            obj: Tensor | None = None,
            val: float | None = None,
            start: int | None = None,
            stop: int | None = None,
            step: int | None = None,
            int_ind: int | None = None,
            axis: int | None = None,
        ) -> Tensor:
            if axis is None:
                arr, axis = arr.reshape(-1), 0
            values = arr.new_tensor(val) if values is None else values
            at = _places(arr.shape[axis], obj, start, stop, step, int_ind)
            return _inserted(arr, values, at, axis % arr.dim())

        signature = inspect.signature(row)
        left = [p for p in signature.parameters.values() if p.name != "obj" or extra]
        row.__signature__ = signature.replace(parameters=left)
        return row

    row = family(template, extra, name, doc)
    row.takes(lambda val: ["arr", *["values"] * (val is None), *extra])


insertion("_npi_insert_scalar", "The array with values before one place along an axis.")
insertion("_npi_insert_slice", "The array with values before the places of a slice.")
insertion("_npi_insert_tensor", "The array with values before the places of an array.", "obj")
