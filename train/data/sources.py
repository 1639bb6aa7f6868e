"""What ``--data`` and ``--validation`` may name."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from .. import Refused
from . import images, pictures, scenes
from .arrays import read_npy, read_npz
from .roles import columns_of, expect_weights, given_kinds, targets_of, weights_of
from .samples import Reading, Samples, listed, shown
from .tables import DESCRIBED, is_table, read_table

__all__ = ["describe_sources", "is_table", "read"]

NPZ = (("x", "y"), ("x_train", "y_train", "x_test", "y_test"))
FILES = (
    *("FILE.csv", "FILE.tsv", "FILE.parquet", "FILE.xlsx", "FILE.npz", "X.npy,Y.npy", "FILE.rec"),
    "a FOLDER of images",
)
SCENES = 2000  # to learn from
PUBLISHED = (*images.IDX, *images.CIFAR)


def describe_sources() -> str:
    published = (f"{name}[:FOLDER]" for name in PUBLISHED)
    return f"digits, {', '.join([*published, *FILES[:-1]])} or {FILES[-1]}"


def read(name: str, how: Reading) -> Samples:
    """The samples that a name stands for.

    Raises
    ------
    Refused
        There are none of this name, or a file is missing or damaged.
    """
    if how.boxes:
        return read_boxes(name)
    samples = read_as_it_is(name, how)
    if how.skip_broken and not samples.files:
        raise Refused("it has no files of images; expected no --skip-broken")
    has_files = samples.resized or samples.files  # which are resized as they are read
    return samples if how.size is None or has_files else images.resize_samples(samples, how.size)


def read_as_it_is(name: str, how: Reading) -> Samples:
    """The samples of a name; images in files of their own are resized.

    Raises
    ------
    Refused
        The name stands for no samples.
    """
    kind, _, folder = name.partition(":")
    path = Path(os.path.expanduser(name))
    expect_used(name, how)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return npz(path, how.weights)
    if ".npy," in name.lower():
        return npy_pair(name)
    if is_table(name):
        return table_samples(path, how)
    if suffix == ".rec":
        return pictures.read_rec(path, how)
    if kind in images.IDX:
        return images.read_idx_files(folder_of(kind, folder), images.IDX[kind])
    if kind in images.CIFAR:
        return images.read_cifar(folder_of(kind, folder), images.CIFAR[kind])
    if name == "digits":
        return digits()
    if name and path.is_dir():
        return pictures.read_folder(path, how)
    nothing = "" if name and path.exists() else "there is no such file or folder; "
    raise Refused(f"{nothing}expected {describe_sources()}")


def read_boxes(name: str) -> Samples:
    """The images and the boxes in them that a name stands for.

    Raises
    ------
    Refused
        The name is neither `scenes`, with a number from 1 to 999999 or without, nor that of an npz
        file.
    """
    kind, _, count = name.partition(":")
    if kind == "scenes":
        if count and not re.fullmatch("0*[1-9][0-9]{0,5}", count):
            raise Refused(f"expected scenes, or their number behind a colon, not {count!r}")
        return scenes.scenes(int(count or SCENES))
    if name.lower().endswith(".npz"):
        return npz(Path(os.path.expanduser(name)))
    raise Refused("expected scenes, scenes:N or FILE.npz")


def expect_used(name: str, how: Reading) -> None:
    """Refuse what is said about columns, or about images, where there are none.

    Raises
    ------
    Refused
        Columns are named where there is no table, or a size of images where there is one.
    """
    names = "target", "features", "ignore", "columns", "decimal", "weights"
    given = [f"--{option}" for option in names if getattr(how, option)]
    given += ["--holdout of a column"] * bool(how.split.column)
    is_npz = name.lower().endswith(".npz") and given == ["--weights"]
    if given and not (is_table(name) or is_npz):
        raise Refused(f"it has no columns; expected no {given[0]}, which is for {DESCRIBED} files")
    if how.size and is_table(name):
        raise Refused("it has no images; expected no --image-size, which resizes images")


def folder_of(name: str, folder: str) -> Path:
    """The folder that is named, or that in which MXNet keeps the files of this name."""
    home = os.path.join(os.environ.get("MXNET_HOME") or "~/.mxnet", "datasets", name)
    return Path(os.path.expanduser(folder or home))


def digits() -> Samples:
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as error:
        raise Refused(f"{error.name} is not installed: pip install scikit-learn") from error
    found: Any = load_digits()
    classes = tuple("0123456789")
    return Samples(found.images, found.target, "images", "target", classes=classes, pixels=16)


def table_samples(path: Path, how: Reading) -> Samples:
    """The rows of a table, whose columns have their kinds; `prepare` makes numbers of them."""
    categories = [name for name, kind in given_kinds(how).items() if kind == "category"]
    table = read_table(path, how, categories)
    target, columns = columns_of(table, how)
    y = None if target is None else targets_of(table, target, how.regression)
    return Samples(
        np.zeros((len(table), 0)), y, "x", f"column {shown(target)}",
        table=table, columns=columns, target=target, weights=weights_of(table, how.weights),
    )  # fmt: skip


def npz(path: Path, weights: str | None = None) -> Samples:
    arrays, unused = read_npz(
        path, [(*names, weights) if weights else names for names in NPZ if weights not in names]
    )
    given = arrays.pop(weights) if weights else None
    (x_name, x), (y_name, y), *held_out = arrays.items()
    samples = Samples(x, y, x_name, y_name, pixels=images.white_of(x), weights=given)
    if given is not None:
        expect_weights(given, len(x), lambda row: f"{weights}[{row}]")
    if held_out:
        (x_name, x), (y_name, y) = held_out
        samples.held_out = Samples(x, y, x_name, y_name)
    if unused:
        samples.notes.append(f"{path} also has {listed(unused)}: not used")
    return samples


def npy_pair(name: str) -> Samples:
    parts = [Path(os.path.expanduser(part)) for part in name.split(",")]
    if len(parts) != 2:
        raise Refused(f"it names {len(parts)} files; expected X.npy,Y.npy")
    x, y = read_npy(parts[0]), read_npy(parts[1], texts=True)
    return Samples(x, y, parts[0].name, parts[1].name, pixels=images.white_of(x))
