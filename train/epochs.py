"""The results of the epochs: as a table on the screen, as a csv file, as a picture."""

from __future__ import annotations

import csv
from dataclasses import asdict
from pathlib import Path

from .loop import Epoch
from .task import Task

__all__ = ["curves", "history", "numbers", "table"]


def numbers(epoch: Epoch, task: Task) -> dict[str, float]:
    """The results of an epoch, by names with that of the metric in them."""
    return {name.replace("metric", task.metric): value for name, value in asdict(epoch).items()}


def table(epochs: list[Epoch], task: Task, most: int = 12) -> str:
    """At most this number of epochs as text: evenly spaced ones, the best one and the last."""
    best = max(epochs, key=lambda row: (task.quality(row.held_out_metric), -row.held_out_loss))
    every = -(-len(epochs) // (most - 2))
    shown = [e for e in epochs if e.epoch % every == 0 or e in (best, epochs[-1])]
    rows = [("epoch", "loss", task.metric, "held-out loss", f"held-out {task.metric}", "seconds")]
    rows += [
        (
            str(e.epoch),
            number(e.loss),
            task.show(e.metric),
            number(e.held_out_loss),
            task.show(e.held_out_metric),
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


def history(epochs: list[Epoch], path: Path, task: Task) -> None:
    """Write a line for each epoch, with all results that the seed determines: not the seconds."""
    with path.open("w", newline="") as file:
        rows = [numbers(epoch, task) for epoch in epochs]
        names = [name for name in rows[0] if name != "seconds"]
        writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def curves(epochs: list[Epoch], path: Path, title: str, task: Task) -> None:
    """Write a picture of loss and metric over the epochs."""
    # Imported here, since it is slow; pyplot would need a screen.
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    figure = Figure(figsize=(10, 4), dpi=120, layout="constrained")
    figure.suptitle(title, parse_math=False)  # a file's name may have a $ in it
    x = [epoch.epoch for epoch in epochs]
    losses, metrics = figure.subplots(1, 2)
    for axes, what in ((losses, "loss"), (metrics, "metric")):
        for prefix, label in (("", "training"), ("held_out_", "held out")):
            y = [getattr(epoch, prefix + what) for epoch in epochs]
            axes.plot(x, y, label=label, marker="." if len(x) < 50 else "")
        axes.set(xlabel="epoch", xlim=(0.5, len(x) + 0.5))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.grid(alpha=0.3)
        axes.legend()
    losses.set_ylabel(task.loss)
    losses.set_ylim(bottom=0)
    metrics.set_ylabel(task.metric)
    if task.classes:
        metrics.yaxis.set_major_formatter(PercentFormatter(1.0))
    else:
        metrics.set_ylim(bottom=0)
    figure.savefig(path)
