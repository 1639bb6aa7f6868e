"""One training step of a transformer's block of Keras' layers."""

from __future__ import annotations

import keras
from keras import layers

from ..data import RATE, transformer
from ..worker import Entry


def build(variant: str, device: str, batch: int, length: int, units: int, heads: int) -> Entry:
    x, target, weights = transformer(batch, length, units)
    net = block(length, units, heads, weights)
    net.compile(keras.optimizers.SGD(RATE), loss="mean_squared_error", jit_compile=True)

    def step():
        return net.train_on_batch(x, target)

    def check():
        losses = []
        for _ in range(3):
            net.reset_metrics()
            losses.append(float(step()))
        return losses

    return Entry(step, check, wait=lambda: None)


def block(length: int, units: int, heads: int, weights: dict) -> keras.Model:
    size = units // heads
    given = keras.Input((length, units))
    attend = layers.MultiHeadAttention(heads, size)
    up, down = layers.Dense(4 * units, "gelu"), layers.Dense(units)
    x = layers.LayerNormalization(epsilon=1e-5)(given)
    x = given + attend(x, x)
    net = keras.Model(given, x + down(up(layers.LayerNormalization(epsilon=1e-5)(x))))
    values = []
    for name in ("q", "k", "v"):
        w = weights[name].T.reshape(units, heads, size)
        values += [w, 0 * w[0]]
    w = weights["out"].T.reshape(heads, size, units)
    attend.set_weights([*values, w, 0 * w[0, 0]])
    for layer, name in ((up, "up"), (down, "down")):
        layer.set_weights([weights[name].T, 0 * weights[name][:, 0]])
    return net
