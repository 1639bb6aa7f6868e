"""Opening files, with an error of this package for one that is missing."""

from __future__ import annotations

import os
import stat
from typing import IO

from ..base import ArgumentError, MissingFileError, MXNetError

__all__ = ["NoRegularFileError", "open_file"]


class NoRegularFileError(MXNetError, OSError):
    """A path is that of a pipe or a device, of which reading might never end."""


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
    """Open without waiting for who writes into a pipe; for a regular file that is the same."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
