"""A dense layer in bfloat16."""

from __future__ import annotations

from layers import DenseBlock
from layers.engine import autograd, nd

from ..data import factors
from ..worker import Entry
from . import place
from .steps import HYBRIDIZE


def build(variant: str, device: str, size: int, backward: bool) -> Entry:
    context = place(device)
    x, w, dy = (nd.array(a, ctx=context).astype("bfloat16") for a in factors(size, size, size))
    block = DenseBlock(size, size, dtype="bfloat16")
    block.initialize(ctx=context)
    block.weight.set_data(w)
    if HYBRIDIZE[variant] is not None:
        block.hybridize(**HYBRIDIZE[variant])
    if not backward:
        return Entry(lambda: block(x), lambda: _some(block(x)))
    x.attach_grad()

    def step():
        with autograd.record():
            y = block(x)
        y.backward(dy)

    def check():
        step()
        return [*_some(x.grad), *_some(block.weight.grad())]

    return Entry(step, check)


def _some(y) -> list[float]:
    return y[0, :8].astype("float32").asnumpy().tolist()
