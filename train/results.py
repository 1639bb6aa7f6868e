"""The folder of ``--out``: all files of a run appear in it, or none.

A run writes its files into ``.unfinished``. When all are there it renames that folder to
``.finished``, and removes the files of the earlier run. Then it renames it to ``.moving``, and
moves the files to their places. The next run completes what a killed one has left: the folder's
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
from .epochs import curves, history
from .loop import Epoch, Learner
from .task import Task

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
    """Refuse a folder in which `write` could not write files of these names; leave nothing there.

    Raises
    ------
    Refused
        It cannot be written to, or cannot be made.
    """
    try:
        if os.path.lexists(out) and not out.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is a file, or a link that leads nowhere")
        parent = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
        if parent == out:
            with locked(out):
                clean_up(out)
                (out / UNFINISHED).mkdir()
                (out / UNFINISHED).rmdir()
        else:
            tempfile.TemporaryDirectory(dir=parent).cleanup()
        if folder := next((out / name for name in names if (out / name).is_dir()), None):
            raise IsADirectoryError(errno.EISDIR, f"{folder.name} is a folder")
    except OSError as error:
        raise Refused(f"--out {out}: cannot write there: {error.strerror}") from error


def write(
    out: Path,
    epochs: list[Epoch],
    learner: Learner,
    config: dict[str, Any],
    title: str,
    task: Task,
) -> None:
    """Write all files of a run, or none.

    Raises
    ------
    Refused
        They cannot be written to the folder.
    """
    new_folders = [folder for folder in (out, *out.absolute().parents) if not folder.exists()]
    try:
        with locked(out):
            clean_up(out)
            try:
                unfinished = out / UNFINISHED
                unfinished.mkdir()
                history(epochs, unfinished / "history.csv", task)
                curves(epochs, unfinished / "curves.png", title, task)
                learner.save(unfinished)
                content = config | {"files": files(learner)}
                (unfinished / CONFIG).write_text(json.dumps(content, indent=2) + "\n")
                unfinished.rename(out / FINISHED)
            finally:
                clean_up(out)
                for folder in new_folders:
                    with suppress(OSError):  # not empty any more
                        folder.rmdir()
    except OSError as error:
        remaining = [out / name for name in (FINISHED, MOVING) if (out / name).exists()]
        where = f"; the files are in {remaining[0]}" if remaining else ""
        raise Refused(f"--out {out}: {error.strerror or error}{where}") from error


def clean_up(out: Path) -> None:
    """Remove unfinished files, and move finished ones to their places.

    The files of an earlier run are removed before the first one is moved. So a run that is killed
    here leaves files of one run, never of two, and the next run does the rest. After the first move
    nothing is removed: moved files could not be told from those of an earlier run.
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
        written = json.loads((out / CONFIG).read_text())["files"]
        return [name for name in NAMES if name in written]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):  # it is of nobody's run
        return []


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Make the folder if it is missing, and lock it, so that no other run writes into it."""
    if sys.platform == "win32":  # folders cannot be locked: two runs must not end at once
        out.mkdir(parents=True, exist_ok=True)
        yield
        return
    descriptor = lock(out)
    try:
        yield
    finally:
        os.close(descriptor)  # releases the lock, as the end of the process does


def lock(out: Path) -> int:
    """Wait for the folder's lock; return the descriptor that has it."""
    while True:
        out.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(out, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if out.exists() and os.path.samestat(os.fstat(descriptor), out.stat()):
            return descriptor
        os.close(descriptor)  # meanwhile a run that failed has removed the folder
