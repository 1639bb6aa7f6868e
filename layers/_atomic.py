"""Files and folders that are written completely or not at all, however the process ends."""

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
    """Write files: `contents` maps each path to the pieces of its file.

    Each file is first written beside its path, and all are on the disk before the first takes its
    final place. If that fails, because the disk is full or by Ctrl-C, the old files are still there
    and no new ones. A link stays a link, permissions stay, and a path that is no regular file, such
    as a pipe, is written to directly.

    Raises OSError with the path that it is about, and the errors that the pieces raise.
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
    """Write a new file beside `path`; yield it and its target; remove it at the end if still there.

    If `path` is no regular file, such as /dev/stdout, write to it directly and yield an empty list.
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
            if target.exists():  # like open(): refuse a read-only file, keep permissions
                with target.open("r+b") as old:
                    new.chmod(stat.S_IMODE(os.fstat(old.fileno()).st_mode))
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        yield [(new, target)]
    except OSError as error:
        if error.filename == str(new):  # not an error of the pieces or of a later file
            error.filename = str(path)
        raise
    finally:
        new.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path at which the `with` statement makes a file or a folder of files.

    At the end they are flushed to the disk and replace the contents of `path`. If the statement
    raises an error, `path` stays unchanged. No other user can write to the place where they are
    made, even inside a shared folder such as /tmp.
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
    """Remove a folder; rename it first, so that a half-removed folder never has its name."""
    with _private_folder(path) as private:
        path.rename(private / path.name)


def remove_unfinished(folder: Path, name: str) -> None:
    """Remove the remains of `replacing` that killed processes left in a folder.

    name : a pattern that must match the whole name of the replaced path
    """
    for path in folder.glob(".*"):
        if re.fullmatch(rf"\.(new|old)-({name})(-\w{{8}})?", path.name):
            _delete(path)


@contextmanager
def _private_folder(path: Path) -> Iterator[Path]:
    """Make a folder beside a path that only this user can access; remove it at the end."""
    private = Path(tempfile.mkdtemp(prefix=f".new-{path.name}-", dir=path.parent))
    try:
        yield private
    finally:
        _delete(private)


def _sync(path: Path) -> None:
    """Flush a file, or the list of names in a folder, to the disk."""
    with suppress(PermissionError):  # Windows cannot open a folder
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _delete(path: Path) -> None:
    """Remove a file, a link or a folder; ignore what cannot be removed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
