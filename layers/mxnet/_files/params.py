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
      other     the word is ndim, as before there were versions: u32 dims, place, flag, data
    shape     i32 ndim, i64 dims
    place     i32 device type, i32 device id: where the array was, ignored here
    flag      i32, the type: DTYPES
    data      in C order

All numbers are little-endian, nothing is aligned, there is no checksum, and more bytes may follow.
V3 is V2 with MXNet's np_shape semantics, where there are arrays of shape ``()``. The file is not
trusted: each length in it is compared with the bytes that remain before it is used.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterator, Sequence
from io import BufferedIOBase, BytesIO
from typing import Any

import torch

from ..._arrays import MAX_NDIM, ArraysError, most_arrays, room_of, validate
from .._sparse.stored import CSR as CsrArray
from .._sparse.stored import RowSparse, Stored
from ..base import DTypeError, MXNetError, quoted
from .opening import open_file, write_files

__all__ = [
    "ParamsFileError",
    "array_pieces",
    "pieces",
    "read",
    "read_array",
    "reads",
    "record_pieces",
    "write",
    "writes",
]

MAGIC = 0x112
# The first bytes of other files.
OTHERS = {b"\x80": "a pickle, as MXNet writes an optimizer's states", b"{": "JSON, as of a graph"}
VERSIONS = {0xF993FAC8: 1, 0xF993FAC9: 2, 0xF993FACA: 3}
WORDS = {version: word for word, version in VERSIONS.items()}
DENSE, ROW_SPARSE, CSR = 0, 1, 2
DEVICES = (1, 2, 3, 5)  # cpu, gpu, cpu_pinned, cpu_shared

# MXNet 1.9.1 has flags for int16 and the wide unsigned types, but neither reads nor writes them.
_names = "float32 float64 float16 uint8 int32 int8 int64 bool int16 uint16 uint32 uint64 bfloat16"
DTYPES = {flag: getattr(torch, name) for flag, name in enumerate(_names.split())}
FLAGS = {dtype: flag for flag, dtype in DTYPES.items()}
INDEX_DTYPES = {FLAGS[dtype]: dtype for dtype in (torch.int32, torch.int64)}

SMALLEST_RECORD = 4  # bytes: the first word


class ParamsFileError(MXNetError, ValueError):
    """A file is no ``.params`` file, or is damaged; or arrays cannot be written into one."""


def read(
    path: str | os.PathLike, np_shape: bool | None = None, sparse: bool = False
) -> tuple[list[Any], list[str]]:
    """Read a ``.params`` file that any version of MXNet has written.

    Returns the tensors, on the CPU, and a name for each, or no names where a list was saved. Sparse
    arrays are returned as dense ones, or with `sparse` as what is stored of them. `np_shape` is
    whether the file has to be of np_shape semantics; with None either will do.

    Raises ParamsFileError, a ValueError, where the file is not of this format or semantics,
    MissingFileError where it is missing, and OSError where it cannot be read.
    """
    with open_file(path) as file:
        reader = _Reader(file, os.fstat(file.fileno()).st_size, os.fsdecode(path))
        return _read_file(reader, np_shape, sparse)


def reads(
    data: bytes, source: str = "<bytes>", np_shape: bool | None = None, sparse: bool = False
) -> tuple[list[Any], list[str]]:
    """Read the bytes of a ``.params`` file as `read` does; errors name `source` as the file."""
    return _read_file(_Reader(BytesIO(data), len(data), source), np_shape, sparse)


def write(
    path: str | os.PathLike,
    tensors: Sequence[torch.Tensor | Stored],
    names: Sequence[str] = (),
    np_shape: bool = False,
) -> None:
    """Write tensors of any device, and what is stored of sparse arrays, with names or without.

    The file appears whole or not at all: an earlier file at `path` stays until the new one is on
    disk. Records are V2, which MXNet reads outside np_shape semantics; with `np_shape`, V3, which
    it reads inside them. MXNet 1.9.1 does not read int16, uint16, uint32 and uint64; `read` does.

    Raises DTypeError for a type that the format has no flag for, ParamsFileError for a wrong number
    of names or too many arrays, and OSError.
    """
    write_files({path: pieces(os.fsdecode(path), tensors, names, np_shape)})


def writes(
    tensors: Sequence[torch.Tensor | Stored], names: Sequence[str] = (), np_shape: bool = False
) -> bytes:
    """The bytes of the file that `write` writes."""
    return b"".join(pieces("bytes", tensors, names, np_shape))


def pieces(
    target: str,
    tensors: Sequence[torch.Tensor | Stored],
    names: Sequence[str] = (),
    np_shape: bool = False,
) -> Iterator[bytes | memoryview]:
    """The bytes of a file, in order. Errors are raised at once, and name `target` as the file."""
    values = [t if isinstance(t, torch.Tensor) else t.values for t in tensors]
    for i, tensor in enumerate(values):
        if tensor.dtype not in FLAGS or tensor.layout != torch.strided:
            raise DTypeError(
                f"{target}: array {repr(names[i]) if names else i} is {tensor.dtype}, "
                f"{tensor.layout}\n  expected a dense one of {', '.join(map(str, FLAGS))}"
            )
    n, most = len(tensors), most_arrays(sum(t.nbytes for t in values))
    if len(names) not in (0, n) or n > most:
        raise ParamsFileError(
            f"{target}: {len(names)} names for {n} arrays\n"
            f"  expected one for each, or none, and at most {most} arrays of these sizes"
        )
    # In V2, ndim 0 means that there is no array. MXNet writes an array of shape () like this too,
    # and cannot read its own file then. As it reads V2 outside np_shape semantics only, and V3
    # inside only, one array of shape () makes all records V3.
    version = 3 if np_shape or any(len(t.shape) == 0 for t in tensors) else 2
    if version == 3 and any(not isinstance(t, torch.Tensor) for t in tensors):
        raise ParamsFileError(
            f"{target}: a sparse array with np_shape semantics, or beside an array of shape ()\n"
            "  expected dense arrays, or neither of both"
        )
    return _encode(tensors, [name.encode() for name in names], version)


def _encode(
    tensors: Sequence[torch.Tensor | Stored], names: list[bytes], version: int
) -> Iterator[bytes | memoryview]:
    yield struct.pack("<QQQ", MAGIC, 0, len(tensors))
    for tensor in tensors:
        is_dense = isinstance(tensor, torch.Tensor)
        yield from array_pieces(tensor, version) if is_dense else _sparse_pieces(tensor)
    yield struct.pack("<Q", len(names))
    for name in names:
        yield struct.pack("<Q", len(name)) + name


def array_pieces(tensor: torch.Tensor, version: int = 2) -> tuple[bytes, memoryview]:
    """The record of a dense array: its head, and its data."""
    ndim = tensor.dim()
    head = (WORDS[version], DENSE, ndim, *tensor.shape, DEVICES[0], 0, FLAGS[tensor.dtype])
    return struct.pack(f"<Iii{ndim}qiii", *head), _bytes_of(tensor.detach().cpu())


def record_pieces(array: torch.Tensor | Stored) -> list[bytes | memoryview]:
    """The record of a dense or sparse array."""
    if isinstance(array, torch.Tensor):
        return list(array_pieces(array))
    return list(_sparse_pieces(array))


def _sparse_pieces(array: Stored) -> Iterator[bytes | memoryview]:
    """The record of a sparse array: its head, its data, and its indices."""
    values, index = array.values.cpu(), [i.cpu() for i in array.indices]

    def shape(dims: Sequence[int]) -> bytes:
        return struct.pack(f"<i{len(dims)}q", len(dims), *dims)

    yield struct.pack("<Ii", WORDS[2], ROW_SPARSE if isinstance(array, RowSparse) else CSR)
    yield shape(values.shape) + shape(array.shape)
    yield struct.pack("<iii", DEVICES[0], 0, FLAGS[values.dtype])
    for each in index:
        yield struct.pack("<i", FLAGS[each.dtype]) + shape(each.shape)
    yield from map(_bytes_of, (values, *index))


def read_array(data: bytes, source: str) -> torch.Tensor | Stored:
    """The array of a record alone, as MXNet pickles one; errors name `source` as the file.

    Raises ParamsFileError.
    """
    r = _Reader(BytesIO(data), len(data), source)
    r.part, r.sparse_room = "an array", 0  # a file of pickled arrays may have many
    return _read_record(r, sparse=True)


class _Reader:
    """Reads fields from a stream in order; it allocates no more than the bytes that remain."""

    def __init__(self, stream: BufferedIOBase, size: int, source: str):
        self.stream, self.size, self.source = stream, size, source
        self.at = self.end = 0  # of the field that was read last
        self.part, self.versions = "header", set()
        self.sparse_room = room_of(size)

    def take_room(self, what: str, shape: tuple[int, ...], itemsize: int) -> None:
        """Count the memory that an array takes beyond its bytes in the file."""
        self.sparse_room -= self.validated(what, shape, itemsize, self.sparse_room)

    def validated(self, what: str, shape: tuple[int, ...], itemsize: int, room: int) -> int:
        try:
            return validate([(what, shape, itemsize)], self.size, room)
        except ArraysError as error:
            raise self.error(f"{what} {error.wrong}", error.expected) from None

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
        self.fill(_bytes_of(tensor), what)  # the one copy
        if dtype == torch.bool:
            tensor.view(torch.uint8).ne_(0)  # other bytes than 0 and 1 are undefined in a bool
        return tensor

    def numbers(self, code: str, what: str) -> tuple:
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code), what))

    def number(self, code: str, what: str) -> int:
        return self.numbers(code, what)[0]

    def count(self, what: str, smallest: int) -> int:
        """A number of items, each of which has at least `smallest` bytes."""
        count, most = self.number("Q", what), (self.size - self.end) // smallest
        allowed = most_arrays(self.size)
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
        self.validated(what, dims, 0, 0)
        return dims

    def dtype(self, what: str = "type flag", among: dict = DTYPES) -> torch.dtype:
        flag = self.number("i", what)
        if flag not in among:
            raise self.error(f"{what} is {flag}", f"one of {', '.join(map(str, among))}")
        return among[flag]


def _read_file(
    r: _Reader, np_shape: bool | None = None, sparse: bool = False
) -> tuple[list[Any], list[str]]:
    if found := OTHERS.get(r.stream.read(1)):
        raise r.error(f"this is {found}", "a .params file: arrays, and nothing that runs code")
    r.stream.seek(0)
    if (magic := r.number("Q", "magic")) != MAGIC:
        raise r.error(f"magic is {magic:#x}", f"{MAGIC:#x}, with which every .params file begins")
    r.number("Q", "reserved word")
    tensors, names = [], []
    n = r.count("number of arrays", SMALLEST_RECORD)
    for i in range(n):
        r.part = f"array {i} of {n}"
        tensors.append(_read_record(r, sparse))
    has_scalar = any(isinstance(t, torch.Tensor) and not t.dim() for t in tensors)
    _expect_semantics(r, np_shape, has_scalar)
    r.part = "names"
    m = r.count("number of names", 8)
    if m not in (0, n):
        raise r.error(f"{m} names for {n} arrays", "one for each, or none")
    for i in range(m):
        r.part = f"name {i} of {m}"
        name = r.take(r.number("Q", "length"), "name")
        try:
            names.append(name.decode())
            validate([(names[-1], (), 0)], r.size, 0)
        except ArraysError as error:
            raise r.error(f"{quoted(names[-1])} {error.wrong}", error.expected) from None
        except UnicodeDecodeError as error:
            wrong = f"{bytes(name[:40])!r} is not UTF-8, {error.reason}"
            raise r.error(wrong, "a name in UTF-8") from None
    # Not before: a file that is cut short does not cost what its sparse arrays declare.
    return tensors if sparse else [_dense(t) for t in tensors], names


def _dense(array: torch.Tensor | Stored) -> torch.Tensor:
    return array if isinstance(array, torch.Tensor) else array.to_dense()


def _expect_semantics(r: _Reader, np_shape: bool | None, has_scalar: bool) -> None:
    """Refuse V3 outside np_shape semantics, unless an array of shape () needs it; others inside."""
    if np_shape and r.versions - {3}:
        raise r.error("it was saved without np_shape semantics", "with mx.np_shape(False):")
    if np_shape is False and 3 in r.versions and not has_scalar:
        raise r.error("it was saved with np_shape semantics", "with mx.np_shape():")


def _read_record(r: _Reader, sparse: bool = False) -> torch.Tensor | Stored:
    word = r.number("I", "version")
    version = VERSIONS.get(word, 0)
    r.versions.add(version)
    if not version and word > MAX_NDIM:
        known = ", ".join(map(hex, VERSIONS))
        raise r.error(f"it begins with {word:#x}", f"a version, {known}, or ndim, 0 to {MAX_NDIM}")
    if version >= 2:
        storage = r.number("i", "storage type")
        if storage in (ROW_SPARSE, CSR) and version == 2:
            return _read_sparse(r, storage, sparse)
        if storage != DENSE:
            raise r.error(f"storage type is {storage}", "0 or, in V2 only, 1 or 2")
    shape = r.shape() if version else r.dims(f"{word}I")
    device, _ = r.numbers("ii", "place")
    if shape == () and version < 3 and device not in DEVICES:
        # Followed by a place, it is an array of shape (), which MXNet writes like this; see
        # `pieces`.
        raise r.error("ndim is 0 and no data follow: an empty handle was saved", "an array")
    return r.tensor(r.dtype(), shape)


def _read_sparse(r: _Reader, storage: int, sparse: bool) -> Stored:
    stored, shape = r.shape("stored shape"), r.shape()
    r.numbers("ii", "place")
    dtype = r.dtype()
    parts = ("row numbers",) if storage == ROW_SPARSE else ("indptr", "columns")
    specs = [(r.dtype(f"type flag of {p}", INDEX_DTYPES), r.shape(f"shape of {p}")) for p in parts]
    data = r.tensor(dtype, stored)
    index = [r.tensor(*spec, part).long() for spec, part in zip(specs, parts)]
    if storage == ROW_SPARSE:
        array, places = _rows(r, shape, data, *index)
    else:
        array, places = _cells(r, shape, data, *index)
    if len(places.unique()) != len(places):
        raise r.error("an index is there twice", "each once, in any order")
    if not sparse:
        r.take_room("a sparse array, as a dense one,", shape, dtype.itemsize)
    if storage == CSR and len(array.indptr) != shape[0] + 1:  # as MXNet writes an array of zeros
        r.take_room("indptr of a csr of zeros", (shape[0] + 1,), 8)
        array = array._replace(indptr=torch.zeros(shape[0] + 1, dtype=torch.int64, device="cpu"))
    return array.ordered()


def _rows(
    r: _Reader, shape: tuple, data: torch.Tensor, rows: torch.Tensor
) -> tuple[RowSparse, torch.Tensor]:
    """The array of stored rows, and the number of each, (k,)."""
    stored = tuple(data.shape)
    if not (shape and stored) or stored[1:] != shape[1:] or rows.shape != stored[:1]:
        raise r.error(
            f"row_sparse {shape} has stored shape {stored} and row numbers {tuple(rows.shape)}",
            "stored shape (k, *shape[1:]) and k row numbers",
        )
    return RowSparse(shape, data, rows), _expect_in_range(r, rows, shape[0], "row numbers")


def _cells(
    r: _Reader, shape: tuple, data: torch.Tensor, indptr: torch.Tensor, columns: torch.Tensor
) -> tuple[CsrArray, torch.Tensor]:
    """The matrix of stored values, and the place of each in the flat dense one, (k,)."""
    stored = tuple(data.shape)
    if len(shape) != 2 or len(stored) != 1 or columns.shape != stored or indptr.dim() != 1:
        raise r.error(
            f"csr {shape} has stored shape {stored}, indptr {tuple(indptr.shape)} and "
            f"columns {tuple(columns.shape)}",
            "two dims, stored shape (k,), indptr (rows + 1,) and columns (k,)",
        )
    (k,) = stored
    matrix = CsrArray(shape, data, indptr, columns)
    if k == 0 and len(indptr) == 0:
        return matrix, columns
    rises = (indptr[:-1] <= indptr[1:]).all()  # differences could overflow
    if len(indptr) != shape[0] + 1 or indptr[0] != 0 or indptr[-1] != k or not rises:
        raise r.error(
            f"indptr {tuple(indptr.shape)} of csr {shape} does not count the {k} stored values",
            f"{shape[0] + 1} numbers that rise from 0 to {k}",
        )
    _expect_in_range(r, columns, shape[1], "columns")
    return matrix, matrix.rows * shape[1] + columns


def _expect_in_range(r: _Reader, index: torch.Tensor, n: int, what: str) -> torch.Tensor:
    low, high = map(int, index.aminmax()) if len(index) else (0, n - 1)
    if low < 0 or high >= n:
        raise r.error(f"{what} go from {low} to {high}", f"0 to {n - 1}")
    return index


def _bytes_of(tensor: torch.Tensor) -> memoryview:
    """A tensor's bytes in C order: its own memory if it is contiguous, else a copy."""
    if not tensor.numel():  # its strides may be any
        return memoryview(bytearray())
    return tensor.reshape(-1).view(torch.uint8).numpy().data
