"""An epoch of a BucketingModule: a language model of unrolled LSTM cells, by lengths."""

from __future__ import annotations

import random

import numpy as np

from layers.engine import mx

from ..data import sentences
from ..worker import Entry
from . import place

BUCKETS = [10, 20, 30, 40]
WORDS = 500


def symbol_of(length: int, size: int, layers: int) -> tuple:
    """The graph for sentences of so many words, and the names of its data and labels."""
    data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
    embedded = mx.sym.Embedding(data, input_dim=WORDS, output_dim=size, name="embed")
    stack = mx.rnn.SequentialRNNCell()
    for i in range(layers):
        stack.add(mx.rnn.LSTMCell(size, prefix=f"lstm{i}_"))
    outputs, _ = stack.unroll(length, inputs=embedded, merge_outputs=True)
    rows = mx.sym.Reshape(outputs, shape=(-1, size))
    scores = mx.sym.FullyConnected(rows, num_hidden=WORDS, name="pred")
    labels = mx.sym.Reshape(label, shape=(-1,))
    return mx.sym.SoftmaxOutput(scores, labels, name="softmax"), ("data",), ("softmax_label",)


class Training:
    """A module that is bound, and its data."""

    def __init__(self, device: str, count: int, batch: int, size: int, layers: int):
        random.seed(0)  # BucketSentenceIter draws the order by both
        np.random.seed(0)
        self.data = mx.rnn.BucketSentenceIter(
            sentences(count, BUCKETS[-1], WORDS), batch, buckets=BUCKETS, invalid_label=0
        )
        self.module = mx.mod.BucketingModule(
            lambda length: symbol_of(length, size, layers),
            default_bucket_key=self.data.default_bucket_key,
            context=place(device),
        )
        self.module.bind(self.data.provide_data, self.data.provide_label)
        self.module.init_params(mx.init.Zero())
        arrays, _ = self.module.get_params()
        draw = np.random.RandomState(0)
        values = {
            name: mx.nd.array(draw.uniform(-0.1, 0.1, arrays[name].shape))
            for name in sorted(arrays)
        }
        self.module.set_params(values, {})
        self.module.init_optimizer(
            optimizer="sgd", optimizer_params={"learning_rate": 0.01, "momentum": 0.9}
        )
        self.metric = mx.metric.Perplexity(0)

    def epoch(self) -> float:
        """Train with all batches, as `fit` does; the perplexity."""
        self.data.reset()
        self.metric.reset()
        for batch in self.data:
            self.module.forward_backward(batch)
            self.module.update()
            self.module.update_metric(self.metric, batch.label)
        return self.metric.get()[1]


def build(variant: str, device: str, is_first: bool, **sizes) -> Entry:
    """`is_first` measures a first epoch, with all that is made for it."""
    if is_first:
        return Entry(first := lambda: Training(device, **sizes).epoch(), lambda: [first()])
    training = Training(device, **sizes)
    return Entry(training.epoch, lambda: [training.epoch() for _ in range(2)])
