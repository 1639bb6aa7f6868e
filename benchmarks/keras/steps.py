"""One training step of an MLP: `train_on_batch` of a compiled Keras model."""

from __future__ import annotations

from ..data import RATE, batches
from ..worker import Entry
from . import compile_for, perceptron


def build(variant: str, device: str, sizes: tuple, batch: int, activation: str) -> Entry:
    data, label, weights = batches(sizes, batch)
    net = perceptron(sizes, weights, activation)
    compile_for(net, RATE, device)

    def step():
        return net.train_on_batch(data, label)  # the loss, as a number

    def check():
        losses = []
        for _ in range(3):
            net.reset_metrics()  # else it is the mean of all steps until now
            losses.append(float(step()))
        return losses

    return Entry(step, check, wait=lambda: None)
