"""From the samples of a file to those of a training: classes, held-out part, scaling, batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import Refused
from ..task import Detection, Task
from .boxes import boxes, kinds_of
from .samples import Reading, Samples, describe_not_finite, listed, rows_not_finite, shown
from .sources import is_table, read

__all__ = ["Data", "as_rows", "load"]

CHUNK = 1 << 22  # numbers that are summed at once, in float64

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Data:
    """Samples to learn from and samples held out, as rows. The network scales them itself.

    x, held_out_x : (n, features), float32, or uint8 where they are pixels
    y, held_out_y : (n,), indices of classes or numbers; or (n, objects, 5), of each object its
        class and box, and -1 behind the last; as float32
    task : the classes, a number, or objects
    shape : of one sample, before it became a row
    mean, std : (1, features) where each feature has its own, (1, 1) where they are one for all
    columns, target : names in a table
    pixels : the value of a white pixel, where samples are images; else None
    resized : images were resized
    skipped : what is wrong with the images that are left out, by their names
    notes : sentences for the user
    """

    x: np.ndarray
    y: np.ndarray
    held_out_x: np.ndarray
    held_out_y: np.ndarray
    task: Task
    shape: tuple[int, ...]
    mean: np.ndarray
    std: np.ndarray
    columns: tuple[str, ...] = ()
    target: str | None = None
    pixels: int | None = None
    resized: bool = False
    notes: tuple[str, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def features(self) -> int:
        return self.x.shape[1]


def load(name: str, validation: str | None = None, how: Reading | None = None) -> Data:
    """The data that ``--data`` names, with held-out samples from the file of ``--validation``.

    Raises
    ------
    Refused
        There is no such data, a file is damaged, or its arrays do not fit together.
    """
    how, option = how or Reading(), f"--data {name}"
    try:
        samples = read(name, how)
        if validation is not None:
            if samples.held_out:
                raise Refused("it has held-out samples of its own; expected no --validation")
            option = f"--validation {validation}"
            samples.held_out = read_as(samples, validation, how)
            samples.notes += samples.held_out.notes
        return prepare(samples, how)
    except Refused as error:
        raise Refused(f"{option}: {error}") from error
    except MemoryError as error:
        raise Refused(f"{option}: it does not fit in memory") from error


def read_as(samples: Samples, name: str, how: Reading) -> Samples:
    """The samples that a name stands for, with the columns, or the size of images, of others.

    Raises
    ------
    Refused
        The others are a table and these are not, or these have held-out samples of their own.
    """
    if samples.columns and not is_table(name):
        raise Refused("it is no table; expected a .csv or .tsv file, as --data is")
    shape = samples.x.shape[1:] if samples.pixels else None
    size = how.size if samples.resized else None
    columns = {"features": samples.columns, "ignore": ()}  # of which none is ignored
    found = read(
        name,
        replace(
            how, target=samples.target, **columns, shape=shape, size=size, white=samples.pixels
        ),
    )
    if found.held_out:
        raise Refused("it has held-out samples of its own; expected one set of samples")
    return found


def prepare(samples: Samples, how: Reading) -> Data:
    """Make rows of the samples, hold a fifth out if none are held out yet, and find the scaling."""
    shape = samples.x.shape[1:]
    x, notes = as_rows(samples, shape), list(samples.notes)
    find, read = (kinds_of, boxes) if how.boxes else (classes_of, targets)
    classes = () if how.regression else samples.classes or find(samples)
    y = read(samples, classes)
    if samples.held_out:
        held_out = samples.held_out
        held_out_x = as_rows(held_out, shape)
        held_out_y = read(held_out, classes)
    else:
        learned, kept = hold_out(y, () if how.boxes else classes, notes)
        x, y, held_out_x, held_out_y = x[learned], y[learned], x[kept], y[kept]
    mean, std = scaling(x, alike=len(shape) > 1)
    check_range(samples.x_name, (x, held_out_x), mean, std)
    goal = Detection(classes) if how.boxes else task(y, classes, samples.y_name)
    return Data(
        x, y, held_out_x, held_out_y, goal, shape, mean, std,
        samples.columns, samples.target, samples.pixels, samples.resized, tuple(notes),
        samples.skipped | (samples.held_out.skipped if samples.held_out else {}),
    )  # fmt: skip


def as_rows(samples: Samples, shape: tuple[int, ...]) -> np.ndarray:
    """Samples of this shape as rows: pixels as they are, other numbers as float32.

    Raises
    ------
    Refused
        The samples have another shape, or a value that is not finite in float32.
    """
    x, name = samples.x, samples.x_name
    if x.ndim < 2 or not x.size:
        raise Refused(f"{name} is {x.shape}; expected (samples, features), with more axes or not")
    if x.shape[1:] != shape:
        expected = ", ".join(map(str, ("samples", *shape)))
        raise Refused(f"{name} is {x.shape}; expected ({expected})")
    x = x.reshape(len(x), -1)
    if x.dtype == np.uint8:
        return x
    if (wrong := rows_not_finite(x)).size:
        raise Refused(f"{samples.at(int(wrong[0]), name)} {describe_not_finite(x, wrong)}")
    return x.astype("float32")


def classes_of(samples: Samples) -> tuple[str, ...]:
    """The names of the classes that there are: sorted, numbers by their values.

    Raises
    ------
    Refused
        A class is neither a whole number nor a text, or there is only one class.
    """
    y, name = column_of_targets(samples), samples.y_name
    if y.dtype.kind != "U":
        wrong = np.flatnonzero(~(np.isfinite(y) & (y == np.floor(y))))
        if wrong.size:
            raise Refused(
                f"{samples.at(wrong[0], name)} is {y[wrong[0]]}; expected classes, as whole "
                "numbers or texts; or --task regression"
            )
    found = [class_name(value) for value in np.unique(y).tolist()]
    if len(found) < 2:
        raise Refused(f"{name} has only the class {shown(found[0])}; expected two classes or more")
    return tuple(found)


def class_name(value: float | str) -> str:
    """The name of a class: of 3 and of 3.0 it is 3."""
    whole = not isinstance(value, str) and np.isfinite(value) and value == int(value)
    return str(int(value)) if whole else str(value)


def targets(samples: Samples, classes: tuple[str, ...]) -> np.ndarray:
    """Indices of classes, or, where there are none, numbers; as float32.

    Raises
    ------
    Refused
        A target is not one of the classes, or, where there are none, is no finite number.
    """
    y, name = column_of_targets(samples), samples.y_name
    if not classes:
        return numeric_targets(samples, y)
    if samples.classes == classes:
        indices, wrong = y, np.flatnonzero(y >= len(classes))
        expected = f"class numbers from 0 to {len(classes) - 1}"
    else:
        y = np.array(samples.classes)[y.astype(int)] if samples.classes else y
        values, inverse = np.unique(y, return_inverse=True)
        known = {name: i for i, name in enumerate(classes)}
        places = np.array([known.get(class_name(value), -1) for value in values.tolist()])
        indices = places[inverse]
        wrong = np.flatnonzero(indices < 0)
        expected = f"one of the classes {listed(classes)}"
    if wrong.size:
        raise Refused(f"{samples.at(wrong[0], name)} is {shown(y[wrong[0]])}; expected {expected}")
    return indices.astype("float32")


def column_of_targets(samples: Samples) -> np.ndarray:
    """The targets (n,), also where they are (n, 1).

    Raises
    ------
    Refused
        There is not one for each sample.
    """
    x, y, name = samples.x, samples.y, samples.y_name
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != x.shape[:1] or not y.size:
        is_one_hot = y.ndim == 2 and y.dtype.kind != "U" and bool(np.isin(y, (0, 1)).all())
        raise Refused(
            f"{name} is {samples.y.shape}; expected ({len(x) if x.ndim else 'samples'},), for "
            f"{samples.x_name} is {x.shape}"
            + f": {name}.argmax(1), where {name} is one-hot"
            * is_one_hot
        )
    return y


def numeric_targets(samples: Samples, y: np.ndarray) -> np.ndarray:
    name = samples.y_name
    if y.dtype.kind == "U":
        raise Refused(
            f"{samples.at(0, name)} is {str(y[0])[:50]!r}; expected numbers, for --task regression"
        )
    if (wrong := rows_not_finite(y)).size:
        raise Refused(f"{samples.at(int(wrong[0]), name)} {describe_not_finite(y, wrong)}")
    return y.astype("float32")


def task(y: np.ndarray, classes: tuple[str, ...], name: str) -> Task:
    """The task of learning these targets.

    Raises
    ------
    Refused
        The numbers to be predicted are all the same.
    """
    if classes:
        return Task(classes)
    mean, std = float(y.mean(dtype="float64")), float(y.std(dtype="float64"))
    if not np.float32(std):
        raise Refused(f"{name} is always {y[0]:g}; there is nothing to learn")
    return Task((), mean, std)


def hold_out(y: np.ndarray, classes: tuple[str, ...], notes: list[str]) -> Sequence[Any]:
    """The indices of all but a fifth, and of that fifth, which has about a fifth of each class.

    They are the same for every seed, so that runs can be compared.

    Raises
    ------
    Refused
        There are fewer than 5 samples, or each has a class of its own; or scikit-learn is not
        installed.
    """
    try:
        from sklearn.model_selection import train_test_split
    except ModuleNotFoundError as error:
        raise Refused(f"{error.name} is not installed: pip install scikit-learn") from error
    if len(y) < 5:
        raise Refused(f"there are {len(y)} samples; expected 5 or more, to hold a fifth out")
    if not classes:
        return train_test_split(np.arange(len(y)), test_size=len(y) // 5, random_state=0)
    counts = np.bincount(y.astype(int), minlength=len(classes))
    if counts.max() == 1:
        raise Refused(
            f"there are {len(y)} classes, one for each sample; expected fewer, or --task regression"
        )
    single = np.flatnonzero(counts == 1)
    if single.size:
        names = listed([classes[i] for i in single])
        notes.append(f"classes of one sample, which is not held out: {names}")
    several = np.flatnonzero(counts[y.astype(int)] > 1)
    held_out = max(len(several) // 5, int((counts > 1).sum()))
    learned, kept = train_test_split(
        several, test_size=held_out, random_state=0, stratify=y[several]
    )
    return np.concatenate([learned, np.flatnonzero(counts[y.astype(int)] == 1)]), kept


def scaling(x: np.ndarray, alike: bool) -> Pair:
    """Mean and deviation of each feature, or of all `alike`; what is constant has a deviation of 1.

    In float64, of some rows at a time: pixels of eight bits are never all converted.
    """
    size = max(1, CHUNK // x.shape[1])
    chunks = [slice(i, i + size) for i in range(0, len(x), size)]
    mean = np.sum([x[part].sum(axis=0, dtype="float64") for part in chunks], axis=0) / len(x)
    variance = np.sum([np.square(x[p] - mean).sum(axis=0) for p in chunks], axis=0) / len(x)
    if alike:
        variance = (variance + np.square(mean - mean.mean())).mean(keepdims=True)
        mean = mean.mean(keepdims=True)
    std = np.sqrt(variance).astype("float32")
    return mean.astype("float32")[None], np.where(std == 0, np.float32(1), std)[None]


def check_range(name: str, parts: Pair, mean: np.ndarray, std: np.ndarray) -> None:
    """Refuse values that float32 cannot hold once they are scaled.

    Raises
    ------
    Refused
        A scaled value is not finite in float32.
    """
    with np.errstate(over="ignore"):
        for x in parts:
            for extreme in (x.min(axis=0), x.max(axis=0)):
                if not np.isfinite((extreme.astype("float32") - mean) / std).all():
                    raise Refused(f"{name} has values too far apart to be scaled in float32")
