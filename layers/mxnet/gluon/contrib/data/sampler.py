"""A sampler that goes through a data set in steps."""

from __future__ import annotations

from collections.abc import Iterator

from ....base import ParameterError
from ...data.sampler import Sampler

__all__ = ["IntervalSampler"]


class IntervalSampler(Sampler):
    """Every so many samples, and then those between: 0, 3, 6, 1, 4, 7, 2, 5 of 8 by 3.

    Parameters
    ----------
    length : int
        How many samples there are.
    interval : int
    rollover : bool
        Go on with the samples between; else give 0, 3, 6 only.

    Raises
    ------
    ParameterError
        `interval` is greater than `length`.
    """

    def __init__(self, length: int, interval: int, rollover: bool = True):
        if interval > length:
            raise ParameterError(
                f"IntervalSampler: interval is {interval}\n  expected {length}, the length, or less"
            )
        self._length, self._interval, self._rollover = length, interval, rollover

    def __iter__(self) -> Iterator[int]:
        for start in range(self._interval if self._rollover else min(1, self._interval)):
            yield from range(start, self._length, self._interval)

    def __len__(self) -> int:
        if self._rollover:
            return self._length
        return -(-self._length // self._interval) if self._interval else 0
