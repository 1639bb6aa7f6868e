"""Functions that make arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from .. import _dtype, _np_shape
from .._tensor import allocate, as_tensor, call_recorded, copy_to
from ..base import ArgumentError, ShapeError, integer_types, numeric_types
from ..context import Context, current_context
from . import op
from .ndarray import NDArray

__all__ = [
    "arange",
    "array",
    "concatenate",
    "empty",
    "eye",
    "full",
    "histogram",
    "linspace",
    "moveaxis",
    "onehot_encode",
    "ones",
    "split_v2",
    "zeros",
]

_internal = op.functions("_")


def array(source_array, ctx: Context | None = None, dtype=None) -> NDArray:
    """An array with a copy of the values, by default on the current context.

    The copy of an NDArray is recorded, as that of `NDArray.copy` is.

    Parameters
    ----------
    source_array : NDArray, numpy.ndarray, number or nested list of them
        Of a sparse array, and of SciPy's csr_matrix, a sparse one.
    ctx : Context, optional
    dtype : optional
        By default an NDArray's own, else float32.

    Raises
    ------
    ArgumentError
        The values are not numbers, or the lists are of different lengths.
    """
    context = _context("array", ctx)
    if getattr(source_array, "stype", "default") != "default" or hasattr(source_array, "tocsr"):
        return _sparse_module().array(source_array, context, dtype)
    if isinstance(source_array, (NDArray, torch.Tensor)):
        is_ndarray = isinstance(source_array, NDArray)
        tensor = source_array._tensor if is_ndarray else source_array.detach()
        target = tensor.dtype if is_ndarray and dtype is None else _torch_dtype(dtype)
        return NDArray(call_recorded(copy_to, tensor, context.device, target), context)
    tensor = as_tensor("array", source_array, _torch_dtype(dtype))
    return NDArray(tensor if context.device.type == "cpu" else tensor.to(context.device), context)


def _context(name: str, ctx) -> Context:
    if ctx is None:
        return current_context()
    if not isinstance(ctx, Context):
        raise ArgumentError(
            f"{name}: ctx is {ctx!r}\n  expected a Context, such as mx.cpu(); "
            "a dtype is a keyword, dtype='int32'"
        )
    return ctx


def _torch_dtype(dtype) -> torch.dtype:
    return torch.float32 if dtype is None else _dtype.to_torch(dtype)


def _make(make, shape, ctx, dtype, out=None, name=None, __layout__=None) -> NDArray:
    context = _context(make.__name__, ctx)
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if not all(isinstance(size, (int, np.integer)) and size >= 0 for size in sizes):
        raise ShapeError(
            f"{make.__name__}: shape is {shape!r}\n  expected whole numbers of 0 or more"
        )
    if make is not torch.empty:
        _np_shape.require_size(make.__name__, sizes)
    tensor = allocate(make.__name__, make, sizes, _torch_dtype(dtype), context.device)
    return _write_to(NDArray(tensor, context), out)


def _write_to(result: NDArray, out: NDArray | None) -> NDArray:
    if out is None:
        return result
    out[:] = result
    return out


def _sparse_module():
    from . import sparse  # which is built on the functions here

    return sparse


def zeros(shape, ctx: Context | None = None, dtype=None, stype=None, **kwargs) -> NDArray:
    """An array of zeros, float32 by default.

    Raises
    ------
    ArgumentError
        `stype` is none of 'default', 'csr' and 'row_sparse'.
    ShapeError
        A size is negative; or 0, or the shape is (), outside np_shape semantics.
    MXNetError
        There is not so much memory.
    """
    if stype not in (None, "default"):
        return _sparse_module().zeros(stype, shape, ctx, dtype, **kwargs)
    return _make(torch.zeros, shape, ctx, dtype, **kwargs)


def ones(shape, ctx: Context | None = None, dtype=None, **kwargs) -> NDArray:
    """An array of ones, float32 by default.

    Raises
    ------
    ShapeError
        A size is negative; or 0, or the shape is (), outside np_shape semantics.
    MXNetError
        There is not so much memory.
    """
    return _make(torch.ones, shape, ctx, dtype, **kwargs)


def empty(shape, ctx: Context | None = None, dtype=None, stype=None) -> NDArray:
    """An array whose values are not set, float32 by default.

    Raises
    ------
    ArgumentError
        `stype` is none of 'default', 'csr' and 'row_sparse'.
    ShapeError
        A size is negative.
    MXNetError
        There is not so much memory.
    """
    if stype not in (None, "default"):
        return _sparse_module().empty(stype, shape, ctx, dtype)
    return _make(torch.empty, shape, ctx, dtype)


def full(shape, val, ctx: Context | None = None, dtype=None, out=None) -> NDArray:
    """An array with one value everywhere, float32 by default.

    Raises
    ------
    ShapeError
        A size is negative; or the shape is (), outside np_shape semantics.
    MXNetError
        There is not so much memory.
    """
    if isinstance(shape, (tuple, list)) and not shape:
        _np_shape.require_size("full", shape)
    result = _make(torch.empty, shape, ctx, dtype) if out is None else out
    result[:] = val
    return result


def _number(value):
    """Return the number that a text is, such as an option of a program; else the value itself."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def arange(start, stop=None, step=1.0, repeat=1, infer_range=None, ctx=None, dtype=None) -> NDArray:
    """Values from `start` up to `stop`, which is left out; from 0 to `start` without a `stop`.

    Each value is there `repeat` times. `infer_range` is ignored.

    Raises
    ------
    ArgumentError
        One of the three is no number.
    ShapeError
        There are no values.
    """
    start, stop, step = [_number(value) for value in (start, stop, step)]
    for name, value in (("start", start), ("stop", stop), ("step", step)):
        if not (isinstance(value, numeric_types) or (name == "stop" and value is None)):
            raise ArgumentError(f"arange: {name} is {value!r}\n  expected a number")
    if stop is None:
        start, stop = 0, start
    if not (start < stop if step > 0 else start > stop):
        raise ShapeError(
            f"arange: from {start} to {stop} by {step} there are no values\n  expected one or more"
        )
    context = _context("arange", ctx)
    values = {"start": start, "stop": stop, "step": step, "repeat": repeat}
    return _internal["_arange"](**values, dtype=_torch_dtype(dtype), ctx=str(context))


def linspace(start, stop, num, endpoint=True, ctx=None, dtype=None) -> NDArray:
    """`num` values evenly from `start` to `stop`, which is left out with ``endpoint=False``."""
    values = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    ctx = str(_context("linspace", ctx))
    return _internal["_linspace"](**values, dtype=_torch_dtype(dtype), ctx=ctx)


def eye(N, M=0, k=0, ctx=None, dtype=None, out=None, name=None) -> NDArray:
    """Ones on the `k`-th diagonal of an N x M array (square when M is 0), zeros elsewhere.

    `name` is ignored.
    """
    ctx = str(_context("eye", ctx))
    return _write_to(_internal["_eye"](N=N, M=M, k=k, dtype=_torch_dtype(dtype), ctx=ctx), out)


def concatenate(arrays, axis: int = 0, always_copy: bool = True) -> NDArray:
    """Arrays joined along an axis."""
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return op.concat(*arrays, dim=axis)


def moveaxis(tensor: NDArray, source, destination) -> NDArray:
    """A copy with some axes moved; the others keep their order.

    Raises
    ------
    ShapeError
        The array has no such axis, one is named twice, or there are not as many targets.
    """
    ndim = tensor.ndim
    moved = []
    for axes in (source, destination):
        axes = [*axes] if isinstance(axes, Sequence) else [axes]
        if any(not -ndim <= a < ndim for a in axes):
            raise ShapeError(f"moveaxis: axes {axes} of an array of shape {tensor.shape}")
        moved.append([a % ndim for a in axes])
    sources, targets = moved
    if not len(set(sources)) == len(sources) == len(set(targets)) == len(targets):
        raise ShapeError(
            f"moveaxis: source {source}, destination {destination}\n"
            "  expected the same number of axes in both, each once"
        )
    axes = [a for a in range(ndim) if a not in sources]
    for target, origin in sorted(zip(targets, sources)):
        axes.insert(target, origin)
    return op.transpose(tensor, axes=tuple(axes))


def split_v2(ary: NDArray, indices_or_sections, axis: int = 0, squeeze_axis: bool = False) -> list:
    """Parts along an axis: this number of equal ones, or one from each index to the next.

    Raises
    ------
    ShapeError
        The number of parts does not divide the size of the axis.
    """
    options = {"axis": axis, "squeeze_axis": squeeze_axis}
    if not isinstance(indices_or_sections, integer_types):
        return _internal["_split_v2"](ary, indices=(0, *indices_or_sections), **options)
    if indices_or_sections < 1 or ary.shape[axis] % indices_or_sections:
        raise ShapeError(
            f"split_v2: axis {axis} of {ary.shape} in {indices_or_sections} parts\n"
            "  expected a number that divides the size"
        )
    return _internal["_split_v2"](ary, indices=(), sections=indices_or_sections, **options)


def onehot_encode(indices: NDArray, out: NDArray) -> NDArray:
    """Write into each row of `out` 1 at the index and 0 elsewhere."""
    out[:] = op.one_hot(indices, depth=out.shape[1])
    return out


def histogram(a: NDArray, bins=10, range=None) -> tuple[NDArray, NDArray]:
    """The number of values in each bin, and the edges of the bins. The last bin has both edges.

    Without a range both are float32; with one the counts are int64 and the edges have the dtype of
    `a`, truncated where it is an integer type.

    Parameters
    ----------
    a : NDArray
    bins : int or NDArray
        Their number, or their edges.
    range : (float, float), optional
        The first and the last edge; by default the smallest and the largest value.

    Raises
    ------
    ArgumentError
        `bins` is neither, or less than 1, or the second number of `range` is less than the first.
    """
    if isinstance(bins, NDArray):
        return tuple(_internal["_histogram"](a, bins))
    if not isinstance(bins, integer_types) or bins < 1:
        raise ArgumentError(
            f"histogram: bins is {bins!r}\n  expected an int of 1 or more, or an NDArray"
        )
    if range is not None:
        return tuple(_internal["_histogram"](a, bin_cnt=bins, range=range))
    count, edges = np.histogram(a.asnumpy(), bins)
    return array(count, a.context), array(edges, a.context)
