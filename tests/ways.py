"""The ways to run a block, for tests of each: what `hybridize` is told, or None for not at all."""

import pytest

from layers import engine

WAYS = {
    "eager": None,
    "plain": {},
    "recorded": {"static_alloc": True, "static_shape": True},
    **({"compiled": {"backend": "inductor"}} if engine.compiles() else {}),
}


def each(*left_out):
    """Parameters of a test, by the names of the ways; compiled, each takes seconds."""
    return [
        pytest.param(options, id=name, marks=pytest.mark.slow if name == "compiled" else ())
        for name, options in WAYS.items()
        if name not in left_out
    ]
