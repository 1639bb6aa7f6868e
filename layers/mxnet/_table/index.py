"""Elements picked by index, and written by index.

Indices come in any dtype and are cut to integers. `mode` says what one outside does: ``clip`` takes
the nearest, ``wrap`` counts on from the other end, ``raise`` is an error.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F

from ..base import ArgumentError, BoundsError, ShapeError, UnsupportedError
from .attributes import DType, Shape, Slice
from .registry import REQUIRED, Tensor, op, zeros
from .shape import forward

FEW = 2**14  # elements of `one_hot` up to which comparing takes less than scattering, by up to half
Mode = Literal["clip", "raise", "wrap"]


def _inside(name, index, size, mode):
    """The indices as integers from 0 to size - 1."""
    index = index.long()
    if mode == "wrap":
        return index.remainder(size)
    if mode == "clip":
        return index.clamp(0, size - 1)
    check_inside(name, index, 0, size - 1)
    return index


def check_inside(name, index, lowest, highest, what="an index"):
    """One outside is an error here; on a GPU it would end the process.

    Raises
    ------
    BoundsError
        An index is below the lowest or above the highest.
    """
    if not index.numel() or index.is_meta or torch.compiler.is_compiling():
        return
    low, high = (int(end) for end in index.aminmax())
    if low < lowest or high > highest:
        worst = low if low < lowest else high
        raise BoundsError(f"{name}: {what} is {worst}\n  expected {lowest} to {highest}")


@op
def take(a: Tensor, indices: Tensor, axis: int = 0, mode: Mode = "clip") -> Tensor:
    """The slices of `a` at the indices; the shape of the indices takes the place of the axis."""
    axis = axis % a.dim() if -a.dim() <= axis < a.dim() else axis
    index = _inside("take", indices, a.shape[axis], mode)
    y = a.index_select(axis, index.reshape(-1))
    return y if index.dim() == 1 else y.reshape(*a.shape[:axis], *index.shape, *a.shape[axis + 1 :])


@take.shaped
def _(a, indices, axis):
    if not -len(a) <= axis < len(a):
        return None
    axis %= len(a)
    return *a[:axis], *indices, *a[axis + 1 :]


@op
def Embedding(
    data: Tensor,
    weight: Tensor,
    input_dim: int = REQUIRED,
    output_dim: int = REQUIRED,
    dtype: DType = torch.float32,
    sparse_grad: bool = False,
) -> Tensor:
    """The rows of `weight` at the indices in `data`; those outside take the nearest row.

    data : (...)      weight : (input_dim, output_dim)      y : (..., output_dim)

    With `sparse_grad` the gradient of a variable has its rows alone, if it is kept as row_sparse.

    Raises
    ------
    ShapeError
        `weight` is not (input_dim, output_dim).
    """
    if tuple(weight.shape) != (input_dim, output_dim):
        raise ShapeError(
            f"Embedding: weight is {tuple(weight.shape)}\n"
            f"  expected (input_dim, output_dim) = ({input_dim}, {output_dim})"
        )
    # What is no variable has its gradient from operators that take no sparse one.
    sparse = sparse_grad and weight.is_leaf and weight.requires_grad
    return F.embedding(data.long().clamp(0, input_dim - 1), weight, sparse=sparse)


@Embedding.typed
def embedding_types(dtype):
    return {"weight": dtype}


@Embedding.shaped
def embedding_shape(data, output_dim):
    return *data, output_dim


@Embedding.infer
def embedding_inputs(input_dim, output_dim):
    return {"weight": (input_dim, output_dim)}


@Embedding.sends_rows
def _(sparse_grad):
    return ("weight",) if sparse_grad else ()


@op(names_input=True)
def one_hot(
    indices: Tensor,
    depth: int = REQUIRED,
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DType = torch.float32,
) -> Tensor:
    """`on_value` at the index and `off_value` elsewhere, along a new last axis of size `depth`."""
    at = indices.long().unsqueeze(-1)
    is_usual = on_value == 1 and off_value == 0 and not torch.compiler.is_compiling()
    if is_usual and at.numel() * depth <= FEW:
        return (at == torch.arange(depth, device=at.device)).to(dtype)
    y = torch.full((*indices.shape, depth), off_value, dtype=dtype, device=indices.device)
    if not depth:
        return y
    on, off = y.new_full((), on_value), y.new_full((), off_value)
    value = torch.where((at >= 0) & (at < depth), on, off)
    return y.scatter_(-1, at.clamp(0, depth - 1), value)


@one_hot.shaped
def _(indices, depth):
    return (*indices, depth) if depth > 0 else None


one_hot.grad(zeros)


@op("choose_element_0index")
def pick(
    data: Tensor,
    index: Tensor,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Literal["clip", "wrap"] = "clip",
) -> Tensor:
    """One element along an axis for each place of the others.

    index : the shape of data without the axis, or with size 1 there

    Raises
    ------
    UnsupportedError
        `axis` is None.
    ShapeError
        `index` does not have the shape of `data` without the axis.
    """
    if axis is None:
        raise UnsupportedError("pick: axis is None\n  expected an axis")
    shape = list(data.shape)
    size, shape[axis] = shape[axis], 1
    if index.numel() != math.prod(shape):
        hot = index.shape == data.shape  # labels with a number for each class
        raise ShapeError(
            f"pick: index is {tuple(index.shape)}\n"
            f"  expected data {tuple(data.shape)} without axis {axis}, or with size 1 there"
            + "; SoftmaxCrossEntropyLoss(sparse_label=False) takes one-hot labels"
            * hot
        )
    at = _inside("pick", index, size, mode).reshape(shape)
    y = _gathered(data, axis, at)
    return y if keepdims or y.dim() == 1 else y.squeeze(axis)


@op
def fill_element_0index(lhs: Tensor, mhs: Tensor, rhs: Tensor) -> Tensor:
    """A matrix with other values in some places: y[i, rhs[i]] = mhs[i], the rest from lhs.

    Raises
    ------
    ShapeError
        The shapes are not (n, m), (n,) and (n,).
    """
    if lhs.dim() != 2 or mhs.shape != lhs.shape[:1] or rhs.shape != lhs.shape[:1]:
        raise ShapeError(
            f"fill_element_0index: lhs is {tuple(lhs.shape)}, mhs {tuple(mhs.shape)}, "
            f"rhs {tuple(rhs.shape)}\n  expected (n, m), (n,) and (n,)"
        )
    at = rhs.long()
    check_inside("fill_element_0index", at, 0, lhs.shape[1] - 1)
    return lhs.scatter(1, at[:, None], mhs.to(lhs.dtype)[:, None])


def _gathered(data, axis, at):
    if not (torch.compiler.is_compiling() and data.requires_grad):
        return data.gather(axis, at)
    # The gradient of a gather is a call of its own, which the compiler fuses with nothing.
    places = torch.arange(data.shape[axis], device=data.device)
    places = places.reshape([-1 if k == axis % data.dim() else 1 for k in range(data.dim())])
    return torch.where(places == at, data, 0).sum(axis, keepdim=True, dtype=data.dtype)


@pick.back
def _(inputs, axis, keepdims):
    """The index, which may have the axis or not, whatever `keepdims` is."""
    data, index = inputs
    if not data or axis is None:
        return inputs
    axis %= len(data)
    has_axis = len(index) == len(data) if index else keepdims
    return [data, (*data[:axis], *[1] * has_axis, *data[axis + 1 :])]


@pick.shaped
def _picked_shape(data, index, axis, keepdims):
    if axis is None or not -len(data) <= axis < len(data):
        return None
    axis %= len(data)
    rest = data[:axis] + data[axis + 1 :]
    if math.prod(index) != math.prod(rest):
        return None
    return (*data[:axis], 1, *data[axis + 1 :]) if keepdims or not rest else rest


@op
def batch_take(a: Tensor, indices: Tensor) -> Tensor:
    """One element of each row: y[i] = a[i, indices[i]]."""
    return pick.run(a, indices)


@batch_take.shaped
def _(a, indices):
    return _picked_shape(a, indices, -1, False)


@op
def gather_nd(data: Tensor, indices: Tensor) -> Tensor:
    """y[i] = data[indices[0, i], ..., indices[m - 1, i]], for every place i.

    data : (a1, ..., an)      indices : (m, ...)      y : (..., a(m+1), ..., an)

    Raises
    ------
    ShapeError
        `indices` has fewer than 2 axes, or its first is longer than the number of axes that there
        are.
    """
    return data[_places("gather_nd", indices, data.shape)]


@op
def scatter_nd(data: Tensor, indices: Tensor, shape: Shape = REQUIRED) -> Tensor:
    """Zeros, with data[i] at indices[0, i], ..., indices[m - 1, i]; of equal indices one stays.

    Raises
    ------
    ShapeError
        `indices` has fewer than 2 axes, or its first is longer than the number of axes that there
        are.
    """
    places = _places("scatter_nd", indices, shape)
    return data.new_zeros(shape).index_put(places, data)


@gather_nd.shaped
def _(data, indices):
    fits = len(indices) > 1 and indices[0] <= len(data)
    return (*indices[1:], *data[indices[0] :]) if fits else None


@scatter_nd.shaped
def _(data, indices, shape):
    fits = len(indices) > 1 and indices[0] <= len(shape)
    return shape if fits and data == (*indices[1:], *shape[indices[0] :]) else None


def _of_data(data):
    return data


for _row in (pick, gather_nd, scatter_nd):
    _row.types(_of_data)  # whatever that of the indices is


@take.types
@batch_take.types
def _(a):
    return a


@scatter_nd.grad
def _(dy, indices):
    return dy[tuple(indices.long().unbind())]


@op
def _scatter_set_nd(lhs: Tensor, rhs: Tensor, indices: Tensor, shape: Shape = REQUIRED) -> Tensor:
    """lhs with rhs[i] at indices[0, i], ..., indices[m - 1, i]."""
    return lhs.index_put(_places("_scatter_set_nd", indices, lhs.shape), rhs)


def _places(name, indices, shape):
    """The indices along each axis."""
    if indices.dim() < 2 or len(indices) > len(shape):
        raise ShapeError(
            f"{name}: indices is {tuple(indices.shape)} for {tuple(shape)}\n"
            "  expected 2 axes or more, the first as long as the number of axes indexed"
        )
    places = tuple(indices.long().unbind())
    for index, size in zip(places, shape):
        check_inside(name, index, -size, size - 1)
    return places


def positions(data, axis):
    """0, 1, ... along an axis, in a shape that broadcasts with data."""
    shape = [1] * data.dim()
    shape[axis] = -1
    return torch.arange(data.shape[axis], device=data.device).reshape(shape)


def _lengths(name, data, sequence_length, use_sequence_length, axis):
    """The length of each sequence, in a shape that broadcasts with data; None: all are whole."""
    if data.dim() < 2:
        raise ShapeError(f"{name}: data is {tuple(data.shape)}\n  expected (time, batch, ...)")
    if (sequence_length is None) is use_sequence_length:
        given = "is missing" if use_sequence_length else f"is {tuple(sequence_length.shape)}"
        raise ArgumentError(
            f"{name}: sequence_length {given}\n"
            f"  expected use_sequence_length={not use_sequence_length}"
        )
    if sequence_length is None:
        return None
    if axis not in (0, 1) or sequence_length.numel() != data.shape[1 - axis]:
        raise ShapeError(
            f"{name}: sequence_length is {tuple(sequence_length.shape)}, axis is {axis}\n"
            f"  expected axis 0 or 1, and a length for each sequence of data {tuple(data.shape)}"
        )
    shape = [1] * data.dim()
    shape[1 - axis] = -1
    return sequence_length.long().reshape(shape)


def _sequence_inputs(use_sequence_length):
    return ("data", "sequence_length") if use_sequence_length else ("data",)


def _sequence_shapes(data, axis, use_sequence_length):
    return {"sequence_length": (data[1 - axis],)} if use_sequence_length else {}


@op(view=True)
def SequenceMask(
    data: Tensor,
    sequence_length: Tensor | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
) -> Tensor:
    """`value` after the end of each sequence.

    data : (time, batch, ...), with axis 1 (batch, time, ...)      sequence_length : (batch,)

    Raises
    ------
    ShapeError
        `data` has fewer than 2 axes, or `sequence_length` is not a length for each sequence.
    ArgumentError
        `sequence_length` is given without `use_sequence_length`, or missing with it.
    """
    length = _lengths("SequenceMask", data, sequence_length, use_sequence_length, axis)
    if length is None:
        return data
    return data.masked_fill(positions(data, axis) >= length, value)


@op(view=True)
def SequenceLast(
    data: Tensor,
    sequence_length: Tensor | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
) -> Tensor:
    """The last element of each sequence.

    data : (time, batch, ...), with axis 1 (batch, time, ...)      sequence_length : (batch,)

    Raises
    ------
    ShapeError
        `data` has fewer than 2 axes, or `sequence_length` is not a length for each sequence.
    ArgumentError
        `sequence_length` is given without `use_sequence_length`, or missing with it.
    """
    length = _lengths("SequenceLast", data, sequence_length, use_sequence_length, axis)
    if length is None:
        return data.select(axis, -1)
    last = (length - 1).clamp(0, data.shape[axis] - 1)
    shape = list(data.shape)
    shape[axis] = 1
    return data.gather(axis, last.expand(shape)).squeeze(axis)


@op
def SequenceReverse(
    data: Tensor,
    sequence_length: Tensor | None = None,
    use_sequence_length: bool = False,
    axis: int = 0,
) -> Tensor:
    """Each sequence in opposite order; what is after its end stays.

    data : (time, batch, ...)      sequence_length : (batch,)

    Raises
    ------
    ShapeError
        `data` has fewer than 2 axes, or `sequence_length` is not a length for each sequence.
    ArgumentError
        `axis` is not 0; or `sequence_length` is given without `use_sequence_length`, or missing
        with it.
    """
    if axis:
        raise ArgumentError(f"SequenceReverse: axis is {axis}\n  expected 0")
    length = _lengths("SequenceReverse", data, sequence_length, use_sequence_length, axis)
    if length is None:
        return data.flip(0)
    at = positions(data, 0)
    source = torch.where(at < length, length - 1 - at, at)
    return data.gather(0, source.expand(data.shape))


for _row in (SequenceMask, SequenceLast, SequenceReverse):
    _row.takes(_sequence_inputs)
    _row.infer(_sequence_shapes)


@SequenceMask.shaped
def _(data, axis):
    return data if len(data) > 1 and axis in (0, 1) else None


@SequenceReverse.shaped
def _(data, axis):
    return data if len(data) > 1 and axis == 0 else None


@SequenceLast.shaped
def _(data, axis):
    return data[:axis] + data[axis + 1 :] if len(data) > 1 and axis in (0, 1) else None


@op("_crop_assign")
def _slice_assign(
    lhs: Tensor, rhs: Tensor, begin: Slice = REQUIRED, end: Slice = REQUIRED, step: Slice = ()
) -> Tensor:
    """lhs with rhs at [begin:end:step]."""
    key, reversed_axes = forward("_slice_assign", lhs.shape, begin, end, step)
    y = lhs.clone()
    y[key] = rhs.flip(reversed_axes) if reversed_axes else rhs
    return y


@op("_crop_assign_scalar")
def _slice_assign_scalar(
    data: Tensor,
    scalar: float = 0.0,
    begin: Slice = REQUIRED,
    end: Slice = REQUIRED,
    step: Slice = (),
) -> Tensor:
    """data with a number at [begin:end:step]."""
    key, _ = forward("_slice_assign_scalar", data.shape, begin, end, step)
    y = data.clone()
    y[key] = scalar
    return y


@op
def _contrib_boolean_mask(data: Tensor, index: Tensor, axis: int = 0) -> Tensor:
    """The slices along the first axis where index is not 0; the shape is known only at run time."""
    if axis or index.shape != data.shape[:1]:
        raise ShapeError(
            f"_contrib_boolean_mask: index is {tuple(index.shape)}, axis is {axis}\n"
            f"  expected axis 0, and a number for each of the {data.shape[0]} slices of data"
        )
    if data.is_meta:
        raise UnsupportedError("_contrib_boolean_mask: the shape is known only at run time")
    return data[index != 0]
