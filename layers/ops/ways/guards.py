"""Guard elements around the arrays of a library's function, for `layers.check`.

A function that writes past the end of an array, or before its start, changes them. If it reads
there, its results depend on their value.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

__all__ = ["Guards", "guarded"]

LINE = 64  # bytes: keeps the alignment of arrays
MOST = 2**20  # bytes on each side

current: Guards | None = None  # guards for all calls in all threads, if any


class Guards:
    """Elements of one value around each array that is passed to a function on the CPU.

    Parameters
    ----------
    value : {0, 1}
        The value; in arrays of floats, 0 or 0.75.

    Attributes
    ----------
    calls : int
        The number of calls of functions.
    problems : list of str
        Descriptions of the arrays that were written past.
    """

    def __init__(self, value: int = 0):
        self.value, self.calls = value, 0
        self.problems: list[str] = []

    def copies(self, pointers: Sequence[int], arrays: Sequence[tuple]) -> list[_Copy]:
        """Return copies of arrays with guards; an array is given as pointer and (size, dtype)."""
        self.calls += 1
        return [_Copy(p, *array, self.value) for p, array in zip(pointers, arrays)]

    def put_back(self, who: str, copies: Sequence[_Copy]) -> None:
        """Copy the arrays back, and note writes past their ends."""
        for i, one in enumerate(copies):
            if where := one.put_back():
                self.problems.append(f"{who} writes {where} params[{i}], {one}")


class _Copy:
    """A copy of an array between guards."""

    def __init__(self, pointer: int, size: int, dtype: np.dtype, value: int):
        self.original, self.size, self.dtype = pointer, size, dtype
        self.bytes = size * dtype.itemsize
        self.edge = LINE * (1 + min(MOST, 256 + 8 * self.bytes) // LINE)
        memory = np.empty(2 * self.edge + self.bytes + LINE, np.uint8)
        start = -memory.ctypes.data % LINE
        self.memory = memory[start : start + 2 * self.edge + self.bytes]
        element = np.array(0.75 * value if dtype.kind in "fc" else value, dtype).tobytes()
        self.guard = np.frombuffer(element * (self.edge // dtype.itemsize), np.uint8)
        self.memory[: self.edge] = self.memory[self.edge + self.bytes :] = self.guard
        self.pointer = self.memory.ctypes.data + self.edge
        ctypes.memmove(self.pointer, pointer, self.bytes)

    def put_back(self) -> str:
        """Copy the array back; return the side on which the guards have changed, or ""."""
        ctypes.memmove(self.original, self.pointer, self.bytes)
        if not np.array_equal(self.memory[self.edge + self.bytes :], self.guard):
            return "past the end of"
        return "" if np.array_equal(self.memory[: self.edge], self.guard) else "before"

    def __str__(self) -> str:
        return f"{self.size} elements of {self.dtype.name}"


@contextmanager
def guarded(value: int = 0) -> Iterator[Guards]:
    """Put guards around the arrays of all calls inside the context."""
    global current
    before, current = current, Guards(value)
    try:
        yield current
    finally:
        current = before
