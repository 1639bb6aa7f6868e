"""What a run leaves behind: a table on the screen, and the files of ``--out``."""

from __future__ import annotations

import csv
import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from . import Refused
from .loop import Epoch

__all__ = ["FILES", "check", "curves", "history", "table", "write"]

FILES = ("history.csv", "curves.png", "model.params", "config.json")
COLUMNS = [field.name for field in fields(Epoch) if field.name != "seconds"]


def check(out: Path) -> None:
    """Refuse a folder in which `write` will not be able to write. Nothing is left there.

    Raises
    ------
    Refused
        It cannot be written to, or cannot be made.
    """
    try:
        there = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
        tempfile.TemporaryDirectory(dir=there).cleanup()
        if folder := next((out / name for name in FILES if (out / name).is_dir()), None):
            raise IsADirectoryError(21, f"{folder.name} is a folder")
    except OSError as error:
        raise Refused(f"--out {out}: cannot write there: {error.strerror}") from error


def table(epochs: list[Epoch], most: int = 12) -> str:
    """At most so many epochs as lines of text: evenly spaced, the best and the last among them."""
    best = max(epochs, key=lambda row: (row.held_out_accuracy, -row.held_out_loss))
    every = -(-len(epochs) // (most - 2))
    shown = [e for e in epochs if e.epoch % every == 0 or e in (best, epochs[-1])]
    lines = ["epoch      loss  accuracy   held-out loss  held-out accuracy   seconds"]
    lines += [
        f"{e.epoch:5}{e.loss:10.4f}{e.accuracy:10.2%}{e.held_out_loss:16.4f}"
        f"{e.held_out_accuracy:19.2%}{e.seconds:10.2f}" + ("  best" if e is best else "")
        for e in shown
    ]
    return "\n".join(lines)


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


def write(out: Path, epochs: list[Epoch], net, config: dict[str, Any], title: str) -> None:
    """Write all files of a run, or none: they are finished elsewhere before they appear.

    Raises
    ------
    Refused
        The folder or the disk does not take them.
    """
    makers: dict[str, Callable[[Path], object]] = {
        "history.csv": lambda path: history(epochs, path),
        "curves.png": lambda path: curves(epochs, path, title),
        "model.params": lambda path: net.save_parameters(str(path)),
        "config.json": lambda path: path.write_text(json.dumps(config, indent=2) + "\n"),
    }
    made = [folder for folder in (out, *out.absolute().parents) if not folder.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out, prefix=".") as unfinished:
            for name, make in makers.items():
                make(Path(unfinished, name))
            for name in makers:
                os.replace(Path(unfinished, name), out / name)
    except BaseException as error:
        for folder in made:
            with suppress(OSError):  # not made, or no longer only ours
                folder.rmdir()
        if isinstance(error, OSError):
            raise Refused(f"--out {out}: {error.strerror or error}") from error
        raise
