"""Epochs of a small MLP: a bare loop over a compiled step, and Keras' `fit`."""

from __future__ import annotations

import jax
import keras

from ..data import RATE, samples
from ..worker import Entry
from . import compile_for, perceptron


def build(variant: str, device: str, sizes: tuple, batch: int, steps: int, epochs: int) -> Entry:
    data, label, weights = samples(sizes, batch * steps)
    net = perceptron(sizes, weights, "relu")
    compile_for(net, RATE, device)
    if variant == "fit":

        def train():
            history = net.fit(data, label, batch, epochs, verbose=0, shuffle=False)
            return history.history["loss"]

        return Entry(train, train, wait=lambda: None)
    loop = BareLoop(net)
    return Entry(
        lambda: loop.train(data, label, batch, epochs),
        lambda: loop.means(loop.train(data, label, batch, epochs)),
        lambda: jax.block_until_ready(loop.state),
    )


class BareLoop:
    """Keras' own recipe for a loop of one's own: a compiled step without states."""

    def __init__(self, net: keras.Sequential):
        optimizer = net.optimizer
        optimizer.build(net.trainable_variables)
        parts = net.trainable_variables, net.non_trainable_variables, optimizer.variables
        self.state = tuple([v.value for v in part] for part in parts)

        def loss_of(trainable, others, x, y):
            scores, others = net.stateless_call(trainable, others, x, training=True)
            return net.loss(y, scores), others

        def step(state, x, y):
            trainable, others, slots = state
            (loss, others), gradients = jax.value_and_grad(loss_of, has_aux=True)(
                trainable, others, x, y
            )
            trainable, slots = optimizer.stateless_apply(slots, gradients, trainable)
            return loss, (trainable, others, slots)

        self.step = jax.jit(step, donate_argnums=0)

    def train(self, data, label, batch: int, epochs: int) -> list:
        """The losses of each epoch."""
        losses = []
        for _ in range(epochs):
            losses.append([])
            for start in range(0, len(data), batch):
                rows = slice(start, start + batch)
                loss, self.state = self.step(self.state, data[rows], label[rows])
                losses[-1].append(loss)
        return losses

    @staticmethod
    def means(losses: list) -> list[float]:
        return [sum(map(float, epoch)) / len(epoch) for epoch in losses]
