"""Texts to learn a language from: WikiText, from files that have to be there."""

from __future__ import annotations

import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

from .... import ndarray
from ....base import ArgumentError, MXNetError, data_folder
from ....contrib.text.vocab import Vocabulary
from ...data.dataset import Dataset
from ...utils import check_sha1, download
from ._constants import EOS_TOKEN

__all__ = ["WikiText2", "WikiText103"]

_URL = "https://apache-mxnet.s3-accelerate.dualstack.amazonaws.com/gluon/dataset"


class _WikiText(Dataset):
    """What both have in common: the words of a file, in rows of `seq_len`."""

    _namespace: str
    _archive_file: tuple[str, str]
    _data_file: dict[str, tuple[str, str]]

    def __init__(self, root=None, segment: str = "train", vocab=None, seq_len: int = 35):
        if segment not in self._data_file:
            raise ArgumentError(
                f"{type(self).__name__}: segment is {segment!r}\n"
                f"  expected one of {', '.join(self._data_file)}"
            )
        self._root = data_folder(root or None, "datasets", self._namespace)
        self._segment, self._seq_len = segment, seq_len
        self._vocab, self._counter = vocab, None
        words = self._words(self._file().read_text("utf-8"))
        if vocab is None:
            self._counter = Counter(word for word in words if word != EOS_TOKEN)
            self._vocab = Vocabulary(self._counter, reserved_tokens=(EOS_TOKEN,))
        numbers = np.array(self._vocab.to_indices(words), "int32")
        count = max(len(numbers) - 1, 0) // seq_len * seq_len
        self._data = ndarray.array(numbers[:count].reshape(-1, seq_len), dtype="int32")
        self._label = ndarray.array(numbers[1 : count + 1].reshape(-1, seq_len), dtype="int32")

    def _file(self) -> Path:
        """The file of the segment, unpacked from the archive where that is there."""
        name, digest = self._data_file[self._segment]
        path = self._root / name
        if not (path.is_file() and check_sha1(path, digest)):
            archive, packed = self._archive_file
            url = f"{_URL}/{self._namespace}/{archive}"
            with zipfile.ZipFile(download(url, self._root / archive, sha1_hash=packed)) as file:
                members = [m for m in file.namelist() if m.rpartition("/")[2] == name]
                if not members:
                    raise MXNetError(f"{type(self).__name__}: {archive} has no {name}")
                path.write_bytes(file.read(members[0]))
        return path

    @staticmethod
    def _words(text: str) -> list[str]:
        """The words of all lines that are not empty, with a word for their ends."""
        lines = (line.split() for line in text.splitlines())
        return [word for line in lines if line for word in (*line, EOS_TOKEN)]

    @property
    def vocabulary(self):
        """The words, numbered."""
        return self._vocab

    @property
    def frequencies(self) -> Counter | None:
        """How often each word is in the file; None where a vocabulary was given."""
        return self._counter

    def __getitem__(self, idx) -> tuple:
        return self._data[idx], self._label[idx]

    def __len__(self) -> int:
        return len(self._label)


class WikiText2(_WikiText):
    """Good articles of Wikipedia, 2 million words (Merity et al., arXiv:1609.07843).

    A sample is `seq_len` words, and the same moved on by one: what comes next.

    Parameters
    ----------
    root : path
        The folder with ``wiki.train.tokens`` and so on, or with ``wikitext-2-v1.zip``; by default
        ``datasets/wikitext-2`` in that of MXNET_HOME, or in ``~/.mxnet``.
    segment : {'train', 'validation', 'test'}
    vocab : Vocabulary, optional
        By default that of this segment.
    seq_len : int

    Raises
    ------
    UnsupportedError
        The file is not there, or has another SHA-1; the message says what to fetch.
    ArgumentError
        There is no such segment.
    """

    _namespace = "wikitext-2"
    _archive_file = ("wikitext-2-v1.zip", "3c914d17d80b1459be871a5039ac23e752a53cbe")
    _data_file = {
        "train": ("wiki.train.tokens", "863f29c46ef9d167fff4940ec821195882fe29d1"),
        "validation": ("wiki.valid.tokens", "0418625c8b4da6e4b5c7a0b9e78d4ae8f7ee5422"),
        "test": ("wiki.test.tokens", "c7b8ce0aa086fb34dab808c5c49224211eb2b172"),
    }


class WikiText103(_WikiText):
    """Good articles of Wikipedia, 103 million words (Merity et al., arXiv:1609.07843).

    Parameters and samples are those of `WikiText2`, in ``wikitext-103-v1.zip``.

    Raises
    ------
    UnsupportedError
        The file is not there, or has another SHA-1; the message says what to fetch.
    ArgumentError
        There is no such segment.
    """

    _namespace = "wikitext-103"
    _archive_file = ("wikitext-103-v1.zip", "0aec09a7537b58d4bb65362fee27650eeaba625a")
    _data_file = {
        "train": ("wiki.train.tokens", "b7497e2dfe77e72cfef5e3dbc61b7b53712ac211"),
        "validation": ("wiki.valid.tokens", "c326ac59dc587676d58c422eb8a03e119582f92b"),
        "test": ("wiki.test.tokens", "8a5befc548865cec54ed4273cf87dbbad60d1e47"),
    }
