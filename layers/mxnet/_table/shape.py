"""The same elements in another shape, order or number."""

from __future__ import annotations

import math
from builtins import slice as span
from operator import mul
from typing import Literal

import torch
import torch.nn.functional as F

from .. import _np_shape
from .._dtype import name as dtype_name
from ..base import ArgumentError, DTypeError, ShapeError
from ..ndarray._index import reshaped
from .attributes import Axis, Shape, Slice
from .registry import REQUIRED, Tensor, op


@op("reshape", view=True)
def Reshape(
    data: Tensor,
    shape: Shape = (),
    reverse: bool = False,
    target_shape: Shape = (),
    keep_highest: bool = False,
) -> Tensor:
    """The elements in another shape.

    In `shape` 0 keeps a size, -1 is what remains, -2 keeps all that remain, -3 joins two, -4 splits
    one into the two that follow; `reverse` reads all of it from the right. An older form is
    `target_shape`, with 0 for what remains, and `keep_highest` to keep the first size.

    Raises
    ------
    ArgumentError
        There is neither `shape` nor `target_shape`.
    """
    if shape:
        return data.reshape(reshaped(tuple(data.shape), shape, reverse))
    if not target_shape:
        raise ArgumentError(
            f"Reshape: shape is {shape}\n  expected a shape for {tuple(data.shape)}"
        )
    sizes = [size or -1 for size in target_shape]
    if keep_highest:
        sizes[0] = data.shape[0]
    return data.reshape(sizes)


@op("flatten", view=True)
def Flatten(data: Tensor) -> Tensor:
    """All axes but the first as one: (n, a, b) becomes (n, a b), and (n,) becomes (n, 1)."""
    return data.reshape(data.shape[0], math.prod(data.shape[1:]))


@op(view=True)
def transpose(data: Tensor, axes: Shape = ()) -> Tensor:
    """The axes in another order; reversed where none is given.

    Raises
    ------
    ShapeError
        `axes` are not each of the axes once.
    """
    n = data.dim()
    every = tuple(range(n))
    if axes and sorted(a + n if a < 0 else a for a in axes) != [*every]:
        raise ShapeError(
            f"transpose: axes are {axes} for {tuple(data.shape)}\n  expected each of {every} once"
        )
    return data.permute(axes or every[::-1])


@transpose.back
def _(inputs, output, axes):
    data = inputs[0]
    if not output or (data and len(data) != len(output)):
        return inputs
    n = len(output)
    order = [a % n for a in axes] or [*range(n)][::-1]
    return [tuple(output[order.index(a)] for a in range(n))] if len(order) == n else inputs


@op(view=True)
def expand_dims(data: Tensor, axis: int = REQUIRED) -> Tensor:
    """A new axis of size 1 at `axis`."""
    return data.unsqueeze(axis)


@op(view=True, names_input=True)
def squeeze(data: Tensor, axis: Axis = None) -> Tensor:
    """Without the axes of size 1: all of them, or those given.

    Raises
    ------
    ShapeError
        An axis that is given does not have size 1.
    """
    if axis is None:
        y = data.squeeze()
    else:
        wrong = [a for a in axis if data.shape[a] != 1]
        if wrong:
            raise ShapeError(
                f"squeeze: axis {wrong[0]} of {tuple(data.shape)} has size {data.shape[wrong[0]]}\n"
                "  expected size 1"
            )
        y = data.squeeze(axis)
    return y if y.dim() else y.reshape(1)


@op("swapaxes", view=True, names_input=True)
def SwapAxis(data: Tensor, dim1: int = 0, dim2: int = 0) -> Tensor:
    """Two axes in each other's place."""
    return data.transpose(dim1, dim2)


@op("concat")
def Concat(*data: Tensor, dim: int = 1) -> Tensor:
    """The arrays one after the other along an axis that they have.

    Raises
    ------
    DTypeError
        The arrays have different dtypes.
    """
    return torch.cat(_alike("Concat", data), dim)


@Concat.shaped
def _(shapes, dim):
    first = shapes[0]
    if not -len(first) <= dim < len(first):
        return None
    axis = dim % len(first)
    others = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(others) > 1:
        return None
    return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])


@Concat.back
def _(inputs, output, dim):
    """But for the axis they have one shape, which each of them, and the output, may tell."""
    known = [shape for shape in (*inputs, output) if shape]
    if not known or len({len(shape) for shape in known}) > 1:
        return inputs
    common = [max(sizes) for sizes in zip(*known)]
    axis = dim % len(common)
    return [(*common[:axis], shape[axis] if shape else 0, *common[axis + 1 :]) for shape in inputs]


@op
def stack(*data: Tensor, axis: int = 0) -> Tensor:
    """The arrays one after the other along a new axis.

    Raises
    ------
    DTypeError
        The arrays have different dtypes.
    """
    return torch.stack(_alike("stack", data), axis)


@stack.shaped
def _(shapes, axis):
    first = shapes[0]
    if len({*shapes}) > 1 or not -len(first) - 1 <= axis <= len(first):
        return None
    at = axis % (len(first) + 1)
    return *first[:at], len(shapes), *first[at:]


def _alike(name, data):
    """The arrays, if they have one dtype; PyTorch would find a common one."""
    for other in data:
        if other.dtype is not data[0].dtype:
            raise DTypeError(
                f"{name}: data0 is {dtype_name(data[0].dtype)}, another is "
                f"{dtype_name(other.dtype)}\n"
                "  expected one dtype; astype changes it"
            )
    return data


@op("split", view=True, names_input=True)
def SliceChannel(
    data: Tensor, num_outputs: int = REQUIRED, axis: int = 1, squeeze_axis: bool = False
) -> tuple[Tensor, ...]:
    """`num_outputs` equal parts along an axis; `squeeze_axis` drops it, where they have size 1.

    Raises
    ------
    ShapeError
        The axis cannot be divided into `num_outputs` equal parts, or not into parts of size 1.
    """
    size = data.shape[axis]
    if num_outputs < 1 or size % num_outputs or (squeeze_axis and size != num_outputs):
        raise ShapeError(
            f"SliceChannel: axis {axis} of {tuple(data.shape)} has size {size}\n"
            f"  expected {num_outputs} parts" + (" of size 1" if squeeze_axis else " of one size")
        )
    return _parts(torch.split(data, size // num_outputs, axis), axis, squeeze_axis)


@SliceChannel.gives
def _(num_outputs):
    return num_outputs


@op(view=True, names_input=True)
def _split_v2(
    data: Tensor,
    indices: Shape = REQUIRED,
    axis: int = 1,
    squeeze_axis: bool = False,
    sections: int = 0,
) -> tuple[Tensor, ...]:
    """Parts along an axis: from each index to the next, or `sections` of nearly one size."""
    size = data.shape[axis]
    if sections:
        return _parts(torch.tensor_split(data, sections, axis), axis, squeeze_axis)
    if indices[-1] > size:
        raise ShapeError(
            f"_split_v2: index {indices[-1]} is beyond axis {axis} of {tuple(data.shape)}\n"
            f"  expected at most {size}"
        )
    sizes = [end - begin for begin, end in zip(indices, (*indices[1:], size))]
    start = data.narrow(axis, indices[0], size - indices[0])
    return _parts(torch.split(start, sizes, axis), axis, squeeze_axis)


@_split_v2.gives
def _(indices, sections):
    return sections or len(indices)


def _parts(parts, axis, squeeze_axis):
    if not squeeze_axis:
        return parts
    parts = [part.squeeze(axis) for part in parts]
    if _np_shape.is_on():
        return tuple(parts)
    return tuple([part if part.dim() else part.reshape(1) for part in parts])


@op("crop", view=True, cuts=True)
def slice(data: Tensor, begin: Slice = REQUIRED, end: Slice = REQUIRED, step: Slice = ()) -> Tensor:
    """data[begin:end:step] on the first axes; a step may be negative."""
    key, reversed_axes = forward("slice", data.shape, begin, end, step)
    y = data[key]
    return y.flip(reversed_axes) if reversed_axes else y


def forward(name, shape, begin, end, step):
    """A slice as a key whose steps are positive, and the axes to reverse afterwards."""
    step = step or (None,) * len(begin)
    if not len(begin) == len(end) == len(step) <= len(shape):
        raise ArgumentError(
            f"{name}: begin is {begin}, end is {end}, step is {step} for {tuple(shape)}\n"
            "  expected as many of each, and no more than there are axes"
        )
    key, reversed_axes = [], []
    for axis, part in enumerate(zip(begin, end, step)):
        if part[2] == 0:
            raise ArgumentError(f"{name}: step is {step}\n  expected no 0")
        run = range(*span(*part).indices(shape[axis]))
        if run.step < 0:
            reversed_axes.append(axis)
            run = run[::-1]
        key.append(span(run.start, run.stop, run.step) if run else span(0, 0))
    return tuple(key), reversed_axes


@op(view=True, cuts=True)
def slice_axis(
    data: Tensor, axis: int = REQUIRED, begin: int = REQUIRED, end: int | None = REQUIRED
) -> Tensor:
    """data[begin:end] on one axis. Unlike Python's, bounds outside the axis are errors.

    Raises
    ------
    ArgumentError
        The part is empty, or not within the axis.
    """
    size = data.shape[axis]
    first = begin + size if begin < 0 else begin
    last = size if end is None else end + size if end < 0 else end
    if not 0 <= first < last <= size:
        raise ArgumentError(
            f"slice_axis: begin is {begin}, end is {end}\n"
            f"  expected a part of axis {axis} of {tuple(data.shape)}, one element or more"
        )
    return data.narrow(axis, first, last - first)


@op(view=True)
def slice_like(data: Tensor, shape_like: Tensor, axes: Shape = ()) -> Tensor:
    """The beginning of each axis, as long as that of `shape_like`; of all axes, or those given.

    Raises
    ------
    ShapeError
        An axis of `shape_like` is longer than that of `data`, or they have different numbers of
        axes and `axes` is not given.
    """
    if not axes and data.dim() != shape_like.dim():
        raise ShapeError(
            f"slice_like: data is {tuple(data.shape)}, shape_like is {tuple(shape_like.shape)}\n"
            "  expected as many axes of each, or `axes`"
        )
    for axis in axes or range(data.dim()):
        axis += data.dim() if axis < 0 else 0
        size = shape_like.shape[axis]
        if size > data.shape[axis]:
            raise ShapeError(
                f"slice_like: axis {axis} of shape_like {tuple(shape_like.shape)} has size {size}\n"
                f"  expected at most {data.shape[axis]}, as data {tuple(data.shape)} has"
            )
        data = data.narrow(axis, 0, size)
    return data


@op(view=True)
def reshape_like(
    lhs: Tensor,
    rhs: Tensor,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
) -> Tensor:
    """The elements of lhs in the shape of rhs; what is replaced is the sizes from begin to end.

    Raises
    ------
    ShapeError
        The new shape has another number of elements.
    """
    left = range(lhs.dim())[span(lhs_begin, lhs_end)]
    new = rhs.shape[span(rhs_begin, rhs_end)]
    shape = (*lhs.shape[: left.start], *new, *lhs.shape[left.stop :])
    if math.prod(shape) != lhs.numel():
        raise ShapeError(
            f"reshape_like: lhs {tuple(lhs.shape)} cannot take the shape {shape}\n"
            f"  expected {lhs.numel()} elements, not {math.prod(shape)}"
        )
    return lhs.reshape(shape)


@op(names_input=True)
def tile(data: Tensor, reps: Shape = REQUIRED) -> Tensor:
    """The whole array repeated, as often as `reps` says along each of the last axes.

    Raises
    ------
    ArgumentError
        A number of `reps` is less than 1, or than 0 with NumPy's shapes.
    """
    if min(reps, default=1) < (0 if _np_shape.is_on() else 1):
        raise ArgumentError(f"tile: reps is {reps}\n  expected numbers of 1 or more")
    return torch.tile(data, reps)


@tile.shaped
def _(data, reps):
    count = max(len(data), len(reps))
    sizes, times = [(1,) * (count - len(part)) + part for part in (data, reps)]
    return [tuple(map(mul, sizes, times))] if min(reps, default=1) > 0 else None


@op(names_input=True)
def repeat(data: Tensor, repeats: int = REQUIRED, axis: int | None = None) -> Tensor:
    """Each element repeated along an axis; without one the array is flattened first.

    0 repetitions leave nothing, not even the other axes: the shape is (0,).

    Raises
    ------
    ArgumentError
        `repeats` is less than 0.
    """
    if repeats < 0:
        raise ArgumentError(f"repeat: repeats is {repeats}\n  expected 0 or more")
    if not repeats:
        axis = None
    return torch.repeat_interleave(data, repeats, axis)


@op("flip", same=True, names_input=True)
def reverse(data: Tensor, axis: Shape = REQUIRED) -> Tensor:
    """The elements in opposite order along these axes."""
    return data.flip(axis)


_PAD = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}


@op("pad", names_input=True)
def Pad(
    data: Tensor,
    mode: Literal["constant", "edge", "reflect"] = REQUIRED,
    pad_width: Shape = REQUIRED,
    constant_value: float = 0.0,
) -> Tensor:
    """Elements added around data (batch, channel, ...) of 4 or 5 axes.

    pad_width : before and after each axis, from the first on; the first two take none.

    Raises
    ------
    ArgumentError
        `data` does not have 4 or 5 axes, or `pad_width` is not two numbers for each, 0 for the
        first two axes.
    """
    if data.dim() not in (4, 5) or len(pad_width) != 2 * data.dim() or any(pad_width[:4]):
        raise ArgumentError(
            f"Pad: pad_width is {pad_width} for data {tuple(data.shape)}\n"
            "  expected data of 4 or 5 axes, two numbers for each, 0 for the first two axes"
        )
    width = [w for i in range(data.dim() - 1, 1, -1) for w in pad_width[2 * i : 2 * i + 2]]
    return F.pad(data, width, _PAD[mode], constant_value if mode == "constant" else None)


@op(view=True, names_input=True)
def depth_to_space(data: Tensor, block_size: int = REQUIRED) -> Tensor:
    """(n, b b c, h, w) becomes (n, c, h b, w b), for a block of size b.

    Raises
    ------
    ArgumentError
        `block_size` is less than 1.
    ShapeError
        `data` does not have 4 axes, has no elements, or has sizes that are no multiples of the
        block's.
    """
    n, c, h, w = _image("depth_to_space", data, (1,), block_size, 2)
    b, c = block_size, c // block_size**2
    return data.reshape(n, b, b, c, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c, h * b, w * b)


@op(view=True, names_input=True)
def space_to_depth(data: Tensor, block_size: int = REQUIRED) -> Tensor:
    """(n, c, h b, w b) becomes (n, b b c, h, w), for a block of size b.

    Raises
    ------
    ArgumentError
        `block_size` is less than 1.
    ShapeError
        `data` does not have 4 axes, has no elements, or has sizes that are no multiples of the
        block's.
    """
    n, c, h, w = _image("space_to_depth", data, (2, 3), block_size)
    b, h, w = block_size, h // block_size, w // block_size
    return data.reshape(n, c, h, b, w, b).permute(0, 3, 5, 1, 2, 4).reshape(n, b * b * c, h, w)


def _image(name, data, axes, block_size, power=1):
    if block_size < 1:
        raise ArgumentError(f"{name}: block_size is {block_size}\n  expected 1 or more")
    divisor = block_size**power
    has_elements = data.numel() or _np_shape.is_on()
    if data.dim() != 4 or not has_elements or any(data.shape[a] % divisor for a in axes):
        raise ShapeError(
            f"{name}: data is {tuple(data.shape)}\n  expected 4 axes of sizes above 0, and "
            f"multiples of {divisor} on axis {' and '.join(map(str, axes))}"
        )
    return data.shape


@op(view=True, names_input=True)
def diag(data: Tensor, k: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The k-th diagonal over two axes, as the last axis; of one axis the matrix that has it.

    Raises
    ------
    ArgumentError
        There is no such diagonal.
    """
    if data.dim() == 1:
        return torch.diag_embed(data, k)
    if not -data.shape[axis1] < k < data.shape[axis2]:
        raise ArgumentError(
            f"diag: k is {k}\n  expected a diagonal of {tuple(data.shape)} on axes {axis1}, {axis2}"
        )
    return data.diagonal(k, axis1, axis2)
