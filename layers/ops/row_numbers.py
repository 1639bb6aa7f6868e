"""Ids of rows of a table, looked at."""

from __future__ import annotations

from ..engine import adapter, nd
from .ways.class_form import operator

__all__ = ["row_numbers"]


@operator(name="layers.row_numbers")
class row_numbers:
    """The ids themselves, but row 0 for those that are `padding`; each is one of so many rows.

    ids : any shape      y : the shape of ids

    It stands before `Embedding`, which reads the nearest row where there is none of this number. On
    a CPU with PyTorch ids that are no row, or have a fraction, are an IndexError, in graphs too. A
    GPU would have to wait for that, and MXNet has no such check: there they are the nearest row.
    """

    def forward(ids, *, rows: int = 1, padding: int | None = None):
        if padding is not None:
            ids = nd.where(ids == padding, nd.zeros_like(ids), ids)
        return adapter().fused("checked_rows", nearest)(ids, rows, padding)

    def shapes(ids):
        return {"y": ids}


def nearest(ids, rows, _):
    return nd.clip(ids, 0, rows - 1)
