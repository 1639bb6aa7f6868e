"""The rule for arrays of any file: what it declares is checked before memory is taken for it.

Readers of both engines and of `train` follow it, so it is here, and imports neither engine.
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
# Strides are 64-bit numbers of bytes; beside a size 0, the other sizes count for them too.
MAX_ELEMENTS = 1 << 60
# A file may have MAX_ARRAYS, and a large one an array for each BYTES_PER_ARRAY: an array, even an
# empty one, takes about 600 bytes of memory, and 28 in a file.
MAX_ARRAYS = 1 << 16
BYTES_PER_ARRAY = 64
# The bytes that all arrays of a file may take: of a format that says things briefly (sparse arrays,
# strides, one storage under many names), ROOM and GROWTH times the file's size.
ROOM = 1 << 25
GROWTH = 4
# The same of a compressed file; numbers like images are seldom packed into a 25th.
UNPACKED = 32


class ArraysError(ValueError):
    """A file declares arrays that it cannot have, or that take too much memory."""

    def __init__(self, wrong: str, expected: str, name: str | None = None):
        subject = "" if name is None else f"{_shown(name)} "
        super().__init__(f"{subject}{wrong}\n  expected {expected}")
        self.wrong, self.expected = wrong, expected


def room_of(size: int, compressed: bool = False) -> int:
    """Return the most bytes that the arrays of a file of `size` bytes may take."""
    return ROOM + (UNPACKED if compressed else GROWTH) * size


def most_arrays(size: int) -> int:
    """Return the most arrays that a file of `size` bytes may have."""
    return max(MAX_ARRAYS, size // BYTES_PER_ARRAY)


def validate(arrays: Iterable[tuple[str, Sequence[int], int]], size: int, room: int) -> int:
    """Refuse arrays that a file cannot have; return the bytes that they take.

    Parameters
    ----------
    arrays : names, shapes and bytes of an element, as the file declares them
    size : int
        The bytes of the file.
    room : int
        The most bytes that all arrays may take.

    Raises
    ------
    ArraysError
        A name, a shape, the number of arrays or their memory is beyond the limits above.
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
    """Return the arrays of a safetensors file by name, of NumPy ("np") or PyTorch ("pt").

    The library reads them from the file; it maps none of it, as a file that another program cuts
    would end the process then. Bytes of a bool other than 0 and 1 stay, for the caller to mend.

    Raises ArraysError, or the library's own errors, where the file is damaged; and ImportError.
    """
    from safetensors import safe_open

    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        raise ArraysError("it is a folder, a pipe or a device", "a regular file")
    size = status.st_size
    with safe_open(path, framework, backend="pread") as file:
        names = list(file.keys())
        shapes = ((name, file.get_slice(name).get_shape(), 0) for name in names)
        validate(shapes, size, size)  # the library holds each to its bytes, which share none
        return {name: file.get_tensor(name) for name in names}
