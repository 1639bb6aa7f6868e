"""The matrix products of a dense layer, as its operator computes them."""

from __future__ import annotations

from layers.engine import nd

from ..data import factors
from ..worker import Entry
from . import place


def build(variant: str, device: str, product: str, n: int, k: int, m: int) -> Entry:
    x, w, dy = (nd.array(a, ctx=place(device)) for a in factors(n, k, m))
    step = {
        "y": lambda: nd.FullyConnected(x, w, num_hidden=m, no_bias=True),
        "dx": lambda: nd.dot(dy, w),
        "dw": lambda: nd.dot(dy, x, transpose_a=True),
    }[product]
    return Entry(step, lambda: step().reshape(-1)[:8].asnumpy().tolist())
