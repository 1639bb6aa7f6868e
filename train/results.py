"""The folder of ``--out``: all files of a run appear in it, or none.

A run writes its files into ``.unfinished``. When all are there it renames that folder to
``.finished``, and removes the files of the earlier run. Then it renames it to ``.moving``, and
moves the files to their places. What a killed run has left is settled by the next: the folder's
name says what is still to do.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

from . import Refused
from .loop import Epoch, Learner
from .report import curves, history

__all__ = ["check", "files", "write"]

UNFINISHED, FINISHED, MOVING = ".unfinished", ".finished", ".moving"
CONFIG = "config.json"
# Of all kinds of runs; no other file is removed, whatever a config.json says.
NAMES = (
    "history.csv",
    "curves.png",
    "model.params",
    "model-symbol.json",
    "model-0000.params",
    CONFIG,
)


def files(learner: Learner | type[Learner]) -> tuple[str, ...]:
    """The names of the files of a run."""
    return ("history.csv", "curves.png", *learner.files, CONFIG)


def check(out: Path, names: tuple[str, ...]) -> None:
    """Refuse a folder in which `write` cannot write files of these names. Nothing is left there.

    Raises
    ------
    Refused
        It cannot be written to, or cannot be made.
    """
    try:
        if os.path.lexists(out) and not out.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is a file, or a link that leads nowhere")
        there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
        if there == out:
            with alone(out):
                settle(out)
                (out / UNFINISHED).mkdir()
                (out / UNFINISHED).rmdir()
        else:
            tempfile.TemporaryDirectory(dir=there).cleanup()
        if folder := next((out / name for name in names if (out / name).is_dir()), None):
            raise IsADirectoryError(errno.EISDIR, f"{folder.name} is a folder")
    except OSError as error:
        raise Refused(f"--out {out}: cannot write there: {error.strerror}") from error


def write(
    out: Path, epochs: list[Epoch], learner: Learner, config: dict[str, Any], title: str
) -> None:
    """Write all files of a run, or none.

    Raises
    ------
    Refused
        The folder or the disk does not take them.
    """
    made = [folder for folder in (out, *out.absolute().parents) if not folder.exists()]
    try:
        with alone(out):
            settle(out)
            try:
                unfinished = out / UNFINISHED
                unfinished.mkdir()
                history(epochs, unfinished / "history.csv")
                curves(epochs, unfinished / "curves.png", title)
                learner.save(unfinished)
                told = config | {"files": files(learner)}
                (unfinished / CONFIG).write_text(json.dumps(told, indent=2) + "\n")
                unfinished.rename(out / FINISHED)
            finally:
                settle(out)
                for folder in made:
                    with suppress(OSError):  # it is no longer empty
                        folder.rmdir()
    except OSError as error:
        kept = [out / name for name in (FINISHED, MOVING) if (out / name).exists()]
        where = f"; the files are in {kept[0]}" if kept else ""
        raise Refused(f"--out {out}: {error.strerror or error}{where}") from error


def settle(out: Path) -> None:
    """Remove the files that are not finished, or move those that are to their places.

    Those of an earlier run are removed before the first is moved. So a run that is killed here
    leaves files of one run, never of two, and the next does the rest. Nothing is removed any more
    once files are moved: those that were could not be told from earlier ones.
    """
    with suppress(FileNotFoundError):
        shutil.rmtree(out / UNFINISHED)
    finished, moving = out / FINISHED, out / MOVING
    if finished.exists():
        names = {*earlier(out), *(path.name for path in finished.iterdir())}
        for name in sorted(names, key=CONFIG.__eq__):  # which tells of the others, and so is last
            (out / name).unlink(missing_ok=True)
        finished.rename(moving)
    if moving.exists():
        for path in list(moving.iterdir()):
            path.rename(out / path.name)
        moving.rmdir()


def earlier(out: Path) -> list[str]:
    """The names of the files of the run in a folder, as its config.json tells."""
    try:
        told = json.loads((out / CONFIG).read_text())["files"]
        return [name for name in NAMES if name in told]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):  # it is of nobody's run
        return []


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """Make the folder where it is missing, and keep other runs from writing into it meanwhile."""
    if sys.platform == "win32":  # it locks no folders: two runs must not end in one at once
        out.mkdir(parents=True, exist_ok=True)
        yield
        return
    descriptor = lock(out)
    try:
        yield
    finally:
        os.close(descriptor)  # which gives the lock back, as does the end of the process


def lock(out: Path) -> int:
    """Wait for the folder's lock; the descriptor that has it."""
    while True:
        out.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(out, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if out.exists() and os.path.samestat(os.fstat(descriptor), out.stat()):
            return descriptor
        os.close(descriptor)  # a run that failed has removed the folder meanwhile
