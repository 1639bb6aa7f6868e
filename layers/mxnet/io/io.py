"""Iterators over arrays, over other iterators, and over local files."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from .._threads import use_one_thread
from ..base import ArgumentError, ShapeError, UnsupportedError
from ..ndarray import NDArray, array
from ..ndarray.sparse import CSRNDArray
from ._desc import DataBatch, DataDesc, DataIter, MXDataIter
from ._files import CSVIter, MNISTIter
from ._libsvm import LibSVMIter, rows_of_matrix

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "LibSVMIter",
    "MNISTIter",
    "MXDataIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]


class NDArrayIter(DataIter):
    """Batches of arrays in memory.

    Parameters
    ----------
    data, label : NDArray, numpy.ndarray, or list or dict of them
        The first axis is that of the examples. NumPy arrays become float32. Batches of csr arrays
        are csr. In a list or dict may also be lists of numbers, and csr matrices of SciPy's.
    batch_size : int
    shuffle : bool
        Draw another order for each epoch, by `numpy.random`.
    last_batch_handle : {'pad', 'discard', 'roll_over'}
        What to do with the last examples, where they do not fill a batch: fill it up with the first
        ones, leave them out, or put them before the next epoch's.
    data_name, label_name : str
        Names of single arrays.
    layout : str

    Raises
    ------
    ArgumentError, ShapeError
        A value is no array, or the arrays have different numbers of examples.
    UnsupportedError
        An array is csr, and `last_batch_handle` not 'discard'.
    """

    def __init__(
        self,
        data,
        label=None,
        batch_size=1,
        shuffle=False,
        last_batch_handle="pad",
        data_name="data",
        label_name="softmax_label",
        layout="NCHW",
    ):
        super().__init__(batch_size)
        last_batch_handle = "pad" if last_batch_handle is None else last_batch_handle
        if last_batch_handle not in ("pad", "discard", "roll_over"):
            raise ArgumentError(
                f"NDArrayIter: last_batch_handle is {last_batch_handle!r}\n"
                "  expected 'pad', 'discard' or 'roll_over'"
            )
        self.data = _named_arrays(data, data_name)
        self.label = _named_arrays(label, label_name) if label is not None else []
        if not self.data:
            raise ArgumentError("NDArrayIter: there is no data\n  expected at least one array")
        stypes = {values.stype for _, values in self.data + self.label}
        if "csr" in stypes and last_batch_handle != "discard":
            raise UnsupportedError(
                f"NDArrayIter: last_batch_handle is {last_batch_handle!r}, and an array csr\n"
                "  expected 'discard'"
            )
        self.data_list = [values for _, values in self.data + self.label]
        self.num_source = len(self.data_list)
        self.num_data = self.data[0][1].shape[0]
        for name, values in self.data + self.label:
            if values.shape[0] != self.num_data:
                raise ShapeError(
                    f"NDArrayIter: {name!r} has {values.shape[0]} examples\n"
                    f"  expected {self.num_data}, as {self.data[0][0]!r} has"
                )
        if batch_size < 1 or (batch_size > self.num_data and last_batch_handle != "pad"):
            raise ArgumentError(
                f"NDArrayIter: batch_size is {batch_size}\n  expected 1 to {self.num_data}"
            )
        self.shuffle = shuffle
        self.last_batch_handle = last_batch_handle
        self.layout = layout
        self.idx = np.arange(self.num_data)
        self._examples = np.arange(self.num_data)
        self._leftover = self.idx[:0]  # examples of the last epoch, put before this one's
        self._start_epoch()

    def _start_epoch(self) -> None:
        if self.shuffle:  # as in MXNet: both idx and the last epoch's order are shuffled again
            np.random.shuffle(self.idx)
            self._examples = self._examples[self.idx]
        self._order = np.concatenate([self._leftover, self._examples])
        self.cursor = -self.batch_size - len(self._leftover)

    def _descs(self, named: list[tuple[str, NDArray]]) -> list[DataDesc]:
        return [
            DataDesc(name, (self.batch_size, *values.shape[1:]), values.dtype, self.layout)
            for name, values in named
        ]

    @property
    def provide_data(self) -> list[DataDesc]:
        """Name and shape of each array of data."""
        return self._descs(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Name and shape of each array of labels."""
        return self._descs(self.label)

    def reset(self) -> None:
        """Begin a new epoch; with 'roll_over' it begins with the examples left over."""
        left = self.num_data - self.cursor
        rolls = self.last_batch_handle == "roll_over" and 0 < left < self.batch_size
        self._leftover = self._order[-left:] if rolls else self.idx[:0]
        self._start_epoch()

    def hard_reset(self) -> None:
        """Begin a new epoch without the examples left over."""
        self._leftover = self.idx[:0]
        self._start_epoch()

    def iter_next(self) -> bool:
        self.cursor += self.batch_size
        full_only = self.last_batch_handle != "pad"
        return self.cursor + (self.batch_size if full_only else 1) <= self.num_data

    def _batch(self, named: list[tuple[str, NDArray]]) -> list[NDArray]:
        if self.cursor + len(self._leftover) < 0:
            raise ArgumentError("NDArrayIter: there is no batch yet\n  expected iter_next() before")
        begin = self.cursor + len(self._order) - self.num_data
        chosen = self._order[begin : begin + self.batch_size]
        missing = self.batch_size - len(chosen)
        if not (missing or self.shuffle or len(self._leftover)):
            return [values[begin : begin + self.batch_size].copy() for _, values in named]
        if missing:
            chosen = np.concatenate([chosen, np.resize(self._examples, missing)])
        return [_chosen(values, chosen) for _, values in named]

    def getdata(self) -> list[NDArray]:
        return self._batch(self.data)

    def getlabel(self) -> list[NDArray]:
        return self._batch(self.label)

    def getpad(self) -> int:
        if self.last_batch_handle == "pad":
            return max(0, self.cursor + self.batch_size - self.num_data)
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0:
            return -self.cursor
        return 0


def _chosen(values: NDArray, index: np.ndarray) -> NDArray:
    if isinstance(values, CSRNDArray):
        return rows_of_matrix(values, index)
    return values[array(index, values.context, np.int64)]


def _named_arrays(given, name: str) -> list[tuple[str, NDArray]]:
    """Arrays with their names: those of a list are numbered, those of a dict sorted."""
    if isinstance(given, (NDArray, np.ndarray)):
        pairs = [(name, given)]
    elif isinstance(given, (list, tuple)):
        single = len(given) == 1
        pairs = [(name if single else f"_{i}_{name}", a) for i, a in enumerate(given)]
    elif isinstance(given, dict):
        pairs = sorted(given.items())
    else:
        raise ArgumentError(
            f"NDArrayIter: {name} is of type {type(given).__name__}\n"
            "  expected an array, or a list or dict of them"
        )
    rows = []
    for key, values in pairs:
        if not isinstance(values, NDArray):
            values = _as_array(key, values)
        if values.stype == "row_sparse":
            values = values.tostype("default")
        rows.append((key, values))
    return rows


def _as_array(key: str, values) -> NDArray:
    if hasattr(values, "__array__"):
        return array(np.asarray(values))
    if isinstance(values, (list, tuple)) or hasattr(values, "tocsr"):  # or a matrix of SciPy's
        return array(values)
    raise ArgumentError(
        f"NDArrayIter: {key!r} is of type {type(values).__name__}\n"
        "  expected an NDArray or a NumPy array"
    )


class _BatchIter(DataIter):
    """An iterator whose `iter_next` sets `current_batch`, a whole batch of another iterator."""

    current_batch: DataBatch | None = None

    def next(self) -> DataBatch:
        if not self.iter_next():
            raise StopIteration
        return self.current_batch

    def getdata(self) -> list[NDArray]:
        return self.current_batch.data

    def getlabel(self) -> list[NDArray]:
        return self.current_batch.label

    def getindex(self):
        return self.current_batch.index

    def getpad(self) -> int:
        return self.current_batch.pad


class ResizeIter(_BatchIter):
    """An iterator with another number of batches in an epoch; at its end it begins again.

    Parameters
    ----------
    data_iter : DataIter
    size : int
        The number of batches in an epoch.
    reset_internal : bool
        Whether `reset` also resets `data_iter`.
    """

    def __init__(self, data_iter, size: int, reset_internal: bool = True):
        super().__init__(data_iter.batch_size)
        self.data_iter, self.size, self.reset_internal = data_iter, size, reset_internal
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key
        self.cur = 0

    def reset(self) -> None:
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        if self.cur == self.size:
            return False
        try:
            self.current_batch = self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            self.current_batch = self.data_iter.next()
        self.cur += 1
        return True


class PrefetchingIter(_BatchIter):
    """Iterators side by side, whose next batches are made in threads while the current one is used.

    Parameters
    ----------
    iters : DataIter or list of DataIter
        Each with the same number of batches.
    rename_data, rename_label : list of dict, optional
        For each iterator, new names by the old ones.

    Raises
    ------
    ArgumentError
        There are no iterators.
    """

    def __init__(self, iters, rename_data=None, rename_label=None):
        self.iters = iters if isinstance(iters, list) else [iters]
        if not self.iters:
            raise ArgumentError("PrefetchingIter: there are no iterators\n  expected at least one")
        self.n_iter = len(self.iters)
        self.rename_data, self.rename_label = rename_data, rename_label
        super().__init__(self.provide_data[0].shape[0])
        self._threads = ThreadPoolExecutor(self.n_iter, "prefetch", use_one_thread)
        self._request_batches()

    def __del__(self):
        if hasattr(self, "_threads"):
            self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def provide_data(self) -> list[DataDesc]:
        """Name and shape of each array of data."""
        return self._renamed("provide_data", self.rename_data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Name and shape of each array of labels."""
        return self._renamed("provide_label", self.rename_label)

    def _renamed(self, what: str, names: list[dict] | None) -> list[DataDesc]:
        found = []
        for number, source in enumerate(self.iters):
            for given in getattr(source, what):
                desc = given if isinstance(given, DataDesc) else DataDesc(*given)
                name = names[number].get(desc.name, desc.name) if names else desc.name
                found.append(DataDesc(name, desc.shape, desc.dtype, desc.layout))
        return found

    def _request_batches(self) -> None:
        self._futures: list[Future] = [self._threads.submit(_next_or_none, i) for i in self.iters]

    def reset(self) -> None:
        for future in self._futures:
            future.exception()  # wait: the thread uses the iterator
        for source in self.iters:
            source.reset()
        self._request_batches()

    def iter_next(self) -> bool:
        """Go on to the next batch; return whether there is one.

        Raises
        ------
        ArgumentError
            The iterators end at different batches, or pad them differently.
        """
        batches = [future.result() for future in self._futures]
        if None in batches:
            if any(batches):
                ended = batches.index(None)
                raise ArgumentError(
                    f"PrefetchingIter: iterator {ended} has ended before the others\n"
                    "  expected the same number of batches from each"
                )
            return False
        if len({batch.pad for batch in batches}) > 1:
            raise ArgumentError(
                f"PrefetchingIter: the iterators pad {[batch.pad for batch in batches]} examples\n"
                "  expected the same number from each"
            )
        first = batches[0]
        self.current_batch = DataBatch(
            [a for batch in batches for a in batch.data],
            [a for batch in batches for a in batch.label or ()],
            first.pad,
            first.index,
            first.bucket_key,
            provide_data=self.provide_data if first.provide_data is None else None,
            provide_label=self.provide_label if first.provide_label is None else None,
        )
        self._request_batches()
        return True


def _next_or_none(source: DataIter) -> DataBatch | None:
    """The next batch, None at the end: a future cannot hold StopIteration."""
    try:
        return source.next()
    except StopIteration:
        return None
