"""The numbers that all contestants begin with."""

from __future__ import annotations

import numpy as np

RATE = 0.1  # the learning rate


def batches(sizes: tuple[int, ...], batch: int) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Data (batch, k), labels (batch,) as floats, and a weight (m, k) for each layer."""
    random = np.random.RandomState(0)
    data = random.uniform(size=(batch, sizes[0])).astype("float32")
    label = random.randint(sizes[-1], size=batch).astype("float32")
    weights = [
        random.normal(scale=(2 / k) ** 0.5, size=(m, k)).astype("float32")
        for k, m in zip(sizes, sizes[1:])
    ]
    return data, label, weights


def factors(n: int, k: int, m: int) -> list[np.ndarray]:
    """x (n, k), w (m, k) and dy (n, m) of a dense layer."""
    random = np.random.RandomState(0)
    return [random.uniform(-1, 1, size).astype("float32") for size in ((n, k), (m, k), (n, m))]
