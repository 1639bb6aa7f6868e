"""The results of the epochs: as a table on the screen, as a csv file, as a picture."""

from __future__ import annotations

import csv
from dataclasses import asdict, fields
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from .metrics import is_loss
from .screen import quiet_matplotlib
from .state import Epoch, Run
from .task import Task

__all__ = ["columns", "curves", "write_history", "left_out", "results_of", "table"]


def results_of(epoch: Epoch, run: Run) -> dict[str, float]:
    """The results of an epoch, by names with that of the metric in them."""
    row = {name: v for name, v in asdict(epoch).items() if name not in left_out(run)}
    more = {f"held_out_{name}": value for name, value in row.pop("more").items()}
    return {name.replace("metric", run.measure.metric): value for name, value in row.items()} | more


def is_held_out_only(run: Run) -> bool:
    """Whether the metric is one of all held-out samples together, and not of a step."""
    return run.measure.metric in [each.name for each in run.metrics]


def left_out(run: Run) -> set[str]:
    """The results of an epoch that there are not, or that are the loss again."""
    if is_loss(run.measure):
        return {"metric", "held_out_metric"}
    return {"metric"} if is_held_out_only(run) else set()


def columns(run: Run) -> list[str]:
    """The names of the results that the seed determines."""
    metric, others = run.measure.metric, [each.name for each in run.metrics]
    without = {"seconds", "more"} | left_out(run)
    names = [each.name for each in fields(Epoch) if each.name not in without]
    more = [f"held_out_{name}" for name in others if name != metric]
    return [*(name.replace("metric", metric) for name in names), *more]


def table(run: Run, most: int = 12) -> str:
    """At most this number of epochs as text: evenly spaced ones, the best one and the last."""
    epochs, top, measure = run.history, run.best(), run.measure
    every = -(-len(epochs) // (most - 2))
    shown = [e for e in epochs if e.epoch % every == 0 or e in (top, epochs[-1])]
    metric = measure.metric
    names = ["epoch", "loss", metric, "held-out loss", f"held-out {metric}", "seconds"]
    rows = [names]
    rows += [
        [
            str(e.epoch),
            number(e.loss),
            measure.show(e.metric),
            number(e.held_out_loss),
            measure.show(e.held_out_metric),
            f"{e.seconds:.2f}",
        ]
        for e in shown
    ]
    if is_held_out_only(run):
        rows = [[*row[:2], *row[3:]] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
    lines[1 + shown.index(top)] += "  best"
    return "\n".join(lines)


def number(value: float) -> str:
    return f"{value:.4f}" if value < 1e5 else f"{value:.3e}"


def write_history(run: Run, path: Path) -> None:
    """Write a line for each epoch, with all results that the seed determines: not the seconds."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns(run), extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(results_of(epoch, run) for epoch in run.history)


@quiet_matplotlib()
def curves(run: Run, path: Path, title: str, task: Task) -> None:
    """Write a picture of loss and metric over the epochs, with the best epoch marked.

    The first line of `title` is the picture's; the others, on what was trained, are below it.
    """
    # Imported here, since it is slow; pyplot would need a screen.
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    figure = Figure(figsize=(10, 4.5), dpi=120, layout="constrained")
    title, _, details = title.partition("\n")
    plain: dict[str, Any] = {"parse_math": False, "x": 0.008, "ha": "left"}  # $ may be in a name
    figure.suptitle(fill(title, 100), size=13, weight="bold", **plain)
    lines = "\n".join(fill(line, 135) for line in details.splitlines())
    figure.supxlabel(lines, size=9, color="0.35", **plain)
    losses, metrics = figure.subplots(1, 2)
    for axes, what in ((losses, "loss"), (metrics, "metric")):
        draw(axes, run.history, what, run.best())
    losses.set_title(task.loss, size=10, color="0.25")
    metrics.set_title(run.measure.metric_title, size=10, color="0.25")
    losses.set_ylim(bottom=0)
    if run.measure.show(1.0).endswith("%"):
        metrics.yaxis.set_major_formatter(PercentFormatter(1.0))
    elif run.measure.quality(1.0) < 0:  # an error
        metrics.set_ylim(bottom=0)
    figure.savefig(path, metadata={"Title": title, "Description": details})


def draw(axes: Any, epochs: list[Epoch], what: str, top: Epoch) -> None:
    """Both curves of the loss or of the metric."""
    from matplotlib.ticker import MaxNLocator

    x = [epoch.epoch for epoch in epochs]
    lines = (
        ("", "training: mean over the epoch", {"color": "#8da0b3", "linewidth": 1.3}),
        ("held_out_", "held out: after the epoch", {"color": "#0f5fa8", "linewidth": 1.8}),
    )
    for prefix, label, style in lines:
        y = [getattr(epoch, prefix + what) for epoch in epochs]
        if not np.isfinite(y).any():  # it is measured on the held-out samples only
            continue
        axes.plot(x, y, label=label, marker="." if len(x) < 50 else "", **style)
    place, label = (top.epoch, getattr(top, f"held_out_{what}")), f"best: epoch {top.epoch}"
    axes.axvline(top.epoch, color="#c2410c", linewidth=0.8, linestyle=":", zorder=0)
    axes.plot(*place, "o", color="#c2410c", markersize=7, fillstyle="none", label=label)
    axes.set(xlabel="epoch", xlim=(x[0] - 0.5, x[-1] + 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.grid(alpha=0.25, linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=9, framealpha=0.85, edgecolor="none")
