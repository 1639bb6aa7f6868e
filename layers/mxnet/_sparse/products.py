"""Matrix products of sparse arrays: rules of `dot`."""

from __future__ import annotations

import torch

from .._tensor import describe
from ..base import ShapeError
from .rules import SPARSE, rule, stype_of, values_at
from .stored import CSR, RowSparse, from_dense, group, indptr_of_rows, locate, sum_segments

Tensor = torch.Tensor


@rule("dot", "csr default", "csr row_sparse")
def dot(operator, x, y, transpose_a, transpose_b, forward_stype):
    """x y; of a transposed x the rows of its columns that are used."""
    if transpose_b or len(y.shape) != 2:
        return _dense_dot(operator, x, y, transpose_a, transpose_b, forward_stype)
    n = x.shape[0] if transpose_a else x.shape[1]
    if n != y.shape[0] or x.values.dtype is not _values(y).dtype:
        raise ShapeError(
            f"dot: lhs is csr {x.shape} {describe(x.values)}, rhs is {tuple(y.shape)}, "
            f"transpose_a={transpose_a}\n  expected one size and dtype to sum over"
        )
    if transpose_a:
        return as_stype(_transposed_product(x, y), forward_stype or "row_sparse")
    return as_stype(_product(x, y), forward_stype or "default")


@dot.grad(0)
def _(dy, x, y, transpose_a, **attributes):
    y = y if isinstance(y, Tensor) else y.to_dense()
    return y @ dy.t() if transpose_a else dy @ y.t()


@dot.grad(1)
def _(dy, x, y, transpose_a, **attributes):
    return _product(x, dy) if transpose_a else _transposed_product(x, dy).to_gradient()


def _values(x) -> Tensor:
    return x if isinstance(x, Tensor) else x.values


def as_stype(y, stype: str):
    """A result in the storage type that was asked for."""
    if stype_of(y) == stype:
        return y
    dense = y if isinstance(y, Tensor) else y.to_dense()
    return dense if stype == "default" else from_dense(stype, dense)


def _used(x: CSR, y: RowSparse) -> tuple[CSR, Tensor]:
    """x with the columns that y has rows for, numbered by the places of those."""
    places, there = locate(x.columns, y.rows)
    indptr = indptr_of_rows(x.rows[there], x.shape[0])
    return CSR((x.shape[0], len(y.rows)), x.values[there], indptr, places[there]), y.values


def _product(x: CSR, y) -> Tensor:
    """x y, dense."""
    if isinstance(y, RowSparse):
        x, y = _used(x, y)
    return sum_segments(y, x.columns, x.indptr, x.values)


def _transposed_product(x: CSR, y) -> RowSparse:
    """xᵀ y, of which the rows are stored that belong to a column of x."""
    columns, order, indptr = group(x.columns)
    rows, weights = x.rows[order], x.values[order]
    if isinstance(y, RowSparse):
        y, rows = values_at(y, rows), torch.arange(len(rows), device=rows.device)
    return RowSparse((x.shape[1], y.shape[1]), sum_segments(y, rows, indptr, weights), columns)


@rule("dot", "default csr")
def _(operator, x, y, transpose_a, transpose_b, forward_stype):
    if transpose_a or x.dim() != 2:
        return _dense_dot(operator, x, y, transpose_a, transpose_b, forward_stype)
    other = y if transpose_b else y.transposed()
    product = _product(other, x.t().contiguous()).t().contiguous()
    if forward_stype not in (None, "csr"):
        return as_stype(product, forward_stype)
    # MXNet stores the columns that have something in them, for each row.
    columns = other.indptr.diff().nonzero()[:, 0]
    k, n = len(columns), product.shape[0]
    indptr = torch.arange(n + 1, device=columns.device) * k
    return CSR(tuple(product.shape), product[:, columns].reshape(-1), indptr, columns.repeat(n))


@rule(
    "dot",
    "default default",
    "default row_sparse",
    *(f"row_sparse {s}" for s in ("default", *SPARSE)),
    "csr csr",
)
def _(operator, x, y, transpose_a, transpose_b, forward_stype):
    return _dense_dot(operator, x, y, transpose_a, transpose_b, forward_stype)


def _dense_dot(operator, x, y, transpose_a, transpose_b, forward_stype):
    """The product of dense copies, in the storage type that was asked for."""
    if forward_stype in (None, "default"):
        return None
    dense = [v if isinstance(v, Tensor) else v.to_dense() for v in (x, y)]
    return as_stype(operator.function(*dense, transpose_a, transpose_b), forward_stype)
