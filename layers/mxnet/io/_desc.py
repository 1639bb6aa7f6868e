"""Batches, descriptions of their arrays, and the base of the iterators that return them."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ..base import ArgumentError, legible
from ..ndarray import NDArray

__all__ = ["DataBatch", "DataDesc", "DataIter", "MXDataIter"]


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """Name and shape of an array of a batch; a tuple of the two.

    Attributes
    ----------
    dtype : type
    layout : str
        A letter for each axis; N is the axis of the examples.
    """

    dtype: type
    layout: str | None

    def __new__(cls, name, shape, dtype=np.float32, layout="NCHW"):
        self = super().__new__(cls, name, tuple(shape))
        self.dtype = dtype
        self.layout = layout
        return self

    def __getnewargs__(self) -> tuple:
        return self.name, self.shape, self.dtype, self.layout

    def __repr__(self) -> str:
        return f"DataDesc[{legible(self.name)},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """The axis of the examples in a layout; 0 without one, -1 when it has no N."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes, types) -> list[DataDesc]:
        """Descriptions from pairs of name and shape, and pairs of name and type or None."""
        dtypes = dict(types or ())
        return [DataDesc(name, shape, dtypes.get(name, np.float32)) for name, shape in shapes]


def as_descs(shapes) -> list[DataDesc]:
    """The DataDesc of each; one may also be given as a name and a shape."""
    return [d if isinstance(d, DataDesc) else DataDesc(*d) for d in shapes]


class DataBatch:
    """The arrays of one step of training or evaluation.

    Parameters
    ----------
    data, label : list of NDArray
        In the order of `provide_data` and `provide_label`.
    pad : int
        The number of examples at the end that only fill up the batch.
    index : array of int, optional
        The numbers of the examples.
    bucket_key : optional
        The key of the graph of a BucketingModule.
    provide_data, provide_label : list of DataDesc, optional
        Needed where the shapes of batches differ.

    Raises
    ------
    ArgumentError
        `data` or `label` is no list.
    """

    def __init__(
        self,
        data,
        label: Any = None,
        pad=None,
        index=None,
        bucket_key=None,
        provide_data=None,
        provide_label=None,
    ):
        for what, arrays in (("data", data), ("label", label)):
            if arrays is not None and not isinstance(arrays, (list, tuple)):
                raise ArgumentError(
                    f"DataBatch: {what} is of type {type(arrays).__name__}\n"
                    "  expected a list of NDArrays"
                )
        self.data, self.label = data, label
        self.pad, self.index = pad, index
        self.bucket_key = bucket_key
        self.provide_data, self.provide_label = provide_data, provide_label

    def __str__(self) -> str:
        def shapes(arrays):
            return arrays and [a.shape for a in arrays]

        return (
            f"{type(self).__name__}: data shapes: {shapes(self.data)} "
            f"label shapes: {shapes(self.label)}"
        )


def as_batch(batch) -> DataBatch:
    """A DataBatch with the attributes of an object of another class, which has to have `data`."""
    if isinstance(batch, DataBatch):
        return batch
    names = ("label", "pad", "index", "bucket_key", "provide_data", "provide_label")
    return DataBatch(batch.data, **{name: getattr(batch, name, None) for name in names})


class DataIter:
    """The base of iterators.

    A subclass defines `iter_next` and `getdata`, or `next`; where they are known, `getlabel`,
    `getpad` and `getindex`; and the attributes `provide_data` and `provide_label`, lists of
    DataDesc. The base has no batches.

    Parameters
    ----------
    batch_size : int
    """

    def __init__(self, batch_size: int = 0):
        self.batch_size = batch_size

    def __iter__(self) -> DataIter:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    def reset(self) -> None:
        """Begin again with the first batch."""

    def next(self) -> DataBatch:
        """The next batch.

        Raises
        ------
        StopIteration
            There is none.
        """
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def iter_next(self) -> bool:
        """Go on to the next batch; return whether there is one."""
        return False

    def getdata(self) -> list[NDArray]:
        """The data of the batch."""
        raise NotImplementedError(f"{type(self).__name__}.getdata")

    def getlabel(self) -> list[NDArray] | None:
        """The labels of the batch; None where there are none."""
        return None

    def getindex(self):
        """The numbers of the examples of the batch; None where they are not known."""
        return None

    def getpad(self) -> int | None:
        """The number of examples at the end that only fill up the batch; None is 0."""
        return None


class MXDataIter(DataIter):
    """The base of the iterators over files, such as CSVIter and ImageRecordIter.

    MXNet's are made by its C library, and are of this class; programs ask for it by isinstance.
    """
