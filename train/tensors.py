"""Named arrays as a safetensors file: a length, a header in JSON, and the numbers.

The package safetensors would do as well. A checkpoint is not to depend on one that is optional
(`exchange` in setup.cfg), and the format is these few lines.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["read_tensors", "tensors_as_bytes"]

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
    "I8": "|i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
SIZE = struct.Struct("<Q")


def tensors_as_bytes(
    arrays: Mapping[str, np.ndarray], notes: Mapping[str, str] | None = None
) -> bytes:
    """The content of a file. A dtype that NumPy lacks, as bfloat16, becomes float32.

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


def read_tensors(path: str | Path) -> dict[str, np.ndarray]:
    """The arrays in a file.

    Raises
    ------
    ValueError
        It is no such file, or damaged; the message says where.
    """
    content = Path(path).read_bytes()
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
        return {name: array(numbers, **entry) for name, entry in header.items()}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise ValueError(f"its header is damaged: {error}") from error


def array(numbers: memoryview, dtype: str, shape: list[int], data_offsets: list[int]) -> Any:
    start, end = data_offsets
    kind = np.dtype(DTYPES[dtype])
    if not 0 <= start <= end <= len(numbers) or end - start != math.prod(shape) * kind.itemsize:
        raise ValueError(f"{dtype} {shape} at {data_offsets} of {len(numbers)} bytes")
    return np.frombuffer(numbers[start:end], kind).reshape(shape).copy()
