"""One training step of an MLP, compiled whole by `jax.jit`."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
from jax import nn

from ..data import RATE, batches
from ..worker import Entry
from . import place


def build(variant: str, device: str, sizes: tuple, batch: int, activation: str) -> Entry:
    data, label, weights = batches(sizes, batch)
    parameters = [(w, np.zeros(len(w), "float32")) for w in weights]
    parameters, x, label = jax.device_put((parameters, data, label.astype("int32")), place(device))

    def losses(parameters, x, label):
        for i, (w, b) in enumerate(parameters):
            x = (getattr(nn, activation)(x) if i else x) @ w.T + b
        return -nn.log_softmax(x)[jax.numpy.arange(len(x)), label]

    @partial(jax.jit, donate_argnums=0)  # the update is in place
    def update(parameters, x, label):
        loss, gradients = jax.value_and_grad(lambda p: losses(p, x, label).mean())(parameters)
        return jax.tree.map(lambda p, dp: p - RATE * dp, parameters, gradients), loss

    def step():
        nonlocal parameters
        parameters, loss = update(parameters, x, label)
        return loss

    return Entry(
        step,
        lambda: [float(step()) for _ in range(3)],
        lambda: jax.block_until_ready(parameters),
    )
