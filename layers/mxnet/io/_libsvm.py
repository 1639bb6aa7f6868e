"""Files in the format of LIBSVM: a label, and the columns that are not 0, in each line."""

from __future__ import annotations

import math
from array import array as numbers
from collections.abc import Iterator
from os import PathLike, stat
from typing import BinaryIO

import numpy as np
import torch

from .._files.opening import open_file
from .._sparse.stored import CSR
from ..base import ArgumentError, MXNetError, ShapeError, quoted
from ..context import cpu
from ..ndarray import NDArray
from ..ndarray.sparse import CSRNDArray
from ._files import _InMemory, _warn_of_unknown, expect_dtype, expect_part

__all__ = ["LibSVMIter", "rows_of_matrix"]

LONGEST = 1 << 24  # bytes of a line


class LibSVMIter(_InMemory):
    """Batches of the rows of a file, as csr arrays.

    A line is ``label column:value column:value ...``, with columns from 0; after ``#`` come
    comments. A weight, ``label:weight``, and ``qid:`` are passed over. The first examples fill the
    last batch, and the next epoch begins after them.

    Parameters
    ----------
    data_libsvm : path
    data_shape : int or tuple of int
        The number of columns.
    label_libsvm : path, optional
        A file whose rows are the labels, csr arrays, in place of those in `data_libsvm`.
    label_shape : int or tuple of int
        Their number of columns.
    num_parts, part_index : int
        Read the lines of one of this number of equal parts of the bytes.
    batch_size : int
        Must be given.
    round_batch : bool
        True: see above.
    dtype : {'float32', 'float64'}, optional
    prefetch_buffer, ctx
        Ignored: all rows are in memory, and batches on the CPU. Of other arguments there is a
        warning.

    Raises
    ------
    MXNetError
        A line has something else, or `round_batch` is False; the message names file and line.
    ArgumentError
        `num_parts` is below 1, there is no part of this index, or `dtype` is another.
    ShapeError
        A column is beyond the shape, or the files have different numbers of rows.
    """

    def __init__(
        self,
        data_libsvm,
        data_shape,
        label_libsvm="NULL",
        label_shape=(1,),
        num_parts=1,
        part_index=0,
        batch_size=None,
        round_batch=True,
        dtype=None,
        data_name="data",
        label_name="softmax_label",
        **others,
    ):
        _warn_of_unknown(LibSVMIter, others, "prefetch_buffer", "ctx", "data_name", "label_name")
        if not round_batch:
            raise MXNetError("LibSVMIter: round_batch is False\n  expected True")
        expect_part("LibSVMIter", num_parts, part_index)
        part = part_index, num_parts
        dtype = expect_dtype("LibSVMIter", dtype, "float32", "float64")
        data, label = _read(data_libsvm, _columns("data_shape", data_shape), part, dtype)
        if str(label_libsvm) != "NULL":
            columns = _columns("label_shape", label_shape)
            label, _ = _read(label_libsvm, columns, part, dtype)
        if len(data) != len(label):
            raise ShapeError(
                f"LibSVMIter: {str(label_libsvm)!r} has {len(label)} rows\n"
                f"  expected {len(data)}, as {str(data_libsvm)!r} has"
            )
        super().__init__(data, label, batch_size, dtype, data_name, label_name, "round")

    def getdata(self) -> list[NDArray]:
        return [rows_of_matrix(self._data, self.getindex())]

    def getlabel(self) -> list[NDArray]:
        if isinstance(self._label, CSRNDArray):
            return [rows_of_matrix(self._label, self.getindex())]
        return super().getlabel()


def rows_of_matrix(matrix: CSRNDArray, index: np.ndarray) -> CSRNDArray:
    """Some rows of a csr array, in any order."""
    stored = matrix._stored
    rows = torch.from_numpy(np.ascontiguousarray(index)).to(stored.indptr.device, torch.int64)
    return CSRNDArray(stored.take_rows(rows), matrix.context)


def _columns(name: str, shape) -> int:
    given = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if len(given) != 1 or given[0] < 1:
        raise ArgumentError(f"LibSVMIter: {name} is {shape!r}\n  expected a number of columns")
    return int(given[0])


def _read(
    path: str | PathLike, columns: int, part: tuple[int, int], dtype: np.dtype
) -> tuple[CSRNDArray, np.ndarray]:
    """The rows of a part of a file, and their labels."""
    most = float(np.finfo(dtype).max)
    labels, values, indices, indptr = numbers("d"), numbers("d"), numbers("q"), numbers("q", [0])
    with open_file(path) as file:
        for number, line in _lines(file, path, *part):
            words = line.partition(b"#")[0].split()
            if not words:
                continue
            try:
                labels.append(_finite(words[0].partition(b":")[0], most))
                row = [_pair(word, most) for word in words[1:] if not word.startswith(b"qid:")]
            except ValueError as error:
                raise MXNetError(
                    f"LibSVMIter: {str(path)!r}: line {number}: {error}\n"
                    "  expected a label and pairs column:value, such as 1 0:0.5 3:-2"
                ) from None
            row.sort()
            _expect_columns(row, columns, f"{str(path)!r}: line {number}")
            indices.extend([column for column, _ in row])
            values.extend([value for _, value in row])
            indptr.append(len(values))
    if not len(labels):
        raise MXNetError(f"LibSVMIter: {str(path)!r}: no rows\n  expected at least one line")
    stored = CSR(
        (len(labels), columns),
        torch.from_numpy(np.array(values, dtype)),
        torch.from_numpy(np.array(indptr, np.int64)),
        torch.from_numpy(np.array(indices, np.int64)),
    )
    return CSRNDArray(stored, cpu()), np.array(labels, dtype)


def _lines(file: BinaryIO, path, index: int, count: int) -> Iterator[tuple[int, bytes]]:
    """The lines that begin in a part of a file, with their numbers from 1."""
    step = -(-stat(path).st_size // count)
    begin, end = index * step, (index + 1) * step
    at = number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise MXNetError(
                f"LibSVMIter: {str(path)!r}: line {number} has more than {LONGEST} bytes\n"
                "  expected text, a line for each example"
            )
        if (at > begin or not begin) and (at <= end or count == 1):
            yield number, line
        at += len(line)


def _pair(word: bytes, most: float) -> tuple[int, float]:
    column, colon, value = word.partition(b":")
    if not colon or not column.isdigit() or len(column) > 18:
        raise ValueError(f"{quoted(word.decode('latin-1'))} is no pair")
    return int(column), _finite(value, most)


def _finite(word: bytes, most: float) -> float:
    text = quoted(word.decode("latin-1"))
    try:
        found = float(word)
    except ValueError:
        raise ValueError(f"{text} is no number") from None
    if b"_" in word:
        raise ValueError(f"{text} is no number")
    if not math.isfinite(found):
        raise ValueError(f"{text} is not a finite number")
    if abs(found) > most:
        raise ValueError(f"{text} is beyond {most:.4g}, the largest number of the dtype")
    return found


def _expect_columns(row: list[tuple[int, float]], columns: int, where: str) -> None:
    """Refuse columns, in their order, that are not there, or there twice."""
    if row and row[-1][0] >= columns:
        raise ShapeError(f"LibSVMIter: {where}: column {row[-1][0]}\n  expected 0 to {columns - 1}")
    for (column, _), (after, _) in zip(row, row[1:]):
        if column == after:
            raise MXNetError(f"LibSVMIter: {where}: column {column} is there twice")
