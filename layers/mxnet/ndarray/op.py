"""The operators of the table, as functions of NDArrays.

`sym` has the same as functions of Symbols. Many are methods of NDArray and Symbol, too.
"""

from __future__ import annotations

from functools import cache

from .. import _table
from .._table import registry
from .register import eager

PREFIXES = {  # the module in which MXNet has an operator, by the beginning of its name
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

    The prefix "_" stays part of the name, as in ``nd._internal._plus_scalar``.
    """
    cut = prefix if prefix != "_" else ""
    return {
        name.removeprefix(cut): _function_of(registry.get(name))
        for name in registry.names()
        if place(name) == prefix
    }


def place(name: str) -> str:
    """The one of `PREFIXES` that a name begins with; "" where there is none."""
    prefix = next((p for p in PREFIXES if name.startswith(p) and name != p), "")
    return "_" if prefix == "_random_" and not name.endswith("_like") else prefix


def _function_of(operator: registry.Op):
    if operator not in _functions:
        _functions[operator] = eager(operator)
    return _functions[operator]


_functions: dict = {}
_table.load()
globals().update(functions())
__all__ = list(functions())
