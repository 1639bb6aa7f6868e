"""A loader of Gluon as an iterator for Module."""

from __future__ import annotations

import itertools

from .. import ndarray as nd
from .._old import missing
from ..base import ArgumentError
from ..io import DataDesc, DataIter
from ..ndarray import NDArray

__all__ = ["DataLoaderIter"]


class DataLoaderIter(DataIter):
    """Batches of a `gluon.data.DataLoader`, for Module.

    A last batch that is smaller is filled up with zeros, as many as `pad` says.

    Parameters
    ----------
    loader : gluon.data.DataLoader
        Its batches are data and labels.
    data_name, label_name : str
    dtype : str or type
        To which both are converted.

    Raises
    ------
    ArgumentError
        A batch is something else.
    """

    def __init__(self, loader, data_name="data", label_name="softmax_label", dtype="float32"):
        super().__init__()
        self._loader, self.dtype = loader, dtype
        epoch = iter(loader)
        first = next(epoch)
        data, label = self._pair(first)
        self.batch_size = data.shape[0]
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._current_batch: tuple[NDArray, NDArray] | None = None
        self._iter = itertools.chain([first], epoch)

    @staticmethod
    def _pair(batch) -> tuple[NDArray, NDArray]:
        if not isinstance(batch, (list, tuple)) or len(batch) != 2:
            type_name = type(batch).__name__
            size = f" with {len(batch)} parts" if isinstance(batch, (list, tuple)) else ""
            raise ArgumentError(
                f"DataLoaderIter: a batch of the loader is a {type_name}{size}\n"
                "  expected data and labels"
            )
        return tuple(batch)

    def reset(self) -> None:
        """Begin again."""
        self._iter = iter(self._loader)

    def iter_next(self) -> bool:
        """Go on to the next batch; return whether there is one.

        Raises
        ------
        ArgumentError
            A batch of the loader is no pair of data and labels.
        """
        batch = next(self._iter, None)
        self._current_batch = None if batch is None else self._pair(batch)
        return batch is not None

    def _filled(self, index: int) -> list[NDArray]:
        array = self._current_batch[index].astype(self.dtype)
        if not self.getpad():
            return [array]
        rest = nd.zeros((self.getpad(), *array.shape[1:]), array.context, array.dtype)
        return [nd.concat(array, rest, dim=0)]

    def getdata(self) -> list[NDArray]:
        """The data of the batch."""
        return self._filled(0)

    def getlabel(self) -> list[NDArray]:
        """The labels of the batch."""
        return self._filled(1)

    def getpad(self) -> int:
        """How many examples at the end only fill up the batch."""
        return self.batch_size - self._current_batch[0].shape[0] if self._current_batch else 0

    def getindex(self) -> None:
        """None: a loader does not tell the numbers of examples."""


missing.watch(globals())
