"""Data sets of images, from files that are there: nothing is downloaded."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ....base import MissingFileError, MXNetError, ShapeError, data_folder
from ....io._files import read_idx
from ....ndarray import NDArray, array
from ..dataset import Dataset, RecordFileDataset, _DownloadedDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageRecordDataset",
]


class _Published(_DownloadedDataset):
    """The base of data sets whose published files are in a folder named by `_namespace`."""

    _namespace: str

    def __init__(
        self,
        root: str | os.PathLike | None = None,
        train: bool = True,
        transform: Callable | None = None,
    ):
        self._train = train
        super().__init__(data_folder(root, "datasets", self._namespace), transform)


class MNIST(_Published):
    """Handwritten digits: sample i is (image (28, 28, 1) of uint8, label of int32).

    Its files are to be in `root`, gzipped as they are published or unpacked:
    train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and
    t10k-labels-idx1-ubyte.gz.

    Parameters
    ----------
    root : path, optional
        By default a folder of ``datasets`` in that of MXNET_HOME, or in ``~/.mxnet``.
    train : bool
        The 60,000 images to train with, else the 10,000 to test with.
    transform : callable, optional
        transform(image, label) gives the sample.

    Raises
    ------
    MXNetError
        A file is not in its format; the message names it.
    MissingFileError
        A file is not there.
    """

    _namespace = "mnist"

    def _get_data(self) -> None:
        part, name = "train" if self._train else "t10k", type(self).__name__
        paths = [
            _find(self, f"{part}-{content}-ubyte{end}", f"{part}-{content}-ubyte")
            for content, end in (("images-idx3", ".gz"), ("labels-idx1", ".gz"))
        ]
        images, labels = read_idx(paths[0], 3, name), read_idx(paths[1], 1, name)
        if len(images) != len(labels):
            raise ShapeError(
                f"{name}: {str(paths[1])!r} has {len(labels)} labels\n"
                f"  expected {len(images)}, as {str(paths[0])!r} has images"
            )
        self._data = array(images[..., None], dtype=np.uint8)
        self._label = labels.astype(np.int32)


class FashionMNIST(MNIST):
    """Pictures of clothes, in files of the same names and format as `MNIST`, and used as it."""

    _namespace = "fashion-mnist"


class CIFAR10(_Published):
    """Small photographs of ten kinds: sample i is (image (32, 32, 3) of uint8, label of int32).

    The files of its binary version are to be in `root`, or there in the folder of the published
    archive, cifar-10-batches-bin: data_batch_1.bin to data_batch_5.bin, and test_batch.bin.

    Parameters
    ----------
    root : path, optional
        By default a folder of ``datasets`` in that of MXNET_HOME, or in ``~/.mxnet``.
    train : bool
        The 50,000 images to train with, else the 10,000 to test with.
    transform : callable, optional
        transform(image, label) gives the sample.

    Raises
    ------
    MXNetError
        A file is not in its format; the message names it.
    MissingFileError
        A file is not there.
    """

    _folder = "cifar-10-batches-bin"
    _labels = 1  # bytes of labels before each image

    _namespace = "cifar10"

    def _names(self) -> Iterable[str]:
        return [f"data_batch_{i}.bin" for i in range(1, 6)] if self._train else ["test_batch.bin"]

    def _get_data(self) -> None:
        paths = [_find(self, name, os.path.join(self._folder, name)) for name in self._names()]
        rows = np.concatenate([self._read_batch(path) for path in paths])
        images = rows[:, self._labels :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self._data = array(images, dtype=np.uint8)
        self._label = self._choose_label(rows).astype(np.int32)

    def _choose_label(self, rows: np.ndarray) -> np.ndarray:
        return rows[:, 0]

    def _read_batch(self, filename: str | os.PathLike) -> np.ndarray:
        """The rows of a file: the labels and the image's 3072 bytes."""
        row, size = self._labels + 3 * 32 * 32, Path(filename).stat().st_size
        if not size or size % row:
            raise MXNetError(
                f"{type(self).__name__}: {str(filename)!r} has {size} bytes\n"
                f"  expected a multiple of {row}: the binary version, unpacked"
            )
        return np.fromfile(filename, np.uint8).reshape(-1, row)


class CIFAR100(CIFAR10):
    """Small photographs of a hundred kinds, else as `CIFAR10`.

    Its files are train.bin and test.bin, in `root` or there in cifar-100-binary.

    Parameters
    ----------
    root : path, optional
        By default a folder of ``datasets`` in that of MXNET_HOME, or in ``~/.mxnet``.
    fine_label : bool
        Labels of the 100 kinds, else of the 20 groups that they form.
    train, transform
        As for `CIFAR10`.
    """

    _folder = "cifar-100-binary"
    _labels = 2

    _namespace = "cifar100"

    def __init__(
        self,
        root: str | os.PathLike | None = None,
        fine_label: bool = False,
        train: bool = True,
        transform: Callable | None = None,
    ):
        self._fine_label = fine_label
        super().__init__(root, train, transform)

    def _names(self) -> Iterable[str]:
        return ["train.bin"] if self._train else ["test.bin"]

    def _choose_label(self, rows: np.ndarray) -> np.ndarray:
        return rows[:, int(self._fine_label)]


def _find(dataset: _DownloadedDataset, *names: str) -> Path:
    """The first of these files that is in the root folder."""
    paths = [Path(dataset._root, name) for name in names]
    for path in paths:
        if path.is_file():
            return path
    raise MissingFileError(
        f"{type(dataset).__name__}: {str(paths[0])!r} is not there, and nothing is downloaded\n"
        f"  expected the published file at that path, or as {str(paths[1])!r}"
    )


class ImageRecordDataset(RecordFileDataset):
    """Images in a RecordIO file: sample i is (image (h, w, c) of uint8, label).

    The label is a float, or an array where a record has several.

    Parameters
    ----------
    filename : path
        Of the .rec file; its index, .idx, is to be beside it.
    flag : {0, 1}
        0: gray images of one channel. 1: colours.
    transform : callable, optional
        transform(image, label) gives the sample.
    """

    def __init__(
        self, filename: str | os.PathLike, flag: int = 1, transform: Callable | None = None
    ):
        super().__init__(filename)
        self._flag, self._transform = flag, transform

    def __getitem__(self, idx: int) -> Any:
        from ....image import imdecode
        from ....recordio import unpack

        header, data = unpack(super().__getitem__(idx))
        sample = imdecode(data, self._flag), header.label
        return sample if self._transform is None else self._transform(*sample)


class ImageFolderDataset(Dataset):
    """Images in folders, one for each class: sample i is (image (h, w, c) of uint8, label).

    ``root/cat/001.jpg``, ``root/dog/002.png``: the classes are the folders in alphabetical order.
    Read are .jpg, .jpeg and .png; others, and files beside the folders, are left out with a
    warning.

    Parameters
    ----------
    root : path
    flag : {0, 1}
        0: gray images of one channel. 1: colours.
    transform : callable, optional
        transform(image, label) gives the sample.

    Attributes
    ----------
    synsets : list of str
        The names of the classes; a label is the index of one.
    items : list of (str, int)
        The path and the label of each image.
    """

    def __init__(self, root: str | os.PathLike, flag: int = 1, transform: Callable | None = None):
        self._root = os.path.expanduser(root)
        self._flag, self._transform = flag, transform
        self._exts = [".jpg", ".jpeg", ".png"]
        self._list_images(self._root)

    def _list_images(self, root: str) -> None:
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for folder in sorted(os.listdir(root)):
            path = os.path.join(root, folder)
            if not os.path.isdir(path):
                self._leave_out(path, "a folder of images")
                continue
            label = len(self.synsets)
            self.synsets.append(folder)
            for name in sorted(os.listdir(path)):
                if os.path.splitext(name)[1].lower() in self._exts:
                    self.items.append((os.path.join(path, name), label))
                else:
                    self._leave_out(os.path.join(path, name), ", ".join(self._exts))

    def _leave_out(self, path: str, expected: str) -> None:
        warnings.warn(
            f"ImageFolderDataset: {path!r} is left out\n  expected {expected}", stacklevel=4
        )

    def __getitem__(self, idx: int) -> Any:
        from ....image import imread

        path, label = self.items[idx]
        image: NDArray = imread(path, self._flag)
        return (image, label) if self._transform is None else self._transform(image, label)

    def __len__(self) -> int:
        return len(self.items)
