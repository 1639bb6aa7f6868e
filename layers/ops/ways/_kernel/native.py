"""Functions that compiled kernels call. Importing this module imports Numba."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import types

__all__ = ["NAMES", "build"]

# NumPy's rules for division by zero; compiled code does not hold the interpreter's lock.
OPTIONS = {"nogil": True, "error_model": "numpy"}
jit = numba.njit(**OPTIONS)


def build(function, arguments):
    """Return the function compiled for arguments: an array's (dtype, rank), a number's dtype.

    The compiled function does not check the types of its arguments.
    """
    signature = tuple(
        NAMES[a] if isinstance(a, str) else types.Array(NAMES[a[0]], a[1], "C") for a in arguments
    )
    return numba.njit(signature, **OPTIONS)(function).get_overload(signature)


@jit
def checked_index(i, n, site, axis):
    k = types.uintp(i + n if i < 0 else i)
    if k >= types.uintp(n):  # as unsigned, a negative index is very large
        raise IndexError(site, axis, i)
    return k


@jit
def maximum(a, b):
    return b if b > a else a


@jit
def minimum(a, b):
    return b if b < a else a


@jit
def checked_int(i, low, high):
    if i < low or i > high:
        raise OverflowError("a whole number does not fit into its dtype")
    return i


@jit
def checked_float(x, low, high):
    if x != x:
        raise ValueError("cannot convert float NaN to integer")
    if not low - 1 < x < high + 1:
        raise OverflowError("a number does not fit into its dtype")
    return x


@jit
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


@jit
def sign(x):
    return x if x != x else (x > 0) - (x < 0)  # 0.0 for -0.0


@jit
def nonzero(b):
    """Return the divisor of Python's own numbers; raise the error for zero."""
    if b == 0:
        raise ZeroDivisionError("division by zero")
    return b


def _divisions(dtype):
    """Return `//` and `%` of floats as NumPy computes them, bit for bit; Numba's differ."""
    # NumPy's numbers: Python's would turn float32 into float64.
    zero, half, one = dtype(0), dtype(0.5), dtype(1)

    @jit
    def divided(a, b):
        mod = np.fmod(a, b)
        div = (a - mod) / b
        if mod == zero:
            return div, math.copysign(zero, b)
        if (b < zero) != (mod < zero):
            return div - one, mod + b
        return div, mod

    @jit
    def floor_divide(a, b):
        if b == zero:
            return a / b
        div = divided(a, b)[0]
        if div == zero:
            return math.copysign(zero, a / b)
        floor = np.floor(div)
        return floor + one if div - floor > half else floor

    @jit
    def remainder(a, b):
        return np.fmod(a, b) if b == zero else divided(a, b)[1]

    name = dtype.__name__
    return {f"floor_divide_{name}": floor_divide, f"remainder_{name}": remainder}


DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

NAMES = {
    **{name: getattr(types, name) for name in (*DTYPES, "float32", "float64", "uintp")},
    "bool": types.boolean,
    "inf": math.inf,
    "checked_index": checked_index,
    "maximum": maximum,
    "minimum": minimum,
    "checked_int": checked_int,
    "checked_float": checked_float,
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
