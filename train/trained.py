"""The folder of a run: what its config.json says, and its network as a function."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import layers.ops  # noqa: F401 - the operators in exported graphs
from layers.engine import gluon, mx, nd

from . import Refused
from .data.arrays import refusing_damage
from .data.columns import Column, codes_of, from_json, inputs_of
from .data.images import DEEP, image_shape
from .data.shift import Shift
from .description import DATA
from .screen import one_line
from .symbolic import UNKNOWN, register_names_of_before

__all__ = ["GRAPH", "PARAMETERS", "TrainedRun", "network_of", "read_run", "refusing_networks"]

BATCH = 1024
GRAPH, PARAMETERS = "model-symbol.json", "model-0000.params"
INPUTS = (["data"], ["data", "softmax_label"])
OUTPUTS = ("scores", "probabilities", "values", "detections")


@dataclass(frozen=True)
class TrainedRun:
    """What the config.json of a run says of its network."""

    classes: list[str]
    columns: list[str]
    codes: list[int]
    table: list[dict[str, Any]]
    target: dict[str, Any]
    shape: list[int]
    pixels: int | None
    resized: bool
    mean: float | list[float]
    std: float | list[float]
    offset: float | list[float]
    unit: float | list[float]
    inputs: list[str]
    outputs: str
    margins: dict[str, float]

    @property
    def described(self) -> list[Column]:
        """How the columns of a table become features."""
        return from_json(self.table)

    @property
    def shift(self) -> Shift:
        return Shift.from_json(self.offset, self.unit)

    @property
    def target_shift(self) -> Shift:
        return Shift.from_json(self.target["offset"], self.target["unit"])

    def margin(self, share: float) -> float:
        """Return the half width of an interval around a predicted number, with this share in it.

        Raises
        ------
        Refused
            There is none: the message has the shares that there are.
        """
        if (found := self.margins.get(str(share))) is None:
            known = ", ".join(self.margins) or "no interval: it has too few samples, or classes"
            raise Refused(f"interval {share:g}: of its held-out samples the run has {known}")
        return found

    @property
    def size(self) -> tuple[int, ...]:
        """Width and height of the images in which it finds objects, if it does."""
        image = image_shape(tuple(self.shape)) if self.outputs == "detections" else None
        return image[:0:-1] if image else ()


def read_run(folder: Path) -> TrainedRun:
    """What the config.json in a folder says, of the types that it should have.

    Raises
    ------
    Refused
        The folder has no run that finished, or its config.json is not of this program.
    """
    names = [GRAPH, PARAMETERS, "config.json"]
    if missing := [name for name in names if not (folder / name).is_file()]:
        if (folder / "config.json").is_file() and (folder / "history.csv").is_file():
            raise Refused(
                f"{folder}: the run in it did not finish: there is no {', '.join(missing)}; "
                "train with --resume, or again with a lower --lr if the loss diverged"
            )
        raise Refused(f"{folder}: it is no run: there is no {', '.join(missing)}")
    path = folder / "config.json"
    with refusing_damage(path):
        text = path.read_text(encoding="utf-8")
    try:
        config = json.loads(text)
        data, network, result = config["data"], config["network"], config.get("result")
        data = {"codes": [], "table": [], "offset": 0.0, "unit": 1.0} | data  # of a run of before
        before = {"offset": 0.0, "unit": 1.0}
        data["target"] = data["target"] | (before | data["target"])
        run = TrainedRun(
            *(data[name] for name in DATA),
            *(network[name] for name in ("inputs", "outputs")),
            result.get("margins", {}) if isinstance(result, dict) else {},
        )
        columns = run.described
    except KeyError as error:
        raise Refused(f"{path} is not of a run of this program: there is no {error}") from error
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise Refused(f"{path} is not of a run of this program: {error}") from error
    if wrong := [name for name, right in checks(run, columns).items() if not right]:
        raise Refused(f"{path} is not of a run of this program: {wrong[0]} is wrong in it")
    return run


def checks(run: TrainedRun, columns: list[Column]) -> dict[str, bool]:
    """Whether each value is of the type that a run has written."""

    def texts(value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(text, str) for text in value)

    def sizes(value: Any) -> bool:
        return isinstance(value, list) and all(type(n) is int and 0 < n < 2**31 for n in value)

    def scales(value: Any, length: int) -> bool:
        many = value if isinstance(value, list) else [value]
        right = all(type(v) in (int, float) and abs(v) <= 1e308 for v in many)
        return right and (many is not value or len(many) == length)

    def units(value: Any, length: int) -> bool:
        return scales(value, length) and bool((np.array(value) > 0).all())

    def is_image(shape: Any) -> bool:
        image = image_shape(tuple(shape)) if sizes(shape) else None
        return image is not None and image[0] in (1, 3)

    features = math.prod(run.shape) if sizes(run.shape) else 0
    codes = len(run.codes) if isinstance(run.codes, list) else 0
    return {
        "shape": sizes(run.shape) and bool(run.shape),
        "classes": texts(run.classes) and (run.outputs == "values") == (not run.classes),
        "columns": texts(run.columns),
        "codes": sizes(run.codes) and (not columns or codes_of(columns) == tuple(run.codes)),
        "table": not columns or inputs_of(columns) == tuple(run.columns),
        "target": scales(run.target["offset"], -1) and units(run.target["unit"], -1),
        "pixels": run.pixels is None or run.pixels in (16, 255, DEEP) and is_image(run.shape),
        "mean": scales(run.mean, features - codes),
        "std": scales(run.std, features - codes),
        "offset": scales(run.offset, features),
        "unit": units(run.unit, features),
        "resized": isinstance(run.resized, bool),
        "inputs": run.inputs in INPUTS,
        "outputs": run.outputs in OUTPUTS,
        "margins": isinstance(run.margins, dict)
        and scales([*run.margins.values()], len(run.margins)),
    }


@contextmanager
def refusing_networks(what: str) -> Iterator[None]:
    """Raise the engine's errors as `Refused`, in one line; without MXNet's warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the type of data
            yield
    except Refused:
        raise
    except (mx.base.MXNetError, OSError, ValueError, TypeError, LookupError) as error:
        unknown = any(words in str(error) for words in UNKNOWN)
        hint = "; with --operators FILE.py that file is run first" * unknown
        raise Refused(f"{what}: {one_line(error)}{hint}") from error


def network_of(folder: Path, run: TrainedRun) -> Callable[[np.ndarray], np.ndarray]:
    """Return the exported graph as a function of rows.

    Raises
    ------
    Refused
        It cannot be used; or, when it is called, its outputs have another shape than config.json
        says.
    """
    files = [str(folder / name) for name in (GRAPH, PARAMETERS)]
    refusing = partial(refusing_networks, f"{folder}: the network cannot be used")
    with refusing():
        register_names_of_before(folder / GRAPH)
        net = gluon.SymbolBlock.imports(files[0], run.inputs, files[1])

    def outputs_of(x: np.ndarray) -> np.ndarray:
        with refusing():
            outputs = [
                net(*[nd.array(part), nd.zeros(len(part))][: len(run.inputs)]).asnumpy()
                for part in np.array_split(x, -(-len(x) // BATCH))
            ]
        found = np.concatenate(outputs).astype("float64")
        fits = found.shape == (len(x), len(run.classes) or 1)
        if run.outputs == "detections":
            fits = found.ndim == 3 and found.shape[::2] == (len(x), 6)
            fits = fits and (found[..., 0] < len(run.classes)).all()
        if not fits:
            raise Refused(f"{folder}: the network's outputs are {found.shape}; config.json differs")
        return found

    return outputs_of


def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
