"""Predictions as rows in a file: CSV, JSON, JSON lines or Parquet."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .data.tables import imported
from .prediction import SURE, Predictions

__all__ = ["edges_of", "write_csv", "write_json", "write_json_lines", "write_parquet"]

EDGES = ("left", "upper", "right", "lower")
Pieces = Iterable[Predictions]


def records(found: Predictions, probabilities: bool) -> Iterator[dict[str, Any]]:
    """What is said of each sample, or of each object, by the names of the columns."""
    for i, values in enumerate(found.values.tolist()):
        if found.size:
            yield from objects(found, i)
            continue
        record: dict[str, Any] = number_of(found, i)
        record |= {name: texts[i] for name, texts in found.kept.items() if name not in record}
        if found.classes:
            best = max(range(len(values)), key=values.__getitem__)
            record |= {"class": found.classes[best], "probability": rounded(values[best])}
            if probabilities:
                record["probabilities"] = dict(zip(found.classes, map(rounded, values)))
        else:
            digits, margin = found.digits, found.margin
            ends = {} if margin is None else {"lower": -margin, "upper": margin}
            for name, end in {"value": 0.0, **ends}.items():
                value = values[0] + end
                record[name] = round(value, digits[i]) if digits else rounded(value)
        yield record


def number_of(found: Predictions, i: int) -> dict[str, Any]:
    return {"file": found.files[i]} if found.files else {"row": found.first + i}


def objects(found: Predictions, i: int) -> Iterator[dict[str, Any]]:
    """The objects in an image, with the edges of their boxes in pixels."""
    for row in found.values[i]:
        if row[0] >= 0 and row[1] >= SURE:
            edges = zip(EDGES, edges_of(row[2:], found.size))
            yield {
                **number_of(found, i),
                "class": found.classes[int(row[0])],
                "probability": rounded(row[1]),
                **{name: round(value, 2) for name, value in edges},
            }


def edges_of(box: np.ndarray, size: tuple[int, ...]) -> list[float]:
    """A box in pixels of an image of this width and height, from one in parts of it."""
    return (np.asarray(box, "float64") * [*size, *size]).tolist()


def rounded(value: float) -> float:
    """With the digits that float32 has."""
    return float(f"{value:.7g}")


FORMULA = re.compile(r"(?![-+]?[\d.]+(e[-+]?\d+)?$)[=+\-@\t]", re.IGNORECASE)


def cell(value: Any) -> Any:
    """Return what a spreadsheet shows as this value: ``'=1+1`` for a name that it would compute."""
    if not isinstance(value, str):
        return value
    text = value.replace("\r", "\\r")  # at which readers end a line, and csv does not quote
    return f"'{text}" if FORMULA.match(text) else text


def flat_rows(found: Predictions, probabilities: bool) -> Iterator[dict[str, Any]]:
    """Yield the records with a column for each class."""
    for record in records(found, probabilities):
        every = record.pop("probabilities", {})
        yield record | {f"probability_{name}": value for name, value in every.items()}


def columns_of(found: Predictions, probabilities: bool) -> list[str]:
    """Return the names of the columns, also where there is no object."""
    if found.size:
        return ["file" if found.files else "row", "class", "probability", *EDGES]
    return [*next(flat_rows(found, probabilities))]


def write_csv(pieces: Pieces, probabilities: bool) -> Iterator[str]:
    """Yield lines of CSV, the first with the names of the columns."""
    for i, found in enumerate(pieces):
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        if i == 0:
            writer.writerow(map(cell, columns_of(found, probabilities)))
        for record in flat_rows(found, probabilities):
            writer.writerow(map(cell, record.values()))
        yield buffer.getvalue()


def write_json(pieces: Pieces, probabilities: bool) -> Iterator[str]:
    """Yield lines of JSON: a list of objects."""
    yield "["
    before = "\n"
    for found in pieces:
        for record in records(found, probabilities):
            yield f"{before}  {json.dumps(record)}"
            before = ",\n"
    yield "\n]\n"


def write_json_lines(pieces: Pieces, probabilities: bool) -> Iterator[str]:
    """Yield an object of JSON in a line for each sample."""
    for found in pieces:
        for record in records(found, probabilities):
            yield f"{json.dumps(record)}\n"


def write_parquet(pieces: Pieces, probabilities: bool) -> Iterator[bytes]:
    """Yield a file of Parquet: texts as they are, `row` a whole number, all others float64."""
    arrow, file, writer = imported("pyarrow"), io.BytesIO(), None
    kinds = {int: arrow.int64(), str: arrow.string(), float: arrow.float64()}
    for found in pieces:
        rows = [*map(encodable, flat_rows(found, probabilities))]
        if writer is None:
            first = rows[0] if rows else {"row": 0, "file": "", "class": ""}  # without any object
            names = columns_of(found, probabilities)
            schema = arrow.schema([(name, kinds[type(first.get(name, 0.0))]) for name in names])
            writer = imported("pyarrow.parquet").ParquetWriter(arrow.PythonFile(file, "w"), schema)
        writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
        yield taken(file)
    if writer is not None:
        writer.close()
    yield taken(file)


def encodable(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with texts that UTF-8 has: the name of a file may be of other bytes."""
    return {
        name: value.encode("utf-8", "backslashreplace").decode()
        if isinstance(value, str)
        else value
        for name, value in row.items()
    }


def taken(file: io.BytesIO) -> bytes:
    """Return what has been written into a file, and empty it."""
    content = file.getvalue()
    file.seek(0)
    file.truncate()
    return content
