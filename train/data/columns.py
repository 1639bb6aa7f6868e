"""The columns of a table as numbers and codes: what is found out, kept as JSON, and applied."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .. import Refused
from .samples import listed, shown
from .tables import Table, numbers_of, pandas, plain_number

__all__ = [
    "Column",
    "Unusual",
    "codes_of",
    "described",
    "encode",
    "find",
    "fit",
    "from_json",
    "inputs_of",
]

KINDS = ("number", "boolean", "date", "category")
TRUE, FALSE = ("true", "yes", "t", "y", "1"), ("false", "no", "f", "n", "0")
FORMATS = ("ISO8601", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d %b %Y", "%b %d, %Y", "%d.%m.%Y %H:%M")
PARTS = {"month": 12, "weekday": 7}  # of a date, with their numbers of values
FEW, OFTEN = 12, 5  # so many values are few; of more, each has to be there so often
ID = re.compile(r"(.*[\W_])?(id|Id|ID)|.*[a-z](Id|ID)", re.DOTALL)
SOME = 1000  # values of a column that are counted, where nothing was learned of them
LIMIT = 30  # lines of a table on the screen
COMMA = re.compile(r"[-+]?\d[\d.,]*,\d[\d.]*")


@dataclass(frozen=True)
class Column:
    """A column, and how a network is given it.

    kind : of KINDS; or it is not used, as it is an ``index`` or ``id``, a ``text`` or ``empty``
    fill : the number that stands for a missing one: the median, where the network has learned
    missing : an input of its own says which values are missing
    values : of a category, with the codes 1, 2, ...; all others have 0. "" is a missing one
    format : of a date, in the words of `pandas.to_datetime`
    parts : of a date, which are codes
    said : why it has its kind; `gone` : how many are missing. Both are for a reader
    """

    name: str
    kind: str
    fill: float = 0.0
    missing: bool = False
    values: list[str] = field(default_factory=list)
    format: str = ""
    parts: list[str] = field(default_factory=list)
    said: str = ""
    gone: int = 0

    @property
    def is_used(self) -> bool:
        return self.kind in KINDS

    @property
    def numbers(self) -> list[str]:
        """The names of its inputs that are numbers."""
        own = self.is_used and self.kind != "category"
        return [self.name] * own + [f"{self.name} is missing"] * (own and self.missing)

    @property
    def codes(self) -> dict[str, int]:
        """The names of its inputs that are codes, and how many each may be."""
        if self.kind == "category":
            return {self.name: len(self.values) + 1}
        return {f"{self.name}: {part}": PARTS[part] + 1 for part in self.parts}

    def json(self) -> dict[str, Any]:
        """Return what a config.json has of it: what is not as in any column, without notes."""
        plain = asdict(Column("", "", said=self.said, gone=self.gone))
        return {key: value for key, value in asdict(self).items() if value != plain[key]}


def inputs_of(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of a network's inputs: first the numbers, then the codes."""
    numbers = [name for column in columns for name in column.numbers]
    return (*numbers, *(name for column in columns for name in column.codes))


def codes_of(columns: Sequence[Column]) -> tuple[int, ...]:
    """Return how many values each code has that a network is given."""
    return tuple([count for column in columns for count in column.codes.values()])


def from_json(values: Any) -> list[Column]:
    """Return the columns in a config.json.

    Raises
    ------
    TypeError, ValueError
        They are none that a training has written.
    """
    found = [Column(**value) for value in values]
    kinds = {f: type(v) for f, v in asdict(Column("", "")).items()}
    for column in found:
        if not all(isinstance(v, kinds[f]) for f, v in asdict(column).items()):
            raise TypeError(f"the column {column.name!r} has values of other types")
        texts = [*column.values, *column.parts]
        if not all(isinstance(text, str) for text in texts) or {*column.parts} - {*PARTS}:
            raise ValueError(f"the column {column.name!r} has values of other types")
        if not math.isfinite(column.fill) or (column.kind == "date") != (column.format in FORMATS):
            raise ValueError(f"the column {column.name!r} has a fill or format of no training")
    return found


# What kinds of columns there are


def find(
    table: Table, features: Sequence[str], given: dict[str, str], named: Sequence[str]
) -> list[Column]:
    """Return the columns and their kinds; `given` are those of some, `named` are to be used.

    Raises
    ------
    Refused
        Some cannot be used; the message names all of them, with the first line of each.
    """
    found, troubles = [], []
    for name in features:
        try:
            column = table.column(name)
            kind = given.get(name) or ("" if name != table.index else index_kind(column))
            here = Column(name, kind) if kind else kind_of(name, column, table)
            if kind == "date":
                here = replace(here, format=expect_dates(name, column))
            if here.kind == "number":
                hint = f", or --ignore or --columns {shown(name)}:category"
                expect_numbers(name, column, table, hint)
            if not here.is_used and name in named and here.kind != "empty":
                here = replace(here, kind="number" if is_numeric(column) else "category", said="")
            found.append(replace(here, gone=int(column.isna().sum())))
        except Refused as error:
            troubles.append(str(error))
    if troubles:
        raise Refused("; also ".join(troubles))
    return found


def index_kind(column: Any) -> str:
    """Return "index" where each value is another one, and "" else."""
    return "index" if column.is_unique and not column.hasnans else ""


def is_numeric(column: Any) -> bool:
    return column.dtype.kind in "iuf"


def kind_of(name: str, column: Any, table: Table) -> Column:
    """Return the kind of a column, by its values.

    Raises
    ------
    Refused
        Its values may be numbers with a comma in them.
    """
    present = column.dropna()
    if present.empty:
        return Column(name, "empty")
    if is_numeric(column):
        return number_or_id(name, column)
    numbers = numbers_of(present, table.decimal)
    if np.isfinite(numbers).mean() > 0.9:
        return Column(name, "number")
    different = present.unique()
    expect_no_commas(name, present, different, table)
    if {*map(str.lower, different)} <= {*TRUE, *FALSE}:
        return Column(name, "boolean")
    if form := format_of(different):
        return Column(name, "date", format=form)
    example = f"such as {shown(different[0])!s:.30}"
    if len(different) == len(present) > 1:
        return Column(name, "id", said=f"each value another one, {example}")
    if len(different) > FEW and len(different) * OFTEN > len(present):
        return Column(name, "text", said=f"{len(different):,} values, {example}")
    return Column(name, "category")


def number_or_id(name: str, column: Any) -> Column:
    is_whole = column.dtype.kind in "iu" and len(column) > 1
    if is_whole and column.is_unique and ID.fullmatch(name):
        return Column(name, "id", said="whole numbers, each another one")
    return Column(name, "number")


def expect_numbers(name: str, column: Any, table: Table, hint: str = "") -> None:
    """Refuse a column of numbers with a value that is none.

    Raises
    ------
    Refused
        The message has the first such value, and its line.
    """
    wrong = np.flatnonzero(~np.isfinite(numbers_of(column, table.decimal)) & column.notna())
    if wrong.size:
        value, more = column.iloc[wrong[0]], f" ({len(wrong)} such values)" * (len(wrong) > 1)
        raise Refused(
            f"{table.at(wrong[0], name)} is {str(value)[:50]!r}{more}; expected a number{hint}"
        )


def expect_dates(name: str, column: Any) -> str:
    """Return the format of a column that is said to be of dates.

    Raises
    ------
    Refused
        There is none in which all values are dates.
    """
    form = "" if is_numeric(column) else format_of(column.dropna().unique())
    if not form:
        known = ", ".join(FORMATS)
        raise Refused(f"--columns {shown(name)}:date: not all values are dates; expected {known}")
    return form


def expect_no_commas(name: str, present: Any, different: Any, table: Table) -> None:
    """Refuse texts that are numbers, if it is said what the commas in them are.

    Raises
    ------
    Refused
        The message says how.
    """
    if table.decimal or sum(bool(COMMA.fullmatch(text)) for text in different) * 2 < len(different):
        return
    first = next(row for row, text in present.items() if "," in text)
    raise Refused(
        f"{table.at(first, name)} is {present[first][:50]!r}; expected --decimal , for decimal "
        "commas, or --decimal . where commas separate thousands"
    )


def format_of(different: Any) -> str:
    """Return the format in which all of some texts are dates; "" if there is none."""
    for form in FORMATS:
        for some in (different[:20], different):  # the first ones tell at once
            if np.isnan(days_of(pandas().Series(some), form)).any():
                break
        else:
            return form
    return ""


def days_of(texts: Any, form: str) -> np.ndarray:
    """Return the days since 1970 of dates; NaN where there is none."""
    return (dates_of(texts, form) - pandas().Timestamp(0, tz="UTC")) / pandas().Timedelta(days=1)


def dates_of(texts: Any, form: str) -> Any:
    if is_numeric(texts):
        texts = texts.astype(object).map(str)  # which are no dates
    return pandas().to_datetime(texts, format=form, errors="coerce", utc=True)


# What is learned from a column


def fit(columns: Sequence[Column], table: Table, rows: Any) -> list[Column]:
    """Return the columns with what some rows tell: medians, and the values of categories.

    Raises
    ------
    Refused
        There is none to learn from.
    """
    found = []
    for column in columns:
        if column.kind == "category":
            counts = texts_of(table.column(column.name)).iloc[rows].value_counts()
            values = sorted(counts.index[counts > 1])
            kind = (
                column if values else replace(column, kind="text", said="no value is there twice")
            )
            column = replace(kind, values=values)
        elif column.is_used:
            values = values_of(column, table)[rows]
            present = values[~np.isnan(values)]
            if not present.size:
                column = replace(column, kind="empty")
            else:
                gone = present.size < len(values)
                column = replace(column, fill=float(np.median(present)), missing=gone)
                column = replace(column, parts=parts_of(column, present))
        found.append(column)
    if not any(column.is_used for column in found):
        told = ", ".join(f"{shown(column.name)} ({column.kind})" for column in found[:20])
        raise Refused(f"it has no column to learn from: {told or 'only the target'}")
    return found


def parts_of(column: Column, days: np.ndarray) -> list[str]:
    """Return the parts of dates that repeat: months within two years, weekdays in two weeks."""
    if column.kind != "date":
        return []
    least = {"month": 400, "weekday": 14}
    return [part for part in PARTS if np.ptp(days) >= least[part]]


def texts_of(column: Any) -> Any:
    """Return categories as texts: of numbers, whole or not, one for each value; "" is missing."""
    numbers = {text: plain_number(str(text)) for text in column.dropna().unique()}
    names = {text: str(text) if n is None else str(n) for text, n in numbers.items()}
    return column.astype(object).map(names).astype(object).fillna("")


def values_of(column: Column, table: Table) -> np.ndarray:
    """Return a column that is no category in float64; NaN is missing."""
    series = table.column(column.name)
    if column.kind == "date":
        return np.asarray(days_of(series, column.format), "float64")
    if column.kind == "number":
        expect_numbers(column.name, series, table)
        return numbers_of(series, table.decimal)
    codes = {**dict.fromkeys(TRUE, 1.0), **dict.fromkeys(FALSE, 0.0)}
    texts = texts_of(series)
    return texts.map(lambda text: codes.get(text.lower(), math.nan)).to_numpy("float64")


class Unusual(NamedTuple):
    """The values of a column of which nothing was learned, as a sentence for the user.

    `values` are some of those of a category, `fill` is the number in place of others.
    """

    column: str
    count: int
    values: list[str] = []
    fill: float | None = None

    def __str__(self) -> str:
        one = f"column {shown(self.column)}: {self.count:,} values are"
        if self.fill is not None:
            return f"{one} missing or of another kind; the median {self.fill:.6g} is taken"
        more = " or more" * (len(self.values) == SOME)
        return f"{one} taken as others, of which nothing was learned: {listed(self.values)}{more}"

    def __add__(self, other: Any) -> Unusual:
        values = sorted({*self.values, *other.values})[:SOME]
        return self._replace(count=self.count + other.count, values=values)


def encode(columns: Sequence[Column], table: Table) -> tuple[np.ndarray, list[Unusual]]:
    """Return what a network is given of a table, (n, inputs) in float64, and what is unusual.

    Raises
    ------
    Refused
        A column is not there, or a value of it is no number.
    """
    numbers, codes, notes = [], [], []
    for column in columns:
        if column.kind == "category":
            texts = texts_of(table.column(column.name))
            places = {value: i for i, value in enumerate(column.values, 1)}
            found = texts.map(places).fillna(0).to_numpy("float64")
            codes.append(found)
            if others := sorted({*texts[found == 0]} - {""}):
                notes.append(Unusual(column.name, int((found == 0).sum()), others[:SOME]))
        elif column.is_used:
            values = values_of(column, table)
            gone = np.isnan(values)
            numbers.append(np.where(gone, column.fill, values))
            if column.missing:
                numbers.append(gone.astype("float64"))
            elif gone.any():
                notes.append(Unusual(column.name, int(gone.sum()), fill=column.fill))
            if column.parts:
                dates = dates_of(table.column(column.name), column.format).dt
                found = {"month": dates.month, "weekday": dates.day_of_week + 1}
                codes += [found[part].fillna(0).to_numpy("float64") for part in column.parts]
    return np.stack([*numbers, *codes], axis=1), notes


def described(columns: Sequence[Column], moved: dict[str, str]) -> str:
    """Return a table of the columns for the screen; `moved` says of some how they are scaled."""
    rows = [("column", "kind", "missing", "what is done")]
    for column in columns:
        rows.append((shown(column.name), column.kind, f"{column.gone:,}", done(column, moved)))
    widths = [max(map(len, cells)) for cells in list(zip(*rows))[:3]]
    lines = ["  ".join([*map(str.ljust, row[:3], widths), row[3]]).rstrip() for row in rows]
    more = [f"and {len(lines) - LIMIT - 1} more columns"] if len(lines) > LIMIT + 1 else []
    return "\n".join([*lines[: LIMIT + 1], *more])


def done(column: Column, moved: dict[str, str]) -> str:
    """Describe the preprocessing of a column in a few words."""
    if not column.is_used:
        kept = "; predictions repeat it" if column.kind in ("id", "index") else ""
        return f"left out{f': {column.said}' if column.said else ''}{kept}"
    if column.kind == "category":
        values = [value or "(missing)" for value in column.values]
        how = "one input each" if len(values) <= FEW else "an embedding"
        return f"{len(values)} values, {how}: {listed(values)}"[:100]
    words = {"number": "", "boolean": "0 or 1", "date": f"days, {column.format}"}[column.kind]
    filled = f"missing ones are {column.fill:.6g}, and an input says so" if column.missing else ""
    return (
        "; ".join(filter(None, [words, *column.parts, filled, moved.get(column.name)])) or "scaled"
    )
