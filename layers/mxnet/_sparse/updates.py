"""Operators that change a weight and its states, where some of them are sparse."""

from __future__ import annotations

from typing import Any

from .._table import registry
from ..context import Context
from ..ndarray.ndarray import NDArray
from ..ndarray.register import compute
from .rows import row_copies, rows_of

__all__ = ["call", "is_by_rows"]

LAZY = {"sgd_update", "sgd_mom_update", "adam_update"}  # unless lazy_update is False
BY_ROWS = {"_sparse_adagrad_update", "_contrib_group_adagrad_update"}


def is_by_rows(operator: registry.Op, arrays: list, known: dict) -> bool:
    """Whether an operator changes the rows that its gradient, the second input, has."""
    name = operator.name
    if name == "ftrl_update":
        lazy = arrays[0].stype == "row_sparse"
    else:
        lazy = name in BY_ROWS or (name in LAZY and known["lazy_update"])
    return lazy and rows_of(arrays[1]) is not None


def call(operator: registry.Op, arrays: list, attributes: dict, context: Context) -> Any:
    """The new weight, stored as it was; the rows of the states are written."""
    weight, gradient, *states = arrays
    rows = rows_of(gradient)
    new: NDArray = weight.copy()
    with row_copies(rows, states, own=[new]) as taken:
        *parts, of_weight = taken
        tensors = [of_weight, gradient._stored.values, *parts]
        taken[-1] = compute(operator, tensors, attributes, context)._tensor
    return new
