"""Functions that make arrays."""

from __future__ import annotations

import numpy as np
import torch

from .. import _dtype
from ..base import ArgumentError
from ..context import Context, current_context
from . import op
from .ndarray import NDArray, _copy

__all__ = [
    "arange",
    "array",
    "concatenate",
    "empty",
    "eye",
    "full",
    "linspace",
    "moveaxis",
    "ones",
    "zeros",
]


def array(source_array, ctx: Context | None = None, dtype=None) -> NDArray:
    """An array with a copy of the values.

    Parameters
    ----------
    source_array : NDArray, numpy.ndarray, number or nested list of numbers
    ctx : Context, optional
        By default an NDArray's own, else the current context.
    dtype : optional
        By default an NDArray's own, else float32.
    """
    if isinstance(source_array, NDArray):
        ctx = ctx or source_array._context
        target = source_array._tensor.dtype if dtype is None else _dtype.to_torch(dtype)
        return NDArray(_copy(source_array._tensor.detach(), ctx.device, target), ctx)
    ctx = ctx or current_context()
    target = torch.float32 if dtype is None else _dtype.to_torch(dtype)
    if not isinstance(source_array, (np.ndarray, torch.Tensor)):
        source_array = _plain(source_array)
    if isinstance(source_array, np.ndarray) and min(source_array.strides, default=0) < 0:
        source_array = source_array.copy()  # PyTorch has no negative strides
    return NDArray(torch.tensor(source_array, dtype=target, device=ctx.device), ctx)


def _plain(source) -> np.ndarray:
    if isinstance(source, (list, tuple)) and source and isinstance(source[0], NDArray):
        source = [a.asnumpy() for a in source]
    try:
        values = np.array(source)
        if values.dtype.kind in "OSU":
            raise ValueError(f"elements of type {values.dtype}")
    except ValueError as error:
        raise ArgumentError(
            f"array: cannot make an array of {type(source).__name__}: {error}\n"
            "  expected numbers, nested in lists of equal lengths"
        ) from None
    return values


def _filled(make, shape, ctx: Context | None, dtype, *value) -> NDArray:
    ctx = ctx or current_context()
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    target = torch.float32 if dtype is None else _dtype.to_torch(dtype)
    return NDArray(make(shape, *value, dtype=target, device=ctx.device), ctx)


def zeros(shape, ctx: Context | None = None, dtype=None, stype=None, **kwargs) -> NDArray:
    """An array of zeros, float32 by default."""
    if stype not in (None, "default"):
        raise ArgumentError(f"zeros: stype is {stype!r}\n  expected 'default'; arrays are dense")
    return _given(_filled(torch.zeros, shape, ctx, dtype), **kwargs)


def ones(shape, ctx: Context | None = None, dtype=None, **kwargs) -> NDArray:
    """An array of ones, float32 by default."""
    return _given(_filled(torch.ones, shape, ctx, dtype), **kwargs)


def empty(shape, ctx: Context | None = None, dtype=None, stype=None) -> NDArray:
    """An array whose values are not set, float32 by default."""
    return _filled(torch.empty, shape, ctx, dtype)


def full(shape, val, ctx: Context | None = None, dtype=None, out=None) -> NDArray:
    """An array with one value everywhere, float32 by default."""
    return _given(_filled(torch.full, shape, ctx, dtype, val), out)


def _given(result: NDArray, out: NDArray | None = None, name: str | None = None) -> NDArray:
    if out is None:
        return result
    out[:] = result
    return out


def arange(
    start, stop=None, step=1.0, repeat=1, infer_range=None, ctx=None, dtype=None
) -> NDArray:
    """Values from `start` (0 when only one end is given) up to `stop`, which is not included.

    Each value comes `repeat` times.
    """
    if stop is None and infer_range is None:
        start, stop = 0, start
    ctx = ctx or current_context()
    target = torch.float32 if dtype is None else _dtype.to_torch(dtype)
    values = torch.arange(start, stop, step, dtype=torch.float64, device=ctx.device).to(target)
    return NDArray(values.repeat_interleave(repeat) if repeat != 1 else values, ctx)


def linspace(start, stop, num, endpoint=True, ctx=None, dtype=None) -> NDArray:
    """`num` values evenly from `start` to `stop`, which is left out with ``endpoint=False``."""
    ctx = ctx or current_context()
    target = torch.float32 if dtype is None else _dtype.to_torch(dtype)
    values = np.linspace(start, stop, num, endpoint=endpoint)
    return NDArray(torch.tensor(values, dtype=target, device=ctx.device), ctx)


def eye(N, M=0, k=0, ctx=None, dtype=None, **kwargs) -> NDArray:
    """Ones on the `k`-th diagonal of an N x M array (square when M is 0), zeros elsewhere."""
    ctx = ctx or current_context()
    target = torch.float32 if dtype is None else _dtype.to_torch(dtype)
    values = torch.diag_embed(torch.ones(max(N, M or N) + abs(k), device=ctx.device), k)
    return _given(NDArray(values[:N, : M or N].to(target).contiguous(), ctx), **kwargs)


def concatenate(arrays, axis: int = 0, always_copy: bool = True) -> NDArray:
    """Arrays joined along an axis."""
    if len(arrays) == 1 and not always_copy:
        return arrays[0]
    return op.concat(*arrays, dim=axis)


def moveaxis(tensor: NDArray, source, destination) -> NDArray:
    """A copy with some axes moved; the others keep their order."""
    ndim = tensor.ndim
    sources = [a % ndim for a in np.atleast_1d(source)]
    targets = [a % ndim for a in np.atleast_1d(destination)]
    if len(set(sources)) != len(set(targets)):
        raise ArgumentError(f"moveaxis: source {source}, destination {destination}\n  expected as many")
    axes = [a for a in range(ndim) if a not in sources]
    for target, from_ in sorted(zip(targets, sources)):
        axes.insert(target, from_)
    return op.transpose(tensor, axes=tuple(int(a) for a in axes))
