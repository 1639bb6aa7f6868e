"""Ids of rows of a table, checked before the rows are looked up."""

from __future__ import annotations

from ..engine import adapter, nd
from .ways.class_form import operator

__all__ = ["row_numbers"]


@operator(name="layers.row_numbers")
class row_numbers:
    """The ids as they are, with 0 in place of those that are `padding`.

    ids : any shape      y : the shape of ids

    `Embedding` reads the nearest row where an id names none of the `rows`, so this comes before it.
    On a CPU with PyTorch such an id, or one with a fraction, is an IndexError, in graphs too. A GPU
    would have to wait for that, and MXNet has no such check: there the nearest row is given.
    """

    def forward(ids, *, rows: int = 1, padding: int | None = None):
        if padding is not None:
            ids = nd.where(ids == padding, nd.zeros_like(ids), ids)
        return adapter().row_numbers(ids, rows, padding)

    def shapes(ids):
        return {"y": ids}
