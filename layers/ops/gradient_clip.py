"""Identity with a clipped gradient."""

from __future__ import annotations

from math import inf

import numpy as np

from ..engine import mxnet_error, nd
from .ways.class_form import operator

__all__ = ["gradient_clip"]


@operator(name="layers.gradient_clip")
class gradient_clip:
    """Identity, y = x, with a gradient clipped to [-value, value], then to the norm `norm`.

    dx = min(1, norm / |c|) c,  c = min(max(dy, -value), value)      x, y : any shape

    The norm is taken over the whole array, and computed without overflow: therefore a step takes
    1.5 times as long as an `autograd.Function` with ``nd.norm`` (512 x 1024 elements, one thread).
    Nothing is kept for backward. No composition of built-in operators has this gradient. A bound
    that is not above 0 is a ValueError.

    R. Pascanu, T. Mikolov, Y. Bengio, On the difficulty of training recurrent neural networks,
    ICML 2013.
    """

    surrogate = "how much of the gradient passes depends on the gradient"

    def forward(x, *, value: float = inf, norm: float = inf):
        expect_positive(value=value, norm=norm)
        return x * 1

    def dx(dy, value, norm):
        if value < inf:
            dy = nd.clip(dy, a_min=-value, a_max=value)
        return nd.broadcast_mul(dy, shrinkage(dy, norm)) if norm < inf else dy

    def shapes(x):
        return {"y": x}


def shrinkage(dy, norm):
    """Return the factor that reduces the norm of dy to `norm`, at most 1."""
    wide = dy.astype("float32") if dy.dtype is np.float16 else dy
    largest = nd.maximum(nd.max(nd.abs(wide)), 1e-30)  # divided by it, squares do not overflow
    length = largest * nd.sqrt(nd.sum(nd.square(nd.broadcast_div(wide, largest))))
    return (norm / nd.maximum(length, norm)).astype(dy.dtype)


def expect_positive(**bounds):
    for name, bound in bounds.items():
        if not bound > 0:
            raise mxnet_error(
                ValueError,
                f"operator 'layers.gradient_clip': {name} is {bound}\n  expected a number above 0",
            )
