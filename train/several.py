"""Several runs of one configuration: the folds of a cross validation, and other seeds."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from . import Refused, results
from .config import Config
from .scores import ROWS
from .screen import say

__all__ = ["runs_of", "summarize"]


def runs_of(options: Config) -> list[Config]:
    """Return the run itself, and those of --folds and --repeat, in folders below its own.

    Each of these is a run like others, of which --holdout names the fold.
    """
    once, found = replace(options, folds=None, repeat=None), [options]
    column = (options.holdout or "").rpartition(",")[2]
    column = f",{column}" if ":" in column else ""
    for seed in range(options.seed, options.seed + (options.repeat or 1)):
        parts = [f"seed-{seed}"] * ((options.repeat or 1) > 1)
        if not options.folds and seed == options.seed:
            continue  # it is the run itself
        for fold in range(1, (options.folds or 1) + 1):
            name = "-".join([*parts, f"fold-{fold}"] if options.folds else parts)
            holdout = f"{fold}/{options.folds}{column}" if options.folds else options.holdout
            board = options.tensorboard and options.tensorboard / name
            how = {"seed": seed, "holdout": holdout, "tensorboard": board}
            found.append(replace(once, out=options.out / name, **how))
    return found


def summarize(options: Config, runs: list[Config]) -> None:
    """Show mean and deviation of the results of several runs, and add them to config.json.

    Raises
    ------
    Refused
        A file of a run cannot be read or written.
    """
    counted = runs[1:] if options.folds else runs
    config = options.out / results.CONFIG
    try:
        found = [held_out(json.loads((each.out / results.CONFIG).read_text())) for each in counted]
        values = {name: [row[name] for row in found] for name in found[0]}
        folders = [str(each.out.relative_to(options.out)) for each in counted]
        with results.opened(options.out, results.NAMES):
            content = json.loads(config.read_text())
            content["runs"] = {"folders": folders, "held_out": values}
            results.write_config(config, content, content["files"])
    except OSError as error:
        raise Refused(f"--out {options.out}: {error.strerror or error}") from error
    counts = {"folds": options.folds, "seeds": options.repeat}
    title = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    say(f"\n{table(values, title)}", sys.stdout)


def held_out(config: dict[str, Any]) -> dict[str, float]:
    """Return the results of a run on its held-out samples, by the names of the metrics."""
    result = config["result"]
    own = {name: result[f"held_out_{name}"] for name in ("loss", config["metric"])}
    return {name: math.nan if v is None else v for name, v in (own | result["scores"]).items()}


def table(values: dict[str, list[float]], title: str) -> str:
    """Return the means of metrics, and how far the runs are apart, as lines of text."""
    rows = [(title, "mean", "deviation", "least", "greatest")]
    for name, row in values.items():
        show = ROWS[name].show if name in ROWS else "{:.4g}".format
        numbers = np.mean(row), np.std(row), np.min(row), np.max(row)
        rows.append((name, *(show(float(number)) for number in numbers)))
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    )
