"""The records of a RecordIO file for iterators: a part of them, in an order, with their labels."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

import numpy as np

from .. import recordio
from .._files import records
from .._files.opening import open_file
from ..base import ArgumentError, MXNetError, quoted
from ._files import expect_part

__all__ = ["Source", "path_below", "read_list"]


def read_list(path_in: str | PathLike) -> dict[int, tuple[np.ndarray, str]]:
    """The labels and paths of the lines of a list by their keys.

    In each line are a key, one or more numbers and a path, with tabs between.

    Raises
    ------
    MXNetError
        A line is none of this kind; the message names the file and the line.
    """
    found = {}
    with open_file(path_in, "r", encoding="utf-8", errors="surrogateescape") as file:
        for number, line in enumerate(file, 1):
            try:
                key, first, *label, image = line.strip().split("\t")
                found[int(key)] = np.array([float(text) for text in (first, *label)]), image
            except ValueError:
                raise MXNetError(
                    f"the list {os.fsdecode(path_in)!r}: line {number} is {quoted(line)}\n"
                    "  expected a key, a label and a path, with tabs between"
                ) from None
    return found


def path_below(root: str | PathLike, name: str) -> Path:
    """Return the path of an image of a list, whose names may be those of another machine.

    Raises
    ------
    ArgumentError
        The name leads out of the folder `root`.
    """
    path = Path(name)
    if path.anchor or ".." in path.parts or "\0" in name:
        raise ArgumentError(
            f"the list has the path {quoted(name)}\n  expected one below {os.fsdecode(root)!r}"
        )
    return Path(root) / path


class Source:
    """Records by number, of one of several parts of a file.

    Without an index, parts are about as many bytes; with one, as many records.

    Raises
    ------
    MXNetError
        The file or its index is damaged.
    """

    def __init__(self, path, index, num_parts: int, part_index: int, name: str):
        if not path:
            raise ArgumentError(f"{name}: path_imgrec is not given\n  expected a RecordIO file")
        expect_part(name, num_parts, part_index)
        self._reader = records.Reader(path)
        self.path = self._reader.path
        if index:
            found = list(records.read_index(index, self._reader.size).values())
            size = -(-len(found) // num_parts)
            self.offsets = found[size * part_index : size * (part_index + 1)]
        else:
            found = self._reader.offsets()
            step = -(-self._reader.size // num_parts)
            step += -step % 4
            begin, end = step * part_index, step * (part_index + 1)
            self.offsets = [offset for offset in found if begin <= offset < end]
        if not self.offsets:
            raise ArgumentError(
                f"{name}: part {part_index} of {self.path!r} has no records\n"
                f"  expected at most {len(found)} parts, num_parts is {num_parts}"
            )

    def __len__(self) -> int:
        return len(self.offsets)

    def read(self, number: int) -> bytes:
        """The record of a number."""
        return self._reader.read_at(self.offsets[number])

    def header(self, number: int) -> recordio.IRHeader:
        """The header of that record, without reading the bytes after it."""
        return recordio._header_at(self._reader, self.offsets[number])

    def name(self, number: int) -> str:
        """What an error calls a record."""
        return f"{self.path!r}: the record at offset {self.offsets[number]}"
