"""The store of several processes, which sums over all of them."""

from __future__ import annotations

from typing import TypeGuard

import torch

from ..ndarray import NDArray
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
        MXNetError
            A key is there already; a process was lost.
        """
        super().init(key, value)
        self.send_from_first([[self._at(k)] for k, _ in _pairs(key, value)])

    def summed(self, columns: list[list[NDArray]], keys: list) -> list[NDArray]:
        """Sums over contexts and processes: new arrays, on the first context.

        What is sent to other processes is compressed, after `set_gradient_compression`.

        Raises
        ------
        MXNetError
            A process was lost, or gives other arrays.
        """
        sums = total(columns)
        tensors = [array._tensor for array in sums]
        if self._compression is None:
            sum_over_processes(tensors)
        else:
            self._compression.sum_over_processes(tensors, keys)
        return sums

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
        shapes = ", ".join(f"{row[0].shape} {row[0]._tensor.dtype}" for row in rows)
        _processes.agree("the shapes of parameters", shapes.replace("torch.", ""))
        whole = torch.contiguous_format
        sent = [row[0]._tensor.detach().clone(memory_format=whole) for row in rows]
        _processes.send_from_first(sent)
        values = [NDArray(t, row[0]._context) for t, row in zip(sent, rows)]
        for value, row in zip(values, rows):
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


def spans_processes(store) -> TypeGuard[DistributedKVStore]:
    """Whether a store is one over processes."""
    return isinstance(store, DistributedKVStore)


TYPES |= dict.fromkeys(DISTRIBUTED, DistributedKVStore)
