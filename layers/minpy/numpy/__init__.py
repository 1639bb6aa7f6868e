"""Some of NumPy's functions over `nd`, on NDArrays, which record and have gradients.

They differ from NumPy in a few points. Arrays without axes have the shape (1,). Comparisons return
the numbers 0 and 1. Arrays made from lists are float32, also for integers, as in MinPy;
``dtype=int64`` is for indices inside ``@customop("numpy")``. The product of an integer array and a
fraction is truncated, as in `nd`. Functions whose results are fractions convert integers to
float32. Two arrays must have the same dtype.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import numpy as np

from ...engine import mx, nd
from ...ops.ways import numpy_border
from . import random as random

e, inf, nan, newaxis, pi = np.e, np.inf, np.nan, None, np.pi
float16, float32, float64 = np.float16, np.float32, np.float64
int8, int32, int64, uint8 = np.int8, np.int32, np.int64, np.uint8

_CONSTANTS = ["e", "inf", "nan", "newaxis", "pi", "float16", "float32", "float64"]
_CONSTANTS += ["int8", "int32", "int64", "uint8"]
_TABLE: dict[str, Callable] = {}


def _row(function: Callable, name: str | None = None) -> Callable:
    """Add a function to the table."""
    name = function.__name__ = function.__qualname__ = name or function.__name__
    function.__doc__ = function.__doc__ or f"Return `numpy.{name}` of NDArrays."
    _TABLE[name] = function
    return function


def _rows(family: Callable[[str], Callable], names: str) -> None:
    """Add the functions of a family to the table; `family` makes each from its name."""
    for name in names.split():
        _row(family(name), name)


@_row
def array(object, dtype=None):
    """Return an NDArray with a copy of the values, in their dtype; numbers and lists as float32."""
    if isinstance(object, nd.NDArray):
        return object.copy() if dtype is None else object.astype(dtype)
    values = np.asarray(object)
    if dtype is None and values.dtype.kind in "biuf" and not isinstance(object, np.ndarray):
        dtype = float32
    return numpy_border.array(
        values if dtype is None else values.astype(dtype), mx.current_context()
    )


@_row
def asarray(a, dtype=None):
    """Return an NDArray of the values; an NDArray is returned unchanged."""
    return a if isinstance(a, nd.NDArray) and dtype is None else array(a, dtype)


def _as_floating(x):
    """Return integers as float32, and other arrays unchanged."""
    x = asarray(x)
    return x.astype(float32) if np.dtype(x.dtype).kind in "iub" else x


def _is_number(x) -> bool:
    return isinstance(x, (bool, int, float, np.number))


def _pair(x1, x2) -> tuple:
    """Return two arrays, or an array and a number; integers beside a fraction become float32."""
    if _is_number(x1) and _is_number(x2):
        x1 = array(x1)
    pair = [x if _is_number(x) else asarray(x) for x in (x1, x2)]
    if any(isinstance(x, (float, np.floating)) for x in pair):
        pair = [x if _is_number(x) else _as_floating(x) for x in pair]
    return tuple(pair)


# Families


def _filled(name: str) -> Callable:
    def function(shape, dtype=float32):
        return getattr(nd, name)(shape, dtype=dtype)

    return function


_rows(_filled, "zeros ones")


def _like(name: str) -> Callable:
    return lambda a: getattr(nd, name)(asarray(a))


_rows(_like, "zeros_like ones_like")


def _elementwise_floating(name: str) -> Callable:
    return lambda x: getattr(nd, name)(_as_floating(x))


_rows(_elementwise_floating, "exp expm1 log log2 log10 log1p sqrt cbrt reciprocal degrees radians")
_rows(
    _elementwise_floating, "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh"
)


def _elementwise(name: str) -> Callable:
    return lambda x: getattr(nd, name)(asarray(x))


_rows(_elementwise, "abs sign square floor ceil trunc")

_BINARY = {
    "add": python.add, "subtract": python.sub, "multiply": python.mul, "power": python.pow,
    "equal": python.eq, "not_equal": python.ne, "less": python.lt, "less_equal": python.le,
    "greater": python.gt, "greater_equal": python.ge,
    "maximum": nd.maximum, "minimum": nd.minimum,
}  # fmt: skip


def _binary(name: str) -> Callable:
    return lambda x1, x2: _BINARY[name](*_pair(x1, x2))


_rows(_binary, " ".join(_BINARY))


def _reduction(name: str, prepare: Callable = asarray) -> Callable:
    def function(a, axis=None, keepdims=False):
        axes = {} if axis is None else {"axis": axis}
        return getattr(nd, name)(prepare(a), keepdims=keepdims, **axes)

    return function


_rows(_reduction, "sum prod max min")
_mean = _row(_reduction("mean", _as_floating), "mean")


def _arg_reduction(name: str) -> Callable:
    def function(a, axis=None):
        a = asarray(a)
        a, axis = (a.reshape((-1,)), 0) if axis is None else (a, axis)
        return getattr(nd, name)(a, axis=axis).astype(int64)

    return function


_rows(_arg_reduction, "argmax argmin")

# Functions of no family


@_row
def full(shape, fill_value, dtype=float32):
    return nd.full(shape, fill_value, dtype=dtype)


@_row
def arange(start, stop=None, step=1, dtype=None):
    return array(np.arange(start, stop, step).tolist(), dtype)


@_row
def linspace(start, stop, num=50):
    return array(np.linspace(start, stop, num).tolist())


@_row
def eye(N, M=None, k=0):
    return array(np.eye(N, M, k).tolist())


@_row
def divide(x1, x2):
    first, second = _pair(x1, x2)
    return _as_floating(first) / second if not _is_number(first) else first / _as_floating(second)


@_row
def negative(x):
    return -asarray(x)


@_row
def clip(a, a_min, a_max):
    return nd.clip(asarray(a), a_min, a_max)


@_row
def var(a, axis=None, keepdims=False):
    a = _as_floating(a)
    centre = _mean(a, axis, keepdims=True) if a.ndim > 1 else _mean(a)
    return _mean(nd.square(a - centre), axis, keepdims)


@_row
def std(a, axis=None, keepdims=False):
    return nd.sqrt(var(a, axis, keepdims))


@_row
def dot(a, b):
    """Return `numpy.dot` of NDArrays of one or two axes."""
    a, b = asarray(a), asarray(b)
    if a.ndim > 2 or b.ndim > 2:
        raise NotImplementedError(
            f"dot: arrays {a.shape} and {b.shape}\n  expected one or two axes each"
        )
    return nd.dot(a, b)


@_row
def reshape(a, newshape):
    """Return `numpy.reshape` of an NDArray.

    Raises
    ------
    ValueError
        A size is 0, or below -1.
    """
    sizes = (newshape,) if isinstance(newshape, int) else tuple(newshape)
    if any(n == 0 or n < -1 for n in sizes):  # 0 and numbers below -1 have other meanings in `nd`
        raise ValueError(f"reshape: {newshape!r}\n  expected sizes above 0, or one -1")
    return asarray(a).reshape(sizes)


@_row
def ravel(a):
    return asarray(a).reshape((-1,))


@_row
def transpose(a, axes=None):
    return nd.transpose(asarray(a), **({} if axes is None else {"axes": axes}))


@_row
def swapaxes(a, axis1, axis2):
    return nd.swapaxes(asarray(a), dim1=axis1, dim2=axis2)


@_row
def expand_dims(a, axis):
    return nd.expand_dims(asarray(a), axis=axis)


@_row
def squeeze(a, axis=None):
    return nd.squeeze(asarray(a), **({} if axis is None else {"axis": axis}))


@_row
def broadcast_to(array, shape):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    array = asarray(array)
    return nd.broadcast_to(
        array.reshape((1,) * (len(shape) - array.ndim) + array.shape), shape=shape
    )


@_row
def concatenate(arrays, axis=0):
    return nd.concat(*map(asarray, arrays), dim=axis)


@_row
def stack(arrays, axis=0):
    return nd.stack(*map(asarray, arrays), axis=axis)


@_row
def hstack(tup):
    arrays = [*map(asarray, tup)]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


@_row
def vstack(tup):
    return concatenate([a.reshape((1, -1)) if a.ndim == 1 else a for a in map(asarray, tup)])


@_row
def outer(a, b):
    return asarray(a).reshape((-1, 1)) * asarray(b).reshape((1, -1))


@_row
def tile(A, reps):
    return nd.tile(asarray(A), reps=(reps,) if isinstance(reps, int) else reps)


@_row
def repeat(a, repeats, axis=None):
    return nd.repeat(asarray(a), repeats=repeats, **({} if axis is None else {"axis": axis}))


@_row
def flip(m, axis):
    return nd.flip(asarray(m), axis=axis)


@_row
def where(condition, x, y):
    pair = _pair(x, y)
    dtype = next(v.dtype for v in pair if not _is_number(v))
    arrays = [asarray(condition).astype(dtype)]
    arrays += [nd.full((1,), v, dtype=dtype) if _is_number(v) else v for v in pair]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return nd.where(*(broadcast_to(a, shape) for a in arrays))


@_row
def sort(a, axis=-1):
    return nd.sort(asarray(a), axis=axis)


@_row
def argsort(a, axis=-1):
    return nd.argsort(asarray(a), axis=axis).astype(int64)


@_row
def take(a, indices, axis=None):
    a, axis = (ravel(a), 0) if axis is None else (asarray(a), axis)
    return nd.take(a, asarray(indices), axis=axis)


_ALIASES = {
    "absolute": "abs", "fabs": "abs", "fix": "trunc", "amax": "max", "amin": "min",
    "true_divide": "divide", "deg2rad": "radians", "rad2deg": "degrees",
}  # fmt: skip
_TABLE |= {name: _TABLE[target] for name, target in _ALIASES.items()}
globals().update(_TABLE)

__all__ = sorted([*_CONSTANTS, *_TABLE, "random"])


def __getattr__(name: str) -> Any:
    near = get_close_matches(name[:100], __all__, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise AttributeError(
        f"layers.minpy.numpy has no {name!r}{hint}\n"
        f"  expected one of {', '.join(__all__)}; inside @customop('numpy') all of NumPy is there"
    )


def __dir__() -> list[str]:
    return __all__
