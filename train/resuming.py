"""Going on from a checkpoint: with which training, from which one, and what it restores."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from layers._errors import printable

from . import Refused
from .checkpoint import (
    Checkpoint,
    Saved,
    by_name,
    checkpoints,
    expect_torn,
    identity,
    name_of,
    position,
    read,
)
from .loop import Callback, Meter, Run
from .messages import one_line
from .state import below
from .workers import Workers

__all__ = ["expect_same_last", "resume"]


def expect_same_last(workers: Workers, folder: Path | None) -> None:
    """Refuse processes that would go on from different checkpoints; None: from none.

    Raises
    ------
    Refused
        They differ. All processes raise it.
    """
    found = checkpoints(folder)[:1] if folder else []
    last = position(found[0]) if found else (0, 0)
    workers.expect_same(
        "whether there is a checkpoint in the folder, its epoch and its step", [len(found), *last]
    )


def resume(
    run: Run, folder: str | Path, tell: Callable[[str], None] = warnings.warn
) -> Path | None:
    """Bring a training to where the last whole checkpoint in a folder was saved.

    Parameters
    ----------
    tell : callable
        Called with a line about each checkpoint that is torn, or of another training, and about
        each callback with a state that only one of the two trainings has.

    Returns
    -------
    Path or None
        The checkpoint; None if there is none in the folder.

    Raises
    ------
    Refused
        No checkpoint in the folder is whole and of this training; or one that is not would have to
        be replaced later.
    """
    reasons: dict[str, str] = {}  # by the names of the checkpoints
    for path in checkpoints(Path(folder)):
        try:
            saved = read(path)
            restore(run, saved)
        except (ValueError, LookupError) as error:
            reasons[path.name] = one_line(error)
            continue
        for line in differing_callbacks(run, saved):
            tell(f"the checkpoint {path.name} is of a training {line}")
        for name, reason in reasons.items():
            tell(f"the checkpoint {name} is not used: {reason}; {path.name} is used")
        run.resumed = path
        expect_room(run, path)
        find_best(run, path, tell)
        return path
    if reasons:
        last_with: dict[str, str] = {}  # of several with one reason the last one is named
        for name, reason in reasons.items():
            last_with.setdefault(reason, name)
        listed = "; ".join(f"{name}: {reason}" for reason, name in last_with.items())
        raise Refused(f"no checkpoint in {folder} can be used: {listed}")
    return None


def expect_room(run: Run, resumed: Path) -> None:
    """Refuse a training that would come to a checkpoint that it may not replace.

    Raises
    ------
    Refused
        There is one, of another training or with other files in it, in a folder to save to.
    """
    folder = resumed.parent.resolve()
    for callback in run.callbacks:
        if not (isinstance(callback, Checkpoint) and callback.folder.resolve() == folder):
            continue
        for path in reversed(checkpoints(callback.folder)):
            epoch, step = position(path)
            is_ahead = position(resumed) < (epoch, step) <= (run.epochs, 0)
            if is_ahead and (not step or (callback.every and step % callback.every == 0)):
                try:
                    expect_torn(path)
                except OSError as error:
                    raise Refused(
                        f"{resumed.name} is the last checkpoint to go on from, and {path} could "
                        f"not be written then: {error.strerror}"
                    ) from error


def find_best(run: Run, resumed: Path, tell: Callable[[str], None]) -> None:
    """Count epochs as lost until the checkpoint of the best one, beside this one, can be read."""
    while run.history and (best := run.best_of(run.history)):
        path = resumed.with_name(name_of(best.epoch, 0))
        try:
            read(path)
            return
        except ValueError as error:
            run.lost.add(best.epoch)
            lost = f"the best epoch is lost: {path.name}: {one_line(error)}"
            tell(f"{lost}; the best of the others counts")


def restore(run: Run, saved: Saved) -> None:
    """Bring a training to where a checkpoint was saved, or leave it as it is.

    Raises
    ------
    ValueError, LookupError
        The checkpoint is that of another training, or is not as a checkpoint.
    """
    content = saved.content
    expect_settings(content.get("options"), run.options)
    for name, value in identity(run).items():
        if (found := content.get(name)) != value:
            raise ValueError(f"its {name} is {found}, that of this training {value}")
    expect_settings(content.get("settings"), run.settings)
    weights, state = run.learner.weights(), run.learner.state()
    try:
        run.learner.set_weights(saved.weights)
        run.learner.restore(below(saved.state, "learner"))
        restore_callbacks(run, saved)
    except Exception:
        run.learner.set_weights(weights)
        run.learner.restore(state)
        raise
    run.history, run.step = saved.history, content["step"]
    # The first process has the samples of all.
    run.meter = replace(
        saved.meter if run.workers.is_first else Meter(""), name=f"epoch {run.epoch}"
    )


def restore_callbacks(run: Run, saved: Saved) -> None:
    """Give the callbacks their state.

    Raises
    ------
    ValueError
        One does not take it; the message has its class.
    """
    for key, callback in by_name(run):
        if found := below(saved.state, key):
            try:
                callback.restore(found)
            except LookupError as error:
                raise ValueError(f"the state of {class_of(key)} has no {error}") from error
            except (TypeError, OverflowError) as error:  # of another type or size than it saves
                raise ValueError(f"the state of {class_of(key)} is not its own: {error}") from error


def differing_callbacks(run: Run, saved: Saved) -> list[str]:
    """A line for each callback with a state that only one of the two trainings has."""
    saves_state = {key: type(each).state is not Callback.state for key, each in by_name(run)}
    saved_keys = {f"callback/{name.partition('/')[0]}" for name in below(saved.state, "callback")}
    lines = [
        f"with the callback {class_of(key)}, without which this one goes on"
        for key in sorted(saved_keys - saves_state.keys())
    ]
    for key, saves in saves_state.items():
        if saves and key not in saved_keys:
            lines.append(f"without the callback {class_of(key)}, which begins here")
    return lines


def class_of(key: str) -> str:
    """The class of a callback, from what `by_name` calls it."""
    return printable(key.partition("/")[2].rpartition(".")[0])


def expect_settings(found: Any, settings: dict[str, Any]) -> None:
    """Refuse other settings, where those of both trainings are known.

    Raises
    ------
    ValueError
        A setting differs, or only one of the trainings has it.
    """
    if not settings or not isinstance(found, dict) or not found:
        return
    for name in found | settings:
        if (its := found.get(name)) != (own := settings.get(name)):
            raise ValueError(f"its {name} is {its}, that of this training {own}")
