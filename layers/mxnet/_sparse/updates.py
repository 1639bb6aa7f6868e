"""Operators that change a weight and its states, where some of them are sparse."""

from __future__ import annotations

from typing import Any

from .._table import registry
from ..base import ShapeError
from ..context import Context
from ..ndarray.ndarray import NDArray
from ..ndarray.register import compute
from .rows import row_copies, rows_of

__all__ = ["call", "is_by_rows"]

FTRL = "ftrl_update"  # lazy where its weight is row_sparse
LAZY = {"sgd_update", "sgd_mom_update", "adam_update"}  # unless lazy_update is False
BY_ROWS = {"_sparse_adagrad_update", "_contrib_group_adagrad_update"}


def is_by_rows(operator: registry.Op, arrays: list, known: dict) -> bool:
    """Whether an operator changes only the rows that its gradient, the second input, has.

    As in MXNet, a lazy update wants states of the weight's storage type.
    """
    name = operator.name
    if name not in {*BY_ROWS, *LAZY, FTRL} or rows_of(arrays[1]) is None:
        return False
    if name in BY_ROWS:
        return True
    weight, _, *states = arrays
    is_lazy = weight.stype == "row_sparse" if name == FTRL else known["lazy_update"]
    return is_lazy and all(state.stype == weight.stype for state in states)


def call(operator: registry.Op, arrays: list, attributes: dict, context: Context, out: Any) -> Any:
    """The new weight, stored as it was, or the weight itself where it is `out`.

    The rows of the states are written.
    """
    weight, gradient, *states = arrays
    if gradient.shape != weight.shape or gradient.dtype != weight.dtype:
        raise ShapeError(
            f"{operator.name}: weight is {weight.shape} {weight.dtype.__name__}, grad is "
            f"{gradient.shape} {gradient.dtype.__name__}\n  expected one shape and dtype"
        )
    rows = rows_of(gradient)
    if out is weight:
        weight._refuse_recorded()
        new: NDArray = weight
    else:
        new = weight.copy()
    with row_copies(rows, [*states, new]) as taken:
        *parts, of_weight = taken
        tensors = [of_weight, gradient._stored.values, *parts]
        taken[-1] = compute(operator, tensors, attributes, context)._tensor
    return new
