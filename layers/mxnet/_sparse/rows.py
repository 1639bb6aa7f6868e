"""Updates of arrays of which a part is stored: of the rows that a gradient has, or of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

from ..ndarray.ndarray import NDArray
from .array import RowSparseNDArray
from .rules import values_at
from .stored import RowSparse, locate

__all__ = ["dense_copies", "is_sparse", "row_copies", "rows_of", "zeros"]


def is_sparse(*arrays: NDArray) -> bool:
    """Whether one of these arrays is not dense."""
    return True in [array._is_sparse for array in arrays]


def zeros(weight: NDArray, stype: str | None = None) -> NDArray:
    """The state that most optimizers begin with, stored as the weight is, or as `stype` says."""
    return weight._zeros(stype or weight.stype)


def rows_of(gradient: NDArray) -> torch.Tensor | None:
    """The numbers of the rows that a gradient has, which rise; None for all."""
    return gradient._stored.rows if isinstance(gradient, RowSparseNDArray) else None


@contextmanager
def row_copies(
    rows: torch.Tensor, shared: Iterable[NDArray], own: Iterable[NDArray] = ()
) -> Iterator[list[torch.Tensor]]:
    """Copies of rows of arrays, whose numbers rise; the arrays get their values afterwards.

    Nothing else has what is stored of `own`. What is stored of a shared array is copied once.
    """
    pairs = [(array, False) for array in shared] + [(array, True) for array in own]
    taken = [_take_rows(array, rows) for array, _ in pairs]
    yield taken
    for (array, is_own), values in zip(pairs, taken):
        _put_rows(array, rows, values, is_own)


def _take_rows(array: NDArray, rows: torch.Tensor) -> torch.Tensor:
    """A copy of some rows; those that are not stored are 0."""
    if not isinstance(array, RowSparseNDArray):
        return array._as_dense()._tensor.detach().index_select(0, rows)
    return values_at(array._stored, rows)


def _put_rows(array: NDArray, rows: torch.Tensor, values: torch.Tensor, own: bool) -> None:
    """Write some rows. `own`: nothing else has what is stored of the array."""
    if not isinstance(array, RowSparseNDArray):
        with dense_copies(array) as [dense]:
            dense._writable().index_copy_(0, rows, values)
        return
    shape, before, stored = array._stored
    places, found = locate(rows, stored)
    if bool(found.all()):
        if not own and array._own is not before:
            before = array._own = before.clone()
            array._stored = RowSparse(shape, before, stored)
        before.index_copy_(0, places, values)
        return
    kept = torch.ones(len(stored), dtype=torch.bool, device=stored.device)
    kept[places[found]] = False
    order = torch.cat([stored[kept], rows]).argsort()
    merged = torch.cat([before[kept], values])[order]
    array._stored = RowSparse(shape, merged, torch.cat([stored[kept], rows])[order])


@contextmanager
def dense_copies(*arrays: NDArray) -> Iterator[list[NDArray]]:
    """Dense arrays to be written in the place of sparse ones, which get their values afterwards."""
    dense = [array._as_dense() if is_sparse(array) else array for array in arrays]
    yield dense
    for array, copied in zip(arrays, dense):
        if copied is not array:
            array[:] = copied
