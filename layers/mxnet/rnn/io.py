"""Sentences as numbers, and batches of those that are about as long."""

from __future__ import annotations

import bisect
import random

import numpy as np

from .. import ndarray
from .._old import missing
from ..base import ArgumentError
from ..io import DataBatch, DataDesc, DataIter

__all__ = ["BucketSentenceIter", "encode_sentences"]


def encode_sentences(
    sentences,
    vocab: dict | None = None,
    invalid_label: int = -1,
    invalid_key="\n",
    start_label: int = 0,
    unknown_token=None,
) -> tuple[list[list[int]], dict]:
    """Sentences as lists of numbers, and the number of each word.

    Parameters
    ----------
    sentences : list of list of str
    vocab : dict of str to int, optional
        Numbers that are known; by default they are given out here.
    invalid_label, invalid_key
        The number that stands for no word, and its key in a new `vocab`.
    start_label : int
        The first number that is given out.
    unknown_token : str, optional
        Stands for words that `vocab` has not. If it is not in a given `vocab`, it gets a number
        greater than those there.

    Raises
    ------
    ArgumentError
        A word is not in `vocab`, and there is no `unknown_token`.
    """
    is_new = vocab is None
    vocab = {invalid_key: invalid_label} if is_new else vocab
    next_label = start_label if is_new else max([start_label - 1, *vocab.values()]) + 1
    encoded = []
    for sentence in sentences:
        labels = []
        for word in sentence:
            if word not in vocab and unknown_token is not None:
                word = unknown_token
            if word not in vocab:
                if not is_new and unknown_token is None:
                    raise ArgumentError(
                        f"encode_sentences: {word!r} is not in vocab\n  expected it, or an "
                        "unknown_token"
                    )
                if next_label == invalid_label:
                    next_label += 1
                vocab[word] = next_label
                next_label += 1
            labels.append(vocab[word])
        encoded.append(labels)
    return encoded, vocab


class BucketSentenceIter(DataIter):
    """Batches of sentences from buckets: each is filled up to the length of its bucket.

    The label of a word is the word after it.

    Parameters
    ----------
    sentences : list of list of int
    batch_size : int
    buckets : list of int, optional
        The lengths; by default those of `batch_size` or more sentences. Longer sentences are
        left out.
    invalid_label : int
        What sentences are filled with.
    data_name, label_name : str
    dtype : str or type
    layout : str
        'NT', (batch_size, length), or 'TN'.

    Raises
    ------
    ArgumentError
        There is no bucket, or the layout has no N.
    """

    def __init__(
        self,
        sentences,
        batch_size: int,
        buckets: list[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype="float32",
        layout: str = "NT",
    ):
        super().__init__(batch_size)
        if layout.find("N") not in (0, 1):
            raise ArgumentError(f"BucketSentenceIter: layout is {layout!r}\n  expected NT or TN")
        if not buckets:
            counts = np.bincount([len(sentence) for sentence in sentences])
            buckets = [size for size, count in enumerate(counts) if count >= batch_size]
        self.buckets = sorted(buckets)
        if not self.buckets:
            raise ArgumentError(
                f"BucketSentenceIter: no length is that of {batch_size} sentences\n"
                "  expected buckets, or a smaller batch_size"
            )
        self.data_name, self.label_name = data_name, label_name
        self.dtype, self.invalid_label = dtype, invalid_label
        self.layout, self.major_axis = layout, layout.find("N")
        self.default_bucket_key = self.buckets[-1]
        self.data = self._filled(sentences)
        self.nddata, self.ndlabel = [], []
        self.provide_data = [self._desc(data_name, self.default_bucket_key)]
        self.provide_label = [self._desc(label_name, self.default_bucket_key)]
        self.idx = [
            (bucket, begin)
            for bucket, rows in enumerate(self.data)
            for begin in range(0, len(rows) - batch_size + 1, batch_size)
        ]
        self.curr_idx = 0
        self.reset()

    def _filled(self, sentences) -> list[np.ndarray]:
        """The sentences of each bucket, filled up."""
        rows: list[list] = [[] for _ in self.buckets]
        left_out = 0
        for sentence in sentences:
            bucket = bisect.bisect_left(self.buckets, len(sentence))
            if bucket == len(self.buckets):
                left_out += 1
                continue
            fill = [self.invalid_label] * (self.buckets[bucket] - len(sentence))
            rows[bucket].append([*sentence, *fill])
        print(f"WARNING: discarded {left_out} sentences longer than the largest bucket.")
        return [
            np.array(bucket, self.dtype).reshape(len(bucket), length)
            for bucket, length in zip(rows, self.buckets)
        ]

    def _desc(self, name: str, length: int) -> DataDesc:
        shape = (self.batch_size, length)
        return DataDesc(name, shape[:: -1 if self.major_axis else 1], layout=self.layout)

    def reset(self) -> None:
        """Begin again, in another order."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata, self.ndlabel = [], []
        for rows in self.data:
            np.random.shuffle(rows)
            label = np.full_like(rows, self.invalid_label)
            label[:, :-1] = rows[:, 1:]
            self.nddata.append(ndarray.array(rows, dtype=self.dtype))
            self.ndlabel.append(ndarray.array(label, dtype=self.dtype))

    def next(self) -> DataBatch:
        """The next batch; its `bucket_key` is the length of its sentences.

        Raises
        ------
        StopIteration
            There are no more.
        """
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, begin = self.idx[self.curr_idx]
        self.curr_idx += 1
        data, label = (
            a[bucket][begin : begin + self.batch_size] for a in (self.nddata, self.ndlabel)
        )
        if self.major_axis:
            data, label = data.T, label.T
        length = self.buckets[bucket]
        return DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=length,
            provide_data=[self._desc(self.data_name, length)],
            provide_label=[self._desc(self.label_name, length)],
        )


missing.watch(globals())
