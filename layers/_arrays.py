"""Limits on the arrays that a file may declare, checked before memory is allocated for them.

The readers of both engines and of `train` use them, so this module imports neither engine.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["ArraysError", "most_arrays", "read_safetensors", "room_of", "validate"]

MAX_NDIM = 64
MAX_NAME = 1 << 12  # characters
# Strides are 64-bit counts of bytes, and are computed even where one size is 0.
MAX_ELEMENTS = 1 << 60
# A file may have MAX_ARRAYS arrays, and a large file one array for each BYTES_PER_ARRAY bytes. An
# array, even an empty one, takes about 600 bytes of memory, and 28 in a file.
MAX_ARRAYS = 1 << 16
BYTES_PER_ARRAY = 64
# The most bytes that all arrays of a file may take are ROOM and GROWTH times the file's size.
# Sparse arrays, strides, and one storage under many names take more memory than they take in the
# file.
ROOM = 1 << 25
GROWTH = 4
# GROWTH of a compressed file; data such as images seldom shrinks to a 25th.
UNPACKED = 32


class ArraysError(ValueError):
    """An error about arrays that a file cannot hold, or that would take too much memory."""

    def __init__(self, wrong: str, expected: str, name: str | None = None):
        subject = "" if name is None else f"{_shown(name)} "
        super().__init__(f"{subject}{wrong}\n  expected {expected}")
        self.wrong, self.expected = wrong, expected


def room_of(size: int, compressed: bool = False) -> int:
    """Return the most bytes of memory that the arrays of a file of `size` bytes may take."""
    return ROOM + (UNPACKED if compressed else GROWTH) * size


def most_arrays(size: int) -> int:
    """Return the most arrays that a file of `size` bytes may have."""
    return max(MAX_ARRAYS, size // BYTES_PER_ARRAY)


def validate(arrays: Iterable[tuple[str, Sequence[int], int]], size: int, room: int) -> int:
    """Refuse arrays that a file cannot hold; return the bytes of memory that they take.

    Parameters
    ----------
    arrays : iterable of tuple
        The name, shape and bytes per element of each array, as the file declares them.
    size : int
        The size of the file in bytes.
    room : int
        The most bytes of memory that all arrays together may take.

    Raises
    ------
    ArraysError
        A name, a shape, the number of arrays or their memory exceeds the limits above.
    """
    total, most = 0, most_arrays(size)
    for i, (name, shape, itemsize) in enumerate(arrays):
        if i == most:
            raise ArraysError(f"more than {most} arrays", f"at most {most} in this file")
        if not isinstance(name, str) or len(name) > MAX_NAME:
            raise ArraysError(f"is the name of array {i}", f"at most {MAX_NAME} characters", name)
        _expect_shape(name, shape)
        taken = math.prod(shape) * itemsize
        total += taken
        if total > room:
            left = room - total + taken
            raise ArraysError(
                f"{tuple(shape)} takes {taken} bytes",
                f"at most {left} more in a file of {size} bytes",
                name,
            )
    return total


def _expect_shape(name: str, shape: Sequence[int]) -> None:
    if len(shape) > MAX_NDIM:
        raise ArraysError(f"has {len(shape)} axes", f"at most {MAX_NDIM}", name)
    if any(type(n) is not int or n < 0 for n in shape) or (
        math.prod(n or 1 for n in shape) >= MAX_ELEMENTS
    ):
        raise ArraysError(
            f"is {_shown(tuple(shape))}",
            f"sizes from 0, and fewer than 2**{MAX_ELEMENTS.bit_length() - 1} elements",
            name,
        )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def read_safetensors(path: str | os.PathLike, framework: str) -> dict[str, Any]:
    """Return the arrays of a safetensors file by name, as NumPy ("np") or PyTorch ("pt") arrays.

    The file is read and not memory-mapped: if another program truncated a mapped file, this process
    would end. Bytes of a bool array other than 0 and 1 are kept; the caller mends them.

    Raises ArraysError or the safetensors library's own errors if the file is damaged, and
    ImportError if the library is missing.
    """
    from safetensors import safe_open

    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise ArraysError("it is a folder, a pipe or a device", "a regular file")
    size = status.st_size
    with safe_open(path, framework, backend="pread") as file:
        names = list(file.keys())
        shapes = ((name, file.get_slice(name).get_shape(), 0) for name in names)
        validate(shapes, size, size)  # the library checks that each array fits its bytes
        return {name: file.get_tensor(name) for name in names}
