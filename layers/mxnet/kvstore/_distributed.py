"""The store of several processes, which sums over all of them."""

from __future__ import annotations

from typing import TypeGuard

import torch

from .. import _dtype
from .._sparse.stored import RowSparse, sum_rows
from ..ndarray import NDArray
from ..ndarray.sparse import RowSparseNDArray
from . import _processes
from ._buckets import GradientSums, sum_over_processes
from .kvstore import DISTRIBUTED, TYPES, KVStore, _pairs, spread, total

__all__ = ["DistributedKVStore", "spans_processes"]


class DistributedKVStore(KVStore):
    """Arrays by key, the same in all processes of a program. Made by `create`.

    Every process keeps all arrays, and the states of the optimizer; there are no servers. `init`,
    `push` and what ends in them, `broadcast`, `pushpull` and `barrier`, are called by all
    processes in the same order: each waits for the others, and raises MXNetError when one is lost
    or does not come within ``LAYERS_DIST_TIMEOUT`` seconds (300).
    """

    def __init__(self, type: str = "dist_sync"):
        _processes.join(f"kvstore {type!r}")
        super().__init__(type)

    @property
    def rank(self) -> int:
        """The number of this process, from 0."""
        return _processes.rank()

    @property
    def num_workers(self) -> int:
        """How many processes there are."""
        return _processes.size()

    def init(self, key, value) -> None:
        """Set the first value of keys, to those that the first process gives.

        Raises
        ------
        ArgumentError
            As `KVStore.init`; or arrays have other shapes or dtypes in another process.
        MXNetError
            A key is there already, or keys of the other type are; a process was lost.
        """
        super().init(key, value)
        self.send_from_first([[self._at(k)] for k, _ in _pairs(key, value)])

    def summed(self, columns: list[list[NDArray]], keys: list) -> list[NDArray]:
        """Sums over contexts and processes: new arrays, on the first context.

        What is sent to other processes is compressed, after `set_gradient_compression`.

        Raises
        ------
        MXNetError
            A process was lost, or gives other arrays; or PyTorch cannot sum arrays of a dtype.
        """
        sums = total(columns)
        of_rows = {i: a for i, a in enumerate(sums) if isinstance(a, RowSparseNDArray)}
        tensors = [array._tensor for i, array in enumerate(sums) if i not in of_rows]
        if self._compression is None:
            sum_over_processes(tensors)
        else:
            dense_keys = [key for i, key in enumerate(keys) if i not in of_rows]
            self._compression.sum_over_processes(tensors, dense_keys)
        for i, array in of_rows.items():
            sums[i] = self._sum_of_rows(array)
        return sums

    def _sum_of_rows(self, array: RowSparseNDArray) -> RowSparseNDArray:
        """The sum over the processes of an array of which each stores other rows."""
        if self._compression is not None:
            self._expect_dense_to_compress(array)
        own = array._stored.rows, array._stored.values.detach()
        rows, values = _processes.gather_rows(_described(array), *own)
        return RowSparseNDArray(sum_rows(array.shape, rows, values), array._context)

    def sums_of_rows(self, weights: list[list[NDArray]]) -> list[NDArray]:
        """The sums of the row_sparse gradients of weights, each on some contexts.

        Afterwards all processes have the same gradients fresh: those that `backward` gave in one
        of them. The others count as 0.

        Raises
        ------
        MXNetError
            A process was lost.
        """
        leaves = [[w._leaf for w in arrays] for arrays in weights]
        fresh = torch.tensor([any(leaf.fresh for leaf in row) for row in leaves], dtype=torch.int32)
        _processes.wait(_processes.start_sum(fresh))
        for row, count in zip(leaves, fresh.tolist()):
            for leaf in row:
                if not leaf.fresh:
                    leaf.grad[:] = 0
                leaf.fresh = count > 0
        return [self._sum_of_rows(total([[leaf.grad] for leaf in row])[0]) for row in leaves]

    def send_from_first(self, rows: list[list[NDArray]]) -> None:
        """Give arrays the values that they have in the first process; a row is on some contexts.

        Raises
        ------
        ArgumentError
            They have other shapes or dtypes in another process.
        MXNetError
            A process was lost.
        """
        if not rows:
            return
        shapes = ", ".join(_described(row[0]) for row in rows)
        _processes.agree("the shapes of parameters", shapes)
        of_rows = [row for row in rows if isinstance(row[0], RowSparseNDArray)]
        dense = [row for row in rows if not isinstance(row[0], RowSparseNDArray)]
        whole = torch.contiguous_format
        sent = [row[0]._tensor.detach().clone(memory_format=whole) for row in dense]
        _processes.send_from_first(sent)
        values = [NDArray(t, row[0]._context) for t, row in zip(sent, dense)]
        values += [_rows_of_first(row[0]) for row in of_rows]
        for value, row in zip(values, dense + of_rows):
            spread([value], [[array] for array in row])

    def gradient_sums(self) -> GradientSums:
        """Sums gradients while others are computed. All processes make it at the same time."""
        return GradientSums(self._compression)

    def barrier(self) -> None:
        """Wait until all processes call it.

        Raises
        ------
        MXNetError
            A process was lost.
        """
        _processes.wait(_processes.start_sum(torch.zeros(1)))


def _described(array: NDArray) -> str:
    if isinstance(array, RowSparseNDArray):
        return f"row_sparse {array.shape} {_dtype.name(array._stored.values.dtype)}"
    return f"{array.shape} {_dtype.name(array._tensor.dtype)}"


def _rows_of_first(array: RowSparseNDArray) -> RowSparseNDArray:
    """The array with the rows that it has in the first process."""
    shape, values, rows = array._stored
    count = torch.tensor([len(rows)])
    _processes.send_from_first([count])
    if _processes.rank():
        rows, values = rows.new_empty(int(count)), values.new_empty(int(count), *shape[1:])
    sent = [rows.clone(), values.detach().clone()]
    if len(sent[0]):
        _processes.send_from_first(sent)
    return RowSparseNDArray(RowSparse(shape, sent[1], sent[0]), array._context)


def spans_processes(store) -> TypeGuard[DistributedKVStore]:
    """Whether a store is one over processes."""
    return isinstance(store, DistributedKVStore)


TYPES |= dict.fromkeys(DISTRIBUTED, DistributedKVStore)
