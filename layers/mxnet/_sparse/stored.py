"""What is stored of a sparse array: its values, and where they belong.

Both kinds are values themselves: an array that is written takes another in their place, and writes
only rows that are its own where they are (`rows.py`). Elsewhere than at what is stored the array is
0. Indices are int64, and rise: the numbers of rows, and for CSR the columns in each row. What makes
an array of indices from elsewhere calls `ordered`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from .._tensor import allocate
from ..base import ShapeError

__all__ = [
    "CSR",
    "RowSparse",
    "Stored",
    "all_zeros",
    "copy_to",
    "from_dense",
    "from_gradient",
    "gradient_of_rows",
    "group",
    "indptr_of_rows",
    "locate",
    "sum_rows",
    "sum_segments",
    "with_values",
]

Tensor = torch.Tensor
# torch indexes not every type, but numbers of as many bytes; a NaN keeps its payload.
_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class RowSparse(NamedTuple):
    """Some rows of an array: `values` is (k, *shape[1:]), `rows` their numbers, (k,), rising."""

    shape: tuple[int, ...]
    values: Tensor
    rows: Tensor

    stype = "row_sparse"

    @property
    def indices(self) -> tuple[Tensor, ...]:
        """The tensors of indices, in MXNet's order."""
        return (self.rows,)

    def place(self, i: int, *rest: int) -> tuple[int, ...]:
        """Where in the array the element of `values` at an index is."""
        return (int(self.rows[i]), *rest)

    def problem(self, full: bool = True) -> str:
        """What is wrong with the sizes and, with `full`, with each index; '' if nothing is."""
        stored = (len(self.rows), *self.shape[1:])
        if self.rows.dim() != 1 or tuple(self.values.shape) != stored:
            return (
                f"row_sparse {self.shape} has data {tuple(self.values.shape)} and row numbers "
                f"{tuple(self.rows.shape)}"
            )
        if full and not _rises(self.rows, self.shape[0]):
            return f"row_sparse {self.shape} has {_not_rising('row', self.rows, self.shape[0])}"
        return ""

    def ordered(self) -> RowSparse:
        """The same with row numbers that rise, if each is there once."""
        if not self.problem():
            return self
        rows, order = self.rows.sort()
        return RowSparse(self.shape, _reordered(self.values, order), rows)

    def to_dense(self) -> Tensor:
        """The array with all its zeros."""
        values = self.values
        dense = allocate("row_sparse", torch.zeros, self.shape, values.dtype, values.device)
        bits = _BITS[dense.element_size()]
        dense.view(bits)[self.rows] = values.contiguous().view(bits)
        return dense

    def to_coo(self) -> Tensor:
        """The same as PyTorch's sparse tensor."""
        return gradient_of_rows(self.shape, self.rows, self.values)

    def to_gradient(self) -> Tensor:
        """The same as PyTorch's sparse tensor, which its autograd sums up."""
        return self.to_coo()


class CSR(NamedTuple):
    """Some elements of a matrix: row i has values[indptr[i]:indptr[i + 1]], at these columns."""

    shape: tuple[int, ...]
    values: Tensor
    indptr: Tensor
    columns: Tensor

    stype = "csr"

    @property
    def indices(self) -> tuple[Tensor, ...]:
        """The tensors of indices, in MXNet's order."""
        return self.indptr, self.columns

    def place(self, i: int) -> tuple[int, int]:
        """Where in the matrix the i-th of the values is."""
        return int(self.rows[i]), int(self.columns[i])

    @property
    def rows(self) -> Tensor:
        """The row of each value."""
        numbers = torch.arange(self.shape[0], device=self.values.device)
        return numbers.repeat_interleave(self.indptr.diff())

    def problem(self, full: bool = True) -> str:
        """What is wrong with the sizes and, with `full`, with each index; '' if nothing is."""
        if len(self.shape) != 2:
            return f"the shape of csr is {self.shape}, which has {len(self.shape)} axes, not 2"
        k = len(self.values)
        if self.values.dim() != 1 or self.columns.shape != (k,) or self.indptr.dim() != 1:
            return (
                f"csr {self.shape} has data {tuple(self.values.shape)}, indptr "
                f"{tuple(self.indptr.shape)} and columns {tuple(self.columns.shape)}"
            )
        if len(self.indptr) != self.shape[0] + 1:
            return (
                f"indptr of csr {self.shape} has {len(self.indptr)} numbers, not "
                f"{self.shape[0] + 1}, one more than there are rows"
            )
        if not full:
            return ""
        if not self._indptr_fits():
            return f"indptr of csr {self.shape} {self._indptr_problem()}"
        order = self.rows * self.shape[1] + self.columns
        columns_fit = _lies_in(self.columns, self.shape[1])
        if not columns_fit or not _rises(order, math.prod(self.shape)):
            wrong = _not_rising("column", self.columns, self.shape[1], order)
            return f"csr {self.shape} has {wrong}"
        return ""

    def _indptr_fits(self) -> bool:
        # Compared, and not subtracted: differences of numbers from a file could overflow.
        rises = bool((self.indptr[:-1] <= self.indptr[1:]).all())
        return rises and int(self.indptr[0]) == 0 and int(self.indptr[-1]) == len(self.values)

    def _indptr_problem(self) -> str:
        """Where indptr does not rise from 0 to the number of values."""
        falls = (self.indptr[:-1] > self.indptr[1:]).nonzero()
        if len(falls):
            at = int(falls[0])
            return f"falls from {int(self.indptr[at])} to {int(self.indptr[at + 1])} at row {at}"
        return (
            f"goes from {int(self.indptr[0])} to {int(self.indptr[-1])}, not from 0 to "
            f"{len(self.values)}, the number of values"
        )

    def ordered(self) -> CSR:
        """The same with columns that rise in each row, if each is there once."""
        if len(self.values) < 2 or not self._indptr_fits() or not self.problem():
            return self
        order = self.columns.argsort(stable=True)
        order = order[self.rows[order].argsort(stable=True)]
        return self._replace(values=_reordered(self.values, order), columns=self.columns[order])

    def to_dense(self) -> Tensor:
        """The matrix with all its zeros."""
        values = self.values
        dense = allocate("csr", torch.zeros, self.shape, values.dtype, values.device)
        bits = _BITS[dense.element_size()]
        dense.view(bits)[self.rows, self.columns] = values.view(bits)
        return dense

    def to_coo(self) -> Tensor:
        """The same as PyTorch's sparse tensor, with an index for each of the two axes."""
        places = torch.stack([self.rows, self.columns.to(self.rows.dtype)])
        return torch.sparse_coo_tensor(places, self.values, self.shape, check_invariants=False)

    def to_gradient(self) -> Tensor:
        """The dense matrix: PyTorch's autograd does not sum up sparse ones of this form."""
        return self.to_dense()

    def slice_rows(self, begin: int, end: int) -> CSR:
        """The rows from `begin` to before `end`."""
        indptr = self.indptr[begin : end + 1]
        first, last = int(indptr[0]), int(indptr[-1])
        shape = (end - begin, self.shape[1])
        return CSR(shape, self.values[first:last], indptr - first, self.columns[first:last])

    def take_rows(self, rows: Tensor) -> CSR:
        """Some rows, in any order."""
        counts = self.indptr.diff()[rows]
        indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        places = torch.arange(int(indptr[-1]), device=rows.device)
        places += (self.indptr[rows] - indptr[:-1]).repeat_interleave(counts)
        shape = (len(rows), self.shape[1])
        return CSR(shape, self.values[places], indptr, self.columns[places])

    def slice_columns(self, begin: int, end: int) -> CSR:
        """The columns from `begin` to before `end`."""
        inside = (self.columns >= begin) & (self.columns < end)
        indptr = indptr_of_rows(self.rows[inside], self.shape[0])
        shape = (self.shape[0], end - begin)
        return CSR(shape, self.values[inside], indptr, self.columns[inside] - begin)

    def transposed(self) -> CSR:
        """The matrix with rows and columns exchanged."""
        order = torch.argsort(self.columns, stable=True)
        indptr = indptr_of_rows(self.columns, self.shape[1])
        return CSR(self.shape[::-1], self.values[order], indptr, self.rows[order])


Stored = RowSparse | CSR


def indptr_of_rows(rows: Tensor, n: int) -> Tensor:
    """indptr of values in these rows, in the order of the rows, of a matrix of `n` rows."""
    indptr = torch.zeros(n + 1, dtype=torch.int64, device=rows.device)
    torch.cumsum(torch.bincount(rows, minlength=n), 0, out=indptr[1:])
    return indptr


def _reordered(values: Tensor, order: Tensor) -> Tensor:
    return values.view(_BITS[values.element_size()])[order].view(values.dtype)


def _lies_in(index: Tensor, n: int) -> bool:
    if not index.numel():
        return True
    low, high = index.aminmax()
    return int(low) >= 0 and int(high) < n


def _rises(index: Tensor, n: int) -> bool:
    return _lies_in(index, n) and bool((index[:-1] < index[1:]).all())


def _not_rising(what: str, index: Tensor, n: int, order: Tensor | None = None) -> str:
    """The first index that lies outside of 0 to n - 1, or does not come after the one before it.

    With `order` these numbers have to rise.
    """
    outside = ((index < 0) | (index >= n)).nonzero()
    if len(outside):
        return f"{what} {int(index[outside[0]])}, which is not one of 0 to {n - 1}"
    order = index if order is None else order
    at = int((order[:-1] >= order[1:]).nonzero()[0])
    twice = int(order[at]) == int(order[at + 1])
    second = "is there twice" if twice else f"comes after {what} {int(index[at])}"
    return f"{what} {int(index[at + 1])}, which {second}"


def locate(keys: Tensor, among: Tensor) -> tuple[Tensor, Tensor]:
    """Where keys are among others, which rise, and whether they are there."""
    if not len(among):
        return torch.zeros_like(keys), torch.zeros_like(keys, dtype=torch.bool)
    places = torch.searchsorted(among, keys).clamp(max=len(among) - 1)
    return places, among[places] == keys


def with_values(stored: Stored, values: Tensor) -> Stored:
    """Other values at the same places."""
    return stored._replace(values=values)


def copy_to(stored: Stored, device: torch.device, dtype: torch.dtype | None = None) -> Stored:
    """A copy on a device, in a dtype."""
    values = stored.values.to(device, dtype or stored.values.dtype, copy=True)
    return type(stored)(stored.shape, values, *[i.to(device, copy=True) for i in stored.indices])


def all_zeros(stype: str, shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Stored:
    """An array of zeros, of which nothing is stored.

    Raises
    ------
    ShapeError
        The shape has no axis, or that of csr not two.
    """
    shape = _expect_axes(stype, shape)
    if stype == "row_sparse":
        values = torch.empty((0, *shape[1:]), dtype=dtype, device=device)
        return RowSparse(shape, values, torch.empty(0, dtype=torch.int64, device=device))
    indptr = torch.zeros(shape[0] + 1, dtype=torch.int64, device=device)
    return CSR(shape, torch.empty(0, dtype=dtype, device=device), indptr, indptr.new_empty(0))


def _expect_axes(stype: str, shape: Sequence[int]) -> tuple[int, ...]:
    if not (len(shape) == 2 if stype == "csr" else len(shape)):
        expected = "two axes" if stype == "csr" else "at least one axis"
        raise ShapeError(f"{stype}: the shape is {tuple(shape)}\n  expected {expected}")
    return tuple(shape)


def from_dense(stype: str, dense: Tensor) -> Stored:
    """The rows or elements of an array that are not 0.

    Raises
    ------
    ShapeError
        There are no rows, or for 'csr' not two axes.
    """
    shape = _expect_axes(stype, dense.shape)
    if stype == "row_sparse":
        rows = (dense.reshape(shape[0], math.prod(shape[1:])) != 0).any(1).nonzero()[:, 0]
        return RowSparse(shape, dense[rows], rows)
    rows, columns = dense.nonzero(as_tuple=True)
    return CSR(shape, dense[rows, columns], indptr_of_rows(rows, shape[0]), columns)


def from_gradient(stype: str, gradient: Tensor) -> Stored:
    """What is stored of a gradient that PyTorch has computed, whose indices may repeat."""
    if gradient.layout is torch.strided:
        return from_dense(stype, gradient)
    if stype == "csr" or gradient.sparse_dim() != 1:
        return from_dense(stype, gradient.to_dense())
    return sum_rows(tuple(gradient.shape), gradient._indices()[0], gradient._values())


def gradient_of_rows(shape: tuple[int, ...], rows: Tensor, values: Tensor) -> Tensor:
    """PyTorch's sparse tensor of rows in any order, of which those that repeat are summed up."""
    # Made without checks, for each of them looks at all indices.
    return torch.sparse_coo_tensor(rows[None], values, shape, check_invariants=False)


def sum_rows(shape: tuple[int, ...], rows: Tensor, values: Tensor) -> RowSparse:
    """The sums of the values that belong to one row, in the order of the rows."""
    unique, order, indptr = group(rows)
    if len(unique) == len(rows):  # none repeats
        return RowSparse(shape, values[order], unique)
    sums = sum_segments(values.reshape(len(rows), -1), order, indptr)
    return RowSparse(shape, sums.reshape(len(unique), *values.shape[1:]), unique)


def group(keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Each key once, in order; the places of all, by keys; and where in those each key begins."""
    ordered, order = keys.sort()
    is_first = torch.ones(len(keys), dtype=torch.bool, device=keys.device)
    torch.ne(ordered[1:], ordered[:-1], out=is_first[1:])
    begins = is_first.nonzero()[:, 0]
    indptr = torch.cat([begins, begins.new_full((1,), len(keys))])
    return ordered[begins], order, indptr


def sum_segments(x: Tensor, index: Tensor, indptr: Tensor, weights: Tensor | None = None) -> Tensor:
    """Row i of the result: Σ weights[j] x[index[j]] for j from indptr[i] to before indptr[i + 1].

    PyTorch has that as a sum of embeddings: a tenth of the time of its sparse matrix product.
    """
    n = len(indptr) - 1
    if x.is_floating_point() and index.numel() and x.numel():
        weights = None if weights is None else weights.contiguous()
        bags = torch.embedding_bag(
            x.contiguous(), index.contiguous(), indptr, False, 0, False, weights, True
        )
        return bags[0]
    terms = x[index] if weights is None else weights[:, None] * x[index]
    rows = torch.arange(n, device=x.device).repeat_interleave(indptr.diff())
    return x.new_zeros((n, x.shape[1])).index_add_(0, rows, terms)
