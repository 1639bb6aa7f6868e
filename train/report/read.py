"""What a report tells of a run: its files, and what its network says of the held-out samples."""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from layers.engine import gluon, mx, nd

from .. import Refused
from ..data import Data, Reading, load
from ..data.arrays import refusing_damage
from ..data.samples import Split
from ..data.sources import PUBLISHED
from ..exporting import Network, read_network
from ..scores import ROWS, Score
from ..screen import say
from ..settings import holdout_of
from ..task import Detection, Task
from ..trained import TrainedRun, network_of, read_run, refusing_networks, softmax
from .measured import Importance, Measured, importance
from .names import REARRANGING, names_of

__all__ = ["RunReport", "Source", "Statistics", "lookup", "read_runs", "split_of"]

ACTIVATIONS = 256  # held-out samples that activations are measured on
MAP = Score("map", Detection().metric_title, "detections", lambda *_: math.nan, form=".2%")


@dataclass(frozen=True)
class Statistics:
    """Of the values of a parameter; or of an activation, whose `name` is its layer's."""

    name: str
    shape: tuple[int, ...]
    mean: float
    std: float
    norm: float
    least: float
    most: float
    zeros: float
    operator: str = ""  # that computes an activation


@dataclass(frozen=True)
class Source:
    """The names of the data and of the held-out samples, as --data and --validation have them."""

    data: str
    validation: str | None = None


@dataclass
class RunReport:
    """A run: its folder, config.json, the epochs by the names of their columns, and the rest."""

    folder: Path
    config: dict[str, Any]
    run: TrainedRun
    epochs: list[dict[str, float]]
    parameters: list[Statistics]
    colour: int = 0
    activations: list[Statistics] = field(default_factory=list)
    measured: Measured | None = None
    importance: list[Importance] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.folder)

    @property
    def is_detector(self) -> bool:
        return self.run.outputs == "detections"

    @property
    def task(self) -> Task:
        return (Detection if self.is_detector else Task)(tuple(self.run.classes))

    @property
    def measure(self) -> Score:
        """Return the metric by which an epoch is best."""
        name = lookup(self.config, "metric")
        row = ROWS.get(name) if isinstance(name, str) else None
        fits = row and row.of_classes == bool(self.run.classes) and not self.is_detector
        return row if row and fits else {**ROWS, "map": MAP}[self.task.metric]

    @property
    def best(self) -> dict[str, float] | None:
        """Return the epoch that config.json names as the best, if history.csv has its results."""
        epoch, metric = lookup(self.config, "result", "epoch"), f"held_out_{self.measure.name}"
        rows = (row for row in self.epochs if math.isfinite(row.get(metric, math.nan)))
        return next((row for row in rows if row["epoch"] == epoch), None)


def lookup(config: Any, *path: str) -> Any:
    """Return a value in config.json, None where it is not there."""
    for name in path:
        config = config.get(name) if isinstance(config, dict) else None
    return config


def read_runs(
    folders: list[Path],
    given: Source | None = None,
    with_importance: bool = False,
    with_data: bool = True,
) -> list[RunReport]:
    """Read the runs in some folders, and their data or what is given instead.

    Raises
    ------
    Refused
        A folder has no run, or a file in it is damaged.
    """
    runs = [read(folder) for folder in folders]
    for i, run in enumerate(runs):
        run.colour = i % 8
        if with_data:
            measure(run, given, with_importance)
    return runs


def read(folder: Path) -> RunReport:
    run = read_run(folder)
    with refusing_damage(folder / "config.json"):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    arrays = {name: a.asnumpy() for name, a in read_network(folder, run).structured.items()}
    statistics = [statistics_of(name, array) for name, array in arrays.items()]
    return RunReport(folder, config, run, read_history(folder), statistics)


def measure(report: RunReport, given: Source | None, with_importance: bool) -> None:
    """Return the metric by which an epoch is best.

    Raises
    ------
    Refused
        The network gives numbers that are not finite.
    """
    folder, run = report.folder, report.run
    network = network_of(folder, run)

    def predict(x: np.ndarray) -> np.ndarray:
        values = network(x)
        if run.outputs == "scores":
            return softmax(values)
        return values if run.classes else run.target_shift.back(values)

    try:
        source = given or source_of(report.config)
        say(f"{folder}: reads {' and '.join(filter(None, vars(source).values()))}", sys.stdout)
        data = read_data(report.config, run, source)
    except Refused as error:
        without = "the report goes without its metrics, confusions, mistakes and activations"
        return say(f"{folder}: {error}; {without}", sys.stdout)
    x, y = data.held_out_x, data.held_out_y
    if not np.isfinite(values := predict(x)).all():
        raise Refused(f"{folder}: the network's outputs are not finite")
    guess = np.array([]) if report.is_detector else data.guess
    if not run.classes:
        y, guess = data.target_shift.back(y[:, None])[:, 0], data.target_shift.back(guess)
    report.measured = Measured(x.reshape(-1, *data.shape), y, values, guess)
    report.activations = activations(read_network(folder, run), x[:ACTIVATIONS], folder)
    if with_importance and len(run.shape) > 1:
        say(f"{folder}: --importance: its samples have no columns", sys.stdout)
    elif with_importance:
        names = run.columns or [f"x[{i}]" for i in range(x.shape[1])]
        columns = {name: [i] for i, name in enumerate(names)}
        report.importance = importance(predict, x, y, columns, report.measure)


def read_history(folder: Path) -> list[dict[str, float]]:
    """Read the epochs in history.csv.

    Raises
    ------
    Refused
        There is no such file, or it has no epochs.
    """
    path = folder / "history.csv"
    with refusing_damage(path):
        if not path.is_file():
            raise Refused(f"there is no {path}")
        with open(path, encoding="utf-8", newline="") as file:
            rows = [
                {name: float(value) for name, value in row.items() if name and value}
                for row in csv.DictReader(file)
            ]
    if not rows or not all("epoch" in row for row in rows):
        raise Refused(f"{path} has no epochs; expected a line for each, after the names")
    return rows


def source_of(config: dict[str, Any]) -> Source:
    """Return the names of the data that a run was trained with.

    Raises
    ------
    Refused
        config.json names no data.
    """
    name, validation = lookup(config, "options", "data"), lookup(config, "options", "validation")
    if not isinstance(name, str) or not isinstance(validation, (str, type(None))):
        raise Refused("config.json names no data")
    folder = lookup(config, "folder")
    folder = folder if isinstance(folder, str) else ""
    return Source(placed(name, folder), validation and placed(validation, folder))


def placed(name: str, folder: str) -> str:
    """Return the name of data with its paths in the folder where a run was made, if it is there."""
    kind, _, path = name.partition(":")
    paths = [path] if kind in PUBLISHED else name.split(",") if ".npy," in name.lower() else [name]
    found = [os.path.join(folder, os.path.expanduser(path)) for path in paths]
    if name in ("digits", "scenes", *PUBLISHED) or not all(map(os.path.exists, found)):
        return name
    return f"{kind}:{found[0]}" if kind in PUBLISHED else ",".join(found)


def read_data(config: dict[str, Any], run: TrainedRun, source: Source) -> Data:
    """Read data, if it is what a run was trained with.

    Raises
    ------
    Refused
        It cannot be read, or is something else.
    """

    def names(key: str) -> tuple[str, ...]:
        found = lookup(config, "options", key)
        return tuple(map(str, found)) if isinstance(found, list) else ()

    goal, size = lookup(config, "options", "target"), lookup(config, "options", "image_size")
    how = Reading(
        regression=not run.classes,
        target=goal if isinstance(goal, str) else None,
        features=names("features"),
        ignore=names("ignore"),
        size=tuple(size) if isinstance(size, list) else None,
        skip_broken=lookup(config, "options", "skip_broken") is True,
        boxes=run.outputs == "detections",
        split=split_of(config),
        columns=names("columns"),
        **{
            key: value
            for key in ("encoding", "decimal", "weights")
            if (value := lookup(config, "options", key))
        },
    )
    data = load(source.data, source.validation, how)
    known = {
        "classes": (list(data.task.classes), run.classes),
        "columns": (list(data.columns), run.columns),
        "shape": (list(data.shape), run.shape),
        "samples": (len(data.x), lookup(config, "data", "samples")),
        "held_out": (len(data.held_out_x), lookup(config, "data", "held_out")),
    }
    different = f"{source.data} is not what it was trained with"
    for what, (now, then) in known.items():
        if now != then:
            raise Refused(f"{different}: {what} {str(now)[:60]}, then {str(then)[:60]}")
    for what, now, then in (("mean", data.mean, run.mean), ("std", data.std, run.std)):
        if not np.allclose(now, then, rtol=1e-4):
            raise Refused(f"{different}: its {what} has changed")
    return data


def split_of(config: dict[str, Any]) -> Split:
    """Return which samples a run has held out: those of before, of every seed, by the seed 0."""
    holdout, seed = (lookup(config, "data", "split", name) for name in ("holdout", "seed"))
    return Split(holdout_of(holdout), seed if type(seed) is int else 0)


def statistics_of(name: str, values: np.ndarray, operator: str = "") -> Statistics:
    x = values.astype("float64")
    numbers = x.mean(), x.std(), np.linalg.norm(x), x.min(), x.max(), (x == 0).mean()
    return Statistics(name, values.shape, *map(float, numbers), operator)


def activations(network: Network, x: np.ndarray, folder: Path) -> list[Statistics]:
    """Return statistics of the outputs of the graph's operators that change numbers."""
    internals, known = network.graph.get_internals(), names_of(network.graph)
    nodes = {name: internals[name].name for name in internals.list_outputs()}
    named = {name: known[node] for name, node in nodes.items() if node in known}
    shown = {name: both for name, both in named.items() if both[1] not in REARRANGING}
    with refusing_networks(f"{folder}: the activations cannot be computed"):
        inner = mx.sym.Group([internals[name] for name in shown])
        net = gluon.SymbolBlock(inner, mx.sym.var("data"))
        net.collect_params().initialize(ctx=mx.cpu())
        for name, parameter in net.collect_params().items():
            parameter.set_data(network.arrays[name])
        outputs = net(nd.array(x))
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return [
        statistics_of(layer, output.asnumpy(), operator)
        for (layer, operator), output in zip(shown.values(), outputs)
    ]
