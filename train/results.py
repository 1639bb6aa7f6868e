"""The folder of ``--out``: config.json, history.csv and checkpoints; at the end the results.

The results appear all together, or not at all. A run writes its files into ``.unfinished``. When
all are there it renames that folder to ``.finished``, and removes the files of the earlier run.
Then it renames it to ``.moving``, and moves the files to their places. The next run completes what
a killed one has left: the folder's name says what is still to do.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    import fcntl

from layers._atomic import remove_unfinished, replacing

from . import Refused, saved
from .epochs import curves, write_history
from .saved import checkpoints
from .state import Run
from .task import Task

__all__ = [
    "CHECKPOINTS",
    "files",
    "opened",
    "remove_results",
    "write_first_config",
    "write_results",
]

UNFINISHED, FINISHED, MOVING = ".unfinished", ".finished", ".moving"
HISTORY, CONFIG, CHECKPOINTS = "history.csv", "config.json", "checkpoints"
# Of all kinds of runs; no other file is removed, whatever a config.json says.
NAMES = (
    HISTORY,
    "curves.png",
    "model.params",
    "model.safetensors",
    "model-symbol.json",
    "model-0000.params",
    CONFIG,
)


def files(learner: Any) -> tuple[str, ...]:
    """Return the names of the files of a run with such a learner."""
    return (HISTORY, "curves.png", *learner.files, CONFIG)


@contextmanager
def opened(
    out: Path, names: tuple[str, ...], replace: bool = True, resume: bool = False
) -> Iterator[None]:
    """Keep a folder for one run, from before the data is read until all is written.

    Nothing is left of a folder that is made for it and stays empty.

    Parameters
    ----------
    names : tuple of str
        The files that will be written.
    replace : bool
        Another run that it holds may be replaced; else it is refused.
    resume : bool
        The run that it holds is gone on with.

    Raises
    ------
    Refused
        It cannot be written to, cannot be made, another run writes there or is held, or it has
        a history.csv or config.json that is of no run.
    """
    with ExitStack() as stack:
        try:
            if os.path.lexists(out) and not out.is_dir():
                reason = "it is a file, or a link that leads nowhere"
                raise NotADirectoryError(errno.ENOTDIR, reason)
            stack.enter_context(locked(out))
            clean_up(out)
            (out / UNFINISHED).mkdir()
            (out / UNFINISHED).rmdir()
            if folder := next((out / name for name in names if (out / name).is_dir()), None):
                raise IsADirectoryError(errno.EISDIR, f"{folder.name} is a folder")
        except BlockingIOError as error:
            raise Refused(f"--out {out}: another training is writing there") from error
        except OSError as error:
            raise Refused(f"--out {out}: cannot write there: {error.strerror}") from error
        if not replace:
            check_replaced(out, resume)
        yield


def check_replaced(out: Path, resume: bool) -> None:
    """Refuse a folder in which a run would replace another one, or files that are of no run.

    A run that goes on from a checkpoint replaces only files of its own.

    Raises
    ------
    Refused
        The message names a file or a checkpoint.
    """
    saved = checkpoints(out / CHECKPOINTS)
    goes_on = resume and saved
    if not goes_on and (held := holds(out)):
        which = "a run without a checkpoint to go on from" if resume else "another run"
        ways = "--resume, which goes on with it, " if saved else ""
        raise Refused(
            f"--out {out}: it holds {which}: {held}; expected {ways}--overwrite, or another folder"
        )
    found = [name for name in (CONFIG, HISTORY) if (out / name).exists()]
    if found and not (earlier(out) or goes_on):
        raise Refused(
            f"--out {out}: its {found[0]} is of no run; expected another folder, or --overwrite, "
            "which replaces it"
        )


def holds(out: Path) -> str | None:
    """Something of a run in a folder that was learned: a checkpoint, or the result."""
    learned = [name for name in NAMES if name not in (HISTORY, CONFIG)]
    found = [*checkpoints(out / CHECKPOINTS), *(out / name for name in learned)]
    return next((path.name for path in found if path.exists()), None)


def remove_results(out: Path) -> None:
    """Remove what a folder has of an earlier run."""
    for path in checkpoints(out / CHECKPOINTS):
        saved.remove(path)
    remove_earlier(out, ())


def write_first_config(out: Path, config: dict[str, Any]) -> None:
    """Write the config of a run; the results that it may have already stay for now."""
    write_config(out / CONFIG, config, tuple(earlier(out)) or (HISTORY, CONFIG))


def write_config(path: Path, config: dict[str, Any], names: tuple[str, ...]) -> None:
    content = json.dumps(config | {"files": names}, indent=2) + "\n"
    with replacing(path) as new:
        new.write_bytes(content.encode())


def write_results(out: Path, run: Run, config: dict[str, Any], title: str, task: Task) -> None:
    """Write all files of a run, or none; within `opened`.

    Raises
    ------
    Refused
        They cannot be written to the folder.
    """
    try:
        try:
            unfinished = out / UNFINISHED
            unfinished.mkdir()
            write_history(run, unfinished / HISTORY)
            curves(run, unfinished / "curves.png", title, task)
            run.learner.save(unfinished, config)
            write_config(unfinished / CONFIG, config, files(run.learner))
            unfinished.rename(out / FINISHED)
        finally:
            clean_up(out)
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
    remove_unfinished(out, f"{re.escape(CONFIG)}|{re.escape(HISTORY)}")
    with suppress(FileNotFoundError):
        shutil.rmtree(out / UNFINISHED)
    finished, moving = out / FINISHED, out / MOVING
    if finished.exists():
        remove_earlier(out, (path.name for path in finished.iterdir()))
        finished.rename(moving)
    if moving.exists():
        for path in list(moving.iterdir()):
            path.rename(out / path.name)
        moving.rmdir()


def remove_earlier(out: Path, names: Iterable[str]) -> None:
    """Remove these files and those of an earlier run."""
    for name in sorted({*earlier(out), *names}, key=CONFIG.__eq__):  # which tells of the others
        (out / name).unlink(missing_ok=True)


def earlier(out: Path) -> list[str]:
    """Return the names of the files of the run in a folder, as its config.json tells."""
    try:
        written = json.loads((out / CONFIG).read_text())["files"]
        return [name for name in NAMES if name in written]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):  # it is of nobody's run
        return []


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Make the folder if it is missing, and lock it, so that no other run writes into it."""
    new_folders = [folder for folder in (out, *out.absolute().parents) if not folder.exists()]
    descriptor = lock(out)
    try:
        yield
    finally:
        for folder in new_folders:
            with suppress(OSError):  # not empty any more
                folder.rmdir()
        if descriptor is not None:
            os.close(descriptor)  # releases the lock, as the end of the process does


def lock(out: Path) -> int | None:
    """Lock a folder; return the descriptor that has the lock, or raise BlockingIOError."""
    while True:
        out.mkdir(parents=True, exist_ok=True)
        if sys.platform == "win32":  # folders cannot be locked
            return None
        descriptor = os.open(out, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if out.exists() and os.path.samestat(os.fstat(descriptor), out.stat()):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # meanwhile a run that wrote nothing has removed the folder
