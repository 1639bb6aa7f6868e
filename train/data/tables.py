"""Tables in files: CSV, packed or not, Parquet and Excel."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import math
import re
import sys
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from layers._arrays import room_of

from .. import Refused
from .arrays import read_at_most, refusing_damage
from .samples import Reading, listed, shown

__all__ = [
    "DESCRIBED",
    "Table",
    "is_table",
    "numbers_of",
    "pandas",
    "plain_number",
    "read_frame",
    "read_pieces",
    "read_table",
]

TEXT = (".csv", ".tsv")
DESCRIBED = ".csv, .tsv, .parquet or .xlsx"
DELIMITERS = ",;\t|"
LONGEST_LINE = 1 << 20  # characters of the first line, which has all names
LONGEST = 1 << 24  # characters of a line that is read in pieces
PIECE = 1 << 18  # values of a table that are in memory together, where it is read in pieces
MISSING = ("", "?", "na", "n/a", "#n/a", "nan", "null", "none")  # in lower case
SPELLED = [spell(text) for text in MISSING for spell in (str.lower, str.upper, str.title)] + ["NaN"]
GROUPS = {",": ".", ".": ","}  # what separates thousands beside a decimal mark


@dataclass(frozen=True)
class Table:
    """The columns of a file.

    names : of the columns; a name may be there twice
    frame : of pandas, whose columns are numbers from 0: of numbers, or of texts as they are written
    lines : of the file, one for each row
    index : the name of the first column, where it had none: pandas writes its index so
    decimal : the mark before decimals, where one is given
    cleaned : columns that have been asked for, as `column` returns them
    """

    names: list[str]
    frame: Any
    lines: Sequence[int]
    index: str | None = None
    decimal: str | None = None
    cleaned: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, name: str) -> Any:
        """Return the Series of a column: numbers, or texts without blanks around; NaN is missing.

        Raises
        ------
        Refused
            There is no column of this name, or more than one.
        """
        if name not in self.names:
            raise Refused(f"it has no column {shown(name)}; it has {listed(self.names)}")
        if self.names.count(name) > 1:
            raise Refused(
                f"line 1 has the column {shown(name)} twice; expected different names, or "
                "--ignore of it"
            )
        if name not in self.cleaned:
            column = self.frame[self.names.index(name)]
            if column.dtype.kind not in "iuf":
                column = column.astype(object)
                texts = {value: str(value).strip() for value in column.dropna().unique()}
                known = {v: math.nan if t.lower() in MISSING else t for v, t in texts.items()}
                column = column.map(known).astype(object)
            self.cleaned[name] = column
        return self.cleaned[name]

    def at(self, row: int, name: str) -> str:
        """Return where a value is, for a message."""
        return f"line {self.lines[row]}, column {shown(name)}"


def is_table(name: str) -> bool:
    """True if a name is that of a file whose columns have names."""
    path = Path(name.lower())
    inner = Path(path.stem) if path.suffix in PACKED else path
    suffixes = TEXT if inner is not path else (*TEXT, *CONVERTED)
    return inner.suffix in suffixes and ".npy," not in name.lower()


def pandas() -> Any:
    """Return the module; refuse to go on without it."""
    return imported("pandas")


def imported(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise Refused(f"{package} is not installed: pip install {package}") from error


def read_table(path: Path, how: Reading, texts: Collection[str] = ()) -> Table:
    """Read a file: a row for each sample, after a line with the names of the columns.

    Parameters
    ----------
    texts : collection of str
        Columns that are read as they are written, as the target is.

    Raises
    ------
    Refused
        There is no such file, or it is damaged; the message says in which line.
    """
    with refusing_damage("it"):
        if not path.is_file():
            raise Refused("there is no such file")
        content = unpacked(path)
        encoding = encoding_of(how.encoding if path.suffix.lower() not in CONVERTED else "utf-8")

        def opened() -> io.TextIOWrapper:
            binary = open(path, "rb") if content is None else io.BytesIO(content)  # noqa: SIM115  the wrapper closes it
            return io.TextIOWrapper(binary, encoding, newline="")

        try:
            return read_text(opened, how, texts)
        except UnicodeDecodeError as error:
            with opened().detach() as file:
                raise Refused(not_decoded(file, encoding, error)) from error


def read_pieces(path: Path | None, how: Reading, texts: Collection[str]) -> Iterator[Table]:
    """Read a table some rows at a time: a file, or text from the standard input.

    Raises as `read_table`, when it comes to what is wrong.
    """
    with refusing_damage("it"):
        if path is not None and not path.is_file():
            raise Refused("there is no such file")
        suffix = "" if path is None else path.suffix.lower()
        if path is not None and suffix in CONVERTED and suffix != ".parquet":
            yield read_table(path, how, texts)
            return
        encoding = encoding_of(how.encoding if suffix not in CONVERTED else "utf-8")
        try:
            with opened_lines(path, suffix, encoding) as lines:
                for text, before in cut(lines):
                    yield read_text(partial(io.StringIO, text, ""), how, texts, before)
        except UnicodeDecodeError as error:
            if path is None or suffix in PACKED:
                raise Refused(not_decoded([], encoding, error)) from error
            with path.open("rb") as file:
                raise Refused(not_decoded(file, encoding, error)) from error


def read_frame(frame: Any, how: Reading, texts: Collection[str] = ()) -> Table:
    """Return a DataFrame as the table that its file would be, without its index; raises so."""
    text = frame.to_csv(index=False)
    return read_text(partial(io.StringIO, text, ""), how, texts)


@contextmanager
def opened_lines(path: Path | None, suffix: str, encoding: str) -> Iterator[Iterator[str]]:
    """Open a table as lines of text, without having it in memory."""
    if path is not None and suffix == ".parquet":
        yield (line for text in parquet_as_csv(path) for line in io.StringIO(text.decode()))
        return
    with ExitStack() as stack:
        binary: Any = sys.stdin.buffer
        if path is not None:
            binary = stack.enter_context((PACKED.get(suffix) or partial(open, mode="rb"))(path))
        file = io.TextIOWrapper(binary, encoding, newline="")
        stack.callback(file.detach)
        yield iter(partial(file.readline, LONGEST), "")


def cut(lines: Iterator[str]) -> Iterator[tuple[str, int]]:
    """Cut a table into texts of some rows each, behind the first line; and tell the lines before.

    Raises
    ------
    Refused
        A line is too long to be one of a table.
    """
    read: list[str] = []

    def remembered() -> Iterator[str]:
        for line in chain([first], lines):
            if len(line) == LONGEST:
                raise Refused(f"line {rows.line_num + 1} has more than {LONGEST:,} characters")
            read.append(line)
            yield line

    first = next(lines, "")
    rows = csv_rows(remembered(), delimiter_of(first))
    try:
        width = len(next(rows, []))
        head, begin = "".join(read), rows.line_num
        most, count, before = max(1, PIECE // max(1, width)), 0, 0
        read.clear()
        for row in rows:
            count += len(row) > 1 or bool("".join(row).strip())
            if count == most:
                yield head + "".join(read), before
                count, before = 0, rows.line_num - begin
                read.clear()
    except csv.Error:  # which reading the piece tells with its line
        count = 1
    if count or not before:
        yield "".join([head, *read]) if rows.line_num else "", before


def delimiter_of(line: str) -> str:
    return max(DELIMITERS, key=line.count)


def csv_rows(lines: Iterable[str], delimiter: str) -> Any:
    return csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)


def read_text(
    opened: Callable[[], Any], how: Reading, texts: Collection[str], before: int = 0
) -> Table:
    """Read text twice: its form line by line, and then its values, by pandas.

    `before` is the number of lines of the file between its names and the other lines of the text.

    Raises
    ------
    Refused
        A line has more or fewer values than the first, or there is no other line.
    """
    with opened() as file:
        delimiter = delimiter_of(file.readline(LONGEST_LINE))
        file.seek(0)
        rows = csv_rows(without_nul(file), delimiter)
        cells = numbered(rows, before)
        names, index = header([name.strip() for name in next(cells, [])])
        begin, lines, width = rows.line_num, [], len(names)
        for row in cells:
            if len(row) < 2 and not "".join(row).strip():
                continue  # an empty line
            lines.append(rows.line_num + before)
            if not 0 <= len(row) - len(names) < 2 or any(map(str.strip, row[len(names) :])):
                raise Refused(
                    f"line {lines[-1]} has {len(row)} values; expected {len(names)}, as line 1"
                )
            width = max(width, len(row))  # with a comma at the end of the line
    if not lines:
        raise Refused("it has no line after the first; expected samples")
    texts = {*texts, how.target or names[-1]} if how.labelled else texts
    with opened() as file:
        for _ in range(begin):
            file.readline()
        frame = pandas().read_csv(
            file, sep=delimiter, header=None, names=range(width), index_col=False,
            dtype={i: str for i, name in enumerate(names) if name in texts},
            keep_default_na=False, na_values=SPELLED, skipinitialspace=True, low_memory=False,
        )  # fmt: skip
    if len(frame) != len(lines):
        raise Refused(f"it cannot be read: {len(lines)} lines, of which pandas reads {len(frame)}")
    return Table(names, frame, lines, index, how.decimal)


def numbered(rows: Any, before: int) -> Iterator[list[str]]:
    """Yield the rows of a csv.reader; `before` are lines of the file that it has not.

    Raises
    ------
    Refused
        A line cannot be read; the message has the number of that in which a quote opens.
    """
    while True:
        begin = rows.line_num + before + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise Refused(f"line {begin} cannot be read: {error}") from error
        if row is None:
            return
        yield row


def without_nul(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines; raise csv.Error at a NUL, where pandas would end a value."""
    for line in lines:
        if "\0" in line:
            raise csv.Error("it has a NUL; expected text, or the --encoding that it has")
        yield line


def header(names: list[str]) -> tuple[list[str], str | None]:
    """Return the names of all columns, and that of the first, where it had none or pandas' own.

    Raises
    ------
    Refused
        There are no names, or they are the numbers of a sample.
    """
    if names and not names[-1]:
        names = names[:-1]  # a comma at the end of the line
    if not names:
        raise Refused("it is empty; expected a first line with the names of the columns")
    if is_sample(names):
        raise Refused(
            f"line 1 begins with {shown(names[0])}; expected the names of the columns, not numbers"
        )
    is_index = names[0] in ("", "Unnamed: 0")
    first = names[0] or ("index" if "index" not in names else "column 1")
    named = [first, *(name or f"column {i}" for i, name in enumerate(names[1:], 2))]
    return named, first if is_index else None


def is_sample(names: list[str]) -> bool:
    """True if a first line is numbers, or a label beside numbers that are not whole."""
    numbers = [name for name in names if is_number(name)]
    with_point = any(not name.lstrip("-").isdigit() for name in numbers)
    return len(numbers) == len(names) or (len(numbers) == len(names) - 1 and with_point)


def is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and "_" not in text  # which Python allows
    except ValueError:
        return False


def plain_number(text: str) -> int | float | None:
    """Return the number that a text is, exactly where it is whole; None if it is none, as 007."""
    if re.fullmatch(r"[+-]?(0|[1-9]\d{0,999})(\.0*)?", text):
        return int(text.partition(".")[0])
    if not is_number(text) or re.match(r"[+-]?0\d", text):
        return None
    value = float(text)
    return int(value) if value.is_integer() else value


def numbers_of(column: Any, decimal: str | None = None) -> np.ndarray:
    """Return the numbers of a column in float64; NaN where there is none."""
    if column.dtype.kind in "iuf":
        return column.to_numpy("float64")
    texts = column.dropna()
    if decimal and len(texts):
        mark, group = re.escape(decimal), GROUPS[decimal]
        form = rf"[-+]?(\d{{1,3}}({re.escape(group)}\d{{3}})+|\d+)({mark}\d*)?([eE][-+]?\d+)?"
        fits = texts.str.fullmatch(form).astype(bool)
        plain = texts.str.replace(group, "", regex=False).str.replace(decimal, ".", regex=False)
        texts = texts.where(~fits, plain)
    values = pandas().to_numeric(texts, errors="coerce").astype("float64")
    return values.reindex(column.index).to_numpy()


# Files that are not plain text


def unpacked(path: Path) -> bytes | bytearray | None:
    """Return the text in a file that is packed, and of Parquet and Excel the CSV that it would be.

    Raises
    ------
    Refused
        It has more in it than a file of its size may have, or what reads it is not installed.
    """
    size, suffix = path.stat().st_size, path.suffix.lower()
    room = room_of(size, compressed=True)
    if suffix in CONVERTED:
        return CONVERTED[suffix](path, room)
    if suffix not in PACKED:
        return None
    with PACKED[suffix](path) as file:
        content = read_at_most(file, room + 1)
    expect_room(len(content), room)
    return content


def expect_room(size: int, room: int) -> None:
    if size > room:
        raise Refused(
            f"unpacked it has more than {room} bytes, which none of its size may have; expected a "
            ".csv, not packed"
        )


def open_zip(path: Path) -> Any:
    archive = zipfile.ZipFile(path)
    if len(archive.namelist()) != 1:
        raise Refused(f"it has {len(archive.namelist())} files; expected one table")
    return archive.open(archive.namelist()[0])


def from_parquet(path: Path, room: int) -> bytes:
    with imported("pyarrow.parquet").ParquetFile(path) as file:
        expect_room(8 * file.metadata.num_rows * file.metadata.num_columns, room)
    return b"".join(parquet_as_csv(path))


def parquet_as_csv(path: Path) -> Iterator[bytes]:
    """Yield the lines of the CSV that a file of Parquet would be, many at a time."""
    pyarrow, as_csv = imported("pyarrow"), imported("pyarrow.csv")
    with imported("pyarrow.parquet").ParquetFile(path) as file:
        names = [re.sub(r"__index_level_0__", "", name) for name in file.schema_arrow.names]
        for i, batch in enumerate(chain([file.schema_arrow.empty_table()], file.iter_batches())):
            columns = [
                each.cast(each.type.value_type) if pyarrow.types.is_dictionary(each.type) else each
                for each in batch.columns
            ]
            written, how = io.BytesIO(), as_csv.WriteOptions(include_header=not i)
            as_csv.write_csv(pyarrow.table(columns, names), written, how)
            yield written.getvalue()


def from_excel(path: Path, room: int) -> bytes:
    openpyxl, written, width, cells = imported("openpyxl"), io.StringIO(), 0, 0
    with zipfile.ZipFile(path) as archive:
        expect_room(sum(member.file_size for member in archive.infolist()), room)
    writer = csv.writer(written, lineterminator="\n")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what else is in the file
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
            for row in book.worksheets[0].iter_rows(values_only=True):
                cells += len(row)
                expect_room(8 * cells, room)
                texts = [" ".join(str(v).split()) if v is not None else "" for v in row]
                while texts and not texts[-1]:
                    texts.pop()
                width = width or len(texts)
                writer.writerow(texts + [""] * (width - len(texts)) if texts else [])
    except Refused:
        raise
    except Exception as error:  # which openpyxl raises of any kind
        raise ValueError(f"{type(error).__name__}: {error}") from error
    return written.getvalue().encode()


PACKED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zip": open_zip}
CONVERTED = {".parquet": from_parquet, ".xlsx": from_excel}


# Encodings


def encoding_of(name: str) -> str:
    """Return the name of an encoding as Python has it; that of UTF-8 reads a mark before it too.

    Raises
    ------
    Refused
        There is none of this name.
    """
    try:
        found = codecs.lookup(name).name
        "".encode(found)
    except (LookupError, ValueError) as error:
        raise Refused(
            f"--encoding {name}: there is none; expected utf-8, utf-16, latin-1 or another of "
            "Python's"
        ) from error
    return "utf-8-sig" if found == "utf-8" else found


def not_decoded(file: Iterable[bytes], encoding: str, error: UnicodeDecodeError) -> str:
    """Return where a text is in another encoding, as those of some spreadsheets are."""
    expected = "expected it saved as UTF-8, or the --encoding that it has, such as latin-1, utf-16"
    if encoding != "utf-8-sig":
        return f"it is not in {encoding}: {error.reason}; {expected}"
    for number, line in enumerate(file, 1):
        try:
            line.decode()
        except UnicodeDecodeError as found:
            byte = f"{line[found.start]:#04x}"
            return f"line {number} is not UTF-8, at byte {byte}; {expected}"
    return f"it is not UTF-8; {expected}"  # it has changed meanwhile
