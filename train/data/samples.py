"""What is read from a file, and what the options say about reading it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..settings import SPLIT, joined

if TYPE_CHECKING:
    from .columns import Column, Unusual
    from .tables import Table

__all__ = [
    "Reading",
    "Samples",
    "Split",
    "describe_not_finite",
    "listed",
    "rows_not_finite",
    "shown",
]


@dataclass(frozen=True)
class Split:
    """Which samples are held out.

    holdout : as `--holdout` has it: a share, or 2/5 for the second of five folds; and behind a
        comma, or alone, group:COLUMN or time:COLUMN. None: a fifth at random
    seed : of what is drawn
    """

    holdout: str | None = None
    seed: int = 0

    @property
    def share(self) -> float:
        return float(self.parts[0] or 0.2)

    @property
    def fold(self) -> tuple[int, int] | None:
        """The number of the fold, from 1, and how many there are."""
        return (int(self.parts[1]), int(self.parts[2])) if self.parts[2] else None

    @property
    def column(self) -> str | None:
        return self.parts[4]

    @property
    def group(self) -> str | None:
        """The column whose values stay together."""
        return self.column if self.parts[3] == "group" else None

    @property
    def parts(self) -> tuple[Any, ...]:
        found = SPLIT.fullmatch(self.holdout or "")
        return found.groups() if found else (None,) * 5


@dataclass(frozen=True)
class Reading:
    """How files are read.

    Attributes
    ----------
    regression : bool
        The targets are numbers, else names of classes.
    target : str, optional
        The column of a table that is to be predicted; the last, if None.
    features : tuple of str
        The columns to predict it from; all others, if empty.
    ignore : tuple of str
        Columns that are not used.
    size : tuple of int, optional
        Height and width that images are resized to.
    shape : tuple of int, optional
        Of an image: (h, w), (h, w, c) or (c, h, w), with one or three channels; None to find it
        out.
    white : int, optional
        The value of a white pixel of such images, 255 or 65535; None to find it out.
    skip_broken : bool
        Images that cannot be read are left out.
    boxes : bool
        The targets are objects, each a class and a box.
    labelled : bool
        Targets are read too. A prediction does without.
    columns : tuple of str
        The kinds of columns of a table that are not to be found out, such as ``city:category``.
    encoding : str
        Of the text in a table.
    decimal : str, optional
        The mark before decimals, "," or "."; the other one may separate thousands then.
    asked : bool
        Numbers of classes are refused where they are many; the user has not said that they are
        classes.
    weights : str, optional
        The column of a table, or the array of a npz, that says how much each sample counts.
    split : Split
        Which samples are held out.
    """

    regression: bool = False
    target: str | None = None
    features: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    size: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None
    white: int | None = None
    skip_broken: bool = False
    boxes: bool = False
    labelled: bool = True
    columns: tuple[str, ...] = ()
    encoding: str = "utf-8"
    decimal: str | None = None
    asked: bool = False
    weights: str | None = None
    split: Split = Split()


@dataclass
class Samples:
    """Samples as they are in their files.

    x : (n, ...) numbers; of a table nothing, before `encode` says what its columns become
    y : (n,) numbers or texts; None where they are not read
    x_name, y_name : what messages call them
    table : its columns by their names, and how they are used; target : the name of the column y
    classes : their names, where the format fixes them; then y has indices of it
    pixels : the value of a white pixel, where x has images; else None
    resized : the images were resized
    files : of each sample, where it has a file of its own
    held_out : samples that the file holds out
    skipped : what is wrong with the images that are left out, by their names
    notes : sentences for the user
    weights : (n,) numbers from 0, where samples do not count alike
    unusual : values of columns of which nothing was learned
    """

    x: np.ndarray
    y: Any
    x_name: str = "x"
    y_name: str = "y"
    table: Table | None = None
    columns: Sequence[Column] = ()
    target: str | None = None
    classes: tuple[str, ...] = ()
    pixels: int | None = None
    resized: bool = False
    files: tuple[str, ...] = ()
    held_out: Samples | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    weights: np.ndarray | None = None
    unusual: Sequence[Unusual] = ()

    def at(self, i: int, array: str) -> str:
        """Where sample i is, for a message about an array: x or y, by its name."""
        if self.files:
            return self.files[i]
        if self.table:
            return f"line {self.table.lines[i]}" + (f", {array}" if array != self.x_name else "")
        return f"{array}[{i}]"


def rows_not_finite(values: np.ndarray, dtype: str = "float32") -> np.ndarray:
    """The indices of the samples that have a value that is not finite in this dtype."""
    if values.dtype.kind in "bui":
        return np.array([], "int64")
    with np.errstate(over="ignore"):
        finite = np.isfinite(values.astype(dtype, copy=False))
    return np.flatnonzero(~finite.reshape(len(values), -1).all(axis=1))


def describe_not_finite(values: np.ndarray, rows: np.ndarray) -> str:
    """The rest of a message that begins with the name of the first of these rows."""
    first = np.ravel(values[rows[0]])
    with np.errstate(over="ignore"):
        value = first[~np.isfinite(first.astype("float32"))][0]
    in_float32 = " in float32" * bool(np.isfinite(value))
    return (
        f"has the value {value:g}; {len(rows)} of {len(values)} samples have one that is not "
        f"finite{in_float32}; expected finite numbers"
    )


def shown(value: object) -> str:
    """What is in a file, for a message: cut, and quoted with a comma in it or not printable."""
    text = str(value)[:50]
    if not text.isprintable():
        return repr(text)
    return joined([text]) if "," in text else text


def listed(values: Sequence[object]) -> str:
    """Some of what is in a file, for a message."""
    more = f" and {len(values) - 20} more" if len(values) > 20 else ""
    return ", ".join(map(shown, values[:20])) + more
