"""One call of a function with a gradient of its own, `keras.ops.custom_gradient`."""

from __future__ import annotations

import jax
import keras
import numpy as np
from keras import ops

from ..worker import Entry


@ops.custom_gradient
def double(x):
    return x * 2, lambda dy: dy * 2


@ops.custom_gradient
def sigmoid(x):
    y = ops.sigmoid(x)
    return y, lambda dy: dy * y * (1 - y)


OPERATORS = {"double": double, "sigmoid": sigmoid}


def build(variant: str, device: str, body: str, backward: bool) -> Entry:
    x = keras.ops.convert_to_tensor(np.linspace(-2, 2, 16, dtype="float32").reshape(4, 4))
    head, call = ops.full_like(x, 0.5), OPERATORS[body]
    # Keras has no gradients of its own: what its backend has for them, compiled as by `fit`.
    run = jax.jit((lambda x: jax.vjp(call, x)[1](head)[0]) if backward else call)
    found = None

    def step():
        nonlocal found
        found = run(x)
        return found

    return Entry(
        step,
        lambda: np.asarray(step()).ravel().tolist(),
        lambda: jax.block_until_ready(found),
    )
