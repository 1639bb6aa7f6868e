"""Files and folders that appear whole, or not at all, however the process ends."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

__all__ = ["remove_folder", "remove_unfinished", "replacing", "write"]

Pieces = Iterable["bytes | memoryview"]


def write(contents: Mapping[str | os.PathLike, Pieces]) -> None:
    """Write files, from the pieces of each by its path.

    Each is written to a new file beside its path, and all are on the disk before the first replaces
    the file at its path. If that fails, by a full disk or Ctrl-C, the earlier files are still
    there, and no others. A link stays a link, permissions stay, and a path that is no file, such as
    a pipe, is written to directly.

    Raises OSErrors with the path that they are about, and the errors that the pieces raise.
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
        if error.filename == str(new):  # not of the pieces, nor of a file that is written after it
            error.filename = str(path)
        raise
    finally:
        new.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path, at which the `with` statement makes a file or a folder of files.

    At its end they are on the disk, and take the place of what is there. Where it raises an error,
    that is as it was. No other user can write where they are made, also in a folder of all users.
    """
    with _private_folder(path) as private:
        new = private / path.name
        yield new
        for each in (*(new.iterdir() if new.is_dir() else ()), new):
            _sync(each)
        if new.is_dir() and os.path.lexists(path):
            path.rename(private / f"{path.name}.old")
        new.replace(path)
        _sync(path.parent)


def remove_folder(path: Path) -> None:
    """Remove a folder; one that is half removed does not have its name any more."""
    with _private_folder(path) as private:
        path.rename(private / path.name)


def remove_unfinished(folder: Path, name: str) -> None:
    """Remove what killed processes have left of `replacing` paths in a folder.

    name : a pattern that the whole name of such a path matches
    """
    for path in folder.glob(".*"):
        if re.fullmatch(rf"\.(new|old)-({name})(-\w{{8}})?", path.name):
            _delete(path)


@contextmanager
def _private_folder(path: Path) -> Iterator[Path]:
    """Make a folder beside a path, of this user alone; remove it at the end."""
    private = Path(tempfile.mkdtemp(prefix=f".new-{path.name}-", dir=path.parent))
    try:
        yield private
    finally:
        _delete(private)


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk."""
    with suppress(PermissionError):  # Windows cannot open a folder
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _delete(path: Path) -> None:
    """Remove a file, a link or a folder, as far as that can be."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
