"""Reading and writing files, with an error of this package where one or its folder is missing."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from ... import _atomic
from ..base import ArgumentError, MissingFileError, MXNetError

__all__ = ["NoRegularFileError", "open_file", "write_files"]


class NoRegularFileError(MXNetError, OSError):
    """The error of a path to a pipe or a device, which might be read without end."""


def open_file(path: str | os.PathLike, mode: str = "rb", **options) -> IO:
    """Open a file as `open` does; to be read, it has to be a regular one.

    A number is refused, which `open` takes for a file that is open already.

    Raises
    ------
    MissingFileError
        There is no such file or folder.
    NoRegularFileError
        It is to be read, and is a pipe or a device.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ArgumentError(f"file {path!r} ({type(path).__name__})\n  expected its path")
    reads = mode.startswith("r")
    try:
        file = open(path, mode, opener=_opened if reads else None, **options)  # noqa: SIM115 - returned
    except FileNotFoundError as error:
        raise MissingFileError(error.errno, error.strerror, error.filename) from None
    if reads and not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise NoRegularFileError(
            f"file {os.fsdecode(path)!r} is a pipe or a device\n  expected a regular file"
        )
    return file


def _opened(path: str, flags: int) -> int:
    """Open without waiting for the writer of a pipe; a regular file is opened as ever."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def write_files(contents: Mapping[str | os.PathLike, _atomic.Pieces]) -> None:
    """Write files whole or not at all, from the pieces of each by its path, as `_atomic.write`.

    Raises MissingFileError where there is no folder for a file, other OSErrors, and the errors that
    the pieces raise.
    """
    try:
        _atomic.write(contents)
    except FileNotFoundError as error:
        if error.filename not in [str(Path(os.fsdecode(path))) for path in contents]:
            raise
        raise MissingFileError(error.errno, error.strerror, error.filename) from None
