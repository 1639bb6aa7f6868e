"""Gradients that are turned round, scaled or clipped, on their way through y = x."""

from __future__ import annotations

from math import inf

import numpy as np

from ..engine import nd
from .ways.class_form import operator

__all__ = ["gradient_clip", "gradient_reversal", "gradient_scale"]


@operator(name="layers.gradient_reversal")
class gradient_reversal:
    """y = x, with the gradient of y = -factor · scale · x, of any shape.

    x : any shape      scale : (1,), an array that may change from step to step, or left out

    It keeps nothing for backward, and takes half the time of BlockGrad(1.5 x) - 0.5 x
    (forward and backward, 512 x 1024 elements, one thread).

    Y. Ganin, V. Lempitsky, Unsupervised domain adaptation by backpropagation, ICML 2015.
    """

    def forward(x, scale=None, *, factor: float = 1.0):
        return x * 1

    def dx(dy, scale, factor):
        return times(dy, scale, -factor)

    def surrogate(x, scale, factor):
        return times(x, scale, -factor)

    def shapes(x):
        return {"scale": (1,), "y": x}


@operator(name="layers.gradient_scale")
class gradient_scale:
    """y = x, with the gradient of y = factor · scale · x, of any shape.

    x : any shape      scale : (1,), an array that may change from step to step, or left out

    It keeps nothing for backward, and takes half the time of BlockGrad(0.75 x) + 0.25 x
    (forward and backward, 512 x 1024 elements, one thread).
    """

    def forward(x, scale=None, *, factor: float = 1.0):
        return x * 1

    def dx(dy, scale, factor):
        return times(dy, scale, factor)

    def surrogate(x, scale, factor):
        return times(x, scale, factor)

    def shapes(x):
        return {"scale": (1,), "y": x}


@operator(name="layers.gradient_clip")
class gradient_clip:
    """y = x, with a gradient clipped to [-value, value], then to the norm `norm` of the array.

    dx = min(1, norm / |c|) c,  c = min(max(dy, -value), value)      x, y : any shape

    The norm is that of the whole array, and is computed without overflow, for which a step takes
    1.5 times as long as an `autograd.Function` with ``nd.norm`` (512 x 1024 elements, one thread).
    Nothing is kept for backward. No composition of built-in operators has this gradient.

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


def times(x, scale, factor):
    y = x if factor == 1 else x * factor
    return y if scale is None else nd.broadcast_mul(y, scale)


def shrinkage(dy, norm):
    """The factor that takes the norm of dy to `norm`, where it is greater."""
    wide = dy.astype("float32") if dy.dtype is np.float16 else dy
    largest = nd.maximum(nd.max(nd.abs(wide)), 1e-30)  # by which squares do not overflow
    length = largest * nd.sqrt(nd.sum(nd.square(nd.broadcast_div(wide, largest))))
    return (norm / nd.maximum(length, norm)).astype(dy.dtype)


def expect_positive(**bounds):
    for name, bound in bounds.items():
        if not bound > 0:
            raise ValueError(f"gradient_clip: {name} is {bound}\n  expected a number above 0")
