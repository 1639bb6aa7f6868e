"""Row ids of a table, checked before the rows are looked up."""

from __future__ import annotations

from ..engine import adapter, nd
from .ways.class_form import operator

__all__ = ["row_numbers"]


@operator(name="layers.row_numbers")
class row_numbers:
    """Valid row ids, with 0 in place of `padding`.

    ids : any shape      y : the shape of ids

    `Embedding` silently takes the nearest of the `rows` for an invalid id, so this operator comes
    before it. With PyTorch on a CPU, an invalid id, or one with a fraction, is an IndexError, in
    graphs too. On a GPU a check would have to wait for the GPU, and MXNet has no such check: there
    the nearest row is taken.
    """

    def forward(ids, *, rows: int = 1, padding: int | None = None):
        if padding is not None:
            ids = nd.where(ids == padding, nd.zeros_like(ids), ids)
        return adapter().row_numbers(ids, rows, padding)

    def shapes(ids):
        return {"y": ids}
