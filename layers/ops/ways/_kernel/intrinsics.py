"""Functions that a loop kernel may call, defined in NumPy as the reference.

For a Python number the result is a Python number: `sqrt(2.0)` is a float, which takes on the dtype
of the other operand. For a NumPy scalar the result has the scalar's dtype, or float64 if the scalar
is an integer and the result is not.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["ARITIES", "BUFFERS", "DTYPES", "FLOATING", "FUNCTIONS", "GRID", "LOOPS", "NAMESPACE"]

SIZES = {"int": (8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (16, 32, 64)}
DTYPES = {f"{kind}{n}": getattr(np, f"{kind}{n}") for kind, sizes in SIZES.items() for n in sizes}
DTYPES["bool_"] = np.bool_
LOOPS = ("range", "serial", "vectorize", "parallel", "reduce")
GRID = "grid"
BUFFERS = ("output_tensor", "allocate")


def _is_weak(x: Any) -> bool:
    return not isinstance(x, np.generic)


def _is_integer(x: Any) -> bool:
    return isinstance(x, (int, np.integer, np.bool_))


def _floating(function: Callable) -> Callable:
    def evaluate(x):
        if _is_weak(x):
            return float(function(float(x)))
        return function(np.float64(x) if _is_integer(x) else x)

    return evaluate


def _rounding(function: Callable) -> Callable:
    def evaluate(x):
        if _is_integer(x):
            return x
        return float(function(x)) if _is_weak(x) else function(x)

    return evaluate


def _test(function: Callable) -> Callable:
    def evaluate(x):
        return bool(function(float(x))) if _is_weak(x) else np.bool_(function(x))

    return evaluate


def _erf(x):
    return type(x)(math.erf(x))


def _rsqrt(x):
    return type(x)(1) / np.sqrt(x)


def _sign(x):
    return type(x)((x > 0) - (x < 0)) if _is_weak(x) else np.sign(x)


def _power(x, y):
    return x**y


def _ceil_div(x, y):
    return (x + y - 1) // y


def _atan2(y, x):
    if _is_weak(y) and _is_weak(x):
        return math.atan2(y, x)
    kind = type(y * x)
    return np.arctan2(*((np.float64 if _is_integer(kind(1)) else kind)(v) for v in (y, x)))


def _choose(choice: Callable) -> Callable:
    """Return a function that chooses one of the numbers, in NumPy's common dtype of all."""

    def evaluate(*numbers):
        chosen = choice(numbers)
        kind = type(math.prod(numbers[1:], start=numbers[0]))  # NumPy's promotion in arithmetic
        return chosen if type(chosen) is kind else kind(chosen)

    return evaluate


FLOATING = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "atan": np.arctan,
    "expm1": np.expm1,
    "erf": _erf,
    "rsqrt": _rsqrt,
}
ROUNDING = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint}
TESTS = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}

FUNCTIONS: dict[str, Callable] = {
    **{name: _floating(f) for name, f in FLOATING.items()},
    **{name: _rounding(f) for name, f in ROUNDING.items()},
    **{name: _test(f) for name, f in TESTS.items()},
    **DTYPES,
    "abs": abs,
    "sign": _sign,
    "power": _power,
    "atan2": _atan2,
    "ceil_div": _ceil_div,
    "max": _choose(max),
    "min": _choose(min),
}

# The least and the greatest number of arguments
ARITIES: dict[str, tuple[int, int]] = {
    **dict.fromkeys(FUNCTIONS, (1, 1)),
    **dict.fromkeys(("power", "atan2", "ceil_div", "output_tensor"), (2, 2)),
    **dict.fromkeys(("max", "min"), (2, 255)),
    **dict.fromkeys(LOOPS, (1, 3)),
    "allocate": (2, 3),
    "grid": (1, 1),
    "len": (1, 1),
}


def _zeros(shape, dtype, scope=None):
    return np.zeros(shape, dtype)


# The globals of a kernel that runs as plain Python
NAMESPACE: dict[str, Any] = {
    "__builtins__": builtins,  # NumPy takes __import__ from here
    **FUNCTIONS,
    **dict.fromkeys(LOOPS, range),
    **dict.fromkeys(BUFFERS, _zeros),
    "grid": lambda shape: np.ndindex(*shape),
    "len": builtins.len,
}
