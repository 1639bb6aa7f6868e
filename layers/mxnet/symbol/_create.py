"""Functions of `sym` that the table has under other names, most of which make arrays."""

from __future__ import annotations

import numpy as np

from ..base import ArgumentError, integer_types
from . import op
from .symbol import Symbol

__all__ = ["arange", "eye", "full", "histogram", "linspace", "ones", "split_v2", "zeros"]

_internal = op.functions("_")


def _dtype_name(dtype) -> str:
    return "float32" if dtype is None else np.dtype(dtype).name


def zeros(shape, dtype=None, **kwargs):
    """Zeros, float32 by default."""
    return _internal["_zeros"](shape=shape, dtype=_dtype_name(dtype), **kwargs)


def ones(shape, dtype=None, **kwargs):
    """Ones, float32 by default."""
    return _internal["_ones"](shape=shape, dtype=_dtype_name(dtype), **kwargs)


def full(shape, val, dtype=None, **kwargs):
    """One value everywhere, float32 by default."""
    return _internal["_full"](shape=shape, value=float(val), dtype=_dtype_name(dtype), **kwargs)


def arange(start, stop=None, step=1.0, repeat=1, infer_range=False, name=None, dtype=None):
    """Values from `start` up to `stop`, which is not included; see `nd.arange`."""
    return _internal["_arange"](
        start=start,
        stop=stop,
        step=step,
        repeat=repeat,
        infer_range=infer_range,
        name=name,
        dtype=_dtype_name(dtype),
    )


def linspace(start, stop, num, endpoint=True, name=None, dtype=None):
    """`num` values evenly from `start` to `stop`."""
    return _internal["_linspace"](
        start=start, stop=stop, num=num, endpoint=endpoint, name=name, dtype=_dtype_name(dtype)
    )


def eye(N, M=0, k=0, dtype=None, **kwargs):
    """Ones on the `k`-th diagonal, zeros elsewhere."""
    return _internal["_eye"](N=N, M=M, k=k, dtype=_dtype_name(dtype), **kwargs)


def histogram(a, bins=10, range=None, **kwargs):
    """The number of values in each bin, and the edges of the bins; see `nd.histogram`.

    Raises
    ------
    ArgumentError
        `bins` is a number, and there is no `range`.
    """
    if isinstance(bins, Symbol):
        return _internal["_histogram"](data=a, bins=bins, **kwargs)
    if range is None:
        raise ArgumentError(f"histogram: bins is {bins}, range is None\n  expected a range")
    return _internal["_histogram"](data=a, bin_cnt=bins, range=range, **kwargs)


def split_v2(ary, indices_or_sections, axis=0, squeeze_axis=False):
    """Parts along an axis: a number of equal ones, or one from each index to the next."""
    options = {"axis": axis, "squeeze_axis": squeeze_axis}
    if isinstance(indices_or_sections, integer_types):
        return _internal["_split_v2"](ary, indices=[], sections=indices_or_sections, **options)
    indices = [0, *indices_or_sections]
    return _internal["_split_v2"](ary, indices=indices, sections=0, **options)
