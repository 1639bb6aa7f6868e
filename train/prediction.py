"""Samples to predict, some at a time, and what the network of a run says of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from . import Refused
from .data import Reading
from .data.arrays import read_npy, read_npz
from .data.columns import Column, Unusual, encode
from .data.images import image_shape, resize
from .data.pictures import SUFFIXES, Sources, images_in, read_images
from .data.prepare import as_rows
from .data.samples import Samples
from .data.tables import is_table, read_frame, read_pieces
from .trained import BATCH, TrainedRun, network_of, read_run, softmax

__all__ = ["SURE", "Predictions", "Tally", "predict", "predictions"]

STDIN = "-"
SURE = 0.5  # the least probability of an object that is told of


@dataclass(frozen=True)
class Predictions:
    """Predictions of a network for some samples.

    Attributes
    ----------
    classes : list of str
        Names, or none where numbers are predicted.
    values : array
        (n, classes) probabilities, or (n, 1) numbers; or (n, k, 6), of objects the class, the
        probability, and the box in parts of the image.
    files : sequence of str
        Of each sample, where samples are images.
    size : tuple of int
        Width and height of an image, where objects are found in it.
    kept : dict of str to list of str
        Columns of the table that are repeated.
    unusual, skipped
        Values of columns of which nothing was learned; why some images are left out, by their name.
    digits : list of int, optional
        Of each number, behind the point, that the network has; None: it has seven in all.
    first : int
        The number of the first sample, from 1.
    margin : float, optional
        Half the width of the interval around each number.
    """

    classes: list[str]
    values: np.ndarray
    files: Sequence[str] = ()
    size: tuple[int, ...] = ()
    kept: dict[str, list[str]] = field(default_factory=dict)
    unusual: Sequence[Unusual] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    digits: list[int] | None = None
    first: int = 1
    margin: float | None = None

    @property
    def labels(self) -> np.ndarray | None:
        """The name of the most probable class of each sample, (n,); None where there are none."""
        if self.size or not self.classes:
            return None
        return np.array(self.classes)[self.values.argmax(axis=1)]

    @property
    def probabilities(self) -> np.ndarray | None:
        """(n, classes), in the order of `classes`; None where there are none."""
        return None if self.size or not self.classes else self.values

    @property
    def numbers(self) -> np.ndarray | None:
        """(n,), in the unit of the target; None where there are classes."""
        return None if self.classes else self.values[:, 0]

    @property
    def interval(self) -> np.ndarray | None:
        """The lower and the upper end of the interval around each number, (n, 2)."""
        if self.margin is None:
            return None
        return self.values + [-self.margin, self.margin]


@dataclass
class Tally:
    """The counts over all pieces of some samples, and what a user is told of them."""

    samples: int = 0
    unusual: dict[str, Unusual] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def count(self, pieces: Iterable[Predictions]) -> Iterator[Predictions]:
        """Yield the pieces, and count what is in them."""
        for piece in pieces:
            self.samples += len(piece.values)
            self.skipped |= piece.skipped
            for each in piece.unusual:
                before = self.unusual.get(each.column)
                self.unusual[each.column] = each if before is None else before + each
            yield piece

    @property
    def notes(self) -> list[str]:
        """Sentences for the user."""
        told = [str(each) for each in self.unusual.values()]
        if self.skipped:
            names, count = [*self.skipped][:20], len(self.skipped)
            more = f" and {count - 20} more" if count > 20 else ""
            first = self.skipped[names[0]]
            told.append(f"{count} broken images are left out: {', '.join(names)}{more}; {first}")
        return told


def predict(
    run: str | Path,
    data: Any,
    *,
    interval: float | None = None,
    keep: Sequence[str] = (),
    encoding: str = "utf-8",
    decimal: str | None = None,
    skip_broken: bool = False,
) -> Predictions:
    """Return what the network of a run says of samples, as ``python -m train.predict`` does.

    Parameters
    ----------
    run : str or Path
        The folder of a run of ``python -m train``.
    data : str, Path, DataFrame or array
        A file or a folder of images, as the program takes them; a DataFrame with the columns that
        the run was trained with; or numbers (n, ...), as x of a file of arrays.
    interval : float, optional
        The share of targets that are to be within an interval around each predicted number.
    keep, encoding, decimal, skip_broken
        As the options of the program.

    Returns
    -------
    Predictions
        Its `labels` and `probabilities`, or its `numbers` and their `interval`.

    Raises
    ------
    Refused
        The folder has no run, a file is damaged, or the samples do not fit the network.
    """
    how = Reading(features=tuple(keep), encoding=encoding, decimal=decimal, skip_broken=skip_broken)
    tally = Tally()
    pieces = [*tally.count(predictions(Path(run), data, how, interval))]
    return replace(
        pieces[0],
        values=np.concatenate([piece.values for piece in pieces]),
        files=[file for piece in pieces for file in piece.files],
        kept={name: sum((p.kept[name] for p in pieces), []) for name in pieces[0].kept},
        unusual=[*tally.unusual.values()],
        skipped=tally.skipped,
        digits=pieces[0].digits and [n for piece in pieces for n in piece.digits or ()],
    )


def predictions(
    folder: Path, data: Any, how: Reading | None = None, interval: float | None = None
) -> Iterator[Predictions]:
    """Yield what the network of a run's folder says of samples, some at a time.

    `data` is as that of `predict`, or "-", a table from the standard input. `how` are encoding and
    decimal mark of a table, and as features the columns to be repeated.

    Raises
    ------
    Refused
        The folder has no run, a file is damaged, or the samples do not fit the network.
    """
    run = read_run(folder)
    margin = None if interval is None else run.margin(interval)
    network, first = network_of(folder, run), 1
    for samples, kept, x in inputs(data, run, how or Reading()):
        outputs, digits = network(x), None
        if run.outputs == "scores":
            outputs = softmax(outputs)
        if run.outputs == "values":
            shift, own = run.target_shift, outputs[:, 0]
            outputs = shift.back(outputs)
            if not shift.is_none:
                digits = digits_of(own * shift.unit[0])
        yield Predictions(
            run.classes, outputs, samples.files, run.size, kept, samples.unusual, samples.skipped,
            digits, first, margin,
        )  # fmt: skip
        first += len(x)


def inputs(
    data: Any, run: TrainedRun, how: Reading
) -> Iterator[tuple[Samples, dict[str, list[str]], np.ndarray]]:
    """Yield samples, the columns to repeat, and the rows that the network is given of them.

    Raises
    ------
    Refused
        The data cannot be read, or does not fit the network; the message begins with its name.
    """
    name, shape = name_of(data), tuple(run.shape)
    try:
        for samples, kept in read_samples(data, run, how):
            if samples.x.ndim == 2 and len(shape) > 1:  # rows already
                samples.x = samples.x.reshape(-1, *fitting(samples, run))
            samples.x = as_trained(samples.x, shape)
            if run.resized and samples.x.ndim == len(shape) + 1 and not samples.files:
                first = len(shape) == 3 and shape[2] > 4  # the channels are before the height
                samples.x = resize(samples.x, shape[1:] if first else shape[:2])
            yield samples, kept, run.shift.take(as_rows(samples, shape))
    except Refused as error:
        is_path = isinstance(data, str | Path)
        has_rows = not is_path or is_table(name) or Path(name).suffix.lower() in (".npz", ".npy")
        hint = f"; the network was trained with images {shape}"
        told = f"{error}{hint if has_rows and run.pixels is not None else ''}"
        raise Refused(told if name in told else f"{name}: {told}") from error
    except MemoryError as error:
        raise Refused(f"{name}: it does not fit in memory") from error


def name_of(data: Any) -> str:
    """Return the name of data in a message."""
    if not isinstance(data, str | Path):
        return "data"
    return "the standard input" if str(data) == STDIN else str(data)


def digits_of(values: np.ndarray) -> list[int]:
    """How many digits behind the point numbers have, of which seven in all are right."""
    with np.errstate(divide="ignore"):
        places = np.floor(np.log10(np.abs(values)))
    return [int(6 - max(place, -300)) for place in places.tolist()]


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


Read = Iterator[tuple[Samples, dict[str, list[str]]]]


def read_samples(data: Any, run: TrainedRun, how: Reading) -> Read:
    """Yield samples without targets, some at a time, and the columns of them to repeat.

    Raises
    ------
    Refused
        There is no such file, it is of no known kind, or of another than the network was trained
        with.
    """
    if hasattr(data, "to_csv"):
        yield from read_rows(data, run, how)
    elif isinstance(data, str | Path):
        yield from read_path(str(data), run, how)
    else:
        x = data.asnumpy() if hasattr(data, "asnumpy") else np.asarray(data)
        if x.dtype.kind not in "biuf":
            raise Refused(
                f"expected a path, a DataFrame or an array of numbers, not {type(data).__name__} "
                f"of {x.dtype}"
            )
        yield Samples(x, None, "data"), {}


def read_path(name: str, run: TrainedRun, how: Reading) -> Read:
    path = Path(os.path.expanduser(name))
    suffix = path.suffix.lower()
    if name == STDIN or is_table(name):
        yield from read_rows(None if name == STDIN else path, run, how)
    elif suffix == ".npz":
        arrays, _ = read_npz(path, (("x",), ("x_test",)))
        (x_name, x), *_ = arrays.items()
        yield Samples(x, None, x_name), {}
    elif suffix == ".npy":
        yield Samples(read_npy(path), None, "the array"), {}
    elif not path.exists():
        raise Refused("there is no such file")
    elif path.is_dir():
        yield from read_pictures(images_in(path), run, how)
    elif suffix in SUFFIXES:
        yield from read_pictures({str(path): path.read_bytes}, run, how)
    else:
        raise Refused("expected a table, an npz or npy file, an image, or a folder of images")


def read_rows(source: Any, run: TrainedRun, how: Reading) -> Read:
    """Yield the rows of a table, as the training has understood its columns; ids are kept."""
    described = run.described
    texts = [column.name for column in described if column.kind not in ("number", "empty")]
    wanted = replace(how, labelled=False), [*texts, *how.features]
    is_path = source is None or isinstance(source, Path)
    for table in read_pieces(source, *wanted) if is_path else [read_frame(source, *wanted)]:
        ids = [c.name for c in described if c.kind in ("id", "index") and c.name in table.names]
        kept = {
            name: table.column(name).astype(object).fillna("").map(str).tolist()
            for name in dict.fromkeys((*how.features, *ids))
        }
        # Without descriptions it was trained with arrays, or before there were kinds.
        named = [Column(name, "number") for name in run.columns or table.names]
        x, unusual = encode(described or named, table)
        yield Samples(x, None, table=table, unusual=unusual), kept


def read_pictures(sources: Sources, run: TrainedRun, how: Reading) -> Read:
    """Yield images, with pixels as those that the network was trained with.

    Raises
    ------
    Refused
        The network was not trained with files of images, or none can be read.
    """
    if run.pixels is None:
        raise Refused(
            "the network was not trained with files of images, and which of its numbers their "
            "pixels are is not known; expected a csv, npz or npy file"
        )
    shape = tuple(run.shape)
    image = image_shape(shape)
    how = Reading(
        shape=shape,
        size=image[1:] if image and run.resized else None,
        white=run.pixels,
        labelled=False,
        skip_broken=how.skip_broken,
    )
    names, held = iter(sources), read_images({}, how) if not sources else None
    while part := {name: sources[name] for name in islice(names, BATCH)}:
        samples = read_images(part, how)
        if held is not None and len(held.x) and len(samples.x):
            yield held, {}
        elif held is not None:  # all images of one of both are broken
            skipped = held.skipped | samples.skipped
            samples = samples if len(samples.x) else held
            samples.skipped = skipped
        held = samples
    if not len(held.x):
        raise Refused(next(iter(held.skipped.values())))
    yield held, {}
