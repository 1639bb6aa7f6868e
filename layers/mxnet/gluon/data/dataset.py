"""Data sets: what has a length, and a sample at each index."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...base import ArgumentError, ShapeError
from ...ndarray import NDArray
from .sampler import FilterSampler, Sampler, SequentialSampler

__all__ = ["ArrayDataset", "Dataset", "RecordFileDataset", "SimpleDataset"]


class Dataset:
    """The base of data sets. A data set of one's own defines ``__getitem__`` and ``__len__``.

    Lists and arrays can stand in place of data sets; they lack the methods below.
    """

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def filter(self, fn: Callable[[Any], bool]) -> Dataset:
        """The samples for which `fn` is true; it is asked at once, and once for each sample."""
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """One of `num_shards` parts of samples that lie together.

        The first ones have one sample more where the samples do not divide evenly.

        Raises
        ------
        ArgumentError
            There is no such part.
        """
        if not 0 <= index < num_shards:
            raise ArgumentError(
                f"shard: index is {index}, num_shards is {num_shards}\n"
                "  expected 0 <= index < num_shards"
            )
        each, more = divmod(len(self), num_shards)
        start = each * index + min(index, more)
        return _SampledDataset(self, SequentialSampler(each + (index < more), start))

    def take(self, count: int | None) -> Dataset:
        """The first `count` samples; all, where there are fewer or `count` is None.

        Raises
        ------
        ArgumentError
            `count` is negative.
        """
        if count is not None and count < 0:
            raise ArgumentError(f"take: count is {count}\n  expected 0 or more, or None")
        length = len(self)
        return _SampledDataset(
            self, SequentialSampler(length if count is None else min(count, length))
        )

    def sample(self, sampler: Sampler) -> Dataset:
        """The samples whose indices a sampler gives; it is asked once, now.

        Raises
        ------
        ArgumentError
            It is no Sampler.
        """
        if not isinstance(sampler, Sampler):
            raise ArgumentError(
                f"sample: {type(sampler).__name__}\n  expected a gluon.data.Sampler"
            )
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable, lazy: bool = True) -> Dataset:
        """The samples as `fn` changes them; a sample that is a tuple comes as several arguments.

        Parameters
        ----------
        fn : callable
        lazy : bool
            Call `fn` each time that a sample is asked for. Else it is called now, once for each
            sample, and what it gives is kept: random changes are then the same in each epoch.
        """
        changed = _LazyTransformDataset(self, fn)
        return changed if lazy else SimpleDataset([changed[i] for i in range(len(self))])

    def transform_first(self, fn: Callable, lazy: bool = True) -> Dataset:
        """The samples with their first element changed by `fn`: the data, and not the label.

        `lazy` is as for `transform`.
        """
        return self.transform(_TransformFirstClosure(fn), lazy)


class SimpleDataset(Dataset):
    """A data set of what has a length and ``[]``, such as a list or an array.

    Parameters
    ----------
    data : sequence
    """

    def __init__(self, data: Sequence):
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        return self._data[idx]


class _LazyTransformDataset(Dataset):
    """The samples of a data set, changed by a function when they are asked for."""

    def __init__(self, data: Dataset, fn: Callable):
        self._data, self._fn = data, fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> Any:
        sample = self._data[idx]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)


class _TransformFirstClosure:
    """A function for the first argument alone; a class, which can be sent to another process."""

    def __init__(self, fn: Callable):
        self._fn = fn

    def __call__(self, first: Any, *rest: Any) -> Any:
        return (self._fn(first), *rest) if rest else self._fn(first)


class _SampledDataset(Dataset):
    """The samples of a data set at the indices that a sampler gave."""

    def __init__(self, dataset: Dataset, sampler: Sampler):
        self._dataset, self._indices = dataset, list(sampler)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: int) -> Any:
        return self._dataset[self._indices[idx]]


class ArrayDataset(Dataset):
    """Sequences of one length side by side: sample i is ``(args[0][i], args[1][i], ...)``.

    A single sequence gives its elements as they are. Of an NDArray with one axis, such as labels,
    the elements are numbers.

    Parameters
    ----------
    *args : Dataset, sequence or array

    Raises
    ------
    ArgumentError
        There is none.
    ShapeError
        They have different lengths.
    """

    def __init__(self, *args: Sequence):
        if not args:
            raise ArgumentError("ArrayDataset: no arguments\n  expected at least one array")
        lengths = [len(data) for data in args]
        if len({*lengths}) > 1:
            raise ShapeError(f"ArrayDataset: the lengths are {lengths}\n  expected equal lengths")
        self._length = lengths[0]
        self._data = [
            data.asnumpy() if isinstance(data, NDArray) and data.ndim == 1 else data
            for data in args
        ]

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, idx: int) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple([data[idx] for data in self._data])


class RecordFileDataset(Dataset):
    """The records of a RecordIO file as bytes; beside a.rec its index a.idx is needed.

    Threads and processes may read it at the same time.

    Parameters
    ----------
    filename : path
    """

    def __init__(self, filename: str | os.PathLike):
        from ...recordio import MXIndexedRecordIO

        self.filename = str(filename)
        self.idx_file = str(Path(filename).with_suffix(".idx"))
        self._record = MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __len__(self) -> int:
        return len(self._record.keys)

    def __getitem__(self, idx: int) -> bytes:
        return self._record._record_of(self._record.keys[idx])


class _DownloadedDataset(Dataset):
    """The base of data sets whose files are in a folder, and which are read whole.

    A data set of one's own defines `_get_data`, which sets `_data` and `_label`.
    """

    def __init__(self, root, transform: Callable | None):
        self._transform = transform
        self._data: Any = None
        self._label: Any = None
        self._root = os.path.expanduser(root)
        self._get_data()

    def __getitem__(self, idx: int) -> Any:
        sample = self._data[idx], self._label[idx]
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self) -> int:
        return len(self._label)

    def _get_data(self) -> None:
        raise NotImplementedError
