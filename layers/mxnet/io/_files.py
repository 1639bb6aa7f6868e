"""Iterators over local files: CSV, and the idx format of MNIST."""

from __future__ import annotations

import gzip
import logging
import math
import struct
import warnings
import zlib
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .._files.opening import open_file
from ..base import ArgumentError, MXNetError, ShapeError, quoted
from ..ndarray import NDArray, array
from ._desc import DataDesc, MXDataIter

__all__ = ["CSVIter", "MNISTIter", "expect_dtype", "expect_part"]

log = logging.getLogger("layers.mxnet.iterators")

_CHUNK_SIZE = 1 << 20  # bytes read from a file at once
_MOST_COMPRESSION = 1032  # bytes that deflate unpacks from one: https://zlib.net/zlib_tech.html


def expect_part(name: str, num_parts: int, part_index: int) -> None:
    """Raise ArgumentError where a file cannot be read in parts, or has no part of this index."""
    if num_parts < 1:
        raise ArgumentError(f"{name}: num_parts is {num_parts}\n  expected 1 or more")
    if not 0 <= part_index < num_parts:
        raise ArgumentError(f"{name}: part_index is {part_index}\n  expected 0 to {num_parts - 1}")


def expect_dtype(name: str, dtype, *expected: str) -> np.dtype:
    """NumPy's type of the name, float32 for None; ArgumentError where it is not one expected."""
    try:
        found = np.dtype(dtype or "float32")
    except TypeError:
        found = None
    if found is None or found.name not in expected:
        raise ArgumentError(f"{name}: dtype is {dtype!r}\n  expected {', '.join(expected)}")
    return found


class _InMemory(MXDataIter):
    """Batches of two NumPy arrays; after the last example a batch goes on with the first ones.

    `last_batch` says what becomes of a last batch that is not full: 'pad' fills it with the first
    examples, 'round' too, and the next epoch begins after these; 'discard' leaves it out.
    """

    def __init__(self, data, label, batch_size, dtype, data_name, label_name, last_batch):
        if batch_size is None or not batch_size > 0:
            wrong = "not given" if batch_size is None else batch_size
            raise ArgumentError(
                f"{type(self).__name__}: batch_size is {wrong}\n  expected at least 1"
            )
        super().__init__(batch_size)
        dtype = np.dtype(dtype or "float32")
        self._data, self._label = data.astype(dtype, copy=False), label.astype(dtype, copy=False)
        self._last_batch = last_batch
        self.provide_data = [DataDesc(data_name, (batch_size, *data.shape[1:]), dtype.type)]
        self.provide_label = [DataDesc(label_name, (batch_size, *label.shape[1:]), dtype.type)]
        self._cursor = -batch_size

    def reset(self) -> None:
        """Begin again; with 'round' after the examples that filled the last batch."""
        ended = self._cursor >= len(self._data)
        used = self._cursor - len(self._data) + (0 if ended else self.batch_size)
        self._cursor = (used if self._last_batch == "round" and used > 0 else 0) - self.batch_size

    def iter_next(self) -> bool:
        if self._cursor < len(self._data):
            self._cursor += self.batch_size
        needed = self.batch_size if self._last_batch == "discard" else 1
        return self._cursor + needed <= len(self._data)

    def getindex(self) -> np.ndarray:
        return np.arange(self._cursor, self._cursor + self.batch_size) % len(self._data)

    def getdata(self) -> list[NDArray]:
        return [array(self._data[self.getindex()], dtype=self._data.dtype)]

    def getlabel(self) -> list[NDArray]:
        return [array(self._label[self.getindex()], dtype=self._label.dtype)]

    def getpad(self) -> int:
        return max(0, self._cursor + self.batch_size - len(self._data))


class CSVIter(_InMemory):
    """Batches of the rows of a file of numbers, separated by commas.

    Parameters
    ----------
    data_csv : path
    data_shape : tuple of int
        The shape of an example; a row has as many numbers as it has elements.
    label_csv : path, optional
        Without it, labels are 0.
    label_shape : tuple of int
    batch_size : int
        Must be given.
    round_batch : bool
        The first examples fill the last batch, and the next epoch begins after them; with False
        it begins with them.
    dtype : {'float32', 'float64', 'int32', 'int64'}, optional
    prefetch_buffer, ctx
        Ignored: all rows are in memory, and batches on the CPU. Of other arguments there is a
        warning.

    Raises
    ------
    MXNetError
        A file has other content than such rows; the message names the file and the row.
    ArgumentError
        `dtype` is another.
    ShapeError
        The two files have different numbers of rows.
    """

    def __init__(
        self,
        data_csv,
        data_shape,
        label_csv="NULL",
        label_shape=(1,),
        batch_size=None,
        round_batch=True,
        dtype=None,
        data_name="data",
        label_name="softmax_label",
        **others,
    ):
        _warn_of_unknown(CSVIter, others, "prefetch_buffer", "ctx")
        dtype = expect_dtype("CSVIter", dtype, "float32", "float64", "int32", "int64")
        data = _read_csv(data_csv, tuple(data_shape), dtype)
        if str(label_csv) == "NULL":
            label = np.zeros((len(data), *label_shape), dtype)
        else:
            label = _read_csv(label_csv, tuple(label_shape), dtype)
        if len(data) != len(label):
            raise ShapeError(
                f"CSVIter: {str(label_csv)!r} has {len(label)} rows\n"
                f"  expected {len(data)}, as {str(data_csv)!r} has"
            )
        if tuple(label_shape) == (1,):
            label = label.reshape(-1)
        last_batch = "round" if round_batch else "pad"
        super().__init__(data, label, batch_size, dtype, data_name, label_name, last_batch)


def _warn_of_unknown(iterator: type, given: dict, *ignored: str) -> None:
    """Warn of arguments that are not among those that are known to have no effect."""
    known = [n for n, p in signature(iterator).parameters.items() if p.kind != p.VAR_KEYWORD]
    for argument in given.keys() - {*ignored}:
        near = get_close_matches(argument, known, 1)
        warnings.warn(
            f"{iterator.__name__}: unknown argument {quoted(argument)} is ignored"
            + (f"; did you mean {near[0]!r}?" if near else ""),
            stacklevel=3,
        )


def _read_csv(path: str | PathLike, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    columns = math.prod(shape)
    try:
        with open_file(path, "r", encoding="utf-8") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # NumPy's for an empty file, refused below
            rows = np.loadtxt(_checked_lines(file, path, columns), delimiter=",", ndmin=2)
    except UnicodeDecodeError:
        raise MXNetError(
            f"CSVIter: {str(path)!r} is no text\n"
            f"  expected rows of {columns} numbers; unpack a compressed file first"
        ) from None
    except ValueError as error:
        if isinstance(error, MXNetError):
            raise
        raise MXNetError(
            f"CSVIter: {str(path)!r}: {error}\n  expected rows of {columns} numbers"
        ) from None
    if not rows.size or rows.shape[1] != columns:
        raise ShapeError(
            f"CSVIter: {str(path)!r} has {len(rows) if rows.size else 0} rows of "
            f"{rows.shape[1]} numbers\n  expected rows of {columns}, for shape {shape}"
        )
    if dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        wrong = rows[~((rows >= least) & (rows < most + 1.0))]
        if wrong.size:
            raise MXNetError(
                f"CSVIter: {str(path)!r} has {wrong[0]}\n  expected numbers from {least} to {most}"
            )
    with np.errstate(over="ignore"):  # too large a number becomes infinite, as in MXNet
        return rows.astype(dtype).reshape(-1, *shape)


def _checked_lines(file: Iterable[str], path: str | PathLike, columns: int) -> Iterator[str]:
    """The lines of a file; refuse one with too many numbers.

    NumPy would parse it first, which takes ten times its memory.
    """
    for row, line in enumerate(file, 1):
        found = line.count(",") + 1
        if found > columns and line.partition("#")[0].count(",") >= columns:
            raise ShapeError(
                f"CSVIter: {str(path)!r}: row {row} has {found} numbers\n"
                f"  expected rows of {columns}"
            )
        yield line


class MNISTIter(_InMemory):
    """Batches of images and labels from files in MNIST's idx format, as they are or gzipped.

    Pixels are divided by 256. Examples that do not fill a batch are left out.

    Parameters
    ----------
    image, label : path
    batch_size : int
    shuffle : bool
        Put the examples into another order, once.
    flat : bool
        Images are (n, rows * columns) instead of (n, 1, rows, columns).
    seed : int
        Of the order.
    silent : bool
        Log nothing.
    num_parts, part_index : int
        Read one of this number of equal parts of the file.
    dtype : str, optional
    prefetch_buffer, ctx, input_shape
        Ignored: all images are in memory, batches on the CPU, and `flat` says their shape. Of other
        arguments there is a warning.

    Raises
    ------
    MXNetError
        A file is not in this format, or cut off; the message names the file.
    ShapeError
        The two files have different numbers of examples.
    ArgumentError
        There is no part of this number.
    """

    def __init__(
        self,
        image="./train-images-idx3-ubyte",
        label="./train-labels-idx1-ubyte",
        batch_size=128,
        shuffle=True,
        flat=False,
        seed=0,
        silent=False,
        num_parts=1,
        part_index=0,
        dtype=None,
        data_name="data",
        label_name="softmax_label",
        **others,
    ):
        _warn_of_unknown(MNISTIter, others, "prefetch_buffer", "ctx", "input_shape")
        images, labels = read_idx(image, 3), read_idx(label, 1)
        count = len(images)
        if len(labels) != count:
            raise ShapeError(
                f"MNISTIter: {str(label)!r} has {len(labels)} labels\n"
                f"  expected {count}, as {str(image)!r} has images"
            )
        if not 0 <= part_index < num_parts:
            raise ArgumentError(
                f"MNISTIter: part_index is {part_index}\n  expected 0 to {num_parts - 1}"
            )
        part = slice(count * part_index // num_parts, count * (part_index + 1) // num_parts)
        images, labels = images[part], labels[part]
        if shuffle:
            order = np.random.RandomState(seed).permutation(len(images))
            images, labels = images[order], labels[order]
        images = images.reshape(len(images), -1) if flat else images[:, None]
        if not silent:
            log.info("MNISTIter: %d images of %s", len(images), images.shape[1:])
        pixels = images.astype(np.float32)
        pixels /= 256
        super().__init__(pixels, labels, batch_size, dtype, data_name, label_name, "discard")


def read_idx(path: str | PathLike, axes: int, what: str = "MNISTIter") -> np.ndarray:
    """The bytes of an idx file with this number of axes.

    Memory is allocated only for bytes that the file has, whatever sizes its header names. `what`
    reads it, for the error.
    """
    try:
        with open_file(path) as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            size = Path(path).stat().st_size
            if not packed:
                return _read_idx(file, f"{what}: {str(path)!r}", axes, size)
            with gzip.open(file) as unpacked:
                return _read_idx(unpacked, f"{what}: {str(path)!r}", axes, size * _MOST_COMPRESSION)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise MXNetError(f"{what}: {str(path)!r}: {error}\n  expected a complete file") from None


def _read_idx(file: BinaryIO, name: str, axes: int, most: int) -> np.ndarray:
    """The bytes of a file that has at most `most` of them."""
    head = file.read(4 + 4 * axes)
    if len(head) < 4 + 4 * axes or head[:4] != bytes((0, 0, 8, axes)):
        raise MXNetError(
            f"{name} begins with {head[:4].hex(' ') or 'nothing'}\n"
            f"  expected 00 00 08 {axes:02x} and {axes} sizes: bytes, {axes} axes"
        )
    shape = struct.unpack(f">{axes}I", head[4:])
    needed = math.prod(shape)
    limit = needed if needed <= most else 0
    body = bytearray()
    while len(body) <= limit and (chunk := file.read(min(_CHUNK_SIZE, limit - len(body) + 1))):
        body += chunk
    if len(body) != needed:
        found = f"{len(body)}"
        if len(body) > limit:
            found = f"more than {needed}" if needed <= most else f"{most} at most"
        raise MXNetError(
            f"{name} has {found} bytes after its header\n"
            f"  expected {needed}, for {' x '.join(map(str, shape))}"
        )
    return np.frombuffer(body, np.uint8).reshape(shape)
