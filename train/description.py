"""The description of a run: its config.json, and the notes in the files of its network.

An exported graph has the notes as the attribute `__run__` of its input, a safetensors file as
metadata.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import layers
from layers import engine

from .config import Config
from .data import Data
from .nets import width
from .optimizers import settings_of

__all__ = ["DATA", "add_notes", "describe", "headline", "notes_of"]

LIBRARIES = ("layers", "torch", "mxnet", "numpy", "scikit-learn", "matplotlib", "tqdm")
DATA = (
    *("classes", "columns", "codes", "table", "target"),
    *("shape", "pixels", "resized", "mean", "std", "offset", "unit"),
)


def notes_of(config: Mapping[str, Any]) -> dict[str, str]:
    """What a config.json says of them, as texts."""
    said = {name: config["data"][name] for name in DATA}
    said["outputs"] = config["network"]["outputs"]
    return {"made by": f"layers {layers.__version__}"} | {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in said.items()
    }


def add_notes(graph: Any, notes: Mapping[str, str]) -> None:
    """Have them in a Symbol, which is saved with them then."""
    graph.get_internals()["data"]._set_attr(__run__=json.dumps(notes))


def describe(options: Config, data: Data, learner: Any) -> dict[str, Any]:
    """The information for repeating the run, and for using its parameters."""
    task, rate = data.task, settings_of(options)["learning_rate"]
    rates = {"*": rate} | options.lr
    return {
        "options": options.as_json()
        | {"engine": engine.name(), "lr": rates if len(rates) > 1 else rate},
        "engine": engine.describe(),
        "data": described(data),
        "network": {
            **network(options, data),
            "parameters": learner.parameters,
            "inputs": learner.inputs,
            "outputs": learner.outputs if task.classes else "values",
        },
        "optimizer": {
            "name": options.optimizer,
            **settings_of(options),
        },
        "folder": os.getcwd(),  # from which paths in the options are relative
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "libraries": {name: found for name in LIBRARIES if (found := installed(name))},
    }


def described(data: Data) -> dict[str, Any]:
    """The information for using the network on other data."""
    task, single = data.task, data.mean.size == 1
    return {
        "samples": len(data.x),
        "held_out": len(data.held_out_x),
        "split": data.split and asdict(data.split),
        "shape": data.shape,
        "task": task.name,
        "classes": task.classes,
        "target": {
            "name": data.target,
            "mean": task.mean,
            "std": task.std,
            **data.target_shift.json(),
        },
        "columns": data.columns,
        "codes": data.codes,
        "table": [column.json() for column in data.table],
        "pixels": data.pixels,
        "resized": data.resized,
        "skipped": data.skipped,
        "mean": data.mean.item() if single else data.mean[0].tolist(),
        "std": data.std.item() if single else data.std[0].tolist(),
        **data.shift.json(),
    }


def network(options: Config, data: Data) -> dict[str, Any]:
    """The net by its name, and the sizes of a perceptron's layers."""
    if options.net != "mlp":
        return {"net": options.net}
    units = [width(data), *options.of_net("hidden"), data.task.outputs]
    return {"net": options.net, "units": units}


def installed(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def headline(options: Config, config: dict[str, Any]) -> str:
    data, network = config["data"], config["network"]
    classes, target = data["classes"], data["target"]["name"]
    what = f"{len(classes)} classes" if classes else "a number"
    title = " - ".join(map(str, network.get("units", [network["net"]])))
    return (
        f"{options.data}: {what}{f' in {target!r}' if target else ''}, "
        f"{data['samples']:,} samples to learn from, "
        f"{data['held_out']:,} held out\n"
        f"{title}: {network['parameters']:,} parameters, "
        f"{options.optimizer} with learning rate {config['optimizer']['learning_rate']:g}, "
        f"{config['engine']['name']} on {config['options']['ctx']}\n"
    )
