"""Iterators over the images of a RecordIO file, decoded and changed in threads."""

from __future__ import annotations

import logging
import math
import os
import random
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from .. import _dtype, recordio
from .. import ndarray as nd
from .._files import images
from .._table.attributes import Floats, Shape, parser
from .._threads import use_one_thread
from ..base import ArgumentError, MXNetError, UnsupportedError, quoted
from ..context import cpu
from ..ndarray import NDArray
from ._desc import DataDesc, MXDataIter
from ._image_changes import CHANGES, changed, normalized
from ._record_source import Source, read_list
from .io import DataBatch, _BatchIter

__all__ = [
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
    "RecordIter",
]

log = logging.getLogger("layers.mxnet.iterators")

REQUIRED = object()
# The options of every iterator over image records, and their defaults.
COMMON = {
    "path_imglist": "",
    "path_imgrec": "",
    "path_imgidx": "",
    "label_width": 1,
    "data_shape": REQUIRED,
    "preprocess_threads": 4,
    "verbose": True,
    "num_parts": 1,
    "part_index": 0,
    "device_id": 0,
    "shuffle_chunk_size": 0,
    "shuffle_chunk_seed": 0,
    "seed_aug": None,
    "shuffle": False,
    "seed": 0,
    "batch_size": REQUIRED,
    "round_batch": True,
    "prefetch_buffer": 4,
    "ctx": "gpu",
    "dtype": None,
    "mean_img": "",
    **dict.fromkeys(("mean_r", "mean_g", "mean_b", "mean_a"), 0.0),
    "scale": 1.0,
    "data_name": "data",
    "inter_method": 1,
    "resize": -1,
}

# The types of those whose default does not tell it.
TYPES = {
    "data_shape": Shape,
    "batch_size": int,
    "seed_aug": int | None,
    "min_aspect_ratio": float | None,
}


def read_options(name: str, given: dict, defaults: dict[str, Any]) -> SimpleNamespace:
    """The options given, each of the type of its default, and the defaults of the others.

    Raises
    ------
    ArgumentError
        One is unknown, missing, or of another type.
    """
    if unknown := sorted(given.keys() - defaults.keys()):
        raise ArgumentError(
            f"{name}: there is no option {quoted(unknown[0])}\n  expected {', '.join(defaults)}"
        )
    values = {}
    for option, default in defaults.items():
        value = given.get(option, default)
        if value is REQUIRED:
            raise ArgumentError(f"{name}: {option} is not given\n  expected it")
        try:
            values[option] = _parser(option, default)(value)
        except (ValueError, TypeError) as error:
            expected = "a text or a path" if isinstance(error, TypeError) else error
            raise ArgumentError(
                f"{name}: {option} is {quoted(value)}\n  expected {expected}"
            ) from None
    return SimpleNamespace(**values)


def _parser(option: str, default: Any) -> Callable[[Any], Any]:
    """The function that reads an option, also of text, which old programs give."""
    if option == "dtype":  # which `_dtype` reads
        return lambda value: value
    if option in TYPES:
        return parser(TYPES[option])
    if isinstance(default, str):
        return os.fspath
    return parser(Floats if isinstance(default, tuple) else type(default))


@contextmanager
def named(record: str) -> Iterator[None]:
    """Begin the message of an error with the name of the record that it is about."""
    try:
        yield
    except MXNetError as error:
        raise type(error)(f"{record}: {error}") from None


class RecordIter(_BatchIter, MXDataIter):
    """The base of iterators over image records: an order of records, threads, batches.

    A subclass has `defaults`, and `_prepare`, which runs in threads.
    """

    defaults: dict[str, Any] = COMMON

    def __init__(self, **given):
        name = type(self).__name__
        self._options = o = read_options(name, given, self.defaults)
        if len(o.data_shape) != 3 or min(o.data_shape) < 1 or o.data_shape[0] not in (1, 3):
            raise ArgumentError(
                f"{name}: data_shape is {o.data_shape}\n"
                "  expected (channels, height, width) with 1 or 3 channels"
            )
        if o.batch_size < 1 or o.preprocess_threads < 1:
            raise ArgumentError(
                f"{name}: batch_size is {o.batch_size}, preprocess_threads "
                f"{o.preprocess_threads}\n  expected at least 1"
            )
        super().__init__(o.batch_size)
        self._type = _dtype.to_torch("float32" if o.dtype in (None, "None") else o.dtype)
        self._source = Source(o.path_imgrec, o.path_imgidx, o.num_parts, o.part_index, name)
        listed = read_list(o.path_imglist) if o.path_imglist else {}
        self._labels = {key: label for key, (label, _) in listed.items()}
        self._setup()
        if o.verbose:
            log.info("%s: %s, %d threads decode", name, o.path_imgrec, o.preprocess_threads)
        self.provide_data = [
            DataDesc(o.data_name, (o.batch_size, *o.data_shape), _dtype.to_numpy(self._type))
        ]
        self.provide_label = [DataDesc(o.label_name, (o.batch_size, *self.label_shape()))]
        self._threads = ThreadPoolExecutor(o.preprocess_threads, "decode", use_one_thread)
        self._epoch, self._used = 0, 0
        self._begin()

    def __del__(self):
        if hasattr(self, "_threads"):
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _setup(self) -> None:
        """What is prepared once, from the options."""

    def label_shape(self) -> tuple[int, ...]:
        """The shape of a label in a batch."""
        width = self._options.label_width
        return (width,) if width > 1 else ()

    def _prepare(self, record: bytes, name: str, draw: random.Random, data, label) -> int:
        """Write the image and the label of a record into arrays; return its id."""
        raise NotImplementedError(f"{type(self).__name__}._prepare")

    # Epochs

    def _order(self, epoch: int) -> np.ndarray:
        count = len(self._source)
        if not self._options.shuffle:
            return np.arange(count)
        return np.random.RandomState((self._options.seed + epoch) % 2**32).permutation(count)

    def _batches(self) -> Iterator[tuple[np.ndarray, int]]:
        """The numbers of the records of each batch, and how many only fill the last.

        Those are the first of the next epoch, which begins after them where `round_batch` is.
        """
        size, epoch = self.batch_size, self._epoch
        order = self._order(epoch)[self._used :]
        self._used = 0
        for begin in range(0, len(order), size):
            chosen = order[begin : begin + size]
            pad = size - len(chosen)
            if pad:
                more = self._order(epoch + 1 if self._options.round_batch else epoch)
                chosen = np.concatenate([chosen, np.resize(more, pad)])
                # A batch of more than an epoch's records leaves the rest of the last round.
                self._used = pad % len(more) if self._options.round_batch else 0
            yield chosen, pad

    def _begin(self) -> None:
        self._to_come = self._batches()
        self._pending: deque[tuple[Future, ...]] = deque()
        for _ in range(max(1, self._options.prefetch_buffer)):
            self._submit()

    def _submit(self) -> None:
        """Have the next batch made, if there is one."""
        found = next(self._to_come, None)
        if found is None:
            return
        numbers, pad = found
        o = self._options
        data = torch.empty((self.batch_size, *o.data_shape), dtype=self._type)
        label = np.zeros((self.batch_size, *self.label_shape()), np.float32)
        jobs = [
            self._threads.submit(self._job, int(number), at, self._epoch, data[at], label)
            for at, number in enumerate(numbers)
        ]
        self._pending.append((data, label, jobs, pad))

    def _job(self, number: int, at: int, epoch: int, data: torch.Tensor, label: np.ndarray) -> int:
        o = self._options
        seed = o.seed if o.seed_aug is None else o.seed_aug
        # One for each record: which thread takes it decides nothing.
        draw = random.Random((int(seed) * 1_000_003 + epoch) * 1_000_003 + number)
        record = self._source.read(number)
        return self._prepare(record, self._source.name(number), draw, data, label[at : at + 1])

    def reset(self) -> None:
        """Begin the next epoch; after the records that filled the last batch, if it was reached."""
        for _, _, jobs, _ in self._pending:
            for job in jobs:
                job.cancel()
        reached = not self._pending and next(self._to_come, None) is None
        self._used = self._used if reached else 0
        self._epoch += 1
        self._begin()

    def iter_next(self) -> bool:
        """Go on to the next batch; whether there is one.

        Raises
        ------
        MXNetError
            A record or an image of it is damaged; the message names it.
        """
        if not self._pending:
            return False
        data, label, jobs, pad = self._pending.popleft()
        self._submit()  # before a damaged record can raise: the epoch goes on after it
        index = np.array([job.result() for job in jobs], np.uint64)
        arrays = [NDArray(data, cpu())], [nd.array(label)]
        self.current_batch = DataBatch(*arrays, pad=pad, index=index)
        return True

    # Records

    def unpacked(self, record: bytes, name: str) -> tuple[int, np.ndarray, torch.Tensor]:
        """The id, the label as it is stored, and the decoded image of a record.

        Raises
        ------
        MXNetError
            The record or its image is damaged, or its id is not in the list.
        """
        with named(name):
            header, data = recordio.unpack(record)
        label = np.atleast_1d(header.label)
        if self._labels:
            if header.id not in self._labels:
                raise MXNetError(
                    f"{name} has id {header.id}\n"
                    f"  expected one of the {len(self._labels)} keys of the list"
                )
            label = self._labels[header.id]
        pixels = images.decode(data, name, gray=self._options.data_shape[0] == 1)
        return header.id, label, torch.from_numpy(pixels)


class ImageRecordIter(RecordIter):
    """Batches of the images of a RecordIO file, decoded and changed in threads.

    Parameters
    ----------
    path_imgrec : path
        The file, as `im2rec` makes it.
    data_shape : (int, int, int)
        (channels, height, width) of an image in a batch; one channel is gray.
    batch_size : int
    path_imgidx : path
        Its index; with it `num_parts` shares records, without it bytes.
    path_imglist : path
        A list with other labels, by the ids of records.
    label_width : int
        Numbers in a label.
    preprocess_threads, prefetch_buffer : int
        How many threads decode, and how many batches ahead.
    num_parts, part_index : int
        Of how many parts of the file to read which.
    shuffle, seed
        Whether each epoch has another order, and by which seed.
    round_batch : bool
        The records that fill the last batch are left out of the next epoch, which begins after
        them.
    dtype : str
        'float32' unless given; 'uint8' has pixels as they are.
    resize : int
        Resize the shorter side to it first.
    rand_crop, random_resized_crop : bool
        Crop at random; parts of `min_random_area` to `max_random_area` of the image, with
        proportions from `min_aspect_ratio` to `max_aspect_ratio`. Else the middle is taken.
    min_crop_size, max_crop_size : int
        A square part of a size between them.
    rotate, max_rotate_angle, max_shear_ratio, max_aspect_ratio, min_random_scale, max_random_scale
        Rotate (degrees), shear, stretch and scale the image about its middle.
    pad, fill_value : int
        A border; and what is there, and around what is rotated.
    brightness, contrast, saturation, pca_noise : float
        How far to change colours. `random_h`, `random_l` and `random_s` move hue, lightness and
        saturation.
    inter_method : int
        How to resize: 0 to 4 as in `image.imresize`, 9 by the sizes, 10 drawn.
    mirror, rand_mirror : bool
        Exchange left and right, of all images or of every second.
    mean_r, mean_g, mean_b, std_r, std_g, std_b, scale : float
        (x - mean) scale / std.
    mean_img : path
        A file of a mean image, to subtract; it is made where there is none.
    max_random_contrast, max_random_illumination : float
        A factor around 1 and a summand around 0 of what has the mean subtracted.
    seed_aug : int
        The seed of what is drawn for images; by default `seed`.
    verbose : bool
        Log what is read.
    ctx, device_id, shuffle_chunk_size, shuffle_chunk_seed
        Ignored: batches are on the CPU, and `shuffle` draws an order of all records.
    mean_a, std_a
        Ignored: images have no fourth channel here.

    Raises
    ------
    ArgumentError
        An option is unknown, missing, or does not fit.
    MXNetError
        The file, its index or the list is damaged.
    """

    defaults = COMMON | CHANGES | {
        "aug_seq": "aug_default",
        "mirror": False,
        "rand_mirror": False,
        **dict.fromkeys(("std_r", "std_g", "std_b", "std_a"), 1.0),
        "max_random_contrast": 0.0,
        "max_random_illumination": 0.0,
        "label_name": "softmax_label",
    }  # fmt: skip
    type_name = None  # of those whose name says the dtype

    def __init__(self, **given):
        super().__init__(**({"dtype": self.type_name} if self.type_name else {}) | given)

    def _setup(self) -> None:
        o = self._options
        if o.aug_seq != "aug_default":
            raise UnsupportedError(
                f"{type(self).__name__}: aug_seq is {o.aug_seq!r}\n  expected 'aug_default'"
            )
        set_normalization(o)
        if o.mean_img:
            o.mean = self._mean_image(o.mean_img)

    def _prepare(self, record: bytes, name: str, draw: random.Random, data, label) -> int:
        number, stored, image = self.unpacked(record, name)
        if stored.size != label.size:
            raise ArgumentError(
                f"{name} has a label of {stored.size} numbers\n"
                f"  expected {label.size}, as label_width says"
            )
        label[...] = stored.reshape(label.shape)
        with named(name):
            image = changed(image, self._options, draw)
        normalized(image, self._options, draw, data)
        return number

    def _mean_image(self, path: str) -> torch.Tensor:
        """The mean of all images, from a file; it is made where there is none."""
        shape = self._options.data_shape
        if not os.path.exists(path):
            total = torch.zeros(shape, dtype=torch.float64)
            for number in range(len(self._source)):
                draw, name = random.Random(number), self._source.name(number)
                image = self.unpacked(self._source.read(number), name)[2]
                with named(name):
                    total += changed(image, self._options, draw).permute(2, 0, 1)
            mean = (total / len(self._source)).float()
            nd.save(path, {"mean_img": NDArray(mean, cpu())})
        found = nd.load(path)
        found = [*found.values()] if isinstance(found, dict) else found
        if len(found) != 1:
            raise ArgumentError(f"mean_img {path!r} has {len(found)} arrays\n  expected one")
        [mean] = found
        if mean.shape != shape:
            raise ArgumentError(f"mean_img {path!r} is {mean.shape}\n  expected {shape}")
        return mean._tensor


def set_normalization(o: SimpleNamespace) -> None:
    """Set the mean, and scale / std, of each channel; None where they change nothing."""
    count = o.data_shape[0]
    mean = [o.mean_r, o.mean_g, o.mean_b][:count]
    std = [o.std_r, o.std_g, o.std_b][:count]
    if not all(math.isfinite(v) for v in (*mean, *std, o.scale)) or 0 in std:
        raise ArgumentError(
            f"mean is {mean}, std {std}, scale {o.scale}\n"
            "  expected finite numbers, and no std of 0"
        )
    factor = [o.scale / v for v in std]
    o.mean = torch.tensor(mean).reshape(-1, 1, 1) if any(mean) else None
    o.factor = torch.tensor(factor).reshape(-1, 1, 1) if factor != [1.0] * count else None


class ImageRecordIter_v1(ImageRecordIter):
    """`ImageRecordIter`, by its older name."""


class ImageRecordUInt8Iter(ImageRecordIter):
    """`ImageRecordIter` of dtype uint8: pixels as they are."""

    type_name = "uint8"


class ImageRecordUInt8Iter_v1(ImageRecordUInt8Iter):
    """`ImageRecordUInt8Iter`, by its older name."""


class ImageRecordInt8Iter(ImageRecordIter):
    """`ImageRecordIter` of dtype int8; what is more than it has is its largest."""

    type_name = "int8"
