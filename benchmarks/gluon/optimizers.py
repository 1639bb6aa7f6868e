"""One update of many parameters, as a Trainer asks for it."""

from __future__ import annotations

from layers.engine import mx, nd

from ..data import RATE, parameters
from ..worker import Entry
from . import place


def build(variant: str, device: str, name: str, options: dict, count: int, shape: tuple) -> Entry:
    values, slopes = parameters(count, shape)
    weights, gradients = (
        [nd.array(a, ctx=place(device)) for a in each] for each in (values, slopes)
    )
    update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=RATE, **options))
    numbers = [*range(count)]

    def step():
        update(numbers, gradients, weights)
        return weights[-1]

    def check() -> list[float]:
        for _ in range(3):
            step()
        return [float(w[0, 0].asscalar()) for w in weights[:: count // 8]]

    return Entry(step, check)
