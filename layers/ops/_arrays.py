"""Functions of arrays that several operators use."""

from __future__ import annotations

from math import prod

import numpy as np

from ..engine import adapter, mxnet_error, nd


def expect_one_shape(who, **arrays):
    """Refuse arrays of different shapes.

    Raises
    ------
    ValueError
        The shapes differ; the message has the operator's name and the shapes.
    """
    if len({a.shape for a in arrays.values()}) > 1:
        shown = ", ".join(f"{name} is {a.shape}" for name, a in arrays.items())
        raise mxnet_error(ValueError, f"operator 'layers.{who}': {shown}\n  expected one shape")


def widen(x):
    """Return x in float32 if its dtype has 16 bits, else x."""
    return x if x.dtype is np.float32 or x.dtype is np.float64 else x.astype("float32")


def narrow(y, x):
    """Return y in the dtype of x."""
    return y if y.dtype is x.dtype else y.astype(x.dtype)


def moments(x, eps):
    """Return the mean of the last axis, x - mean, and 1 / √(variance + eps)."""
    mean = nd.mean(x, axis=-1, keepdims=True)
    centered = x - mean
    return mean, centered, inverse_root(centered, eps)


def inverse_root(x, eps):
    """Return 1 / √(mean x² + eps) of the last axis; `nd.norm` makes no array of squares."""
    size = nd.norm(x, axis=-1, keepdims=True)
    return nd.rsqrt(nd.square(size) / x.shape[-1] + eps)


def times(x, scale, factor):
    y = x if factor == 1 else x * factor
    return y if scale is None else nd.broadcast_mul(y, scale)


def class_numbers(who, label, count, ignored):
    """Return labels as class numbers, (n,), all of them valid."""
    return adapter().class_numbers(who, label, count, ignored)


def nearest_classes(label, count):
    """Return the nearest valid class of each label."""
    return nd.clip(label.astype("float32"), a_min=0, a_max=count - 1)


def spans(size, most):
    """Return slices of one length, at most `most`, that cover a size; the last may be shorter."""
    if not size:
        return []
    length = -(-size // -(-size // most))
    return [slice(i, min(i + length, size)) for i in range(0, size, length)]


def rows(x):
    """Return x as a matrix whose rows run along the last axis."""
    if x.ndim == 2:
        return x
    *axes, size = x.shape
    if not size:  # -1 cannot stand beside a 0, and 0 in a reshape copies a size
        return nd.zeros((prod(axes), 0), ctx=x.context, dtype=x.dtype)
    return x.reshape((-1, size))


def numbered(count, like):
    """Return the `count` numbers 0, 1, ...; nd.arange cannot return an empty array."""
    if not count:
        return nd.zeros((0,), ctx=like.context)
    return nd.arange(count, ctx=like.context)
