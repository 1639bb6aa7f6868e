"""RecordIO, MXNet's container of a sequence of records, and the index beside it.

    file      parts, one after another, each from an offset that 4 divides
    part      u32 0xCED7230A, u32 kind << 29 | length, that many bytes, zeros up to the next 4
    kind      0: a whole record; 1, 2, 3: the first, a middle, the last part of one
    index     lines of text: key, tab, offset of the record's first part

All is little-endian. Where a record has the magic number at an offset in it that 4 divides, it is
cut into parts there, without the number: so a reader that starts anywhere finds the next record.
A file is not trusted: no length in it is believed before it has been compared with the bytes that
remain.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import BinaryIO

from ..base import ArgumentError, MXNetError, quoted
from .opening import open_file

__all__ = ["MAX_LENGTH", "Reader", "RecordFileError", "packed", "read_index"]

MAGIC = struct.pack("<I", 0xCED7230A)
MAX_LENGTH = (1 << 29) - 1  # of a part; and of a record, whose parts are joined again
WHOLE, FIRST, MIDDLE, LAST = range(4)
_HEAD = struct.Struct("<4sI")
_LINE = 1 << 16  # the longest line of an index


class RecordFileError(MXNetError, ValueError):
    """A file is not a RecordIO file or an index of one, or is damaged."""


def packed(record: bytes) -> bytes:
    """The parts of a record, as they are in a file.

    Raises
    ------
    ArgumentError
        The record is longer than `MAX_LENGTH`.
    """
    if len(record) > MAX_LENGTH:
        raise ArgumentError(
            f"RecordIO: the record has {len(record)} bytes\n  expected at most {MAX_LENGTH}"
        )
    pieces, begin = [], 0
    at = record.find(MAGIC)
    while at >= 0:
        if at % 4 == 0:
            pieces.append(record[begin:at])
            begin = at = at + 4
        else:
            at += 1
        at = record.find(MAGIC, at)
    if not pieces:
        return _part(WHOLE, record)
    parts = [_part(MIDDLE if i else FIRST, piece) for i, piece in enumerate(pieces)]
    return b"".join([*parts, _part(LAST, record[begin:])])


def _part(kind: int, piece: bytes) -> bytes:
    return _HEAD.pack(MAGIC, kind << 29 | len(piece)) + piece + bytes(-len(piece) % 4)


class Reader:
    """The records of a file one after another, from its beginning or from an offset.

    Bytes are read at their offsets, not at the file's position, which forked processes share: so
    threads and processes may call `read_at` at the same time.

    Parameters
    ----------
    path : path

    Raises
    ------
    RecordFileError
        The bytes are no records; the message says at which offset of which file.
    MissingFileError
        There is no such file.
    """

    def __init__(self, path: str | os.PathLike):
        self.path = os.fsdecode(path)
        self._file: BinaryIO = open_file(path)
        self.size = os.fstat(self._file.fileno()).st_size
        self._at = 0

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __del__(self):
        if hasattr(self, "_file"):
            self._file.close()

    def tell(self) -> int:
        """The offset of the next record."""
        return self._at

    def seek(self, offset: int) -> None:
        """Go to a record, or to the end.

        Raises
        ------
        RecordFileError
            The offset is outside of the file.
        """
        if not 0 <= offset <= self.size:
            raise self._outside(offset)
        self._at = offset

    def offsets(self) -> list[int]:
        """The offsets of all records, read from the heads of their parts; go to the first record.

        Raises RecordFileError where the bytes are no records.
        """
        found, at = [], 0
        while at < self.size:
            kind, length = self._head(at)
            if kind in (WHOLE, FIRST):
                found.append(at)
            at += _HEAD.size + length + -length % 4
        self.seek(0)
        return found

    def read(self) -> bytes | None:
        """The next record; None at the end of the file.

        Raises
        ------
        RecordFileError
            The bytes there are no record.
        """
        if self._at == self.size:
            return None
        record, self._at = self._record(self._at)
        return record

    def read_at(self, offset: int, most: int | None = None) -> bytes:
        """The record at an offset, or its first `most` bytes; which one is next stays as it is.

        Raises
        ------
        RecordFileError
            The offset is outside of the file, or the bytes there are no record.
        """
        if not 0 <= offset < self.size:
            raise self._outside(offset)
        if most is not None:
            kind, length = self._head(offset)
            if kind == WHOLE:
                return os.pread(self._file.fileno(), min(length, most), offset + _HEAD.size)
        return self._record(offset)[0][:most]

    def _record(self, begin: int) -> tuple[bytes, int]:
        """The record at an offset, and the offset of the one after it."""
        kind, piece, after = self._part(begin)
        if kind == WHOLE:
            return piece, after
        if kind != FIRST:
            raise self._wrong(begin, f"there is part {kind} of a record", "its first part")
        pieces, total = [piece], len(piece)
        while kind != LAST:
            at = after
            kind, piece, after = self._part(at)
            total += len(MAGIC) + len(piece)
            if kind not in (MIDDLE, LAST):
                raise self._wrong(at, "another record begins", "the next part of the record before")
            if total > MAX_LENGTH:
                raise self._wrong(at, f"a record of {total} bytes", f"at most {MAX_LENGTH}")
            pieces.append(piece)
        return MAGIC.join(pieces), after

    def _head(self, at: int) -> tuple[int, int]:
        """The kind and the length of a part, whose bytes are there."""
        head = os.pread(self._file.fileno(), _HEAD.size, at)
        if len(head) < _HEAD.size:
            raise self._wrong(at, f"the file ends after {len(head)} bytes", f"{_HEAD.size} bytes")
        magic, word = _HEAD.unpack(head)
        if magic != MAGIC:
            raise self._wrong(at, f"there is {magic.hex(' ')}", f"{MAGIC.hex(' ')}")
        length = word & MAX_LENGTH
        left = self.size - at - _HEAD.size
        if length + -length % 4 > left:
            raise self._wrong(at, f"a part declares {length} bytes", f"at most the {left} left")
        return word >> 29, length

    def _part(self, at: int) -> tuple[int, bytes, int]:
        """The kind and the bytes of a part, and the offset after it."""
        kind, length = self._head(at)
        begin = at + _HEAD.size
        after = begin + length + -length % 4
        piece = os.pread(self._file.fileno(), length, begin)
        if len(piece) < length:
            cut = begin + len(piece)
            raise self._wrong(at, f"the file has been cut off to {cut} bytes", f"{after} bytes")
        return kind, piece, after

    def _outside(self, offset: int) -> RecordFileError:
        return RecordFileError(
            f"RecordIO: {self.path!r}: offset {offset} is asked for\n"
            f"  expected one of the file's {self.size} bytes"
        )

    def _wrong(self, at: int, found: str, expected: str) -> RecordFileError:
        return RecordFileError(
            f"RecordIO: {self.path!r}: at offset {at} {found}\n  expected {expected}"
        )


def read_index(path: str | os.PathLike, size: int, key_type: Callable = int) -> dict:
    """The offsets of an index by their keys, in its order; its records have `size` bytes together.

    Raises RecordFileError where a line is not a key, a tab and an offset, or there are more lines
    than records.
    """
    name, found, most = os.fsdecode(path), {}, size // _HEAD.size
    with open_file(path) as file:
        number = 0
        while line := file.readline(_LINE):
            number += 1
            if number > most:
                raise RecordFileError(
                    f"RecordIO: {name!r}: it has more than {most} lines\n"
                    f"  expected one for each record, of which {size} bytes have fewer"
                )
            try:
                key, _, offset = line.decode("utf-8").strip().partition("\t")
                if not (offset.isascii() and offset.isdigit()):
                    raise ValueError("no offset")
                found[key_type(key)] = int(offset)
            except (ValueError, TypeError):
                raise RecordFileError(
                    f"RecordIO: {name!r}: line {number} is {quoted(line)}\n"
                    f"  expected a key ({getattr(key_type, '__name__', key_type)}), "
                    "a tab and an offset"
                ) from None
    return found
