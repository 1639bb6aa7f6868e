"""The page: templates, and what they ask of the runs."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import layers

from ..detecting import OVERLAP
from ..prediction import SURE
from ..rows import edges_of
from ..scores import GUESSES
from . import figures, pictures
from .measured import MOST_CLASSES, REPEATS
from .read import RunReport, lookup, split_of
from .sweeps import SweepReport

__all__ = ["page"]

# Of config.json, where runs are compared: what follows from the rest.
UNSHOWN = (
    *("result", "runs", "files", "folder", "options.out", "data.mean", "data.std"),
    *("data.target.mean", "data.target.std", "network.inputs", "network.outputs", "network.units"),
)
NONE = "–"
LONG = 24  # values in a list that is shown in full
COLUMNS = 8  # of a table with samples
SCENES = 12


def page(runs: list[RunReport], sweeps: Sequence[SweepReport] = ()) -> str:
    """Return the report as one document, which needs nothing else."""
    kinds = {(run.task.name, run.measure.name): [] for run in runs}
    for run in runs:
        kinds[run.task.name, run.measure.name].append(run)
    return environment().get_template("page.html").render(
        title=runs[0].name if len(runs) == 1 else f"{len(runs)} runs",
        version=layers.__version__,
        runs=runs,
        sweeps=sweeps,
        kinds=[kinds[kind] for kind in sorted(kinds)],
        differences=differences(runs),
    )  # fmt: skip


def environment() -> Environment:
    """Return jinja2's, in which every text of a run is escaped."""
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.tests["figure"] = is_figure
    found.filters["number"] = number
    found.globals |= {
        "figures": figures, "pictures": pictures, "lookup": lookup, "edges_of": edges_of,
        "network_of": network_of, "is_best": is_best, "metric_text": metric_text,
        "command": command, "flattened": flattened, "samples": samples,
        "average_precision": pictures.average_precision, "guesses": GUESSES,
        "most_classes": MOST_CLASSES, "repeats": REPEATS, "most_scenes": SCENES, "sure": SURE,
        "overlap": OVERLAP, "dash": NONE, "nan": math.nan,
    }  # fmt: skip
    return found


def is_figure(value: Any) -> bool:
    """True if a cell of a table has a number, which stands right."""
    text = str(value).replace(",", "").rstrip("%").removesuffix(" s")
    try:
        float(text)
    except ValueError:
        return text == NONE
    return True


def number(value: Any, form: str = ".4g") -> str:
    """Format a number of a config.json, which may be something else."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return NONE
    return f"{value:,}" if isinstance(value, int) else format(value, form)


def metric_text(run: RunReport, value: float) -> str:
    """Return a value of a run's metric with its name, which accuracy and map do not need."""
    shown = run.measure.show(value)
    return shown if shown.endswith(("%", NONE)) else f"{shown} {run.measure.name}"


def is_best(run: RunReport, runs: list[RunReport]) -> bool:
    """True if the held-out result is the best of several runs that can be compared."""
    name = f"held_out_{run.measure.name}"
    alike = [other.best[name] for other in runs if other.best and same_data(run, other)]
    best = max(alike, key=run.measure.quality, default=math.nan)
    return len(alike) > 1 and run.best is not None and run.best[name] == best


def same_data(a: RunReport, b: RunReport) -> bool:
    alike = a.measure is b.measure and split_of(a.config) == split_of(b.config)
    return alike and all(
        lookup(a.config, "options", name) == lookup(b.config, "options", name)
        for name in ("data", "validation", "target")
    )


def network_of(run: RunReport) -> str:
    """Return the kind of net, its sizes, and how it learned."""
    kind, units = lookup(run.config, "options", "net"), lookup(run.config, "network", "units")
    sizes = " - ".join(map(str, units)) if isinstance(units, list) else ""
    optimizer = lookup(run.config, "optimizer", "name")
    net, optimizer = (text if isinstance(text, str) else "" for text in (kind, optimizer))
    parameters = f"{number(lookup(run.config, 'network', 'parameters'))} parameters"
    return ", ".join(filter(None, [f"{net} {sizes}".strip(), parameters, optimizer]))


def differences(runs: list[RunReport]) -> list[list[str]]:
    """Return the names and values in config.json of the runs that are not the same in all."""
    flat = [flattened(run.config) for run in runs]
    names = dict.fromkeys(name for config in flat for name in config)
    rows = [[name, *[config.get(name, NONE) or NONE for config in flat]] for name in names]
    return [
        row
        for row in rows
        if not any(f"{row[0]}.".startswith(f"{less}.") for less in UNSHOWN)
        and len({*row[1:]}) > 1
    ]  # fmt: skip


def flattened(config: Any, before: str = "") -> dict[str, str]:
    """Return the values in nested objects, as texts by their paths."""
    if isinstance(config, dict):
        found: dict[str, str] = {}
        for name, value in config.items():
            found |= flattened(value, f"{before}.{name}" if before else str(name))
        return found
    if isinstance(config, list):
        more = f", … {len(config)} in all" if len(config) > LONG else ""
        return {before: ", ".join(map(str, config[:LONG])) + more}
    return {before: NONE if config is None else str(config)}


def samples(run: RunReport) -> tuple[list[str], list[list[str]]]:
    """Return the worst samples as the head and the rows of a table."""
    measured, classes = run.measured, run.run.classes
    assert measured is not None
    x = measured.x.reshape(len(measured.x), -1)
    names = run.run.columns or [f"x[{i}]" for i in range(x.shape[1])]
    rows = []
    for i in measured.worst:
        y, said = measured.y[i], measured.said[i]
        if classes:
            told = [classes[int(y)], classes[said], f"{measured.values[i].max():.1%}"]
        else:
            told = [f"{y:.5g}", f"{said:.5g}", f"{said - y:+.4g}"]
        rows.append([*told, *[f"{value:.4g}" for value in x[i, :COLUMNS]]])
    return ["true", "predicted", "probability" if classes else "off by", *names[:COLUMNS]], rows


def new_folder(folder: Path) -> str:
    """Return the first of FOLDER-2, FOLDER-3, ... that is not there."""
    folder = folder if folder.name else Path("run")
    return next(name for i in count(2) if not Path(name := f"{folder}-{i}").exists())


def command(run: RunReport) -> str:
    """Return the command that repeats a run, into a new folder."""
    program = "train" if len(run.run.inputs) == 1 else "train.module"
    program = "train.detect" if run.is_detector else program
    words = ["python", "-m", program, "--config", str(run.folder / "config.json")]
    net = lookup(run.config, "options", "net")
    if isinstance(net, str) and ".py:" in net:  # which no file may name alone
        words += ["--net", net]
    return shlex.join([*words, "--out", new_folder(run.folder)])
