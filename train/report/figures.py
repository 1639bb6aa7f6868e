"""Figures as SVG inside the page, whose colours are those of its style: it may be dark or light."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
from markupsafe import Markup

from ..screen import quiet_matplotlib
from ..varied import Varied
from .measured import Measured
from .read import RunReport
from .sweeps import SweepReport

__all__ = ["calibration", "curves", "predicted", "trials"]

# Matplotlib draws in these colours, for which the page's variables are put afterwards.
INK, FAINT = "#010203", "#040506"
RUNS = [f"#0101{i:02x}" for i in range(8)]
VARIABLES = {INK: "var(--ink)", FAINT: "var(--line)"}
VARIABLES |= {colour: f"var(--run-{i})" for i, colour in enumerate(RUNS)}
MOST_POINTS = 1500
FAR_APART = 5  # times as many epochs


def svg(figure: Any, label: str) -> Markup:
    """Return a figure as an element of the page, without a background."""
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": label}):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    text = file.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, variable)
    return Markup(text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1))


def axes_of(width: float, height: float, x: str, y: str = "") -> tuple[Any, Any]:
    """Return a figure and its axes, in the colours above."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.tick_params(colors=INK, labelsize=9, length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.grid(color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.set_xlabel(x, color=INK, size=9)
    axes.set_ylabel(y, color=INK, size=9)
    return figure, axes


@quiet_matplotlib()
def curves(
    runs: list[RunReport], what: str, percent: bool = False, from_zero: bool = True
) -> Markup:
    """Draw a quantity over the epochs: held out as lines, in training as dots; best epochs marked.

    `what` is the name of a column of history.csv that is known, and of no file.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, PercentFormatter

    figure, axes = axes_of(5.6, 3.4, "epoch")
    for run in runs:
        colour = RUNS[run.colour]
        x = [row["epoch"] for row in run.epochs]
        learned, held_out = (
            [row.get(name, np.nan) for row in run.epochs] for name in (what, f"held_out_{what}")
        )
        axes.plot(x, learned, color=colour, linewidth=1.1, linestyle=(0, (2, 2)))
        axes.plot(x, held_out, color=colour, linewidth=2, marker="o" if len(x) < 2 else "")
        if run.best:
            place = run.best["epoch"], run.best.get(f"held_out_{what}", np.nan)
            axes.plot(*place, "o", color=colour, markersize=7)
    lengths = [len(run.epochs) for run in runs]
    if max(lengths) >= FAR_APART * min(lengths):  # the short ones would be a few dots at the left
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(10, (1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("epoch, logarithmic")
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if percent:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    elif from_zero:
        axes.set_ylim(bottom=0)
    return svg(figure, f"{what} over the epochs")


@quiet_matplotlib()
def predicted(measured: Measured, colour: int) -> Markup:
    """Draw predicted numbers over the true ones."""
    every = -(-len(measured.y) // MOST_POINTS)
    x, y = measured.y[::every], measured.said[::every]
    figure, axes = axes_of(5.2, 5.2, "true", "predicted")
    least, most = min(x.min(), y.min()), max(x.max(), y.max())
    axes.plot([least, most], [least, most], color=FAINT, linewidth=2)
    axes.plot(x, y, "o", color=RUNS[colour], markersize=4.5, alpha=0.65, markeredgewidth=0)
    axes.set_aspect("equal")
    return svg(figure, "predicted over true")


@quiet_matplotlib()
def calibration(measured: Measured, colour: int) -> Markup:
    """Draw how many are right over how probable the network says they are."""
    figure, axes = axes_of(5.2, 4.2, "probability of the class said", "share right")
    sure, right, count = measured.calibration.T
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=2)
    axes.plot(sure, right, color=RUNS[colour], linewidth=1.5)
    sizes = 12 + 150 * count / count.sum()
    axes.scatter(sure, right, s=sizes, color=RUNS[colour], linewidth=0)
    axes.set(xlim=(min(sure.min(), 0.5) - 0.02, 1.02), ylim=(-0.02, 1.02))
    return svg(figure, "share right over probability")


@quiet_matplotlib()
def trials(sweep: SweepReport, varied: Varied | None = None) -> Markup:
    """Draw the metric of each trial in their order, or over a setting that is varied."""
    known = [each for each in sweep.trials if each["quality"] is not None]
    y = np.array([each["metric"] for each in known], "float64")
    figure, axes = axes_of(5.6, 3.4, varied.name if varied else "trial")
    if varied is None:
        x = [each["number"] for each in known]
        best = np.maximum.accumulate([each["quality"] for each in known])
        at = [[each["quality"] for each in known].index(value) for value in best]
        axes.plot(x, y[at], color=RUNS[0], linewidth=2, drawstyle="steps-post")
    else:
        values = [each["values"][varied.name] for each in known]
        x = [varied.texts.index(value) for value in values] if varied.texts else values
        axes.set_xscale("log" if varied.log else "linear")
        if varied.texts:
            axes.set_xticks(range(len(varied.texts)), varied.texts, parse_math=False)
            axes.set_xlim(-0.5, len(varied.texts) - 0.5)
    axes.plot(x, y, "o", color=RUNS[0], markersize=5, alpha=0.65, markeredgewidth=0)
    return svg(figure, f"metric over {varied.name if varied else 'trials'}")
