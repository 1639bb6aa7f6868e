"""Tables: csv files, whose first line names the columns."""

from __future__ import annotations

import csv
import math
import re
import shlex
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import Refused
from ..settings import joined
from .arrays import refusing_damage
from .samples import Reading, Samples, listed, shown

__all__ = ["DELIMITERS", "SUFFIXES", "read_csv"]

SUFFIXES = (".csv", ".tsv")
DELIMITERS = ",;\t"
LONGEST_LINE = 1 << 20  # characters of the first line, which has all names
MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}  # in lower case


def read_csv(path: Path, how: Reading) -> Samples:
    """The samples in a table: a line for each, after a line with the names of the columns.

    Columns are separated by commas, semicolons or tabs. The text is UTF-8.

    Raises
    ------
    Refused
        There is no such file, it is damaged, a column is missing or given twice, or a value is
        missing or not a number; the message says in which line.
    """
    with refusing_damage("it"):
        if not path.is_file():
            raise Refused("there is no such file")
        try:
            return read_text(path, how)
        except UnicodeDecodeError as error:
            raise Refused(not_utf8(path)) from error


def read_text(path: Path, how: Reading) -> Samples:
    with open(path, encoding="utf-8-sig", newline="") as file:
        delimiter = find_delimiter(file.readline(LONGEST_LINE))
        file.seek(0)
        lines = csv.reader(file, delimiter=delimiter, strict=True)
        names = header([name.strip() for name in next(lines, [])])
        target, features = choose(names, how)
        return read_rows(lines, names, target, features, how)


def not_utf8(path: Path) -> str:
    """Where a text is in another encoding, as those of some spreadsheets are."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                byte = f"{line[error.start]:#04x}"
                return f"line {number} is not UTF-8, at byte {byte}; expected it saved as UTF-8"
    return "it is not UTF-8; expected it saved as UTF-8"  # it has changed meanwhile


def find_delimiter(line: str) -> str:
    return max(DELIMITERS, key=line.count)


def header(names: list[str]) -> list[str]:
    """The names of the columns, each of which is there once.

    Raises
    ------
    Refused
        There are no names, they are the numbers of a sample, or one is there twice.
    """
    if not names:
        raise Refused("it is empty; expected a first line with the names of the columns")
    if is_sample(names):
        raise Refused(
            f"line 1 begins with {shown(names[0])}; expected the names of the columns, not numbers"
        )
    for name in names:
        if names.count(name) > 1:
            raise Refused(f"line 1 has the column {shown(name)} twice; expected different names")
    return names


def is_sample(names: list[str]) -> bool:
    """Whether a first line is no header: numbers, or a label beside numbers that are not whole."""
    numbers = [name for name in names if is_number(name)]
    with_point = any(not name.strip().lstrip("-").isdigit() for name in numbers)
    return len(numbers) == len(names) or (len(numbers) == len(names) - 1 and with_point)


def choose(names: list[str], how: Reading) -> tuple[str | None, list[str]]:
    """The target, where there is to be one, and the features.

    Raises
    ------
    Refused
        A column that was named is not there, or there are no features beside the target.
    """
    target = (how.target or names[-1]) if how.labelled else None
    for name in (*filter(None, [target]), *how.features, *how.ignore):
        if name not in names:
            raise Refused(f"it has no column {shown(name)}; it has {listed(names)}")
    expect_apart(target, how)
    features = [n for n in how.features or names if n not in how.ignore and n != target]
    if not features:
        raise Refused(f"it has no column but {shown(target)}; expected features beside the target")
    return target, features


def expect_apart(target: str | None, how: Reading) -> None:
    """Refuse to learn from the target, or to ignore it or a column that is not used anyway.

    Raises
    ------
    Refused
        The target is among the features; or a column to be ignored is the target, or is not among
        the features.
    """
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
    """The name of a column, as --features and --ignore are given it in a shell."""
    return shlex.quote(joined([name]))


def read_rows(
    lines: Any, names: list[str], target: str | None, features: list[str], how: Reading
) -> Samples:
    """The rest of the lines, after the first.

    Raises
    ------
    Refused
        A line has more or fewer values than the first, or there is no other line.
    """
    places = [names.index(name) for name in features]
    values, labels, numbers = array("d"), [], array("q")
    for cells in numbered(lines):
        if not cells:
            continue  # an empty line
        if len(cells) != len(names):
            raise Refused(
                f"line {lines.line_num} has {len(cells)} values; expected {len(names)}, as line 1"
            )
        values.extend(row_of(cells, places, names, lines.line_num, how.labelled))
        numbers.append(lines.line_num)
        if target is not None:
            labels.append(label_of(cells[names.index(target)], target, lines.line_num))
    if not numbers:
        raise Refused("it has no line after the first; expected samples")
    x = np.frombuffer(values).reshape(len(numbers), len(features))
    y = None if target is None else targets(labels, target, numbers, how.regression)
    columns = tuple(features)
    return Samples(
        x, y, "x", f"column {shown(target)}", columns=columns, target=target, lines=numbers.tolist()
    )


def numbered(lines: Any) -> Iterator[list[str]]:
    """The lines; an error has the number of the one that is damaged, or in which a quote opens.

    Raises
    ------
    Refused
        A line cannot be read as CSV.
    """
    while True:
        begin = lines.line_num + 1
        try:
            cells = next(lines, None)
        except csv.Error as error:
            raise Refused(f"line {begin} cannot be read: {error}") from error
        if cells is None:
            return
        yield cells


def row_of(
    cells: list[str], places: list[int], names: list[str], line: int, may_ignore: bool
) -> list[float]:
    """The features in a line.

    Raises
    ------
    Refused
        A feature is no finite number.
    """
    try:
        row = [float(cells[place]) for place in places]
        if all(map(math.isfinite, row)) and "_" not in "".join(cells[place] for place in places):
            return row
    except ValueError:
        pass
    place = next(place for place in places if not is_number(cells[place]))
    expected = "a number"
    if may_ignore and not is_missing(cells[place]):
        expected += f", or --ignore {quoted(names[place])}"
    raise Refused(f"line {line}, column {shown(names[place])} {wrong(cells[place], expected)}")


def label_of(cell: str, target: str, line: int) -> str:
    if is_missing(cell):
        raise Refused(f"line {line}, column {shown(target)} {wrong(cell, 'a target')}")
    return cell.strip()


def targets(labels: list[str], target: str, lines: Any, regression: bool) -> np.ndarray:
    """Numbers, if all are plain numbers or a number is to be predicted, else the texts.

    Raises
    ------
    Refused
        A number is to be predicted, and a target is none.
    """
    if all(map(is_number if regression else is_plain_number, labels)):
        return np.array([float(label) for label in labels])
    if regression:
        i = next(i for i, label in enumerate(labels) if not is_number(label))
        expected = "a number, for --task regression"
        raise Refused(f"line {lines[i]}, column {shown(target)} {wrong(labels[i], expected)}")
    return np.array(labels)


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and "_" not in text  # which Python allows
    except ValueError:
        return False


def is_plain_number(text: str) -> bool:
    """Whether it is a number without leading zeros: 007 is a name."""
    return is_number(text) and not re.match(r"[+-]?0\d", text)


def wrong(cell: str, expected: str) -> str:
    if is_missing(cell):
        return f"is missing ({cell!r}); expected {expected}"
    return f"is {cell[:50]!r}; expected {expected}"
