"""Random sparse arrays, for `test_utils`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ndarray as nd
from ..base import ArgumentError
from ..ndarray import NDArray

__all__ = ["create_sparse_array", "create_sparse_array_zd", "rand_sparse_ndarray"]


def rand_sparse_ndarray(
    shape,
    stype: str,
    density: float | None = None,
    dtype=None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices=None,
    modifier_func=None,
    shuffle_csr_indices: bool = False,
    ctx=None,
) -> tuple[NDArray, tuple]:
    """A random sparse array, and the arrays that are stored of it.

    Parameters
    ----------
    shape : tuple of int
    stype : {'row_sparse', 'csr'}
    density : float, optional
        The share of rows or elements that are stored, itself drawn by default.
    dtype : optional
        float32 by default.
    distribution : {'uniform', 'powerlaw'}, optional
        Of a csr matrix: how the number of its elements goes with the row.
    data_init : float, optional
        The value of all elements; by default they are uniform on [0, 1).
    rsp_indices : sequence of int, optional
        The rows of a row_sparse array; by default they are drawn.
    modifier_func : callable, optional
        Changes the values: it is called with each.
    shuffle_csr_indices : bool
        The columns of a csr matrix do not rise in a row.
    ctx : Context, optional

    Returns
    -------
    (RowSparseNDArray, (data, indices)) or (CSRNDArray, (indptr, indices, data))

    Raises
    ------
    ArgumentError
        There is no such storage type or distribution.
    """
    density = np.random.rand() if density is None else density
    dtype = np.float32 if dtype is None else dtype
    distribution = distribution or "uniform"
    if stype not in ("row_sparse", "csr") or distribution not in ("uniform", "powerlaw"):
        raise ArgumentError(
            f"rand_sparse_ndarray: stype is {stype!r}, distribution {distribution!r}\n"
            "  expected 'row_sparse' or 'csr', and 'uniform' or 'powerlaw'"
        )
    if distribution == "powerlaw" and stype == "row_sparse":
        raise ArgumentError("rand_sparse_ndarray: row_sparse of 'powerlaw'\n  expected 'uniform'")
    if stype == "row_sparse":
        return _row_sparse(shape, density, dtype, data_init, rsp_indices, modifier_func, ctx)
    if len(shape) != 2:
        raise ArgumentError(f"rand_sparse_ndarray: csr of shape {shape}\n  expected two axes")
    kept = _powerlaw(shape, density) if distribution == "powerlaw" else _uniform(shape, density)
    rows, columns = kept.nonzero()
    if shuffle_csr_indices:
        order = np.lexsort((np.random.rand(len(rows)), rows))
        columns = columns[order]
    data = _data((len(rows),), data_init, modifier_func)
    indptr = np.concatenate([[0], kept.sum(1).cumsum()])
    array = nd.sparse.csr_matrix((data, columns, indptr), shape=shape, dtype=dtype, ctx=ctx)
    return array, (array.indptr, array.indices, array.data)


def _uniform(shape: tuple[int, ...], density: float) -> np.ndarray:
    return np.random.rand(*shape) < density


def _powerlaw(shape: tuple[int, ...], density: float) -> np.ndarray:
    """Which elements are stored: twice as many in each row as in the one before, and 1 at least."""
    kept, left, width = np.zeros(shape, bool), int(shape[0] * shape[1] * density), 2
    kept[:, 0] = True
    left -= shape[0]
    for row in kept:
        count = min(width, shape[1], max(left, 0) + 1)
        row[:count] = True
        left -= count - 1
        width *= 2
    return kept


def _data(shape: tuple[int, ...], value: float | None, modifier_func) -> np.ndarray:
    data = np.random.rand(*shape) if value is None else np.full(shape, value, "float64")
    if modifier_func is None:
        return data
    return np.array([modifier_func(x) for x in data.flat], "float64").reshape(shape)


def _row_sparse(shape, density, dtype, value, rows, modifier_func, ctx) -> tuple[NDArray, tuple]:
    rows = np.flatnonzero(np.random.rand(shape[0]) < density) if rows is None else np.asarray(rows)
    data = _data((len(rows), *shape[1:]), value, modifier_func).astype(dtype)
    indices = rows.astype(np.int64)
    array = nd.sparse.row_sparse_array((data, indices), shape=shape, dtype=dtype, ctx=ctx)
    return array, (data, indices)


def create_sparse_array(
    shape,
    stype: str,
    data_init: float | None = None,
    rsp_indices=None,
    dtype=None,
    modifier_func=None,
    density: float = 0.5,
    shuffle_csr_indices: bool = False,
) -> NDArray:
    """A random sparse array; see `rand_sparse_ndarray`.

    Raises
    ------
    ArgumentError
        There is no such storage type.
    """
    options: dict[str, Any] = {"data_init": data_init, "modifier_func": modifier_func}
    if stype == "row_sparse":
        options["rsp_indices"] = rsp_indices
    else:
        options["shuffle_csr_indices"] = shuffle_csr_indices
    return rand_sparse_ndarray(shape, stype, density, dtype, **options)[0]


def create_sparse_array_zd(
    shape,
    stype: str,
    density: float,
    data_init: float | None = None,
    rsp_indices=None,
    dtype=None,
    modifier_func=None,
    shuffle_csr_indices: bool = False,
) -> NDArray:
    """A random sparse array of a density, which may be 0; see `rand_sparse_ndarray`.

    Raises
    ------
    ArgumentError
        There is no such storage type.
    """
    return create_sparse_array(
        shape, stype, data_init, rsp_indices, dtype, modifier_func, density, shuffle_csr_indices
    )
