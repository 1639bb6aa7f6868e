"""What compiled kernels call. Importing this imports Numba."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import types

__all__ = ["NAMES", "build"]

# NumPy's rules for division by zero; the interpreter's lock is not held while it runs.
OPTIONS = {"nogil": True, "error_model": "numpy"}
compiled = numba.njit(**OPTIONS)


def build(function, arguments):
    """The function compiled for these arguments: of an array (dtype, rank), of a number its dtype.

    What comes back takes what it is given for these types, and looks at nothing.
    """
    signature = tuple(
        NAMES[a] if isinstance(a, str) else types.Array(NAMES[a[0]], a[1], "C") for a in arguments
    )
    return numba.njit(signature, **OPTIONS)(function).get_overload(signature)


@compiled
def at(i, n, site, axis):
    k = types.uintp(i + n if i < 0 else i)
    if k >= types.uintp(n):  # also when it is still negative: then it is very large
        raise IndexError(site, axis, i)
    return k


@compiled
def maximum(a, b):
    return b if b > a else a


@compiled
def minimum(a, b):
    return b if b < a else a


@compiled
def fitting(i, low, high):
    if i < low or i > high:
        raise OverflowError("a whole number does not fit into its dtype")
    return i


@compiled
def whole(x, low, high):
    if x != x:
        raise ValueError("cannot convert float NaN to integer")
    if not low - 1 < x < high + 1:
        raise OverflowError("a number does not fit into its dtype")
    return x


@compiled
def integer_power(x, n):
    if n < 0:
        raise ValueError("integers to negative integer powers")
    y = 1
    while n:
        if n & 1:
            y *= x
        x *= x
        n >>= 1
    return y


@compiled
def sign(x):
    return x if x != x else (x > 0) - (x < 0)  # of -0.0 it is 0.0


@compiled
def nonzero(b):
    """What Python's own numbers are divided by."""
    if b == 0:
        raise ZeroDivisionError("division by zero")
    return b


def _divisions(kind):
    """`//` and `%` of floating numbers as NumPy computes them, bit for bit; Numba's differ."""
    zero, half, one = kind(0), kind(0.5), kind(1)  # a Python number would make float64 of float32

    @compiled
    def divided(a, b):
        mod = np.fmod(a, b)
        div = (a - mod) / b
        if mod == zero:
            return div, math.copysign(zero, b)
        if (b < zero) != (mod < zero):
            return div - one, mod + b
        return div, mod

    @compiled
    def floor_divide(a, b):
        if b == zero:
            return a / b
        div = divided(a, b)[0]
        if div == zero:
            return math.copysign(zero, a / b)
        floor = np.floor(div)
        return floor + one if div - floor > half else floor

    @compiled
    def remainder(a, b):
        return np.fmod(a, b) if b == zero else divided(a, b)[1]

    return {f"floor_divide_{kind.__name__}": floor_divide, f"remainder_{kind.__name__}": remainder}


DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

NAMES = {
    **{name: getattr(types, name) for name in (*DTYPES, "float32", "float64", "uintp")},
    "bool": types.boolean,
    "inf": math.inf,
    "at": at,
    "maximum": maximum,
    "minimum": minimum,
    "fitting": fitting,
    "whole": whole,
    "integer_power": integer_power,
    "nonzero": nonzero,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    **_divisions(np.float32),
    **_divisions(np.float64),
    "pow": math.pow,
    "round": np.rint,
    "sign": sign,
    "abs": abs,
    **{name: getattr(np, name) for name in ("floor", "ceil", "trunc")},
    **{name: getattr(math, name) for name in ("sqrt", "exp", "log", "tanh", "sin", "cos", "atan")},
    **{name: getattr(math, name) for name in ("expm1", "erf", "atan2")},
    **{name: getattr(math, name) for name in ("isnan", "isinf", "isfinite")},
}
