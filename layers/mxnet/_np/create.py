"""The functions of ``mx.np`` that make arrays."""

from __future__ import annotations

import numbers
from operator import index

import numpy as np

from .front import front

numpy = front("numpy")


def shape_of(shape) -> tuple[int, ...]:
    """Return a shape as a tuple; one int is the size of its only axis."""
    return tuple(shape) if hasattr(shape, "__len__") else (index(shape),)


@numpy
def zeros(F, shape, dtype=None, order="C", ctx=None):
    """Return zeros, float32 by default."""
    expect_c("zeros", order)
    return F._npi_zeros(shape=shape_of(shape), dtype=dtype or np.float32, ctx=F.context(ctx))


@numpy
def ones(F, shape, dtype=None, order="C", ctx=None):
    """Return ones, float32 by default."""
    expect_c("ones", order)
    return F._npi_ones(shape=shape_of(shape), dtype=dtype or np.float32, ctx=F.context(ctx))


@numpy
def empty(F, shape, dtype=None, order="C", ctx=None):
    """Return an array whose values are of no meaning: zeros."""
    return F.zeros(shape, dtype, order, ctx)


def expect_c(name: str, order: str) -> None:
    """Refuse an order of memory that is not C's."""
    if order != "C":
        raise NotImplementedError(f"{name}: order is {order!r}\n  expected 'C'")


@numpy
def full(F, shape, fill_value, dtype=None, order="C", ctx=None, out=None):
    """Return one value everywhere; by default bool for a bool, else float32."""
    expect_c("full", order)
    if isinstance(fill_value, F.operand):
        y = F.broadcast_to(fill_value, shape_of(shape))
        return y if dtype is None else y.astype(dtype)
    kind = dtype or (np.bool_ if isinstance(fill_value, (bool, np.bool_)) else np.float32)
    options = {"shape": shape_of(shape), "value": fill_value, "dtype": kind}
    return F._npi_full(**options, ctx=F.context(ctx), out=out)


@numpy
def full_like(F, a, fill_value, dtype=None, order="C", ctx=None, out=None):
    """Return one value everywhere, in the shape and dtype of an array."""
    expect_c("full_like", order)
    return F._npi_full_like(a, fill_value=fill_value, dtype=dtype, out=out)


@numpy
def zeros_like(F, a, dtype=None, order="C", ctx=None, out=None):
    """Return zeros in the shape and dtype of an array."""
    return F.full_like(a, 0, dtype, order, ctx, out)


@numpy
def ones_like(F, a, dtype=None, order="C", ctx=None, out=None):
    """Return ones in the shape and dtype of an array."""
    return F.full_like(a, 1, dtype, order, ctx, out)


@numpy
def empty_like(F, prototype, dtype=None, order="C", subok=False, shape=None):
    """Return an array of no meaning in the shape and dtype of another: zeros."""
    for name, value, expected in (
        ("order", order, "C"),
        ("subok", subok, False),
        ("shape", shape, None),
    ):
        if value != expected:
            raise NotImplementedError(f"empty_like: {name} is {value!r}\n  expected {expected!r}")
    return F.full_like(prototype, 0, dtype)


@numpy
def identity(F, n, dtype=None, ctx=None):
    """Return the n x n matrix of ones on the diagonal and zeros elsewhere."""
    if not isinstance(n, numbers.Integral):
        raise TypeError(f"identity: n is {n!r}\n  expected an int")
    if n < 0:
        raise ValueError(f"identity: n is {n}\n  expected 0 or more")
    return F._npi_identity(shape=(n, n), dtype=dtype or np.float32, ctx=F.context(ctx))


@numpy
def eye(F, N, M=None, k=0, dtype=np.float32, ctx=None):
    """Return ones on the k-th diagonal of an N x M array, zeros elsewhere."""
    return F._npi_eye(N=N, M=M, k=k, dtype=dtype, ctx=F.context(ctx))


@numpy
def arange(F, start, stop=None, step=1, dtype=None, ctx=None):
    """Return the values from start up to stop, which is left out."""
    options = {"start": start, "stop": stop, "step": 1 if step is None else step}
    return F._npi_arange(**options, dtype=dtype or np.float32, ctx=F.context(ctx))


@numpy
def linspace(F, start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, ctx=None):
    """Return `num` values evenly from start to stop."""
    _expect_numbers("linspace", start, stop, axis)
    options = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    y = F._npi_linspace(**options, dtype=dtype or np.float32, ctx=F.context(ctx))
    return (y, (stop - start) / (num - bool(endpoint))) if retstep else y


@numpy
def logspace(F, start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0, ctx=None):
    """Return `num` powers of the base, whose exponents are evenly from start to stop."""
    _expect_numbers("logspace", start, stop, axis)
    options = {"start": start, "stop": stop, "num": num, "endpoint": endpoint, "base": base}
    return F._npi_logspace(**options, dtype=dtype or np.float32, ctx=F.context(ctx))


def _expect_numbers(name, start, stop, axis) -> None:
    if axis or not all(isinstance(n, (numbers.Real, np.generic)) for n in (start, stop)):
        raise NotImplementedError(
            f"{name}: start is {start!r}, stop is {stop!r}, axis is {axis}\n"
            "  expected numbers, and axis 0"
        )


@numpy
def meshgrid(F, *xi, **kwargs):
    """Return the coordinates of the points of a grid: an array for each axis."""
    indexing, sparse = kwargs.pop("indexing", "xy"), kwargs.pop("sparse", False)
    kwargs.pop("copy", None)
    if kwargs:
        raise TypeError(f"meshgrid: {next(iter(kwargs))!r} is unknown")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is {indexing!r}\n  expected 'xy' or 'ij'")
    n = len(xi)
    places = [*range(n)]
    if indexing == "xy" and n > 1:
        places[:2] = 1, 0
    grids = [F.reshape(x, [-1 if i == p else 1 for i in range(n)]) for x, p in zip(xi, places)]
    return grids if sparse else F.broadcast_arrays(*grids)


@numpy
def broadcast_arrays(F, *args, subok=False):
    """Return the arrays repeated to the shape in which they meet."""
    if subok:
        raise ValueError("broadcast_arrays: subok is True\n  expected False")
    shape = np.broadcast_shapes(*[x.shape for x in args])
    return [x if tuple(x.shape) == shape else F.broadcast_to(x, shape) for x in args]
