"""Checkpoints: folders from which a training goes on as if it had never stopped.

`Checkpoint` saves them, `resume` goes on from one; `train.saved` is their form on the disk.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from layers._atomic import remove_unfinished, replacing
from layers._errors import printable
from layers.saving import below

from . import Refused
from .saved import (
    FILES,
    NAME,
    Saved,
    by_name,
    checkpoints,
    expect_torn,
    identity,
    name_of,
    position,
    read,
    remove,
    write,
)
from .screen import one_line
from .settings import expect, whole
from .state import Callback, Epoch, Meter, Run
from .workers import Workers

__all__ = ["Checkpoint", "expect_same_last", "resume"]


class Checkpoint(Callback):
    """Save the training after each epoch, so that it can be resumed.

    Each checkpoint is a folder, ``epoch-0007``: the parameters as ``model.safetensors`` and as
    ``model.params`` for `load_parameters`, the optimizer's state and that of other callbacks as
    ``state.safetensors``, and ``state.json``. The last ones are kept, and the best one until each
    of them. Those of a training that is resumed from another folder are copied.

    Parameters
    ----------
    folder : str or Path
    every : int, optional
        Save after this number of steps, too. A training that is stopped within an epoch saves once
        more.
    keep : int
        How many of the last ones are kept.
    overwrite : bool
        Remove those of another training; else they are refused. One with other files in it is never
        removed.
    restore_best : bool
        At the end, give the net the parameters of the best epoch, in all processes.

    Raises
    ------
    Refused
        `every` or `keep` is no whole number from 1.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        every: int | None = None,
        keep: int = 2,
        overwrite: bool = False,
        restore_best: bool = False,
    ):
        expect(whole(1), "keep", keep)
        expect(whole(1), "every", every)
        self.folder, self.every, self.keep = Path(folder), every, keep
        self.overwrite, self.restore_best = overwrite, restore_best

    comes_last = True

    def begin(self, run: Run) -> None:
        with run.workers.agreeing():
            if run.workers.is_first:
                self.prepare(run)

    def prepare(self, run: Run) -> None:
        """Have a folder with checkpoints of this training, and of no other.

        Raises
        ------
        Refused
            It has those of another, or cannot be written; or one to be overwritten has other files.
        """
        before = run.resumed.parent if run.resumed else None
        is_resumed = before is not None and before.resolve() == self.folder.resolve()
        try:
            found = [] if is_resumed else checkpoints(self.folder)
            if found and not self.overwrite:
                raise Refused(
                    f"{self.folder} holds checkpoints of a training, up to {found[0].name}; "
                    "expected to resume it, to overwrite it, or another folder"
                )
            for path in found:
                remove(path)
            is_new = not self.folder.exists()
            (self.folder / ".new-epoch-0000").mkdir(parents=True, exist_ok=True)
            remove_unfinished(self.folder, NAME.pattern)  # with this one
            if run.resumed and not is_resumed:
                self.take_along(run, run.resumed)
            elif is_new:
                self.folder.rmdir()  # until one is saved
        except OSError as error:
            raise Refused(f"{self.folder} cannot be written: {error.strerror or error}") from error

    def take_along(self, run: Run, resumed: Path) -> None:
        """Copy the checkpoint that is resumed from another folder, and that of the best epoch."""
        for path in reversed(with_best([resumed], run)):
            with replacing(self.folder / path.name) as new:
                new.mkdir()
                for name in FILES:
                    shutil.copyfile(path / name, new / name)

    def after_step(self, run: Run) -> None:
        if self.every and run.step % self.every == 0:
            self.save(run)

    def interrupted(self, run: Run) -> None:
        if not (self.every and run.step % self.every == 0):  # else `after_step` has saved it
            self.save(run)

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        if not run.partial:
            self.save(run)

    def end(self, run: Run) -> None:
        if not (self.restore_best and run.history) or run.error:
            return
        if (best := run.best()) is run.history[-1]:
            return
        with run.workers.agreeing():
            if run.workers.is_first:  # the folder may be on its machine alone
                path = self.folder / name_of(best.epoch, 0)
                try:
                    run.learner.set_weights(read(path).weights)
                except ValueError as error:
                    raise Refused(f"the best epoch cannot be read: {path}: {error}") from error
        if run.workers.count > 1:
            run.learner.set_weights(run.workers.of_first(run.learner.weights()))

    def save(self, run: Run) -> None:
        """Write a checkpoint, and remove those that are not needed any more.

        Of several processes that train together the first one writes it.

        Raises
        ------
        Refused
            It cannot be written. Those before it are as they were.
        """
        meter = run.total(run.meter) if run.step else run.meter
        if not run.workers.is_first:
            return
        path = self.folder / name_of(len(run.history) + (run.step > 0), run.step)
        try:
            write(path, run, meter)
        except OSError as error:
            saved = (each for each in checkpoints(self.folder) if position(each) < position(path))
            last = next(saved, None)
            whole = f"{last} is the last whole one" if last else "there is none before it"
            raise Refused(
                f"the checkpoint {path} cannot be written: {error.strerror or error}; {whole}"
            ) from error
        # Later ones are torn: the training has gone on from one that was before them.
        saved = [each for each in checkpoints(self.folder) if position(each) <= position(path)]
        for old in {*saved} - {*with_best(saved[: self.keep], run)}:
            with suppress(OSError):  # such as one with other files in it
                remove(old)


def with_best(paths: list[Path], run: Run) -> list[Path]:
    """Checkpoints of one folder, and after them those of the best epoch at each of them."""
    done = {position(path)[0] for path in paths} - {0}
    best = [epoch.epoch for count in done if (epoch := run.best_of(run.history[:count]))]
    return [*dict.fromkeys([*paths, *(paths[0].with_name(name_of(each, 0)) for each in best)])]


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
