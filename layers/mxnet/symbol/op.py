"""The operators of the table, as functions of Symbols."""

from __future__ import annotations

from functools import cache

from .._table import registry
from ..ndarray.op import place
from .register import symbolic


@cache
def functions(prefix: str = "") -> dict:
    """The functions whose names begin with `prefix`, by the rest of the name; see `nd.op`."""
    cut = prefix if prefix != "_" else ""
    return {
        (short := name.removeprefix(cut)): symbolic(registry.get(name), short)
        for name in registry.names()
        if place(name) == prefix
    }


globals().update(functions())
__all__ = list(functions())
