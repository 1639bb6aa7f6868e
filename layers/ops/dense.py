"""Affine map."""

from __future__ import annotations

from ..engine import nd
from ._arrays import rows
from .ways.class_form import operator

__all__ = ["dense"]


@operator(name="layers.dense")
class dense:
    """Affine map on the last axis, y = x wᵀ + b, or y = x wᵀ + bias with a constant.

    It is neither faster nor leaner than the built-in FullyConnected. It is here as an example of an
    operator, and to make nets only of this library's operators. The gradient of x, a third of the
    work, is not computed if nobody asks for it.

    x : (..., k)      w : (m, k)      b : (m,), optional      y : (..., m)
    """

    low_precision = True

    def forward(x, w, b=None, *, bias: float = 0.0):
        y = nd.FullyConnected(x, w, b, num_hidden=w.shape[0], no_bias=b is None, flatten=False)
        return y + bias if bias else y

    def dx(dy, w):
        return nd.dot(dy, w)

    def dw(dy, x):
        return nd.dot(rows(dy), rows(x), transpose_a=True)

    def db(dy):
        return nd.sum(dy, axis=-1, exclude=True)

    def shapes(x, w):
        m = w[0]
        return {"w": (m, x[-1]), "b": (m,), "y": (*x[:-1], m)}
