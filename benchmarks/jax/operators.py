"""One call of a function with a gradient of its own, compiled by `jax.jit`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..worker import Entry
from . import place


@jax.custom_vjp
def double(x):
    return x * 2


double.defvjp(lambda x: (x * 2, None), lambda _, dy: (dy * 2,))


@jax.custom_vjp
def sigmoid(x):
    return jax.nn.sigmoid(x)


def sigmoid_forward(x):
    y = jax.nn.sigmoid(x)
    return y, y


sigmoid.defvjp(sigmoid_forward, lambda y, dy: (dy * y * (1 - y),))

OPERATORS = {"double": double, "sigmoid": sigmoid}


def build(variant: str, device: str, body: str, backward: bool) -> Entry:
    x = jax.device_put(np.linspace(-2, 2, 16, dtype="float32").reshape(4, 4), place(device))
    head, call = jnp.full_like(x, 0.5), OPERATORS[body]
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
