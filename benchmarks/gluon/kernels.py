"""Loops over elements, as loop kernels: called with NumPy's arrays, and as operators."""

from __future__ import annotations

from layers.engine import nd
from layers.ops import Custom, kernel

from ..data import elements
from ..worker import Entry
from . import place


@kernel
def polynomial(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i] * float32(0.5) + x[i]
    return y


@kernel
def gelu(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = float32(0.5) * x[i] * (float32(1) + tanh(float32(0.8) * x[i]))
    return y


@kernel
def rows(x):
    y = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i] += x[i, j] * x[i, j]
    return y


KERNELS = {"polynomial": polynomial, "gelu": gelu, "rows": rows}


def build(variant: str, device: str, body: str, shape: tuple[int, ...]) -> Entry:
    loop, x = KERNELS[body], elements(shape)
    if variant == "run":
        return Entry(lambda: loop.run(x), lambda: loop.run(x)[:8].tolist())
    operator, array = Custom(loop), nd.array(x, ctx=place(device))
    return Entry(lambda: operator(array), lambda: operator(array)[:8].asnumpy().tolist())
