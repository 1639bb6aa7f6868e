"""From the samples of a file to those of a training: classes, held-out part, scaling, batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from .. import Refused
from ..task import Detection, Task
from .boxes import boxes, kinds_of
from .columns import Column, codes_of, described, encode, fit, inputs_of
from .samples import Reading, Samples, Split, describe_not_finite, listed, rows_not_finite, shown
from .shift import Shift, moments
from .sources import read
from .split import hold_out
from .tables import DESCRIBED, is_table

__all__ = ["Data", "as_rows", "load"]

MANY = 20  # whole numbers that are surely classes; of more, each has 5 samples

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Data:
    """Samples to learn from and samples held out, as rows. The network scales them itself.

    x, held_out_x : (n, features), float32, or uint8 where they are pixels
    y, held_out_y : (n,), indices of classes or numbers; or (n, objects, 5), of each object its
        class and box, and -1 behind the last; as float32
    task : the classes, a number, or objects
    shape : of one sample, before it became a row
    mean, std : (1, numbers) where each feature has its own, (1, 1) where they are one for all
    shift, target_shift : what x and y have been moved by, where float32 is too coarse for them
    table : how the columns of a table become features
    target : the name of a table's column
    pixels : the value of a white pixel, where samples are images; else None
    resized : images were resized
    skipped : what is wrong with the images that are left out, by their names
    notes : sentences for the user
    weights : (n,), of the samples to learn from; None where all count alike
    split : which samples are held out; None where the data says it
    """

    x: np.ndarray
    y: np.ndarray
    held_out_x: np.ndarray
    held_out_y: np.ndarray
    task: Task
    shape: tuple[int, ...]
    mean: np.ndarray
    std: np.ndarray
    shift: Shift = Shift.none()
    target_shift: Shift = Shift.none()
    table: Sequence[Column] = ()
    target: str | None = None
    pixels: int | None = None
    resized: bool = False
    notes: tuple[str, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    weights: np.ndarray | None = None
    split: Split | None = None

    @property
    def features(self) -> int:
        return self.x.shape[1]

    @property
    def guess(self) -> np.ndarray:
        """The best guess without features: the shares of the classes (classes,), or the mean (1,).

        They are those of the samples to learn from.
        """
        if not self.task.classes:
            return np.array([self.task.mean])
        return np.bincount(self.y.astype(int), minlength=len(self.task.classes)) / len(self.y)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the features, of a table."""
        return inputs_of(self.table)

    @property
    def codes(self) -> tuple[int, ...]:
        """Return the number of values of each category; their codes are the last features."""
        return codes_of(self.table)


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
        if samples.held_out and how.split.holdout:
            raise Refused("it has held-out samples of its own; expected no --holdout")
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
    if samples.table and not is_table(name):
        raise Refused(f"it is no table; expected a {DESCRIBED} file, as --data is")
    shape = samples.x.shape[1:] if samples.pixels else None
    size = how.size if samples.resized else None
    used = [column for column in samples.columns if column.is_used]
    columns = {
        "features": tuple(column.name for column in used),
        "columns": tuple(f"{column.name}:{column.kind}" for column in used),
        "ignore": (),  # of which none is used
        "weights": None,  # nor of these
    }
    alike = {"shape": shape, "size": size, "white": samples.pixels}
    found = read(name, replace(how, target=samples.target, **columns, **alike))
    if found.held_out:
        raise Refused("it has held-out samples of its own; expected one set of samples")
    return found


def prepare(samples: Samples, how: Reading) -> Data:
    """Make rows of the samples, hold some out if none are held out yet, and find the scaling."""
    notes, others, shape = list(samples.notes), samples.held_out, samples.x.shape[1:]
    parts = [each for each in (samples, others) if each]
    find, read = (kinds_of, boxes) if how.boxes else (partial(classes_of, how=how), targets)
    xs = [] if samples.table else [as_rows(each, shape) for each in parts]
    classes = () if how.regression else samples.classes or find(samples)
    ys = [read(each, classes) for each in parts]
    learned, kept, split = slice(None), slice(None), None
    if others is None:
        split = how.split
        learned, kept = hold_out(split, ys[0], () if how.boxes else classes, samples.table, notes)
    if samples.table:
        samples.columns = fit(samples.columns, samples.table, learned)
        encoded = [encode(samples.columns, each.table) for each in parts]
        xs, shape = [x for x, _ in encoded], encoded[0][0].shape[1:]
        notes += [str(note) for _, told in encoded[1:] for note in told]
    x, held_out_x, y, held_out_y = xs[0][learned], xs[-1][kept], ys[0][learned], ys[-1][kept]
    alike, numbers = len(shape) > 1, x.shape[1] - len(codes_of(samples.columns))
    shift, target_shift = Shift.of(x, alike, numbers), Shift.none()
    if not (classes or how.boxes):
        target_shift = Shift.of(y[:, None])
        y, held_out_y = (target_shift.take(part[:, None])[:, 0] for part in (y, held_out_y))
    x, held_out_x = shift.take(x), shift.take(held_out_x)
    mean, std = scaling(x[:, :numbers], alike)
    check_range(samples.x_name, (x[:, :numbers], held_out_x[:, :numbers]), mean, std)
    goal = Detection(classes) if how.boxes else task(y, classes, samples.y_name, target_shift)
    if samples.table:
        notes.insert(0, table_of(samples.columns, shift))
    return Data(
        x, y, held_out_x, held_out_y, goal, shape, mean, std, shift, target_shift,
        samples.columns, samples.target, samples.pixels, samples.resized, tuple(notes),
        samples.skipped | (samples.held_out.skipped if samples.held_out else {}),
        None if samples.weights is None else samples.weights[learned], split,
    )  # fmt: skip


def table_of(columns: Sequence[Column], shift: Shift) -> str:
    """A table of the columns: of what kind each is, and what is done with it."""
    names = inputs_of(columns)
    return described(columns, {name: shift.described(i) for i, name in enumerate(names)})


def as_rows(samples: Samples, shape: tuple[int, ...]) -> np.ndarray:
    """Samples of this shape as rows.

    Raises
    ------
    Refused
        The samples have another shape, or a value that is not finite.
    """
    x, name = samples.x, samples.x_name
    if x.ndim < 2 or not x.size:
        raise Refused(f"{name} is {x.shape}; expected (samples, features), with more axes or not")
    if x.shape[1:] != shape:
        expected = ", ".join(map(str, ("samples", *shape)))
        raise Refused(f"{name} is {x.shape}; expected ({expected})")
    x = x.reshape(len(x), -1)
    if (wrong := rows_not_finite(x, "float64")).size:
        raise Refused(f"{samples.at(int(wrong[0]), name)} {describe_not_finite(x, wrong)}")
    return x


def classes_of(samples: Samples, how: Reading) -> tuple[str, ...]:
    """The names of the classes that there are: sorted, numbers by their values.

    Raises
    ------
    Refused
        A class is neither a whole number nor a text, there is only one class, or there are so many
        numbers that they may be no classes.
    """
    y, name = column_of_targets(samples), samples.y_name
    if y.dtype.kind == "f":
        wrong = np.flatnonzero(~(np.isfinite(y) & (y == np.floor(y))))
        if wrong.size:
            raise Refused(
                f"{samples.at(wrong[0], name)} is {y[wrong[0]]}; expected classes, as whole "
                "numbers or texts; or --task regression"
            )
    found = [class_name(value) for value in np.unique(y).tolist()]
    if len(found) < 2:
        raise Refused(f"{name} has only the class {shown(found[0])}; expected two classes or more")
    if how.asked and y.dtype.kind != "U" and len(found) > max(MANY, len(y) // 5):
        raise Refused(
            f"{name} has {len(found)} different whole numbers in {len(y)} samples; expected --task "
            "regression, if they are numbers to predict, or --task classification, if classes"
        )
    return tuple(found)


def class_name(value: float | str) -> str:
    """The name of a class: of 3 and of 3.0 it is 3."""
    is_float = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_float or isinstance(value, bool) else value)


def targets(samples: Samples, classes: tuple[str, ...]) -> np.ndarray:
    """Indices of classes in float32, or, where there are none, numbers in float64.

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
    if (wrong := rows_not_finite(y, "float64")).size:
        raise Refused(f"{samples.at(int(wrong[0]), name)} {describe_not_finite(y, wrong)}")
    return y.astype("float64")


def task(y: np.ndarray, classes: tuple[str, ...], name: str, shift: Shift) -> Task:
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
        value = shift.back(y[:1]).item()
        raise Refused(f"{name} is always {value:g}; there is nothing to learn")
    return Task((), mean, std, shift.unit.item())


def scaling(x: np.ndarray, alike: bool) -> Pair:
    """Mean and deviation of each feature, or of all `alike`; what is constant has a deviation of 1.

    In float32, in which the network has them.
    """
    mean, std = (each.astype("float32") for each in moments(x, alike))
    return mean, np.where(std == 0, np.float32(1), std)


def check_range(name: str, parts: Pair, mean: np.ndarray, std: np.ndarray) -> None:
    """Refuse values that float32 cannot hold once they are scaled.

    Raises
    ------
    Refused
        A scaled value is not finite in float32.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        for x in parts:
            for extreme in (x.min(axis=0), x.max(axis=0)):
                if not np.isfinite((extreme.astype("float32") - mean) / std).all():
                    raise Refused(f"{name} has values too far apart to be scaled in float32")
