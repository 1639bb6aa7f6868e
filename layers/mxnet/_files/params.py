"""MXNet's binary container, the ``.params`` file, on torch tensors.

    file      u64 0x112, u64 0, u64 n, n records, u64 m (0: a list was saved, or n), m names
    name      u64 length, UTF-8 bytes
    record    u32 word, then by that word
      V1        shape, place, flag, data
      V2        i32 storage 0 (dense), shape, place, flag, data
                i32 storage 1 (row_sparse: row numbers) or 2 (csr: indptr, columns),
                  stored shape, shape, place, flag, (flag, shape) of each index array,
                  data of the stored shape, data of each index array
      V3        i32 storage 0, shape, place, flag, data
      else      the word is ndim, of the time before versions: u32 dims, place, flag, data
    shape     i32 ndim, i64 dims
    place     i32 device type, i32 device id: where the array was, of no meaning here
    flag      i32, the type: DTYPES
    data      in C order; all little-endian, nothing aligned, no checksum; more may follow

V3 is V2 from MXNet's np_shape semantics, where an array of shape ``()`` exists. The file is not
trusted: no length in it is believed before it has been compared with the bytes that remain.
"""

from __future__ import annotations

import math
import os
import stat
import struct
from collections.abc import Iterator, Sequence
from io import BufferedIOBase, BytesIO
from typing import NamedTuple

import torch

from ..base import DTypeError, MXNetError
from . import atomic

__all__ = ["ParamsFileError", "pieces", "read", "reads", "write", "writes"]

MAGIC = 0x112
# What other files begin with.
OTHERS = {b"\x80": "a pickle, as MXNet writes an optimizer's states", b"{": "JSON, as of a graph"}
VERSIONS = {0xF993FAC8: 1, 0xF993FAC9: 2, 0xF993FACA: 3}
WORDS = {version: word for word, version in VERSIONS.items()}
DENSE, ROW_SPARSE, CSR = 0, 1, 2
DEVICES = (1, 2, 3, 5)  # cpu, gpu, cpu_pinned, cpu_shared

# MXNet 1.9.1 has numbers for int16 and the wide unsigned types, but neither reads nor writes them.
_names = "float32 float64 float16 uint8 int32 int8 int64 bool int16 uint16 uint32 uint64 bfloat16"
DTYPES = {flag: getattr(torch, name) for flag, name in enumerate(_names.split())}
FLAGS = {dtype: flag for flag, dtype in DTYPES.items()}
INDEX_DTYPES = {FLAGS[dtype]: dtype for dtype in (torch.int32, torch.int64)}
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

MAX_NDIM = 64
MAX_RECORDS = 1 << 16  # or, in a large file, one for so many bytes: a tensor, even an empty one,
BYTES_OF_RECORD = 64  # takes about 600 in memory, and its record 28
SMALLEST_RECORD = 4  # bytes: the first word
SPARSE_ROOM = 1 << 30  # bytes that a file's sparse arrays may take as dense ones; or
SPARSE_GROWTH = 64  # so many times the file's size, if that is more


class ParamsFileError(MXNetError, ValueError):
    """A file is not a ``.params`` file, or a damaged one; or arrays do not fit into one."""


def read(path: str | os.PathLike) -> tuple[list[torch.Tensor], list[str]]:
    """Read a ``.params`` file, as MXNet of any version has written it.

    Returns the tensors, on the CPU, and their names: as many, or none where a list was saved.
    Sparse arrays come back dense.

    Raises ParamsFileError, a ValueError, where the bytes are not such a file, and OSError where
    there is none.
    """
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):  # a pipe has no size
            return reads(file.read(), os.fsdecode(path))
        return _file(_Reader(file, status.st_size, os.fsdecode(path)))


def reads(data: bytes, source: str = "<bytes>") -> tuple[list[torch.Tensor], list[str]]:
    """Read the bytes of a ``.params`` file: `read`; errors name `source` as the file."""
    return _file(_Reader(BytesIO(data), len(data), source))


def write(
    path: str | os.PathLike,
    tensors: Sequence[torch.Tensor],
    names: Sequence[str] = (),
    np_shape: bool = False,
) -> None:
    """Write tensors, dense and from any device, with as many names or none.

    The file appears whole or not at all: what was at `path` stays until the new file is on disk.
    Records are V2, which MXNet reads outside np_shape semantics; with `np_shape`, V3, which it
    reads inside them. int16, uint16, uint32 and uint64 are beyond MXNet 1.9.1; `read` has them.

    Raises DTypeError for a type that the format has no number for, ParamsFileError where the
    counts are wrong, and OSError.
    """
    atomic.write({path: pieces(os.fsdecode(path), tensors, names, np_shape)})


def writes(
    tensors: Sequence[torch.Tensor], names: Sequence[str] = (), np_shape: bool = False
) -> bytes:
    """The bytes that `write` writes."""
    return b"".join(pieces("bytes", tensors, names, np_shape))


def pieces(
    target: str, tensors: Sequence[torch.Tensor], names: Sequence[str] = (), np_shape: bool = False
) -> Iterator[bytes | memoryview]:
    """The bytes of a file, in order; what does not fit into one is an error now.

    Errors name `target` as the file.
    """
    for i, tensor in enumerate(tensors):
        if tensor.dtype not in FLAGS or tensor.layout != torch.strided:
            raise DTypeError(
                f"{target}: array {repr(names[i]) if names else i} is {tensor.dtype}, "
                f"{tensor.layout}\n  expected a dense one of {', '.join(map(str, FLAGS))}"
            )
    n, most = len(tensors), max_records(sum(t.nbytes for t in tensors))
    if len(names) not in (0, n) or n > most:
        raise ParamsFileError(
            f"{target}: {len(names)} names for {n} arrays\n"
            f"  expected one for each, or none, and at most {most} arrays of these sizes"
        )
    # In V2, ndim 0 stands for no array at all. MXNet writes an array of shape () so nonetheless,
    # and then cannot read its own file. And it reads V2 only outside np_shape semantics, V3 only
    # inside: one such array makes all records V3, in which nothing is lost.
    version = 3 if np_shape or any(tensor.dim() == 0 for tensor in tensors) else 2
    return _encoded(tensors, [name.encode() for name in names], version)


def _encoded(
    tensors: Sequence[torch.Tensor], names: list[bytes], version: int
) -> Iterator[bytes | memoryview]:
    yield struct.pack("<QQQ", MAGIC, 0, len(tensors))
    for tensor in tensors:
        ndim = tensor.dim()
        head = (WORDS[version], DENSE, ndim, *tensor.shape, DEVICES[0], 0, FLAGS[tensor.dtype])
        yield struct.pack(f"<Iii{ndim}qiii", *head)
        yield _memory(tensor.detach().cpu())
    yield struct.pack("<Q", len(names))
    for name in names:
        yield struct.pack("<Q", len(name)) + name


def max_records(size: int) -> int:
    """The most arrays in a file of so many bytes."""
    return max(MAX_RECORDS, size // BYTES_OF_RECORD)


def is_countable(shape: Sequence[int]) -> bool:
    """Whether the strides of a shape are below 2**60: beside a 0, other dims cost no bytes."""
    return math.prod(n or 1 for n in shape) < 1 << 60


class _Reader:
    """Takes fields from a stream in order. What is not there is an error, not an allocation."""

    def __init__(self, stream: BufferedIOBase, size: int, source: str):
        self.stream, self.size, self.source = stream, size, source
        self.at = self.end = 0  # of the field taken last
        self.part = "header"
        self.sparse_room = max(SPARSE_ROOM, SPARSE_GROWTH * size)

    def error(self, wrong: str, expected: str) -> ParamsFileError:
        return ParamsFileError(
            f"{self.source}, {self.part}: {wrong}\n  expected {expected}\n"
            f"  at byte {self.at} of {self.size}"
        )

    def reserve(self, count: int, what: str) -> None:
        self.at = self.end
        if count > self.size - self.at:
            raise self.error(
                f"{what} has {count} bytes, but {self.size - self.at} remain",
                "a whole file; this one is cut short, or a length in it is wrong",
            )
        self.end += count

    def fill(self, memory: bytearray | memoryview, what: str) -> None:
        if (count := self.stream.readinto(memory)) != len(memory):
            raise self.error(f"{what} ended after {count} bytes", "a file that nobody writes to")

    def take(self, count: int, what: str) -> bytearray:
        self.reserve(count, what)
        self.fill(data := bytearray(count), what)
        return data

    def tensor(self, dtype: torch.dtype, shape: tuple, what: str = "data") -> torch.Tensor:
        self.reserve(math.prod(shape) * dtype.itemsize, f"{what} {shape} of {dtype}")
        tensor = torch.empty(shape, dtype=dtype, device="cpu")
        self.fill(_memory(tensor), what)  # the one copy
        if dtype == torch.bool:
            tensor.view(torch.uint8).ne_(0)  # a bool that is neither 0 nor 1 is undefined
        return tensor

    def numbers(self, code: str, what: str) -> tuple:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code), what))

    def number(self, code: str, what: str) -> int:
        return self.numbers(code, what)[0]

    def count(self, what: str, smallest: int) -> int:
        """A number of things that have `smallest` bytes or more each."""
        count, most = self.number("Q", what), (self.size - self.end) // smallest
        allowed = max_records(self.size)
        if count > min(most, allowed):
            raise self.error(
                f"{what} is {count}", f"at most {allowed}, and {most} in the bytes that remain"
            )
        return count

    def shape(self, what: str = "shape") -> tuple[int, ...]:
        ndim = self.number("i", f"{what}'s ndim")
        if not 0 <= ndim <= MAX_NDIM:
            raise self.error(f"{what}'s ndim is {ndim}", f"0 to {MAX_NDIM}")
        return self.dims(f"{ndim}q", what)

    def dims(self, code: str, what: str = "shape") -> tuple[int, ...]:
        dims = self.numbers(code, what)
        if min(dims, default=0) < 0 or not is_countable(dims):
            raise self.error(f"{what} is {dims}", "known dims, and fewer than 2**60 elements")
        return dims

    def dtype(self, what: str = "type flag", among: dict = DTYPES) -> torch.dtype:
        flag = self.number("i", what)
        if flag not in among:
            raise self.error(f"{what} is {flag}", f"one of {', '.join(map(str, among))}")
        return among[flag]


def _file(r: _Reader) -> tuple[list[torch.Tensor], list[str]]:
    if told := OTHERS.get(r.stream.read(1)):
        raise r.error(f"this is {told}", "a .params file: arrays, and nothing that runs code")
    r.stream.seek(0)
    if (magic := r.number("Q", "magic")) != MAGIC:
        raise r.error(f"magic is {magic:#x}", f"{MAGIC:#x}, with which every .params file begins")
    r.number("Q", "reserved word")
    tensors, names = [], []
    n = r.count("number of arrays", SMALLEST_RECORD)
    for i in range(n):
        r.part = f"array {i} of {n}"
        tensors.append(_record(r))
    r.part = "names"
    m = r.count("number of names", 8)
    if m not in (0, n):
        raise r.error(f"{m} names for {n} arrays", "one for each, or none")
    for i in range(m):
        r.part = f"name {i} of {m}"
        name = r.take(r.number("Q", "length"), "name")
        try:
            names.append(name.decode())
        except UnicodeDecodeError as error:
            wrong = f"{bytes(name[:40])!r} is not UTF-8, {error.reason}"
            raise r.error(wrong, "a name in UTF-8") from None
    return [t.dense() if isinstance(t, _Sparse) else t for t in tensors], names


class _Sparse(NamedTuple):
    """A sparse array, which takes the memory of a dense one only when the whole file was read."""

    shape: tuple
    where: torch.Tensor  # of the rows, or of the elements of the flat array
    data: torch.Tensor
    by_rows: bool

    def dense(self) -> torch.Tensor:
        dense = torch.zeros(self.shape, dtype=self.data.dtype, device="cpu")
        bits = BITS[dense.itemsize]  # torch does not index every type; and a NaN keeps its payload
        target = dense if self.by_rows else dense.view(-1)
        target.view(bits)[self.where] = self.data.view(bits)
        return dense


def _record(r: _Reader) -> torch.Tensor | _Sparse:
    word = r.number("I", "version")
    version = VERSIONS.get(word, 0)
    if not version and word > MAX_NDIM:
        known = ", ".join(map(hex, VERSIONS))
        raise r.error(f"it begins with {word:#x}", f"a version, {known}, or ndim, 0 to {MAX_NDIM}")
    if version >= 2:
        storage = r.number("i", "storage type")
        if storage in (ROW_SPARSE, CSR) and version == 2:
            return _sparse(r, storage)
        if storage != DENSE:
            raise r.error(f"storage type is {storage}", "0 or, in V2 only, 1 or 2")
    shape = r.shape() if version else r.dims(f"{word}I")
    device, _ = r.numbers("ii", "place")
    if shape == () and version < 3 and device not in DEVICES:
        # With a place behind it, it is an array of shape (), as `write` says of MXNet.
        raise r.error("ndim is 0 and no data follow: an empty handle was saved", "an array")
    return r.tensor(r.dtype(), shape)


def _sparse(r: _Reader, storage: int) -> _Sparse:
    stored, shape = r.shape("stored shape"), r.shape()
    r.numbers("ii", "place")
    dtype = r.dtype()
    parts = ("row numbers",) if storage == ROW_SPARSE else ("indptr", "columns")
    kinds = [(r.dtype(f"type flag of {p}", INDEX_DTYPES), r.shape(f"shape of {p}")) for p in parts]
    data = r.tensor(dtype, stored)
    index = [r.tensor(*kind, part).long() for kind, part in zip(kinds, parts)]
    where = (_rows if storage == ROW_SPARSE else _cells)(r, shape, stored, *index)
    if len(where.unique()) != len(where):
        raise r.error("an index is there twice", "each once, in any order")
    size = math.prod(shape) * dtype.itemsize
    if size > r.sparse_room:
        raise r.error(
            f"a sparse array {shape} takes {size} bytes as a dense one",
            f"at most {r.sparse_room} more in this file (layers.mxnet._files.params.SPARSE_ROOM)",
        )
    r.sparse_room -= size
    return _Sparse(shape, where, data, storage == ROW_SPARSE)


def _rows(r: _Reader, shape: tuple, stored: tuple, rows: torch.Tensor) -> torch.Tensor:
    """Where stored rows go in the dense array: (k, ...) and (k,) to (k,)."""
    if not (shape and stored) or stored[1:] != shape[1:] or rows.shape != stored[:1]:
        raise r.error(
            f"row_sparse {shape} has stored shape {stored} and row numbers {tuple(rows.shape)}",
            "stored shape (k, *shape[1:]) and k row numbers",
        )
    return _within(r, rows, shape[0], "row numbers")


def _cells(
    r: _Reader, shape: tuple, stored: tuple, indptr: torch.Tensor, columns: torch.Tensor
) -> torch.Tensor:
    """Where stored values go in the flat dense array: (k,), (rows + 1,) and (k,) to (k,)."""
    if len(shape) != 2 or len(stored) != 1 or columns.shape != stored or indptr.dim() != 1:
        raise r.error(
            f"csr {shape} has stored shape {stored}, indptr {tuple(indptr.shape)} and "
            f"columns {tuple(columns.shape)}",
            "two dims, stored shape (k,), indptr (rows + 1,) and columns (k,)",
        )
    (k,) = stored
    if k == 0 and len(indptr) == 0:  # so MXNet writes an array of zeros
        return columns
    rises = (indptr[:-1] <= indptr[1:]).all()  # not by differences, which could overflow
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or indptr[-1] != k or not rises:
        raise r.error(
            f"indptr {tuple(indptr.shape)} of csr {shape} does not count the {k} stored values",
            f"{shape[0] + 1} numbers that rise from 0 to {k}",
        )
    _within(r, columns, shape[1], "columns")
    rows = torch.arange(shape[0], device="cpu").repeat_interleave(indptr.diff())
    return rows * shape[1] + columns


def _within(r: _Reader, index: torch.Tensor, n: int, what: str) -> torch.Tensor:
    low, high = map(int, index.aminmax()) if len(index) else (0, n - 1)
    if low < 0 or high >= n:
        raise r.error(f"{what} go from {low} to {high}", f"0 to {n - 1}")
    return index


def _memory(tensor: torch.Tensor) -> memoryview:
    """A tensor's bytes in C order: its own memory if it is contiguous, else a copy."""
    return tensor.reshape(-1).view(torch.uint8).numpy().data
