"""The columns of a table that are learned from, and the one that is learned."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import numpy as np

from .. import Refused
from ..settings import joined
from .columns import KINDS, Column, find
from .samples import Reading, listed, shown
from .tables import Table, numbers_of, plain_number

__all__ = ["columns_of", "expect_weights", "given_kinds", "targets_of", "weights_of"]


def given_kinds(how: Reading) -> dict[str, str]:
    """Return the kinds of columns that --columns names.

    Raises
    ------
    Refused
        One is none of the kinds.
    """
    found = dict(text.rpartition(":")[::2] for text in how.columns)
    for name, kind in found.items():
        if not name or kind not in KINDS:
            expected = f"a name and one of {', '.join(KINDS)}, such as city:category"
            raise Refused(f"--columns {shown(f'{name}:{kind}')}: expected {expected}")
    return found


def columns_of(table: Table, how: Reading) -> tuple[str | None, list[Column]]:
    """Return the target, where there is to be one, and the columns beside it with their kinds.

    Raises
    ------
    Refused
        A column that was named is not there, there are no features beside the target, or some
        columns or targets cannot be used; the message names all of these.
    """
    target, given = (how.target or table.names[-1]) if how.labelled else None, given_kinds(how)
    named = [*filter(None, [target, how.weights, how.split.group])]
    for name in (*named, *filter(None, [how.split.column]), *how.features, *how.ignore, *given):
        if name not in table.names:
            raise Refused(f"it has no column {shown(name)}; it has {listed(table.names)}")
    expect_apart(target, how)
    left_out = {*how.ignore, *named}
    names = [name for name in dict.fromkeys(how.features or table.names) if name not in left_out]
    if not names:
        raise Refused(f"it has no column but {shown(target)}; expected features beside the target")
    troubles = []
    for check in (
        lambda: find(table, names, given, (*how.features, *given)),
        lambda: target and expect_targets(table, target, how),
    ):
        try:
            troubles.append(check())
        except Refused as error:
            troubles.append(error)
    if told := [str(trouble) for trouble in troubles if isinstance(trouble, Refused)]:
        raise Refused("; also ".join(told))
    return target, troubles[0]


def expect_apart(target: str | None, how: Reading) -> None:
    """Refuse to learn from the target, or to ignore it or a column that is not used anyway.

    Raises
    ------
    Refused
        The target is among the features; or a column to be ignored is the target, or is not among
        the features.
    """
    for option, name in (("--weights", how.weights), ("--holdout", how.split.column)):
        is_free = option == "--holdout" and not how.split.group  # times are features, too
        if name and (name == target or (name in how.features and not is_free)):
            of = "--target" if name == target else "--features"
            raise Refused(f"{option} {quoted(name)}: it is of {of}; expected another column")
    if target in how.features:
        raise Refused(
            f"--features {quoted(str(target))}: it is the target; expected a --target of "
            "another column, or --features without this one"
        )
    for name in how.ignore:
        if name == target:
            raise Refused(
                f"--ignore {quoted(name)}: it is the target; expected a --target of another "
                "column, or no --ignore of this one"
            )
        if how.features and name not in how.features:
            raise Refused(
                f"--ignore {quoted(name)}: it is not among --features, so it is not used; "
                "expected one of the two options"
            )


def quoted(name: str) -> str:
    """Return the name of a column, as --features and --ignore are given it in a shell."""
    return shlex.quote(joined([name]))


def expect_targets(table: Table, target: str, how: Reading) -> None:
    """Refuse targets that are missing, or no numbers where numbers are to be predicted.

    Raises
    ------
    Refused
        The message has the first line of them.
    """
    column = table.column(target)
    if len(gone := np.flatnonzero(column.isna())):
        more = f" ({len(gone)} are)" * (len(gone) > 1)
        raise Refused(f"{table.at(gone[0], target)} is missing{more}; expected a target")
    if how.regression:
        wrong = np.flatnonzero(~np.isfinite(numbers_of(column, table.decimal)))
        if wrong.size:
            raise Refused(
                f"{table.at(wrong[0], target)} is {str(column.iloc[wrong[0]])[:50]!r}; expected a "
                "number, for --task regression"
            )


def weights_of(table: Table, name: str | None) -> np.ndarray | None:
    """Return the column of --weights, where it is named; raises as `expect_weights`."""
    if name is None:
        return None
    weights = numbers_of(table.column(name), table.decimal)
    expect_weights(weights, len(table), lambda row: table.at(row, name))
    return weights


def expect_weights(weights: np.ndarray, samples: int, at: Callable[[int], str]) -> None:
    """Refuse weights that are no number from 0 for each sample, or all 0; `at` names a place.

    Raises
    ------
    Refused
        The message has the shape, or the first wrong value.
    """
    if weights.shape != (samples,):
        raise Refused(f"--weights: they are {weights.shape}; expected ({samples},)")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size or not weights.any():
        row = int(wrong[0]) if wrong.size else 0
        found = "missing" if np.isnan(weights[row]) else f"{weights[row]:g}"
        raise Refused(f"{at(row)} is {found}; expected weights, numbers from 0, and some above it")


def targets_of(table: Table, target: str, regression: bool) -> np.ndarray:
    """Return numbers, if one is to be predicted; else classes: whole numbers, or texts.

    Whole numbers are Python's, which are exact; there are others only where no class can be made.
    """
    column = table.column(target)
    if regression:
        return numbers_of(column, table.decimal)
    numbers = {text: plain_number(text) for text in column.unique()}
    if None in numbers.values():
        return column.to_numpy("U")
    whole = all(isinstance(number, int) for number in numbers.values())
    return column.map(numbers).to_numpy(object if whole else "float64")
