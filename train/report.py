"""The results of the epochs: as a table on the screen, as a csv file, as a picture."""

from __future__ import annotations

import csv
from dataclasses import fields
from pathlib import Path

from .loop import Epoch

__all__ = ["curves", "history", "table"]

COLUMNS = [field.name for field in fields(Epoch) if field.name != "seconds"]


def table(epochs: list[Epoch], most: int = 12) -> str:
    """At most this number of epochs as text: evenly spaced ones, the best one and the last."""
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
    """Write a line for each epoch, with all results that the seed determines: not the seconds."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([getattr(epoch, name) for name in COLUMNS] for epoch in epochs)


def curves(epochs: list[Epoch], path: Path, title: str) -> None:
    """Write a picture of loss and accuracy over the epochs."""
    # Imported here, since it is slow; pyplot would need a screen.
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    figure = Figure(figsize=(10, 4), dpi=120, layout="constrained")
    figure.suptitle(title, parse_math=False)  # a file's name may have a $ in it
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
