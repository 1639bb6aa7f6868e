"""What operators do with sparse arrays: a table by operator and storage types of its inputs.

A rule is a function of what is stored of the inputs and of the attributes, and returns what is
stored of the output, or a tensor, or None where it does not know these attributes. What has no
rule is computed of dense copies. A rule may have gradients: for the input at a position a function
of the dense dy, of the inputs and the attributes, which returns a tensor, maybe a sparse one. The
gradients of a rule without are those of the operator on dense copies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import torch

from .._table import load, reduce, registry, shape
from ..base import ArgumentError, BoundsError, ShapeError
from .stored import (
    CSR,
    RowSparse,
    Stored,
    all_zeros,
    from_dense,
    gradient_of_rows,
    indptr_of_rows,
    locate,
    sum_rows,
    with_values,
)

__all__ = ["SPARSE", "Rule", "find", "rule", "stype_of", "values_at"]

Tensor = torch.Tensor
SPARSE = ("row_sparse", "csr")


class Rule:
    """A function for some storage types of an operator's inputs, and gradients of inputs."""

    def __init__(self, function: Callable):
        self.function = function
        self.gradients: dict[int, Callable] = {}

    def grad(self, index: int) -> Callable[[Callable], Callable]:
        """Set the gradient of the input at a position."""

        def register(function: Callable) -> Callable:
            self.gradients[index] = function
            return function

        return register


load()
RULES: dict[tuple[str, tuple[str, ...]], Rule] = {}


def rule(names: str, *stypes: str) -> Callable[[Callable], Rule]:
    """Register a function for operators and for storage types, 'csr default' for two inputs.

    The function is called with the operator first.
    """

    def register(function: Callable) -> Rule:
        made = Rule(function)
        for name, types in product(names.split(), stypes):
            RULES[registry.get(name).name, tuple(types.split())] = made
        return made

    return register


def find(operator: registry.Op, stypes: tuple[str, ...]) -> Rule | None:
    """The rule for an operator and the storage types of its inputs."""
    found = RULES.get((operator.name, stypes))
    if found is None and operator.variadic and len({*stypes}) == 1:
        found = RULES.get((operator.name, (*stypes[:1], "...")))
    return found


def stype_of(value: Any) -> str:
    """The storage type of an input or output."""
    return getattr(value, "stype", "default")


# One input, of which 0 stays 0


@rule(
    "abs arcsin arcsinh arctan arctanh cbrt ceil degrees expm1 fix floor log1p make_loss negative "
    "radians relu rint round sign sin sinh sqrt square BlockGrad tan tanh trunc _copy _mul_scalar "
    "_div_scalar _contrib_round_ste _contrib_sign_ste",
    *SPARSE,
)
def of_values(operator, x: Stored, **attributes):
    """The operator on the values that are stored."""
    return with_values(x, operator.function(x.values, **attributes))


@rule(
    "_plus_scalar _minus_scalar _equal_scalar _not_equal_scalar _greater_scalar "
    "_greater_equal_scalar _lesser_scalar _lesser_equal_scalar clip",
    *SPARSE,
)
def of_values_if_zero_stays(operator, x: Stored, **attributes):
    """The operator on the values that are stored, where it makes 0 of 0."""
    if operator.function(x.values.new_zeros(1), **attributes)[0]:
        return None
    return with_values(x, operator.function(x.values, **attributes))


@rule("_contrib_quadratic", "csr")
def _(operator, x, **attributes):
    return None if attributes["c"] else of_values.function(operator, x, **attributes)


@rule("_scatter_plus_scalar _scatter_minus_scalar", *SPARSE)
def _(operator, x, **attributes):
    return of_values.function(operator, x, **attributes)


@rule("zeros_like", *SPARSE)
def _(operator, x):
    return all_zeros(x.stype, x.shape, x.values.dtype, x.values.device)


@rule("cast_storage", "default", *SPARSE)
def cast_storage(operator, x, stype):
    present = stype_of(x)
    if stype == "default":
        return None
    if present not in ("default", stype):
        raise ArgumentError(
            f"cast_storage: from storage type {present!r} to {stype!r}\n"
            "  expected 'default' in between: x.tostype('default').tostype(...)"
        )
    return x if present == stype else from_dense(stype, x)


# Two inputs


def _expect_equal(operator, x, y) -> None:
    if tuple(x.shape) != tuple(y.shape):
        raise ShapeError(
            f"{operator.name}: lhs is {tuple(x.shape)}, rhs is {tuple(y.shape)}\n"
            "  expected the same shape"
        )


def _keys(x: Stored) -> Tensor:
    """A number for each place where something is stored."""
    return x.rows if isinstance(x, RowSparse) else x.rows * x.shape[1] + x.columns


def _from_keys(x: Stored, keys: Tensor, values: Tensor) -> Stored:
    """Values at places, whose numbers rise, of an array like x."""
    if isinstance(x, RowSparse):
        return RowSparse(x.shape, values, keys)
    rows = keys.div(x.shape[1], rounding_mode="floor")
    return CSR(x.shape, values, indptr_of_rows(rows, x.shape[0]), keys - rows * x.shape[1])


def values_at(x: Stored, keys: Tensor) -> Tensor:
    """The values of x at places, 0 where nothing is stored."""
    if not len(x.values):
        return x.values.new_zeros((len(keys), *x.values.shape[1:]))
    places, found = locate(keys, _keys(x))
    values = x.values.index_select(0, places)  # an index in brackets takes up to 200 times as long
    if not bool(found.all()):
        values[~found] = 0
    return values


@rule("elemwise_add elemwise_sub _grad_add _maximum _minimum _hypot", *(f"{s} {s}" for s in SPARSE))
def at_places_of_either(operator, x: Stored, y: Stored, **attributes):
    """The operator at the places where one of both has something stored."""
    _expect_equal(operator, x, y)
    keys = torch.cat([_keys(x), _keys(y)]).unique()
    return _from_keys(
        x, keys, operator.function(values_at(x, keys), values_at(y, keys), **attributes)
    )


@rule("elemwise_mul", "row_sparse row_sparse")
def _(operator, x, y):
    return at_places_of_either.function(operator, x, y)


@rule("elemwise_mul", "csr csr")
def _(operator, x, y):
    _expect_equal(operator, x, y)
    keys = _keys(x)
    keys = keys[torch.isin(keys, _keys(y))]
    return _from_keys(x, keys, values_at(x, keys) * values_at(y, keys))


def _dense_values_at(x: Stored, dense: Tensor) -> Tensor:
    """The elements of a dense array at the places of x."""
    return dense[x.rows] if isinstance(x, RowSparse) else dense[x.rows, x.columns]


@rule("elemwise_mul", "row_sparse default", "csr default")
def _(operator, x, y):
    _expect_equal(operator, x, y)
    return with_values(x, x.values * _dense_values_at(x, y))


@rule("elemwise_mul", "default row_sparse", "default csr")
def _(operator, x, y):
    _expect_equal(operator, x, y)
    return with_values(y, _dense_values_at(y, x) * y.values)


@rule("broadcast_mul broadcast_div", "csr default")
def _(operator, x, y):
    if y.dim() > 2 or len(x.shape) != 2:
        return None
    there = _dense_values_at(x, y.expand(x.shape))
    return with_values(x, operator.function(x.values, there))


@rule("_scatter_elemwise_div", "row_sparse default")
def _(operator, x, y):
    _expect_equal(operator, x, y)
    return with_values(x, operator.function(x.values, y[x.rows]))


@rule("_scatter_elemwise_div", "row_sparse row_sparse")
def _(operator, x, y):
    _expect_equal(operator, x, y)
    return with_values(x, operator.function(x.values, values_at(y, x.rows)))


# Any number of inputs


@rule("add_n", "row_sparse ...")
def _(operator, *inputs):
    for x in inputs[1:]:
        _expect_equal(operator, inputs[0], x)
    rows, values = (torch.cat(parts) for parts in zip(*[(x.rows, x.values) for x in inputs]))
    return sum_rows(inputs[0].shape, rows, values)


@rule("concat", "csr ...")
def _(operator, *inputs, dim):
    widths = {x.shape[1] for x in inputs}
    if dim not in (0, -2) or len(widths) != 1:
        return None
    before, indptr = 0, [inputs[0].indptr[:1]]
    for x in inputs:
        indptr.append(x.indptr[1:] + before)
        before += len(x.values)
    return CSR(
        (sum(x.shape[0] for x in inputs), *widths),
        torch.cat([x.values for x in inputs]),
        torch.cat(indptr),
        torch.cat([x.columns for x in inputs]),
    )


# Parts


@rule("slice", "csr")
def _(operator, x, begin, end, step):
    key, reversed_axes = shape.forward("slice", x.shape, begin, end, step)
    if reversed_axes or any(part.step not in (None, 1) for part in key):
        return None
    spans = [part.indices(n)[:2] for part, n in zip(key, x.shape)]
    first, last = spans[0]
    part = x.slice_rows(first, max(first, last))
    if len(spans) == 1:
        return part
    first, last = spans[1]
    return part.slice_columns(first, max(first, last))


@rule("take", "csr default")
def _(operator, x, indices, axis, mode):
    if axis not in (0, -2) or mode != "clip":
        return None
    return x.take_rows(indices.reshape(-1).long().clamp(0, x.shape[0] - 1))


@rule("_sparse_retain", "row_sparse default")
def retain(operator, x, indices):
    rows = _expect_rows(operator, x, indices.reshape(-1).long().unique())
    return RowSparse(x.shape, values_at(x, rows), rows)


def _expect_rows(operator, x: Stored, rows: Tensor) -> Tensor:
    if rows.numel():
        low, high = map(int, rows.aminmax())
        if low < 0 or high >= x.shape[0]:
            raise BoundsError(
                f"{operator.name}: rows go from {low} to {high} of an array of {x.shape[0]} rows\n"
                f"  expected 0 to {x.shape[0] - 1}"
            )
    return rows


@retain.grad(0)
def _(dy, x, indices):
    rows = indices.reshape(-1).long().unique()
    return RowSparse(x.shape, dy[rows], rows).to_gradient()


@rule("Embedding _contrib_SparseEmbedding", "default row_sparse")
def embedding(operator, data, weight, input_dim, output_dim, dtype, sparse_grad):
    if tuple(weight.shape) != (input_dim, output_dim):
        raise ShapeError(
            f"{operator.name}: weight is {tuple(weight.shape)}\n"
            f"  expected (input_dim, output_dim) = ({input_dim}, {output_dim})"
        )
    rows = data.long().clamp(0, input_dim - 1)
    return values_at(weight, rows.reshape(-1)).reshape(*rows.shape, output_dim)


@embedding.grad(1)
def _(dy, data, weight, input_dim, **attributes):
    rows = data.long().clamp(0, input_dim - 1).reshape(-1)
    values = dy.reshape(len(rows), *weight.shape[1:])
    return gradient_of_rows(weight.shape, rows, values)


# Sums


def _axes(operator, x: Stored, axis, exclude: bool = False) -> set[int]:
    like = x.values.new_zeros(()).expand(x.shape)
    return {*reduce._axes(operator.name, like, axis, exclude)}


@rule("sum mean", "csr")
def _(operator, x, axis, keepdims, exclude):
    axes = _axes(operator, x, axis, exclude)
    if not axes or not (operator.name == "sum" or x.values.is_floating_point()):
        return None
    if axes == {0, 1}:
        y = x.values.sum(dtype=x.values.dtype).reshape((1, 1) if keepdims else (1,))
    else:
        index, n = (x.columns, x.shape[1]) if axes == {0} else (x.rows, x.shape[0])
        y = x.values.new_zeros(n).index_add_(0, index, x.values)
        y = y.unsqueeze(0 if axes == {0} else 1) if keepdims else y
    return y if operator.name == "sum" else y / math.prod(x.shape[a] for a in axes)


@rule("norm", *SPARSE)
def _(operator, x, ord, axis, out_dtype, keepdims):
    if axis or out_dtype is not None or ord not in (1, 2) or not x.values.is_floating_point():
        return None
    y = torch.linalg.vector_norm(x.values, ord)
    return y.reshape((1,) * len(x.shape) if keepdims else (1,))


@rule("_square_sum", "row_sparse")
def _(operator, x, axis, keepdims, exclude):
    if len(x.shape) != 2 or exclude:
        return None
    axes = _axes(operator, x, axis)
    squares = x.values * x.values
    if axes == {1}:
        sums = RowSparse((x.shape[0], 1), squares.sum(1, keepdim=True), x.rows)
        return sums if keepdims else sums.to_dense().reshape(-1)
    y = squares.sum(0, keepdim=keepdims) if axes == {0} else squares.sum().reshape(1)
    return y.reshape(1, 1) if keepdims and axes == {0, 1} else y


@rule("_contrib_getnnz", "csr")
def _(operator, x, axis):
    if axis is None:
        return x.indptr[-1:].clone()
    return x.indptr.diff() if axis in (1, -1) else None


@rule("_contrib_edge_id", "csr default default")
def _(operator, x, u, v):
    rows, columns = _expect_rows(operator, x, u.long()), v.long()
    keys = rows * x.shape[1] + columns
    there = (columns >= 0) & (columns < x.shape[1]) & torch.isin(keys, _keys(x))
    return torch.where(there, values_at(x, keys), x.values.new_full((), -1))
