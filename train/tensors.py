"""Named arrays as a safetensors file: a length, a header in JSON, and the numbers.

The package safetensors would do as well. A checkpoint is not to depend on one that is optional
(`exchange` in setup.cfg), and the format is these few lines.
"""

from __future__ import annotations

import errno
import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from layers._arrays import validate
from layers._errors import quoted

__all__ = ["check_shapes", "file_content", "read_tensors", "tensors_as_bytes"]

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
    "I8": "|i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
SIZE = struct.Struct("<Q")


def tensors_as_bytes(
    arrays: Mapping[str, np.ndarray], notes: Mapping[str, str] | None = None
) -> bytes:
    """Return the content of a file. A dtype that NumPy lacks, as bfloat16, becomes float32.

    `notes` are texts that the file has beside its arrays, as its metadata.
    """
    header: dict[str, Any] = {"__metadata__": dict(notes)} if notes else {}
    pieces, end = [], 0
    for name, array in arrays.items():
        if array.dtype.newbyteorder("<") not in NAMES:
            array = array.astype("<f4")
        array = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": NAMES[array.dtype],
            "shape": array.shape,
            "data_offsets": [start, end],
        }
        pieces.append(array.tobytes())
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of 8
    return b"".join([SIZE.pack(len(text)), text, *pieces])


def file_content(path: str | Path) -> bytes:
    """Return the bytes of a regular file: those of a pipe or a device may have no end.

    Raises OSError.
    """
    if Path(path).exists() and not Path(path).is_file():
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return Path(path).read_bytes()


def read_tensors(path: str | Path) -> dict[str, np.ndarray]:
    """Return the arrays in a file, which have its bytes one after another.

    Raises
    ------
    ValueError
        It is no such file, or damaged; the message says where.
    OSError
        It cannot be read.
    """
    content = file_content(path)
    if len(content) < SIZE.size:
        raise ValueError(f"it has {len(content)} bytes, which is too short")
    (length,) = SIZE.unpack_from(content)
    if length > len(content) - SIZE.size:
        raise ValueError(
            f"its header has {length} bytes, the file {len(content)}, which is too short"
        )
    numbers = memoryview(content)[SIZE.size + length :]
    try:
        header = json.loads(content[SIZE.size : SIZE.size + length])
        header.pop("__metadata__", None)
        entries = {name: Entry(**entry) for name, entry in header.items()}
        declared = ((n, e.shape, np.dtype(DTYPES[e.dtype]).itemsize) for n, e in entries.items())
        validate(declared, len(content), len(numbers))
        expect_apart(entries, len(numbers))
        return {name: array(numbers, entry) for name, entry in entries.items()}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise ValueError(f"its header is damaged: {error}") from error


class Entry(NamedTuple):
    """One array in the header of a file."""

    dtype: str
    shape: list[int]
    data_offsets: list[int]


def expect_apart(entries: Mapping[str, Entry], size: int) -> None:
    """Refuse arrays that share bytes, or leave some out.

    Raises
    ------
    ValueError
        The message has the name and the offsets of one.
    """
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
        start, after = entry.data_offsets
        if start != end or after < start:
            raise ValueError(f"{name!r} at {entry.data_offsets}; expected it to begin at {end}")
        end = after
    if end != size:
        raise ValueError(f"its arrays end at {end} of {size} bytes")


def array(numbers: memoryview, entry: Entry) -> np.ndarray:
    start, end = entry.data_offsets
    kind = np.dtype(DTYPES[entry.dtype])
    if end - start != math.prod(entry.shape) * kind.itemsize:
        raise ValueError(f"{entry.dtype} {entry.shape} at {entry.data_offsets}")
    found = np.frombuffer(numbers[start:end], kind).reshape(entry.shape).copy()
    if entry.dtype == "BOOL":
        found = found.view("u1") != 0  # other bytes than 0 and 1 are undefined in a bool
    return found


def check_shapes(found: Mapping[str, np.ndarray], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse other parameters than those of a net.

    Raises
    ------
    ValueError
        One is missing, one is more, or has another shape; the message says which.
    """
    for name in {*found} ^ {*expected}:
        where, other = ("it", "the net") if name in found else ("the net", "it")
        raise ValueError(f"{where} has a parameter {quoted(name)}, {other} has none")
    for name, shape in expected.items():
        if found[name].shape != tuple(shape):
            raise ValueError(f"{name!r} is {found[name].shape} in it, {tuple(shape)} in the net")
