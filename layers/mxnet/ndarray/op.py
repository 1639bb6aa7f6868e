"""The operators of the table, as functions of NDArrays."""

from __future__ import annotations

from functools import cache

from .. import _table
from .._table import registry
from .register import eager

PREFIXES = {  # where MXNet puts an operator, by the beginning of its name
    "_random_": "random",
    "_linalg_": "linalg",
    "_contrib_": "contrib",
    "_image_": "image",
    "_sparse_": "sparse",
    "_": "_internal",
}


@cache
def functions(prefix: str = "") -> dict:
    """The functions whose names begin with `prefix`, by the rest of the name.

    Where the prefix is "_" alone it stays, as in ``nd._internal._plus_scalar``.
    """
    cut = prefix if prefix != "_" else ""
    return {
        name.removeprefix(cut): _made(registry.get(name))
        for name in registry.names()
        if place(name) == prefix
    }


def place(name: str) -> str:
    """Which of `PREFIXES` a name begins with; empty when none."""
    prefix = next((p for p in PREFIXES if name.startswith(p) and name != p), "")
    return "_" if prefix == "_random_" and not name.endswith("_like") else prefix


def _made(operator: registry.Op):
    if operator not in _functions:
        _functions[operator] = eager(operator)
    return _functions[operator]


_functions: dict = {}
_table.load()
globals().update(functions())
__all__ = list(functions())
