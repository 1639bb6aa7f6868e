"""What a report tells of a run: its files, and what its network says of the held-out samples."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from layers.engine import gluon, mx, nd

from .. import Refused
from ..data import Data, Reading, load
from ..data.arrays import refusing_damage
from ..exporting import Network, read_network
from ..prediction import TrainedRun, forward, read_run, refusing_networks, softmax
from ..task import Detection, Task
from .names import REARRANGING, names_of

__all__ = ["Measured", "RunReport", "Statistics", "lookup", "read_runs"]

ACTIVATIONS = 256  # held-out samples that activations are measured on


@dataclass(frozen=True)
class Statistics:
    """Of the values of a parameter; or of an activation, whose `name` is its layer's."""

    name: str
    shape: tuple[int, ...]
    mean: float
    std: float
    norm: float
    zeros: float
    least: float
    most: float
    operator: str = ""  # that computes an activation


@dataclass(frozen=True)
class Measured:
    """The held-out samples, and what the network says of them.

    x : (n, ...) as in the data; y : (n,) indices of classes, or numbers
    values : (n, classes) probabilities, or (n, 1) numbers
    Of a detector y : (n, objects, 5) and values : (n, k, 6), as `train.detecting` has them.
    """

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray

    @property
    def said(self) -> np.ndarray:
        """The most probable class, or the number."""
        return self.values.argmax(axis=1) if self.values.shape[1] > 1 else self.values[:, 0]

    def losses(self, classes: bool) -> np.ndarray:
        """How wrong each is: the cross entropy, or the distance."""
        if not classes:
            return np.abs(self.values[:, 0] - self.y)
        right = self.values[np.arange(len(self.y)), self.y.astype(int)]
        return -np.log(np.maximum(right, 1e-30))


@dataclass
class RunReport:
    """A run: its folder, config.json, the epochs by the names of their columns, and the rest."""

    folder: Path
    config: dict[str, Any]
    run: TrainedRun
    epochs: list[dict[str, float]]
    parameters: list[Statistics]
    activations: list[Statistics] = field(default_factory=list)
    measured: Measured | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.folder)

    @property
    def task(self) -> Task:
        kind = Detection if self.run.outputs == "detections" else Task
        return kind(tuple(self.run.classes))

    @property
    def best(self) -> dict[str, float] | None:
        """The epoch that config.json names as the best, if history.csv has its results."""
        epoch, metric = lookup(self.config, "result", "epoch"), f"held_out_{self.task.metric}"
        rows = (row for row in self.epochs if math.isfinite(row.get(metric, math.nan)))
        return next((row for row in rows if row["epoch"] == epoch), None)


def lookup(config: Any, *path: str) -> Any:
    """A value in config.json, None where it is not there."""
    for name in path:
        config = config.get(name) if isinstance(config, dict) else None
    return config


def read_runs(folders: list[Path]) -> list[RunReport]:
    """The runs in some folders.

    Raises
    ------
    Refused
        A folder has no run, or a file in it is damaged.
    """
    return [read(folder) for folder in folders]


def read(folder: Path) -> RunReport:
    run = read_run(folder)
    with refusing_damage(folder / "config.json"):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    network = read_network(folder, run)
    arrays = {name: array.asnumpy() for name, array in network.structured.items()}
    statistics = [statistics_of(name, array) for name, array in arrays.items()]
    report = RunReport(folder, config, run, read_history(folder), statistics)
    try:
        data = read_data(config, run)
    except Refused as error:
        report.notes.append(
            f"{folder}: {error}; the report goes without its confusions, mistakes and activations"
        )
        return report
    values = forward(folder, run, data.held_out_x)
    values = softmax(values) if run.outputs == "scores" else values
    x = data.held_out_x.reshape(-1, *data.shape)
    report.measured = Measured(x, data.held_out_y, values)
    report.activations = activations(network, data.held_out_x[:ACTIVATIONS], folder)
    return report


def read_history(folder: Path) -> list[dict[str, float]]:
    """The epochs in history.csv.

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


def read_data(config: dict[str, Any], run: TrainedRun) -> Data:
    """The data that config.json names, if it is what the run was trained with.

    Raises
    ------
    Refused
        config.json names no data, or they have changed since.
    """
    name, validation = lookup(config, "options", "data"), lookup(config, "options", "validation")
    if not isinstance(name, str) or not isinstance(validation, (str, type(None))):
        raise Refused("config.json names no data")

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
    )
    data = load(name, validation, how)
    known = {
        "classes": (list(data.task.classes), run.classes),
        "columns": (list(data.columns), run.columns),
        "shape": (list(data.shape), run.shape),
        "samples": (len(data.x), lookup(config, "data", "samples")),
        "held_out": (len(data.held_out_x), lookup(config, "data", "held_out")),
    }
    for what, (now, then) in known.items():
        if now != then:
            raise Refused(
                f"{name} is not what it was trained with: {what} {brief(now)}, then {brief(then)}"
            )
    for what, now, then in (("mean", data.mean, run.mean), ("std", data.std, run.std)):
        if not np.allclose(now, then, rtol=1e-4):
            raise Refused(f"{name} is not what it was trained with: its {what} has changed")
    return data


def brief(value: object) -> str:
    text = str(value)
    return text if len(text) < 60 else f"{text[:60]}…"


def statistics_of(name: str, values: np.ndarray, operator: str = "") -> Statistics:
    x = values.astype("float64")
    return Statistics(
        name, values.shape, float(x.mean()), float(x.std()), float(np.linalg.norm(x)),
        float((x == 0).mean()), float(x.min()), float(x.max()), operator,
    )  # fmt: skip


def activations(network: Network, x: np.ndarray, folder: Path) -> list[Statistics]:
    """Of the outputs of the graph's operators that change numbers, for these samples."""
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
