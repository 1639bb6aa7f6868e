"""The data: its source, the samples that are held out, its scale, and batches of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import Refused
from .files import read_idx, read_npz

__all__ = ["Data", "batches", "load", "steps"]

IDX = ("mnist", "fashion-mnist")  # also the names of the folders that MXNet downloads them to
FILES = {  # the number of axes of each
    "train-images-idx3-ubyte": 3,
    "train-labels-idx1-ubyte": 1,
    "t10k-images-idx3-ubyte": 3,
    "t10k-labels-idx1-ubyte": 1,
}
NPZ = (("x", "y"), ("x_train", "y_train", "x_test", "y_test"))

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Data:
    """Samples to learn from and samples held out: rows of float32, (value - mean) / std.

    x, held_out_x : (n, features)
    y, held_out_y : (n,), class numbers below `classes`, as float32
    shape : of one sample, before it became a row
    """

    x: np.ndarray
    y: np.ndarray
    held_out_x: np.ndarray
    held_out_y: np.ndarray
    classes: int
    shape: tuple[int, ...]
    mean: float
    std: float


def load(name: str) -> Data:
    """The data that ``--data`` names.

    Raises
    ------
    Refused
        There is no such data, a file is damaged, or its arrays do not fit together.
    """
    try:
        return prepare(*read(name))
    except Refused as error:
        raise Refused(f"--data {name}: {error}") from error
    except MemoryError as error:
        raise Refused(f"--data {name}: it does not fit in memory") from error


def read(name: str) -> tuple[dict[str, np.ndarray], int | None]:
    """The arrays by name: x and y, and x and y held out if the data has them; the classes."""
    kind, _, folder = name.partition(":")
    if name.endswith(".npz"):
        return read_npz(Path(os.path.expanduser(name)), NPZ), None
    if kind in IDX:
        home = os.path.join(os.environ.get("MXNET_HOME") or "~/.mxnet", "datasets", kind)
        root = Path(os.path.expanduser(folder or home))
        return {file: read_idx(root / file, axes) for file, axes in FILES.items()}, 10
    if name == "digits":
        return digits(), 10
    raise Refused(f"expected digits, {', '.join(f'{kind}[:FOLDER]' for kind in IDX)} or a FILE.npz")


def digits() -> dict[str, np.ndarray]:
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as error:
        raise Refused(f"{error.name} is not installed: pip install scikit-learn") from error
    found: Any = load_digits()
    return {"images": found.images, "target": found.target}


def prepare(arrays: dict[str, np.ndarray], classes: int | None) -> Data:
    """Make rows of the samples, hold a fifth out if none are held out yet, and scale them."""
    names, (images, target, *rest) = list(arrays), arrays.values()
    shape = images.shape[1:]
    x, y = rows(names[:2], images, target, shape, classes or target.size)
    classes = classes or int(y.max()) + 1
    if classes < 2:
        raise Refused(f"{names[1]} has only the class 0; expected two classes or more")
    if rest:
        held_out_x, held_out_y = rows(names[2:], rest[0], rest[1], shape, classes)
    else:
        (x, y), (held_out_x, held_out_y) = hold_out(x, y)
    mean, std = float(x.mean(dtype="float64")), float(x.std(dtype="float64")) or 1.0
    with np.errstate(over="ignore"):
        for part in (x, held_out_x):
            part -= mean
            part /= std
    if not (np.isfinite(x).all() and np.isfinite(held_out_x).all()):
        raise Refused(f"{names[0]} has values too far apart to be scaled in float32")
    return Data(x, y, held_out_x, held_out_y, classes, shape, mean, std)


def rows(names: list[str], x: np.ndarray, y: np.ndarray, shape: tuple, classes: int) -> Pair:
    """Samples of this shape as rows, and their labels, which are below `classes`; float32."""
    if x.ndim < 2 or not x.size:
        raise Refused(
            f"{names[0]} is {x.shape}; expected (samples, features), with more axes or not"
        )
    if x.shape[1:] != shape:
        expected = ", ".join(map(str, ("samples", *shape)))
        raise Refused(f"{names[0]} is {x.shape}; expected ({expected})")
    if y.shape != x.shape[:1]:
        raise Refused(f"{names[1]} is {y.shape}; expected ({len(x)},), for {names[0]} is {x.shape}")
    wrong = np.flatnonzero(~((y >= 0) & (y < classes) & (y == np.floor(y))))
    if wrong.size:
        label = f"{names[1]}[{wrong[0]}] is {y[wrong[0]]}"
        raise Refused(f"{label}; expected class numbers from 0 to {classes - 1}")
    with np.errstate(over="ignore"):
        x = x.astype("float32").reshape(len(x), -1)
    if not np.isfinite(x).all():
        raise Refused(f"{names[0]} has values that are not finite in float32")
    return x, y.astype("float32")


def hold_out(x: np.ndarray, y: np.ndarray) -> tuple[Pair, Pair]:
    """All but a fifth, and that fifth: the same for every seed, so that runs can be compared."""
    if len(x) < 5:
        raise Refused(f"there are {len(x)} samples; expected 5 or more, to hold a fifth out")
    order = np.random.default_rng(0).permutation(len(x))
    held_out, learned = np.split(order, [len(x) // 5])
    return (x[learned], y[learned]), (x[held_out], y[held_out])


def steps(samples: int, batch_size: int) -> int:
    """The number of batches of at most `batch_size` samples."""
    return -(-samples // batch_size)


def batches(
    x: np.ndarray, y: np.ndarray, size: int, rng: np.random.Generator | None = None
) -> Iterator[Pair]:
    """Batches of at most `size` samples, in an order that `rng` draws.

    Their sizes differ by one at most: in a small last batch each sample would count for more.
    """
    order = np.arange(len(x)) if rng is None else rng.permutation(len(x))
    for rows in np.array_split(order, steps(len(x), size)):
        yield x[rows], y[rows]
