"""Arrays of which a part is stored, the rest being 0: 'csr' and 'row_sparse'.

The operators of MXNet's `nd.sparse` are those of `nd`: what is done with sparse arrays depends on
the storage types of the inputs alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .. import _dtype
from .._sparse.array import (
    BaseSparseNDArray,
    CSRNDArray,
    RowSparseNDArray,
    expect_stype,
    operators,
    wrap,
)
from .._sparse.stored import CSR, RowSparse, Stored, all_zeros, from_dense, indptr_of_rows
from .._tensor import as_tensor
from ..base import ArgumentError, ShapeError
from ..context import Context, current_context
from . import _create, op
from ._arithmetic import ROWS, _functions
from .ndarray import NDArray

globals().update(op.functions("_sparse_"))
__all__ = [
    *op.functions("_sparse_"),
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "add",
    "array",
    "csr_matrix",
    "divide",
    "empty",
    "multiply",
    "row_sparse_array",
    "subtract",
    "zeros",
]
_ndarray_cls = NDArray


def zeros(stype: str, shape, ctx: Context | None = None, dtype=None, **kwargs) -> NDArray:
    """An array of zeros, of which nothing is stored.

    Parameters
    ----------
    stype : {'row_sparse', 'csr', 'default'}
    shape : tuple of int
    ctx : Context, optional
    dtype : optional
        By default float32.

    Raises
    ------
    ArgumentError
        There is no such storage type.
    ShapeError
        The shape has no axis, or that of csr not two.
    """
    if stype == "default":
        return _create.zeros(shape, ctx, dtype, **kwargs)
    context = ctx or current_context()
    expect_stype(stype)
    tensor_dtype = _torch_dtype(dtype, torch.float32)
    shape = tuple(shape)
    return wrap(all_zeros(stype, shape, tensor_dtype, context.device), context)


def empty(stype: str, shape, ctx: Context | None = None, dtype=None) -> NDArray:
    """An array to be written, which is `zeros` here.

    Raises
    ------
    ArgumentError
        There is no such sparse storage type.
    """
    expect_stype(stype)
    return zeros(stype, shape, ctx, dtype)


def array(source_array, ctx: Context | None = None, dtype=None) -> NDArray:
    """A sparse array with a copy of the values of another, or of SciPy's csr_matrix.

    Raises
    ------
    ArgumentError
        It is neither; `nd.array` makes a dense array of others.
    """
    context = ctx or current_context()
    if isinstance(source_array, BaseSparseNDArray):
        kept = _torch_dtype(dtype, source_array._stored.values.dtype)
        return source_array._copy(context, kept)
    if _is_scipy(source_array) and source_array.format == "csr":
        return csr_matrix(source_array, ctx=context, dtype=dtype)
    raise ArgumentError(
        f"sparse.array: the source is {type(source_array).__name__}\n"
        "  expected a sparse NDArray or a scipy.sparse.csr_matrix; nd.array takes others"
    )


def csr_matrix(arg1, shape=None, ctx: Context | None = None, dtype=None) -> CSRNDArray:
    """A matrix in compressed sparse row storage.

    Parameters
    ----------
    arg1
        ``(data, indices, indptr)``, row i having ``data[indptr[i]:indptr[i + 1]]`` at the columns
        ``indices[indptr[i]:indptr[i + 1]]``; ``(data, (rows, columns))``, where what is there twice
        is added up; ``(m, n)`` for a matrix of zeros; or a dense array, a csr array, or a
        csr_matrix of SciPy.
    shape : (int, int), optional
        By default as the indices need it.
    ctx : Context, optional
    dtype : optional
        By default that of the values. Python's numbers are float32, and with (rows, columns) as
        NumPy makes them, float64 or int64.

    Raises
    ------
    ArgumentError
        `arg1` is none of these.
    ShapeError
        `shape` is another than that of the source, or does not fit the indices;
        or a column is there twice in a row.
    """
    context = ctx or current_context()
    if not isinstance(arg1, tuple):
        return _from_array("csr", arg1, shape, context, dtype)
    if len(arg1) == 3:
        return wrap(_csr_of_parts(*arg1, shape, context, dtype), context)
    if len(arg1) != 2:
        raise ArgumentError(
            f"csr_matrix: a tuple of {len(arg1)}\n"
            "  expected (data, indices, indptr), (data, (rows, columns)) or a shape (m, n)"
        )
    if isinstance(arg1[1], (tuple, list)) and not isinstance(arg1[0], (int, np.integer)):
        return wrap(_csr_of_places(arg1[0], *arg1[1], shape, context, dtype), context)
    return zeros("csr", arg1, context, dtype)


def row_sparse_array(arg1, shape=None, ctx: Context | None = None, dtype=None) -> RowSparseNDArray:
    """An array of which some rows are stored.

    Parameters
    ----------
    arg1
        ``(data, indices)``, rows and their numbers; a shape for an array of zeros; or a dense or
        row_sparse array.
    shape : tuple of int, optional
        By default as the indices need it.
    ctx : Context, optional
    dtype : optional
        By default that of the values, float32 for Python's numbers.

    Raises
    ------
    ArgumentError
        `arg1` is none of these.
    ShapeError
        `shape` is another than that of the source, or does not fit the values
        or indices; or a row is there twice.
    """
    context = ctx or current_context()
    if not isinstance(arg1, tuple):
        return _from_array("row_sparse", arg1, shape, context, dtype)
    if len(arg1) < 2:
        raise ArgumentError(
            f"row_sparse_array: a tuple of {len(arg1)}\n  expected (data, indices) or a shape"
        )
    if len(arg1) > 2 or isinstance(arg1[0], (int, np.integer)):
        return zeros("row_sparse", arg1, context, dtype)
    values = _values(arg1[0], context, dtype)
    rows = _indices(arg1[1], context)
    if shape is None:
        n = int(rows.max()) + 1 if len(rows) else 0
        shape = (n, *values.shape[1:])
    return wrap(_expect_fit(RowSparse(tuple(shape), values, rows)), context)


def _torch_dtype(dtype, otherwise: torch.dtype) -> torch.dtype:
    return otherwise if dtype is None else _dtype.to_torch(dtype)


def _is_scipy(source: Any) -> bool:
    return hasattr(source, "tocsr") and hasattr(source, "format")


def _values(source: Any, context: Context, dtype) -> torch.Tensor:
    """A copy of values, in their own dtype where they have one."""
    if isinstance(source, NDArray):
        tensor = source._tensor.detach()
        return tensor.to(context.device, _torch_dtype(dtype, tensor.dtype), copy=True)
    kept = _dtype.to_torch(source.dtype) if isinstance(source, np.ndarray) else torch.float32
    return as_tensor("sparse", source, _torch_dtype(dtype, kept)).to(context.device)


def _indices(source: Any, context: Context) -> torch.Tensor:
    return _values(source, context, "int64").reshape(-1)


def _csr_of_parts(data, indices, indptr, shape, context, dtype) -> CSR:
    values = _values(data, context, dtype).reshape(-1)
    columns, indptr = _indices(indices, context), _indices(indptr, context)
    if shape is None:
        shape = (len(indptr) - 1, int(columns.max()) + 1 if len(columns) else 0)
    return _expect_fit(CSR(tuple(shape), values, indptr, columns))


def _csr_of_places(data, rows, columns, shape, context, dtype) -> CSR:
    if not isinstance(data, (np.ndarray, NDArray)):
        data = np.asarray(data)  # whole numbers stay such ones, as SciPy has it
    values = _values(data, context, dtype).reshape(-1)
    rows, columns = _indices(rows, context), _indices(columns, context)
    if not len(values) == len(rows) == len(columns):
        raise ShapeError(
            f"csr_matrix: {len(values)} values, {len(rows)} rows and {len(columns)} columns\n"
            "  expected as many of each"
        )
    if shape is None:
        shape = tuple(int(index.max()) + 1 if len(index) else 0 for index in (rows, columns))
    for what, index, n in (("rows", rows, shape[0]), ("columns", columns, shape[1])):
        if len(index) and not (int(index.min()) >= 0 and int(index.max()) < n):
            raise ShapeError(
                f"csr_matrix: {what} go from {int(index.min())} to {int(index.max())}\n"
                f"  expected 0 to {n - 1}"
            )
    keys, places = (rows * shape[1] + columns).unique(return_inverse=True)
    values = values.new_zeros(len(keys)).index_add_(0, places, values)
    rows = keys.div(max(shape[1], 1), rounding_mode="floor")
    return CSR(tuple(shape), values, indptr_of_rows(rows, shape[0]), keys - rows * shape[1])


def _expect_fit(stored: Stored) -> Stored:
    """What a user gave, with its indices in order."""
    problem = stored.problem(full=False)
    if not problem:
        stored = stored.ordered()
        problem = stored.problem()
    if problem:
        raise ShapeError(f"{problem}\n  expected sizes that fit, and each index once")
    return stored


def _from_array(stype: str, source: Any, shape, context: Context, dtype) -> NDArray:
    if isinstance(source, BaseSparseNDArray):
        if source.stype != stype:
            raise ArgumentError(f"{stype} of an array of storage type {source.stype!r}")
        made = array(source, context, dtype)
    elif stype == "csr" and _is_scipy(source) and source.format == "csr":
        source = source.copy()
        source.sum_duplicates()
        parts = (source.data, source.indices, source.indptr)
        made = wrap(_csr_of_parts(*parts, source.shape, context, dtype), context)
    elif _is_scipy(source) or isinstance(source, str):
        raise ArgumentError(
            f"{stype} of {type(source).__name__}\n  expected an array, or a csr_matrix for csr"
        )
    else:
        tensor = _values(source, context, dtype)
        made = wrap(from_dense(stype, tensor), context)
    if shape is not None and tuple(shape) != made.shape:
        raise ShapeError(f"{stype}: the source is {made.shape}, shape is {tuple(shape)}")
    return made


# Arithmetic: for arrays of one shape the operators with rules for sparse ones


def _binary(name: str, of_equal: str, on_dense):
    elementwise, broadcasting = getattr(op, f"elemwise_{of_equal}"), on_dense

    def function(lhs, rhs):
        if isinstance(lhs, NDArray) and isinstance(rhs, NDArray) and lhs.shape == rhs.shape:
            return elementwise(lhs, rhs)
        return broadcasting(lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name.capitalize()}, elementwise, of arrays of any storage and numbers."
    return function


gs_retain = op.functions("_sparse_")["retain"]  # MXNet's name for it inside the module
add = _binary("add", "add", _functions["add"])
subtract = _binary("subtract", "sub", _functions["subtract"])
multiply = _binary("multiply", "mul", _functions["multiply"])
divide = _binary("divide", "div", _functions["divide"])


def _fill(cls: type) -> None:
    """Give sparse arrays their arithmetic operators."""
    for function in (add, subtract, multiply, divide):
        method = ROWS[function.__name__][3]
        setattr(cls, f"__{method}__", lambda x, y, f=function: f(x, y))
        setattr(cls, f"__i{method}__", lambda x, y, f=function: _write(x, f(x, y)))


def _write(x: BaseSparseNDArray, y: NDArray) -> BaseSparseNDArray:
    x[:] = y if y.stype == x.stype else y._as_dense()
    return x


_fill(BaseSparseNDArray)
operators.update({"slice": op.slice, "retain": op.functions("_sparse_")["retain"]})
