"""What a run leaves behind: a table on the screen, and the files of ``--out``."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from . import Refused
from .loop import Epoch, Learner

__all__ = ["check", "curves", "files", "history", "table", "write"]

COLUMNS = [field.name for field in fields(Epoch) if field.name != "seconds"]


def files(learner: Learner | type[Learner]) -> tuple[str, ...]:
    """The names of the files of a run."""
    return ("history.csv", "curves.png", *learner.files, "config.json")


def check(out: Path, names: tuple[str, ...]) -> None:
    """Refuse a folder in which `write` cannot write files of these names. Nothing is left there.

    Raises
    ------
    Refused
        It cannot be written to, or cannot be made.
    """
    try:
        there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
        tempfile.TemporaryDirectory(dir=there).cleanup()
        if folder := next((out / name for name in names if (out / name).is_dir()), None):
            raise IsADirectoryError(21, f"{folder.name} is a folder")
    except OSError as error:
        raise Refused(f"--out {out}: cannot write there: {error.strerror}") from error


def table(epochs: list[Epoch], most: int = 12) -> str:
    """At most so many epochs as lines of text: evenly spaced, the best and the last among them."""
    best = max(epochs, key=lambda row: (row.held_out_accuracy, -row.held_out_loss))
    every = -(-len(epochs) // (most - 2))
    shown = [e for e in epochs if e.epoch % every == 0 or e in (best, epochs[-1])]
    rows = [("epoch", "loss", "accuracy", "held-out loss", "held-out accuracy", "seconds")]
    rows += [
        (
            str(e.epoch),
            number(e.loss),
            f"{e.accuracy:.2%}",
            number(e.held_out_loss),
            f"{e.held_out_accuracy:.2%}",
            f"{e.seconds:.2f}",
        )
        for e in shown
    ]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
    lines[1 + shown.index(best)] += "  best"
    return "\n".join(lines)


def number(value: float) -> str:
    return f"{value:.4f}" if value < 1e5 else f"{value:.3e}"


def history(epochs: list[Epoch], path: Path) -> None:
    """A line for each epoch, with what the seed decides: all but the seconds."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([getattr(epoch, name) for name in COLUMNS] for epoch in epochs)


def curves(epochs: list[Epoch], path: Path, title: str) -> None:
    """Loss and accuracy over the epochs, as a picture."""
    from matplotlib.figure import Figure  # heavy; and pyplot would look for a screen
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    figure = Figure(figsize=(10, 4), dpi=120, layout="constrained")
    figure.suptitle(title)
    x = [epoch.epoch for epoch in epochs]
    losses, accuracies = figure.subplots(1, 2)
    for axes, what in ((losses, "loss"), (accuracies, "accuracy")):
        for prefix, label in (("", "training"), ("held_out_", "held out")):
            y = [getattr(epoch, prefix + what) for epoch in epochs]
            axes.plot(x, y, label=label, marker="." if len(x) < 50 else "")
        axes.set(xlabel="epoch", ylabel=what, xlim=(0.5, len(x) + 0.5))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.grid(alpha=0.3)
        axes.legend()
    losses.set_ylabel("cross entropy, nat per sample")
    losses.set_ylim(bottom=0)
    accuracies.yaxis.set_major_formatter(PercentFormatter(1.0))
    figure.savefig(path)


def write(
    out: Path, epochs: list[Epoch], learner: Learner, config: dict[str, Any], title: str
) -> None:
    """Write all files of a run, or none: they are finished elsewhere before they appear.

    Raises
    ------
    Refused
        The folder or the disk does not take them.
    """
    made = [folder for folder in (out, *out.absolute().parents) if not folder.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out, prefix=".") as name:
            unfinished = Path(name)
            history(epochs, unfinished / "history.csv")
            curves(epochs, unfinished / "curves.png", title)
            learner.save(unfinished)
            (unfinished / "config.json").write_text(json.dumps(config, indent=2) + "\n")
            for file in files(learner):
                os.replace(unfinished / file, out / file)
    except BaseException as error:
        for folder in made:
            with suppress(OSError):  # not made, or no longer only ours
                folder.rmdir()
        if isinstance(error, OSError):
            raise Refused(f"--out {out}: {error.strerror or error}") from error
        raise
