"""Opening files, with an error of this package for one that is missing."""

from __future__ import annotations

import os
from typing import IO

from ..base import ArgumentError, MissingFileError

__all__ = ["open_file"]


def open_file(path: str | os.PathLike, mode: str = "rb", **options) -> IO:
    """`open`, which raises `MissingFileError` where there is no such file or folder.

    A number is refused, which `open` takes for a file that is open already.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ArgumentError(f"file {path!r} ({type(path).__name__})\n  expected its path")
    try:
        return open(path, mode, **options)
    except FileNotFoundError as error:
        raise MissingFileError(error.errno, error.strerror, error.filename) from None
