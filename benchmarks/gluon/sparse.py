"""A step of a sparse embedding: `gluon.nn.Embedding` with `sparse_grad`, and its Trainer."""

from __future__ import annotations

from layers.engine import autograd, gluon, nd

from ..data import lookups
from ..worker import Entry
from . import place


def build(
    variant: str, device: str, optimizer: str, rows: int, batch: int, size: int = 64
) -> Entry:
    """Updates of 'sgd' and 'adam' are lazy."""
    ids, weight = lookups(rows, size, batch)
    x = nd.array(ids, ctx=place(device))
    net = gluon.nn.Embedding(rows, size, sparse_grad=True)
    net.initialize(ctx=place(device))
    net.weight.set_data(nd.array(weight))
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1, "wd": 0})

    def step():
        with autograd.record():
            y = net(x)
        y.backward()
        trainer.step(1)
        return y

    def check() -> list[float]:
        step()
        return step()[0, :8].asnumpy().tolist()

    return Entry(step, check)
