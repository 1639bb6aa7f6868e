"""Names of the operators that `Custom` makes."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

_numbers: dict[str, itertools.count] = {}  # by name, for operators with equal arguments


def unique_name(title: str, arguments: tuple) -> str:
    """Return a name that no other operator has, the same in each process with the same order.

    The name has a hash of the arguments of `Custom`. A function is hashed by its module, its name,
    the variables around it and its defaults. Operators with the same hash are numbered.
    """
    text = "\n".join(map(_identity, arguments))
    name = f"Custom_{title}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    number = next(_numbers.setdefault(name, itertools.count()))
    return f"{name}_{number}" if number else name


def _identity(argument: Any) -> str:
    """Return text that tells an argument of `Custom` from others, the same in each process."""
    if not callable(argument):
        return repr(argument)
    function = getattr(argument, "__wrapped__", argument)
    named = function if hasattr(function, "__name__") else type(function)
    module = getattr(named, "__module__", None)
    # The main program's module has no fixed name: it may be run, or imported under its file's name.
    place = [] if module in (None, "__main__") else [module]
    place.append(getattr(named, "__qualname__", named.__name__))
    return "\n".join([".".join(place), *map(_as_text, _bound_values(function))])


def _bound_values(function: Any) -> Iterator[Any]:
    """Yield the values of the variables around a function, and its defaults."""
    for cell in getattr(function, "__closure__", None) or ():
        with suppress(ValueError):  # a variable without a value yet
            yield cell.cell_contents
    yield from getattr(function, "__defaults__", None) or ()
    yield from (getattr(function, "__kwdefaults__", None) or {}).items()


def _as_text(value: Any) -> str:
    """Return numbers, text, arrays and tuples of them as text; other values by their name."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_as_text, value))})"
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None))):
        return f"{type(value).__name__} {value!r}"
    return str(getattr(value, "__name__", type(value).__name__))
