"""The network of a run's folder, the samples to predict, and what it says of them."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import layers.ops  # noqa: F401 - the operators in exported graphs
from layers.engine import gluon, mx, nd

from . import Refused
from .data import Reading
from .data.arrays import read_npy, read_npz, refusing_damage
from .data.columns import Column, codes_of, encode, from_json, inputs_of
from .data.images import DEEP, image_shape, resize
from .data.pictures import SUFFIXES, Sources, images_in, read_images
from .data.prepare import as_rows
from .data.samples import Samples
from .data.shift import Shift
from .data.tables import is_table, read_table
from .description import DATA
from .screen import one_line
from .symbolic import UNKNOWN, register_names_of_before

__all__ = ["SURE", "Predictions", "edges_of", "predictions", "write_csv", "write_json"]

BATCH = 1024
EDGES = ("left", "upper", "right", "lower")
GRAPH, PARAMETERS = "model-symbol.json", "model-0000.params"
INPUTS = (["data"], ["data", "softmax_label"])
OUTPUTS = ("scores", "probabilities", "values", "detections")
SURE = 0.5  # the least probability of an object that is told of


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

    @property
    def size(self) -> tuple[int, ...]:
        """Width and height of the images in which it finds objects, if it does."""
        image = image_shape(tuple(self.shape)) if self.outputs == "detections" else None
        return image[:0:-1] if image else ()


@dataclass(frozen=True)
class Predictions:
    """What a network says of samples.

    classes : names, or none where it predicts a number
    values : (n, classes) probabilities, or (n, 1) numbers; or (n, k, 6), of objects the class, the
        probability, and the box in parts of the image
    files : of each sample, where samples are images
    size : width and height of an image, where objects are found in it
    kept : columns of the table, which are repeated
    notes : sentences for the user
    digits : of each number, behind the point, that the network has; None: it has seven in all
    """

    classes: list[str]
    values: np.ndarray
    files: tuple[str, ...]
    size: tuple[int, ...] = ()
    kept: dict[str, list[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    digits: list[int] | None = None


def predictions(folder: Path, name: str, how: Reading | None = None) -> Predictions:
    """What the network of a run's folder says of the samples in a file, or of images.

    `how` are encoding and decimal mark of a table, and as features the columns to be repeated.

    Raises
    ------
    Refused
        The folder has no run, a file is damaged, or the samples do not fit the network.
    """
    run = read_run(folder)
    try:
        kept: dict[str, list[str]] = {}
        samples = read_samples(name, run, how or Reading(), kept)
        if samples.x.ndim == 2 and len(run.shape) > 1:  # rows already
            samples.x = samples.x.reshape(-1, *fitting(samples, run))
        samples.x = as_trained(samples.x, tuple(run.shape))
        if run.resized and samples.x.ndim == len(run.shape) + 1 and not samples.files:
            first = len(run.shape) == 3 and run.shape[2] > 4  # the channels are before the height
            samples.x = resize(samples.x, tuple(run.shape[1:] if first else run.shape[:2]))
        x = run.shift.take(as_rows(samples, tuple(run.shape)))
    except Refused as error:
        has_rows = is_table(name) or Path(name).suffix.lower() in (".npz", ".npy")
        hint = f"; the network was trained with images {tuple(run.shape)}"
        told = f"{error}{hint if has_rows and run.pixels is not None else ''}"
        raise Refused(told if name in told else f"{name}: {told}") from error
    except MemoryError as error:
        raise Refused(f"{name}: it does not fit in memory") from error
    outputs = forward(folder, run, x)
    if run.outputs == "scores":
        outputs = softmax(outputs)
    notes, digits = tuple(samples.notes), None
    if run.outputs == "values":
        shift, own = run.target_shift, outputs[:, 0]
        outputs = shift.back(outputs)
        if not shift.is_none:
            digits = digits_of(own * shift.unit[0])
    return Predictions(run.classes, outputs, samples.files, run.size, kept, notes, digits)


def digits_of(values: np.ndarray) -> list[int]:
    """How many digits behind the point numbers have, of which seven in all are right."""
    with np.errstate(divide="ignore"):
        places = np.floor(np.log10(np.abs(values)))
    return [int(6 - max(place, -300)) for place in places.tolist()]


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
        data, network = config["data"], config["network"]
        data = {"codes": [], "table": [], "offset": 0.0, "unit": 1.0} | data  # of a run of before
        before = {"offset": 0.0, "unit": 1.0}
        data["target"] = data["target"] | (before | data["target"])
        run = TrainedRun(
            *(data[name] for name in DATA),
            *(network[name] for name in ("inputs", "outputs")),
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
    }


def fitting(samples: Samples, run: TrainedRun) -> list[int]:
    """The shape of a run's samples, if rows have as many numbers.

    Raises
    ------
    Refused
        The rows have another number of features.
    """
    features = int(np.prod(run.shape))
    if samples.x.shape[1] != features:
        raise Refused(
            f"{samples.x_name} is {samples.x.shape}; expected (samples, {features}), or "
            f"{('samples', *run.shape)}".replace("'", "")
        )
    return run.shape


def as_trained(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Images with their axes in the order of those of the training: channels first, or last."""
    given = x.shape[1:]
    if len(shape) != 3 or given == shape:
        return x
    if given == (shape[2], *shape[:2]) and shape[2] <= 4:
        return np.moveaxis(x, 1, -1)
    if given == (*shape[1:], shape[0]) and shape[0] <= 4:
        return np.moveaxis(x, -1, 1)
    return x


def read_samples(name: str, run: TrainedRun, how: Reading, kept: dict[str, list[str]]) -> Samples:
    """The samples that a name stands for, without targets; `kept` gets the columns to repeat.

    Raises
    ------
    Refused
        There is no such file, it is of no known kind, or of another than the network was trained
        with.
    """
    path = Path(os.path.expanduser(name))
    suffix = path.suffix.lower()
    if is_table(name):
        return read_rows(path, run, how, kept)
    if suffix == ".npz":
        arrays, _ = read_npz(path, (("x",), ("x_test",)))
        (x_name, x), *_ = arrays.items()
        return Samples(x, None, x_name)
    if suffix == ".npy":
        return Samples(read_npy(path), None, "the array")
    if not path.exists():
        raise Refused("there is no such file")
    if path.is_dir():
        return read_pictures(images_in(path), run)
    if suffix in SUFFIXES:
        return read_pictures({str(path): path.read_bytes}, run)
    raise Refused("expected a table, an npz or npy file, an image, or a folder of images")


def read_rows(path: Path, run: TrainedRun, how: Reading, kept: dict[str, list[str]]) -> Samples:
    """The rows of a table, as the training has understood its columns; ids are kept."""
    columns = run.described
    texts = [column.name for column in columns if column.kind not in ("number", "empty")]
    table = read_table(path, replace(how, labelled=False), [*texts, *how.features])
    ids = [c.name for c in columns if c.kind in ("id", "index") and c.name in table.names]
    for name in dict.fromkeys((*how.features, *ids)):
        kept[name] = table.column(name).astype(object).fillna("").map(str).tolist()
    if not columns:  # it was trained with arrays, or before there were kinds
        columns = [Column(name, "number") for name in run.columns or table.names]
    x, notes = encode(columns, table)
    return Samples(x, None, table=table, notes=notes)


def read_pictures(sources: Sources, run: TrainedRun) -> Samples:
    """Images, with pixels as those that the network was trained with.

    Raises
    ------
    Refused
        The network was not trained with files of images.
    """
    if run.pixels is None:
        raise Refused(
            "the network was not trained with files of images, and which of its numbers their "
            "pixels are is not known; expected a csv, npz or npy file"
        )
    shape = tuple(run.shape)
    image = image_shape(shape)
    size = image[1:] if image and run.resized else None
    how = Reading(shape=shape, size=size, white=run.pixels, labelled=False)
    return read_images(sources, how)


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


def forward(folder: Path, run: TrainedRun, x: np.ndarray) -> np.ndarray:
    """The outputs of the exported graph.

    Raises
    ------
    Refused
        The outputs have another shape than config.json says.
    """
    files = [str(folder / name) for name in (GRAPH, PARAMETERS)]
    with refusing_networks(f"{folder}: the network cannot be used"):
        register_names_of_before(folder / GRAPH)
        net = gluon.SymbolBlock.imports(files[0], run.inputs, files[1])
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


def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def records(found: Predictions, probabilities: bool) -> Iterator[dict[str, Any]]:
    """What is said of each sample, or of each object, by the names of the columns."""
    for i, values in enumerate(found.values.tolist()):
        if found.size:
            yield from objects(found, i)
            continue
        record: dict[str, Any] = {"file": found.files[i]} if found.files else {"row": i + 1}
        record |= {name: texts[i] for name, texts in found.kept.items() if name not in record}
        if found.classes:
            best = max(range(len(values)), key=values.__getitem__)
            record |= {"class": found.classes[best], "probability": rounded(values[best])}
            if probabilities:
                record["probabilities"] = dict(zip(found.classes, map(rounded, values)))
        else:
            digits = found.digits
            record["value"] = round(values[0], digits[i]) if digits else rounded(values[0])
        yield record


def objects(found: Predictions, i: int) -> Iterator[dict[str, Any]]:
    """The objects in an image, with the edges of their boxes in pixels."""
    for row in found.values[i]:
        if row[0] >= 0 and row[1] >= SURE:
            edges = zip(EDGES, edges_of(row[2:], found.size))
            yield {
                **({"file": found.files[i]} if found.files else {"row": i + 1}),
                "class": found.classes[int(row[0])],
                "probability": rounded(row[1]),
                **{name: round(value, 2) for name, value in edges},
            }


def edges_of(box: np.ndarray, size: tuple[int, ...]) -> list[float]:
    """A box in pixels of an image of this width and height, from one in parts of it."""
    return (np.asarray(box, "float64") * [*size, *size]).tolist()


def rounded(value: float) -> float:
    """With the digits that float32 has."""
    return float(f"{value:.7g}")


FORMULA = re.compile(r"(?![-+]?[\d.]+(e[-+]?\d+)?$)[=+\-@\t]", re.IGNORECASE)


def cell(value: Any) -> Any:
    """Return what a spreadsheet shows as this value: ``'=1+1`` for a name that it would compute."""
    if not isinstance(value, str):
        return value
    text = value.replace("\r", "\\r")  # at which readers end a line, and csv does not quote
    return f"'{text}" if FORMULA.match(text) else text


def write_csv(found: Predictions, probabilities: bool) -> Iterator[str]:
    """Lines of csv, the first with the names of the columns."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if found.size:  # there may be no object
        writer.writerow(["file" if found.files else "row", "class", "probability", *EDGES])
    for i, record in enumerate(records(found, probabilities)):
        every = record.pop("probabilities", {})
        record |= {f"probability_{name}": value for name, value in every.items()}
        if i == 0 and not found.size:
            writer.writerow(map(cell, record))
        writer.writerow(map(cell, record.values()))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def write_json(found: Predictions, probabilities: bool) -> Iterator[str]:
    """Lines of json: a list of objects."""
    yield "["
    before = "\n"
    for record in records(found, probabilities):
        yield f"{before}  {json.dumps(record)}"
        before = ",\n"
    yield "\n]\n"
