"""Functions of `sym.contrib` that are put together from operators of the table."""

from __future__ import annotations

import math

from . import op
from .symbol import Symbol

__all__ = ["rand_zipfian"]

_random, _cast = op.functions()["random_uniform"], op.functions()["cast"]
_log, _exp = op.functions()["log"], op.functions()["exp"]


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Classes drawn by Zipf's law, and how often classes are to be expected among them.

    The same as `nd.contrib.rand_zipfian`.
    """
    scale = math.log(range_max + 1)
    drawn = _exp(_random(0, scale, shape=(num_sampled,), dtype="float64"))
    sampled = (_cast(drawn, dtype="int64") - 1) % range_max
    true, found = (
        _log((c + 2) / (c + 1)) / scale * num_sampled
        for c in (_cast(true_classes, dtype="float64"), _cast(sampled, dtype="float64"))
    )
    return sampled, true, found
