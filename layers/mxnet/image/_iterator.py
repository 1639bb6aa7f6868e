"""Batches of images from a RecordIO file, or from files in a list."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np

from .. import ndarray as nd
from .. import recordio
from ..base import ArgumentError, MXNetError, ShapeError, legible, numeric_types
from ..io import DataBatch, DataDesc, DataIter
from ..io._record_source import path_below, read_list
from ..ndarray import NDArray
from ._augmenters import CreateAugmenter
from ._functions import imdecode

__all__ = ["ImageIter"]

_LABEL_TYPES = ("int32", "float32", "int64", "float64")


class ImageIter(DataIter):
    """Batches of images, each changed by augmenters.

    The images are those of a RecordIO file, or files that a list names. A subclass may override
    `next_sample`, `read_image`, `imdecode`, `check_valid_image`, `augmentation_transform` and
    `postprocess_data`.

    Parameters
    ----------
    batch_size : int
    data_shape : (3, int, int)
        (channels, height, width)
    label_width : int
        Numbers in a label.
    path_imgrec, path_imgidx : path, optional
        A RecordIO file, and its index, which an order and parts need.
    path_imglist : path, optional
        A text file: in each line a key, one or more numbers of the label, and the path of an image,
        with tabs between. Together with a RecordIO file, its labels are taken.
    path_root : path, optional
        The folder of the images of a list. Those of `path_imglist` have to be below it.
    shuffle : bool
        Draw another order for each epoch, by `random`.
    part_index, num_parts : int
        Of how many parts of the images to take which.
    aug_list : list of Augmenter, optional
        By default what `CreateAugmenter` makes of `kwargs`.
    imglist : list, optional
        In place of `path_imglist`: ``[label, path]`` or ``[number, ..., path]`` for each image.
    data_name, label_name : str
    dtype : {'float32', 'float64', 'int32', 'int64'}
        Of the labels of a list.
    last_batch_handle : {'pad', 'discard', 'roll_over'}
        What becomes of images that do not fill a batch: they are filled up with the first ones,
        left out, or put before the next epoch.

    Raises
    ------
    ArgumentError
        There are no images, or something else is asked for than is here.
    MXNetError
        A line of the list is no such line; the message names the file and the line.
    """

    def __init__(
        self,
        batch_size,
        data_shape,
        label_width=1,
        path_imgrec=None,
        path_imglist=None,
        path_root=None,
        path_imgidx=None,
        shuffle=False,
        part_index=0,
        num_parts=1,
        aug_list=None,
        imglist=None,
        data_name="data",
        label_name="softmax_label",
        dtype="float32",
        last_batch_handle="pad",
        **kwargs,
    ):
        super().__init__(batch_size)
        if last_batch_handle not in ("pad", "discard", "roll_over"):
            raise self._wrong(
                f"last_batch_handle is {last_batch_handle!r}", "'pad', 'discard' or 'roll_over'"
            )
        self.check_data_shape(data_shape)
        self.path_root, self.shuffle = path_root, shuffle
        self.data_shape, self.label_width = tuple(data_shape), label_width
        self.last_batch_handle = last_batch_handle
        self._has_paths_of_file = bool(path_imglist)
        self.imglist = self._listed(path_imglist, imglist, dtype)
        self.imgrec, self.imgidx = self._records(path_imgrec, path_imgidx)
        self.seq = self._part(part_index, num_parts)
        self.num_image = None if self.seq is None else len(self.seq)
        self.provide_data = [DataDesc(data_name, (batch_size, *self.data_shape))]
        labels = (batch_size, label_width) if label_width > 1 else (batch_size,)
        self.provide_label = [DataDesc(label_name, labels)]
        self.auglist = CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.cur = 0
        self._ended = False
        self._rolled: tuple[NDArray, np.ndarray, int] | None = None
        self.reset()

    def _wrong(self, found: str, expected: str) -> ArgumentError:
        return ArgumentError(f"{type(self).__name__}: {found}\n  expected {expected}")

    def _listed(self, path, items, dtype: str) -> dict | None:
        """The labels and paths of a list by their keys; None where there is no list."""
        if dtype not in _LABEL_TYPES:
            raise self._wrong(f"dtype is {dtype!r}", f"one of {', '.join(_LABEL_TYPES)}")
        if path:
            return {
                key: (label.astype(dtype), image) for key, (label, image) in read_list(path).items()
            }
        if isinstance(items, list):
            return {str(i): _labelled(item, dtype) for i, item in enumerate(items, 1)}
        return None

    def _records(self, path, index) -> tuple[recordio.MXRecordIO | None, list | None]:
        """The RecordIO file, and the keys of its index; None for what is not there."""
        if not path:
            return None, None
        if not index:
            return recordio.MXRecordIO(path, "r"), None
        records = recordio.MXIndexedRecordIO(index, path, "r")
        return records, list(records.keys)

    def _part(self, number: int, parts: int) -> list | None:
        """The keys of the images, or of a part of them; None for records without an index."""
        if self.imgrec is None and self.imglist is None:
            raise self._wrong("there are no images", "path_imgrec, path_imglist or imglist")
        keys = list(self.imglist) if self.imgrec is None else self.imgidx
        if keys is None and (self.shuffle or parts > 1):
            raise self._wrong(
                f"shuffle is {self.shuffle}, num_parts is {parts}, and there is no index",
                "path_imgidx with them",
            )
        if parts <= 1:
            return keys
        if not 0 <= number < parts:
            raise self._wrong(f"part_index is {number}", f"0 to {parts - 1}")
        count = len(keys) // parts
        return keys[number * count : (number + 1) * count]

    def reset(self) -> None:
        """Begin anew; with 'roll_over' by the images that were left."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self._rolled is None or self.last_batch_handle != "roll_over":
            self._rewind()

    def hard_reset(self) -> None:
        """Begin anew, and forget what was left."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        self._rolled = None
        self._rewind()

    def _rewind(self) -> None:
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0
        self._ended = False

    def next_sample(self) -> tuple[Any, bytes]:
        """The label and the bytes of the next image; StopIteration at the end.

        Raises
        ------
        StopIteration
            There are no more in this epoch.
        """
        if self._ended:
            raise StopIteration
        if self.seq is None:
            record = self.imgrec.read()
            if record is None:
                if self.last_batch_handle != "discard":
                    self.imgrec.reset()
                raise StopIteration
            self.cur += 1
            header, image = self._unpacked(record)
            return header.label, image
        if self.cur >= self.num_image:
            if self.last_batch_handle != "discard":
                self.cur = 0
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            label, path = self.imglist[key]
            return _as_ndarray(label), self.read_image(path)
        header, image = self._unpacked(self.imgrec.read_idx(key))
        return header.label if self.imglist is None else _as_ndarray(self.imglist[key][0]), image

    def _unpacked(self, record: bytes) -> tuple[recordio.IRHeader, bytes]:
        with self._broken_record():
            return recordio.unpack(record)

    @contextmanager
    def _broken_record(self) -> Iterator[None]:
        """Begin the message of an error with which record it is about."""
        try:
            yield
        except MXNetError as error:
            raise type(error)(f"Broken record {self._located()}, {error}") from None

    def next(self) -> DataBatch:
        """The next batch.

        Raises
        ------
        StopIteration
            The epoch has ended.
        """
        rolled, self._rolled = self._rolled, None
        if rolled is None:
            data, label = nd.zeros(self.provide_data[0].shape), self._empty_labels()
            count = self._fill(data, label, 0)
            if not count:
                raise StopIteration
        else:
            data, label, count = rolled
        pad = self.batch_size - count
        if pad and self.last_batch_handle == "discard":
            raise StopIteration
        if pad and self.last_batch_handle == "roll_over" and rolled is None:
            self._rolled = data, label, count
            raise StopIteration
        while count < self.batch_size:
            found = self._fill(data, label, count)
            if found == count:
                break
            count = found
        self._ended = bool(pad) and self.last_batch_handle == "pad"
        return DataBatch([data], [nd.array(label)], pad=pad)

    def _empty_labels(self) -> np.ndarray:
        return np.zeros(self.provide_label[0].shape, np.float32)

    def _fill(self, data: NDArray, label: np.ndarray, count: int) -> int:
        """Add images to a batch of `count` until it is full or they end; return its count then."""
        while count < self.batch_size:
            try:
                given, encoded = self.next_sample()
            except StopIteration:
                break
            image = self.imdecode(encoded)
            try:
                self._check(image)
                self._put(data, label, count, image, given)
            except InvalidImageError as error:
                logging.debug("Invalid image, skipping:  %s", error)
                continue
            count += 1
        return count

    def _check(self, image: NDArray) -> None:
        """Raise InvalidImageError where `check_valid_image`, which may be a user's, raises."""
        try:
            self.check_valid_image([image])
        except RuntimeError as error:
            raise InvalidImageError(str(error)) from error

    def _put(self, data: NDArray, label: np.ndarray, at: int, image: NDArray, given: Any) -> None:
        """Put one image and its label into a batch."""
        made = self.postprocess_data(self.augmentation_transform(image))
        if made.shape[1:] != self.data_shape[1:]:
            raise ShapeError(
                f"{type(self).__name__}: {self._located()} is {made.shape} after the augmenters\n"
                f"  expected {self.data_shape}, as data_shape says"
            )
        data[at] = made
        values = given.asnumpy() if isinstance(given, NDArray) else np.asarray(given)
        if values.size != label[at].size:
            raise self._wrong(
                f"{self._located()} has a label of {values.size} numbers",
                f"{label[at].size}; label_width says how many",
            )
        label[at] = values.reshape(label[at].shape)

    def check_data_shape(self, data_shape) -> None:
        """Check that images can have a shape.

        Raises
        ------
        ArgumentError
            They cannot.
        """
        if len(data_shape) != 3:
            raise self._wrong(
                f"data_shape is {data_shape}", "three numbers: channels, height, width"
            )
        if data_shape[0] != 3:
            raise self._wrong(f"data_shape is {data_shape}", "3 channels")

    def check_valid_image(self, data: list[NDArray]) -> None:
        """Raise a RuntimeError to leave an image out; of a subclass.

        Raises
        ------
        InvalidImageError
            It has no pixels.
        """
        if len(data[0].shape) == 0:
            raise InvalidImageError("Data shape is wrong")

    def imdecode(self, s: bytes) -> NDArray:
        """Decode an image.

        Raises
        ------
        MXNetError
            It cannot be decoded; the message says which image it is.
        """
        try:
            return imdecode(s)
        except MXNetError as error:
            raise type(error)(f"Broken image {self._located()}, {error}") from None

    def _located(self) -> str:
        """What to call the image that was read last."""
        if self.seq is None:
            return f"index: {self.cur - 1} of {self.imgrec.uri!r}"
        key = self.seq[self.cur - 1]
        if self.imglist is not None:
            return f"filename: {legible(self.imglist[key][1])}"
        return f"index: {key} of {self.imgrec.uri!r}"

    def read_image(self, fname: str | PathLike) -> bytes:
        """The bytes of the file of an image.

        Raises
        ------
        ArgumentError
            A list names it, and its path leads out of `path_root`.
        """
        if self._has_paths_of_file and self.path_root:
            return path_below(self.path_root, os.fspath(fname)).read_bytes()
        with open(os.path.join(self.path_root or "", fname), "rb") as file:
            return file.read()

    def augmentation_transform(self, data: NDArray) -> NDArray:
        """Apply all augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: NDArray) -> NDArray:
        """(height, width, channels) as (channels, height, width)."""
        return nd.transpose(datum, axes=(2, 0, 1))


class InvalidImageError(MXNetError):
    """An image that is left out."""


def _as_ndarray(label: np.ndarray) -> NDArray:
    """A label of a list as an NDArray; the list keeps NumPy's arrays, which take less memory."""
    return nd.array(label, dtype=label.dtype)


def _labelled(item, dtype: str) -> tuple[np.ndarray, str]:
    """The label and the path of an item of a list."""
    *label, path = item
    if len(label) == 1 and not isinstance(label[0], numeric_types):
        label = label[0]
    label = label.asnumpy() if isinstance(label, NDArray) else label
    return np.array(label, dtype), path
