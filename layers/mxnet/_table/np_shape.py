"""NumPy's functions that change the shape, the order or the number of the elements."""

from __future__ import annotations

import math
from typing import Literal

import torch

from ..base import ArgumentError, ShapeError
from ..ndarray._index import np_reshaped
from .attributes import Axis, Shape, Shapes
from .np_arithmetic import promoted
from .registry import REQUIRED, Tensor, family, op, zeros
from .shape import Reshape, transpose


@op(view=True)
def _np_reshape(a: Tensor, newshape: Shape = REQUIRED, order: str = "C", out=None) -> Tensor:
    """The elements in another shape, in which -1 is the size that remains."""
    return a.reshape(_whole_shape("reshape", a, newshape, order))


@_np_reshape.back
def _(inputs, output):
    return Reshape.back_rule(inputs, output)


def _whole_shape(name, a, shape, order):
    if order != "C":
        raise ArgumentError(f"{name}: order is {order!r}\n  expected 'C'")
    size = math.prod(n for n in shape if n != -1)
    count = a.numel()
    if (
        shape.count(-1) > 1
        or (size * (count // size if size else 0) if -1 in shape else size) != count
    ):
        raise ShapeError(f"{name}: {tuple(a.shape)} cannot take the shape {shape}")
    return [(count // size if size else 0) if n == -1 else n for n in shape]


@op("_npi_reshape", view=True)
def _npx_reshape(
    a: Tensor, newshape: Shape = REQUIRED, reverse: bool = False, order: str = "C"
) -> Tensor:
    """The elements in another shape.

    -1 is the size that remains, -2 keeps a size, -3 leaves out one of 1, -4 keeps all that remain,
    -5 joins two, -6 splits one into the two that follow; `reverse` reads all of it from the right.
    """
    return a.reshape(np_reshaped(tuple(a.shape), newshape, reverse))


@op(view=True)
def _np_transpose(a: Tensor, axes: Shape | None = None) -> Tensor:
    """The axes in another order; reversed where none is given."""
    return transpose.function(a, axes or ())


@op(view=True)
def _np_squeeze(a: Tensor, axis: Axis = None, out=None) -> Tensor:
    """Without the axes of size 1: all of them, or those given."""
    if axis is None:
        return a.squeeze()
    wrong = [i for i in axis if a.shape[i] != 1]
    if wrong:
        raise ShapeError(
            f"squeeze: axis {wrong[0]} of {tuple(a.shape)} has size {a.shape[wrong[0]]}\n"
            "  expected size 1"
        )
    return a.squeeze(axis)


@op(view=True)
def _np_moveaxis(a: Tensor, source: Shape = REQUIRED, destination: Shape = REQUIRED) -> Tensor:
    """Axes in other places; the others keep their order."""
    return torch.movedim(a, source, destination)


@op
def _np_roll(a: Tensor, shift: Axis = None, axis: Axis = None) -> Tensor:
    """The elements moved along axes, the last ones to the beginning."""
    if shift is None:
        raise ArgumentError("roll: shift is missing\n  expected roll(a, shift, axis=None)")
    if axis is not None and len(shift) == 1:
        shift = shift * len(axis)
    return torch.roll(a, shift, axis)


@op
def _npi_flip(m: Tensor, axis: Axis = None, out=None) -> Tensor:
    """The elements in reverse order along axes, by default all."""
    return m.flip(tuple(range(m.dim())) if axis is None else axis)


@op
def _npi_rot90(m: Tensor, k: int = 1, axes: Axis = None) -> Tensor:
    """The elements turned by k times 90 degrees in the plane of two axes."""
    plane = (0, 1) if axes is None else axes
    if len(plane) != 2 or plane[0] % m.dim() == plane[1] % m.dim():
        raise ArgumentError(f"rot90: axes are {plane}\n  expected two axes")
    return torch.rot90(m, k, plane)


@op(view=True)
def _npi_broadcast_to(array: Tensor, shape: Shape = ()) -> Tensor:
    """The values repeated to a shape."""
    return array.expand(shape)


@op(view=True)
def _np_copy(a: Tensor, out=None) -> Tensor:
    """The same values, as a new array."""
    return a


@op(view=True)
def _npi_swapaxes(a: Tensor, dim1: int = 0, dim2: int = 0) -> Tensor:
    """Two axes in each other's place."""
    return a.transpose(dim1, dim2)


@op(view=True)
def _npi_expand_dims(a: Tensor, axis: Shape = REQUIRED) -> Tensor:
    """New axes of size 1, at these places of the result."""
    count = a.dim() + len(axis)
    for place in sorted(i + count if i < 0 else i for i in axis):
        a = a.unsqueeze(place)
    return a


# Of several arrays


def _alike(arrays):
    """Return the arrays in one dtype, in which they meet."""
    first = arrays[0]
    for x in arrays[1:]:
        if x.dtype is not first.dtype:
            dtype = promoted(first, x)
            return _alike([a.to(dtype) for a in arrays])
    return arrays


def joined(name, function, doc):
    """Register y = function(*data), the arrays in the dtype in which they meet."""

    def template(function):
        def row(*data: Tensor) -> Tensor:
            return function(_alike(data))

        return row

    return family(template, function, name, doc)


joined("_npi_vstack", torch.vstack, "The arrays as rows of one, one after the other.")
joined("_npi_column_stack", torch.column_stack, "The arrays as columns of one.")


@op
def _npi_hstack(*data: Tensor, dim: int = 1) -> Tensor:
    """The arrays one after the other along axis 1, or 0 where there is one axis."""
    return torch.hstack(_alike(data))


@op
def _npi_dstack(*data: Tensor, dim: int = 1) -> Tensor:
    """The arrays one after the other along axis 2."""
    return torch.dstack(_alike(data))


@op
def _npi_concatenate(*data: Tensor, dim: int | None = 1) -> Tensor:
    """The arrays one after the other along an axis; None: all of them flattened."""
    data = _alike(data)
    if dim is None:
        return torch.cat([x.reshape(-1) for x in data])
    if any(not x.dim() for x in data):
        raise ShapeError("concatenate: an array has no axes\n  expected axes in all of them")
    return torch.cat([x for x in data if x.dim() > 1 or x.numel()] or data, dim)


@op
def _npi_stack(*data: Tensor, axis: int = 0) -> Tensor:
    """The arrays one after the other along a new axis."""
    return torch.stack(_alike(data), axis)


for _count, _function in ((1, torch.atleast_1d), (2, torch.atleast_2d), (3, torch.atleast_3d)):

    def _template(function):
        def row(*arys: Tensor, num_args: int = 1) -> tuple[Tensor, ...]:
            return tuple([function(x) for x in arys])

        return row

    _doc = f"The arrays with {_count} axes or more."
    _row = family(_template, _function, f"_np_atleast_{_count}d", _doc, view=True)
    _row.gives(lambda num_args: num_args)


@op("_npi_dsplit", view=True)
def _npi_split(
    ary: Tensor,
    indices: Shape = REQUIRED,
    axis: int = 0,
    squeeze_axis: bool = False,
    sections: int = 0,
) -> tuple[Tensor, ...]:
    """Parts along an axis: so many equal `sections`, or one from each index to the next."""
    if sections:
        if ary.shape[axis] % sections:
            raise ShapeError(
                f"split: axis {axis} of {tuple(ary.shape)} has size {ary.shape[axis]}\n"
                f"  expected a multiple of {sections}"
            )
        parts = (
            ary.split(ary.shape[axis] // sections, axis) if ary.shape[axis] else [ary] * sections
        )
    else:
        size = ary.shape[axis]
        inside = [min(max(i + size if i < 0 else i, 0), size) for i in indices]
        ends = [*inside[1:], size] if indices[0] == 0 else [*inside, size]
        begins = inside if indices[0] == 0 else [0, *inside]
        parts = [ary.narrow(axis, b, max(e - b, 0)) for b, e in zip(begins, ends)]
    return tuple([p.squeeze(axis) for p in parts] if squeeze_axis else parts)


@op(view=True)
def _npi_hsplit(
    ary: Tensor,
    indices: Shape = REQUIRED,
    axis: int = 1,
    squeeze_axis: bool = False,
    sections: int = 0,
) -> tuple[Tensor, ...]:
    """Parts along axis 1, or 0 where there is one axis; as of `split`."""
    return _npi_split.function(ary, indices, min(ary.dim() - 1, 1), squeeze_axis, sections)


@_npi_hsplit.gives
@_npi_split.gives
def _(indices, sections):
    return sections or len(indices) + (not indices or indices[0] != 0)


@op(view=True)
def _npi_array_split(ary: Tensor, sections: int = REQUIRED, axis: int = 0) -> tuple[Tensor, ...]:
    """So many parts along an axis, of which the first are one longer where they cannot be equal."""
    return torch.tensor_split(ary, sections, axis)


_npi_array_split.gives(lambda sections: sections)


# Repeated, padded and cut


@op
def _npi_resize(a: Tensor, new_shape: Shape = REQUIRED) -> Tensor:
    """The elements in another shape, again and again; zeros where there are none."""
    count, flat = math.prod(new_shape), a.reshape(-1)
    if not len(flat):
        return a.new_zeros(new_shape)
    return flat.repeat(-(-count // len(flat)))[:count].reshape(new_shape)


@op
def _npi_tile(A: Tensor, reps: Shape = REQUIRED) -> Tensor:
    """The array repeated along each axis."""
    return torch.tile(A, reps)


@op
def _np_repeat(a: Tensor, repeats: Shape = REQUIRED, axis: int | None = None) -> Tensor:
    """Each element so many times, along an axis; by default of the flattened array."""
    if axis is None:
        a, axis = a.reshape(-1), 0
    counts = repeats[0] if len(repeats) == 1 else torch.tensor(repeats, device=a.device)
    return torch.repeat_interleave(a, counts, axis)


def diagonal(name, function, doc, **rules):
    """Register y = function(array, k)."""

    def template(function):
        def row(array: Tensor, k: int = 0) -> Tensor:
            return function(array, k)

        return row

    return family(template, function, name, doc, **rules)


diagonal("_np_diag", torch.diag, "The k-th diagonal of a matrix, or the matrix of a diagonal.")
diagonal("_np_diagflat", torch.diagflat, "The matrix whose k-th diagonal has all the elements.")


@op
def _npi_tril(m: Tensor, k: int = 0) -> Tensor:
    """The matrices with zeros above the k-th diagonal; of one axis, a matrix of equal rows."""
    return torch.tril(m if m.dim() > 1 else m.expand(len(m), len(m)), k)


@op(view=True)
def _np_diagonal(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal of the plane of two axes, as the last axis."""
    return torch.diagonal(a, offset, axis1, axis2)


@op
def _np_trace(a: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, out=None) -> Tensor:
    """The sum of a diagonal of the plane of two axes."""
    return torch.diagonal(a, offset, axis1, axis2).sum(-1, dtype=a.dtype)


Mode = Literal["constant", "edge", "maximum", "minimum", "reflect", "symmetric"]


@op
def _npi_pad(
    x: Tensor,
    pad_width: Shapes = REQUIRED,
    mode: Mode = "constant",
    constant_value: float = 0.0,
    reflect_type: str = "even",
) -> Tensor:
    """Elements added before and after, (before, after) for each axis.

    They are `constant_value`, the element at the edge, the largest or the smallest of the axis,
    or the elements in reverse order without the one at the edge, or with it.
    """
    for axis, (before, after) in enumerate(pad_width):
        if before or after:
            x = _padded(x, axis, before, after, mode, constant_value)
    return x


def _padded(x, axis, before, after, mode, value):
    size = x.shape[axis]
    if mode in ("constant", "maximum", "minimum"):
        shape = list(x.shape)
        shape[axis] = 1
        if mode == "constant":
            one = x.new_full(shape, value)
        else:
            one = (torch.amax if mode == "maximum" else torch.amin)(x, axis, True)
        repeated = [one.repeat_interleave(n, axis) for n in (before, after)]
        return torch.cat([repeated[0], x, repeated[1]], axis)
    at = torch.arange(-before, size + after, device=x.device)
    if mode == "edge":
        at = at.clamp(0, size - 1)
    else:
        period = 2 * size if mode == "symmetric" else max(2 * size - 2, 1)
        at = at % period
        at = torch.where(at < size, at, period - (mode == "symmetric") - at)
    return x.index_select(axis, at)


@op
def _npi_clip(
    a: Tensor, a_min: float | None = REQUIRED, a_max: float | None = REQUIRED, out=None
) -> Tensor:
    """The values, none below `a_min` or above `a_max`; None bounds nothing."""
    if a_min is None and a_max is None:
        raise ArgumentError("clip: a_min and a_max are None\n  expected a number for one of them")
    if not a.is_floating_point():
        a_min, a_max = (n if n is None or n % 1 else int(n) for n in (a_min, a_max))
    return torch.clamp(a, a_min, a_max).to(a.dtype)


@op
def _npi_diff(a: Tensor, n: int = 1, axis: int = -1) -> Tensor:
    """The n-th differences between neighbours along an axis."""
    if n < 0:
        raise ArgumentError(f"diff: n is {n}\n  expected 0 or more")
    return torch.diff(a, n, axis)


@op
def _npi_ediff1d(
    ary: Tensor,
    to_begin: Tensor | None = None,
    to_end: Tensor | None = None,
    to_begin_arr_given: bool = False,
    to_end_arr_given: bool = False,
    to_begin_scalar: float | None = None,
    to_end_scalar: float | None = None,
) -> Tensor:
    """The differences between the elements that follow each other, with others around them."""
    parts = [torch.diff(ary.reshape(-1))]
    if to_begin is not None or to_begin_scalar is not None:
        first = ary.new_tensor([to_begin_scalar]) if to_begin is None else to_begin.reshape(-1)
        parts.insert(0, first)
    if to_end is not None or to_end_scalar is not None:
        parts += [ary.new_tensor([to_end_scalar]) if to_end is None else to_end.reshape(-1)]
    return torch.cat(_alike(parts))


@_npi_ediff1d.takes
def _(to_begin_arr_given, to_end_arr_given):
    given = ["to_begin"] * to_begin_arr_given + ["to_end"] * to_end_arr_given
    return ["ary", *given]


# Sorted


@op
def _npi_sort(a: Tensor, axis: int | None = -1, is_ascend: bool = True) -> Tensor:
    """The values in order along an axis; without one all of them."""
    if axis is None or not a.dim():
        a, axis = a.reshape(-1), 0
    return torch.sort(a, axis, not is_ascend).values


@op
def _npi_argsort(a: Tensor, axis: int | None = -1, is_ascend: bool = True) -> Tensor:
    """The indices that bring the values in order, int64."""
    if axis is None:
        a, axis = a.reshape(-1), 0
    return torch.sort(a, dim=axis, descending=not is_ascend, stable=True).indices


_npi_argsort.types(lambda: torch.int64)
_npi_argsort.grad(zeros)


@op
def _npi_unique(
    ar: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> tuple[Tensor, ...]:
    """The values in order, each once, and what is asked for of where they are, as int64."""
    x = ar.reshape(-1) if axis is None else ar
    dim = 0 if axis is None else axis
    found, inverse, counts = torch.unique(x, True, True, True, dim=dim)
    inverse = inverse.reshape(-1)
    n = len(inverse)
    first = torch.full_like(counts, n).scatter_reduce(
        0, inverse, torch.arange(n, device=ar.device), "amin"
    )
    asked = ((first, return_index), (inverse, return_inverse), (counts, return_counts))
    return (found, *[y for y, is_asked in asked if is_asked])


@_npi_unique.gives
def _(return_index, return_inverse, return_counts):
    return 1 + return_index + return_inverse + return_counts
