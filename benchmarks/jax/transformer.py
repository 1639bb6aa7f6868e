"""One training step of a transformer's block, compiled whole by `jax.jit`."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from ..data import RATE, transformer
from ..worker import Entry
from . import place


def build(variant: str, device: str, batch: int, length: int, units: int, heads: int) -> Entry:
    x, target, weights = transformer(batch, length, units)
    parameters = {name: (w, jnp.zeros(len(w))) for name, w in weights.items()}
    parameters |= {name: (jnp.ones(units), jnp.zeros(units)) for name in ("norm1", "norm2")}
    parameters, x, target = jax.device_put((parameters, x, target), place(device))

    def affine(p, x):
        return x @ p[0].T + p[1]

    def norm(p, x):
        centered = x - x.mean(-1, keepdims=True)
        return centered * jax.lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * p[0] + p[1]

    def attention(p, x):
        q, k, v = (affine(p[n], x).reshape(*x.shape[:2], heads, -1) for n in ("q", "k", "v"))
        return affine(p["out"], jax.nn.dot_product_attention(q, k, v).reshape(x.shape))

    def loss_of(p, x, target):
        x = x + attention(p, norm(p["norm1"], x))
        hidden = jax.nn.gelu(affine(p["up"], norm(p["norm2"], x)), approximate=False)
        return ((x + affine(p["down"], hidden) - target) ** 2).mean()

    @partial(jax.jit, donate_argnums=0)
    def update(parameters, x, target):
        loss, gradients = jax.value_and_grad(loss_of)(parameters, x, target)
        return jax.tree.map(lambda p, dp: p - RATE * dp, parameters, gradients), loss

    def step():
        nonlocal parameters
        parameters, loss = update(parameters, x, target)
        return loss

    return Entry(
        step,
        lambda: [float(step()) for _ in range(3)],
        lambda: jax.block_until_ready(parameters),
    )
