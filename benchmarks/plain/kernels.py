"""Loops over elements: as NumPy's operations on whole arrays, and in Numba."""

from __future__ import annotations

import math

import numba
import numpy as np

from ..data import elements
from ..worker import Entry


@numba.njit(nogil=True)
def polynomial(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i] * np.float32(0.5) + x[i]
    return y


@numba.njit(nogil=True)
def gelu(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = np.float32(0.5) * x[i] * (np.float32(1) + math.tanh(np.float32(0.8) * x[i]))
    return y


@numba.njit(nogil=True)
def rows(x):
    n = x.shape[0]
    y = np.zeros(n, x.dtype)
    for i in range(n):
        for j in range(x.shape[1]):
            y[i] += x[i, j] * x[i, j]
    return y


ARRAYS = {
    "polynomial": lambda x: x * x * np.float32(0.5) + x,
    "gelu": lambda x: np.float32(0.5) * x * (1 + np.tanh(np.float32(0.8) * x)),
    "rows": lambda x: (x * x).sum(axis=1),
}
NUMBA = {"polynomial": polynomial, "gelu": gelu, "rows": rows}


def build(variant: str, device: str, body: str, shape: tuple[int, ...]) -> Entry:
    x = elements(shape)
    function = {"numpy": ARRAYS, "numba": NUMBA}[variant][body]
    return Entry(lambda: function(x), lambda: function(x)[:8].tolist())
