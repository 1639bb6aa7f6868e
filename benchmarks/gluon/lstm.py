"""An LSTM over sequences, forward and backward: `gluon.rnn.LSTM`."""

from __future__ import annotations

from layers.engine import autograd, gluon, nd

from ..data import sequences
from ..worker import Entry
from . import place
from .steps import HYBRIDIZE


def build(variant: str, device: str, steps: int, batch: int, size: int, layers: int) -> Entry:
    """`variant` is a key of HYBRIDIZE."""
    data, weights = sequences(steps, batch, size, layers)
    x = nd.array(data, ctx=place(device))
    net = gluon.rnn.LSTM(size, layers, input_size=size)
    net.initialize(ctx=place(device))
    parameters = [*net.collect_params().values()]
    for parameter, value in zip(parameters, weights):
        parameter.set_data(nd.array(value))
    if HYBRIDIZE[variant] is not None:
        net.hybridize(**HYBRIDIZE[variant])

    def step():
        with autograd.record():
            y = net(x)
        y.backward()
        return y

    def check() -> list[float]:
        y = step()
        gradients = [p.grad().reshape(-1)[0].asscalar() for p in parameters]
        return [*y[-1, 0, :4].asnumpy().tolist(), *map(float, gradients)]

    return Entry(step, check)
