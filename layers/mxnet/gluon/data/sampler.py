"""Samplers: the order in which a data set is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...base import ArgumentError

__all__ = ["BatchSampler", "FilterSampler", "RandomSampler", "Sampler", "SequentialSampler"]

_LAST_BATCH = ("keep", "discard", "rollover")


class Sampler:
    """The base of samplers, which give the indices of samples.

    A sampler of one's own defines ``__iter__`` and ``__len__``.
    """

    def __iter__(self) -> Iterator:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError


class SequentialSampler(Sampler):
    """The indices from `start` to start + length - 1, in order.

    Parameters
    ----------
    length : int
    start : int
    """

    def __init__(self, length: int, start: int = 0):
        self._range = range(start, start + length)

    def __iter__(self) -> Iterator[int]:
        return iter(self._range)

    def __len__(self) -> int:
        return len(self._range)


class RandomSampler(Sampler):
    """The indices from 0 to length - 1, each once, in another random order for each epoch.

    The order comes from NumPy's generator: `numpy.random.seed` seeds it.

    Parameters
    ----------
    length : int
    """

    def __init__(self, length: int):
        self._length = length

    def __iter__(self) -> Iterator[np.int64]:
        indices = np.arange(self._length)
        np.random.shuffle(indices)
        return iter(indices)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """The indices of the samples for which a function is true; it is asked once for each.

    Parameters
    ----------
    fn : callable
        fn(sample) -> bool
    dataset : Dataset or sequence
    """

    def __init__(self, fn: Callable[[Any], bool], dataset: Sequence):
        self._indices = [i for i in range(len(dataset)) if fn(dataset[i])]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class BatchSampler(Sampler):
    """Lists of `batch_size` indices each, from another sampler.

    Parameters
    ----------
    sampler : Sampler
    batch_size : int
    last_batch : {'keep', 'discard', 'rollover'}
        What becomes of indices that do not fill a batch: they are a smaller batch, are left out,
        or begin the next epoch.

    Raises
    ------
    ArgumentError
        `last_batch` is something else, or `batch_size` is below 1.
    """

    def __init__(self, sampler: Sampler, batch_size: int, last_batch: str = "keep"):
        if last_batch not in _LAST_BATCH:
            raise ArgumentError(
                f"BatchSampler: last_batch is {last_batch!r}\n"
                f"  expected one of {', '.join(map(repr, _LAST_BATCH))}"
            )
        if isinstance(batch_size, str) or not batch_size >= 1:
            raise ArgumentError(
                f"BatchSampler: batch_size is {batch_size!r}\n  expected a number, at least 1"
            )
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._prev: list = []

    def __iter__(self) -> Iterator[list]:
        batch, self._prev = self._prev, []
        for index in self._sampler:
            batch.append(index)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._prev = batch

    def __len__(self) -> int:
        count = len(self._prev) + len(self._sampler)
        return (
            -(-count // self._batch_size)
            if self._last_batch == "keep"
            else count // self._batch_size
        )
