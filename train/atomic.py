"""Files and folders that appear whole, or not at all, however the process ends."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["remove_folder", "replacing"]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside this one, at which the `with` statement makes a file or a folder of files.

    At its end they are on the disk, and take the place of what is there. Where it raises an error,
    that is as it was.
    """
    new = path.with_name(f".new-{path.name}")
    delete(new)
    try:
        yield new
        for each in (*(new.iterdir() if new.is_dir() else ()), new):
            sync(each)
        old = aside(path) if new.is_dir() and path.exists() else None
        new.replace(path)
        sync(path.parent)
        if old:
            delete(old)
    finally:
        delete(new)


def remove_folder(path: Path) -> None:
    """Remove a folder; one that is half removed does not have its name any more."""
    delete(aside(path))


def aside(path: Path) -> Path:
    """Rename a folder; returns its new path."""
    old = path.with_name(f".old-{path.name}")
    delete(old)
    return path.rename(old)


def sync(path: Path) -> None:
    """Have a file or the names in a folder on the disk."""
    with suppress(PermissionError):  # Windows cannot open a folder
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def delete(path: Path) -> None:
    """Remove a file, a link or a folder, as far as that can be."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
