"""Writing files so that each appears whole, or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ..base import MissingFileError

__all__ = ["write"]

Pieces = Iterable["bytes | memoryview"]


def write(contents: Mapping[str | os.PathLike, Pieces]) -> None:
    """Write files, from the pieces of each by its path.

    Each is written to a new file beside its path, and all are on the disk before the first replaces
    the file at its path. If that fails, by a full disk or Ctrl-C, the earlier files are still
    there, and no others. A link stays a link, permissions stay, and a path that is no file, such as
    a pipe, is written to directly.

    Raises MissingFileError where there is no folder for a file, other OSErrors, and the errors that
    the pieces raise.
    """
    with ExitStack() as stack:
        finished = [
            (new, target)
            for path, pieces in contents.items()
            for new, target in stack.enter_context(_new_file(Path(os.fsdecode(path)), pieces))
        ]
        for new, target in finished:
            os.replace(new, target)
        for folder in {target.parent for _, target in finished}:
            _sync(folder)


@contextmanager
def _new_file(path: Path, pieces: Pieces) -> Iterator[list[tuple[Path, Path]]]:
    """Write a new file; yield it and the path for it; remove it at the end if it is still there.

    Where `path` is no file, such as /dev/stdout, it is written to directly, and nothing is yielded.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            file.writelines(pieces)
        yield []
        return
    target = path.resolve()
    new = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with new.open("xb") as file:
            if target.exists():  # as open(): refuse a read-only file, keep permissions
                with target.open("r+b") as old:
                    new.chmod(stat.S_IMODE(os.fstat(old.fileno()).st_mode))
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        yield [(new, target)]
    except OSError as error:
        if error.filename != str(new):  # of the pieces, or of a file that is written after this one
            raise
        if isinstance(error, FileNotFoundError):
            raise MissingFileError(error.errno, error.strerror, str(path)) from None
        error.filename = str(path)
        raise
    finally:
        new.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    with suppress(OSError):  # Windows cannot open a folder; the new file is whole anyway
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
