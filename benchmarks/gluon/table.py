"""One call of an operator of the table, forward, with typical arguments."""

from __future__ import annotations

import numpy as np

from layers.engine import nd

from ..rows import ROWS, Boxes, Exact, Ints
from ..worker import Entry
from . import place

PLACES = ("contrib", "linalg", "image", "sparse")


def build(variant: str, device: str, operator: str) -> Entry:
    row, random = ROWS[operator], np.random.RandomState(0)
    values = [_values(given, random) for given in row.inputs]
    inputs = [nd.array(v, ctx=place(device), dtype=v.dtype) for v in values]
    run = _function(operator)
    attributes = dict(row.attributes)
    if row.into:
        attributes["out"] = [inputs[i] for i in row.into]
    if not inputs:
        attributes["ctx"] = str(place(device))

    def step():
        return run(*inputs, **attributes)

    def check():
        ys = step()
        ys = ys if isinstance(ys, (list, tuple)) else [ys]
        sizes = [float(n) for y in ys for n in y.shape]
        if row.draws:
            return sizes
        firsts = [y.astype("float64").reshape(-1)[:8].asnumpy() for y in ys[:1] if y.size]
        numbers = np.nan_to_num(np.concatenate(firsts)) if firsts else []
        return sizes + [float(v) for v in numbers]

    return Entry(step, check)


def _function(name: str):
    place_of, rest = "op", name
    if name.startswith("_"):
        place_of, _, rest = name[1:].partition("_")
        if place_of not in PLACES and not (place_of == "random" and name.endswith("_like")):
            place_of, rest = "_internal", name
    return getattr(getattr(nd, place_of), rest)


def _values(given, random) -> np.ndarray:
    if isinstance(given, Ints):
        return random.randint(0, given.below, given.shape).astype(given.dtype)
    if isinstance(given, Exact):
        return np.array(given.values, given.dtype)
    if isinstance(given, Boxes):
        low = random.uniform(0, 0.5, (*given.shape[:-1], 2))
        high = low + random.uniform(0.1, 0.5, low.shape)
        corners = np.concatenate([low, high], -1) * given.scale
        rest = random.uniform(0.1, 0.9, (*given.shape[:-1], given.shape[-1] - 4))
        if given.first:
            rest[..., 0] = random.randint(0, given.first, rest.shape[:-1])
        # (image, box), (class, box) or (class, score, box); a turned box has its angle at the end
        return np.concatenate([rest, corners], -1).astype("float32")
    return random.uniform(0.1, 0.9, given).astype("float32")
