"""Samples are held out: some at random, whole groups, or the last in time."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .. import Refused
from .columns import days_of, format_of, is_numeric, texts_of
from .samples import Split, listed, shown
from .tables import Table, numbers_of

__all__ = ["hold_out"]

Rows = tuple[np.ndarray, np.ndarray]


def hold_out(
    split: Split, y: np.ndarray, classes: tuple[str, ...], table: Any, notes: list[str]
) -> Rows:
    """Return the rows to learn from, and those that are held out; add notes for the user.

    Raises
    ------
    Refused
        There are too few samples, groups or times; or scikit-learn is not installed.
    """
    try:
        import sklearn.model_selection  # noqa: F401 - which the splits need
    except ModuleNotFoundError as error:
        raise Refused(f"{error.name} is not installed: pip install scikit-learn") from error
    if len(y) < max(5, split.fold[1] if split.fold else 0):
        raise Refused(f"there are {len(y)} samples; expected 5 or more, and one for each fold")
    if not split.column:
        return of_classes(split, y, classes, notes) if classes else drawn(split, len(y))
    column, option = split.column, f"--holdout {split.parts[3]}:{shown(split.column)}"
    values = texts_of(table.column(column)) if split.group else times_of(table, column)
    units, of = np.unique(np.asarray(values), return_inverse=True)
    least = (split.fold[1] if split.fold else 2) + (not split.group)
    if len(units) < least:
        raise Refused(f"{option}: it has {len(units)} different values; expected {least} or more")
    learned, kept = drawn(split, len(units)) if split.group else last(split, len(units), of)
    which = f": {listed(units[kept])}" if split.group else ""
    notes.append(f"{option}: {len(kept):,} of {len(units):,} values are held out{which}")
    learned, kept = (np.flatnonzero(np.isin(of, each)) for each in (learned, kept))
    if classes and (gone := {*y[kept].astype(int)} - {*y[learned].astype(int)}):
        names = listed([classes[i] for i in sorted(gone)])
        notes.append(f"classes that are only held out, and not learned: {names}")
    return learned, kept


def drawn(split: Split, n: int, strata: np.ndarray | None = None, least: int = 1) -> Rows:
    """Draw of n samples or groups a share, `least` at least, or a fold; of all `strata` alike."""
    from sklearn import model_selection

    if not split.fold:
        count = max(int(n * split.share), least)
        return model_selection.train_test_split(
            np.arange(n), test_size=count, random_state=split.seed, stratify=strata
        )
    number, folds = split.fold
    kind = model_selection.KFold if strata is None else model_selection.StratifiedKFold
    splitter = kind(folds, shuffle=True, random_state=split.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of classes that not all folds have
        return list(splitter.split(np.zeros(n), strata))[number - 1]


def last(split: Split, n: int, of: np.ndarray) -> Rows:
    """Return of n times in order the first, and the last, which a share of the samples has.

    The k-th of some folds is learned from all times before it; later ones are not used.
    """
    from sklearn.model_selection import TimeSeriesSplit

    if split.fold:
        return list(TimeSeriesSplit(split.fold[1]).split(np.zeros(n)))[split.fold[0] - 1]
    first = max(1, np.sort(of)[-max(1, int(len(of) * split.share))])
    return np.arange(first), np.arange(first, n)


def of_classes(split: Split, y: np.ndarray, classes: tuple[str, ...], notes: list[str]) -> Rows:
    """Draw about the same share of each class; those of one sample are learned.

    Raises
    ------
    Refused
        Each sample has a class of its own, or no class has a sample for each fold.
    """
    counts = np.bincount(y.astype(int), minlength=len(classes))
    if counts.max() == 1:
        raise Refused(
            f"there are {len(y)} classes, one for each sample; expected fewer, or --task regression"
        )
    is_single = counts[y.astype(int)] == 1
    if is_single.any():
        names = listed([classes[i] for i in np.flatnonzero(counts == 1)])
        notes.append(f"classes of one sample, which is not held out: {names}")
    several = np.flatnonzero(~is_single)
    try:
        learned, kept = drawn(split, len(several), y[several], int((counts > 1).sum()))
    except ValueError as error:  # of fewer samples of each class than folds, or of a large share
        raise Refused(f"--holdout {split.holdout or split.share}: {error}") from error
    return np.concatenate([several[learned], np.flatnonzero(is_single)]), several[kept]


def times_of(table: Table, name: str) -> np.ndarray:
    """Return the numbers of a column, or the days of its dates.

    Raises
    ------
    Refused
        A value is neither; the message has the line.
    """
    column = table.column(name)
    values = numbers_of(column, table.decimal)
    if not is_numeric(column) and (form := format_of(column.dropna().unique())):
        values = np.asarray(days_of(column, form), "float64")
    if (wrong := np.flatnonzero(~np.isfinite(values))).size:
        found = shown(column.iloc[wrong[0]])
        raise Refused(f"{table.at(wrong[0], name)} is {found}; expected numbers or dates")
    return values
