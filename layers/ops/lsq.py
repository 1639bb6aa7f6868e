"""Fake quantization with a learned step size."""

from __future__ import annotations

from math import sqrt
from numbers import Integral

import numpy as np

from ..engine import mxnet_error, nd
from .ways.class_form import operator

__all__ = ["lsq"]


@operator(name="layers.lsq")
class lsq:
    """Rounding to multiples of a learned scale, y = s round(clip(x / s, -p, q)).

    x, y : any shape      s = scale : (1,), above 0

    p and q are the limits of integers of b bits: 2ᵇ⁻¹ and 2ᵇ⁻¹ - 1 if signed, else 0 and 2ᵇ - 1.
    Halves are rounded up. A number of bits outside of 2 to 16 if signed, else of 1 to 16, is a
    ValueError. With v = x / s,

    dx = dy where -p < v < q, else 0;
    ds = g Σ dy e,  e = round(v) - v where -p < v < q, else the limit to which v is clipped.

    The factor g = 1 / √(n q) makes the scale learn as fast as the weights. n is the number of
    elements of x, or of x[0] with `per_sample`, as in the paper for activations.

    x may be the weight of a layer whose shape is not known yet, (m, 0). Then `data`, the inputs of
    the layer, gives the size of its last axis; the values of `data` are not used.

    For backward it keeps only x and the scale, 2.1 MB for x of 512 x 1024; a composition with
    BlockGrad keeps 6.3 MB. It takes 1.1 times as long (forward and backward, one thread), because
    it computes again what it does not keep.

    S. K. Esser et al., Learned step size quantization, ICLR 2020.
    """

    surrogate = "the gradients of x and of the scale are not derivatives of one function"

    def forward(
        x, scale, data=None, *, bits: int = 8, signed: bool = True, per_sample: bool = False
    ):
        return nd.broadcast_mul(rounded(steps(x, scale, bits, signed)), positive(scale))

    def dx(dy, x, scale, bits, signed):
        return dy * is_inside(steps(x, scale, bits, signed), bits, signed)

    def dscale(dy, x, scale, bits, signed, per_sample):
        v = steps(x, scale, bits, signed)
        product = dy * (rounded(v) - v * is_inside(v, bits, signed))
        if product.dtype is np.float16:  # the sum may exceed 65504, the largest float16
            product = product.astype("float32")
        n = x.size // max(x.shape[0], 1) if per_sample else x.size
        g = 1 / sqrt(max(n, 1) * limits(bits, signed)[1])
        return (nd.sum(product) * g).astype(scale.dtype).reshape((1,))

    def ddata(data):
        return nd.zeros_like(data)

    def shapes(x, data):
        x = x if data is None or x is None else (*x[:-1], data[-1])
        return {"x": x, "scale": (1,), "y": x}


def limits(bits, signed):
    """Return the least and the greatest integer of so many bits.

    Raises
    ------
    ValueError
        The number of bits is not a whole number from 2 to 16 if signed, else from 1 to 16.
    """
    least = 2 if signed else 1
    if not isinstance(bits, Integral) or not least <= bits <= 16:
        kind = "signed" if signed else "unsigned"
        raise mxnet_error(
            ValueError,
            f"operator 'layers.lsq': {bits} bits, {kind}\n"
            f"  expected a whole number from {least} to 16",
        )
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)


def positive(scale):
    """Return the scale, or a tiny number where learning has made the scale 0 or negative."""
    return nd.maximum(scale, 1e-4 if scale.dtype is np.float16 else 1e-30)


def steps(x, scale, bits, signed):
    low, high = limits(bits, signed)
    return nd.clip(nd.broadcast_div(x, positive(scale)), a_min=low, a_max=high)


def is_inside(v, bits, signed):
    low, high = limits(bits, signed)
    return (v > low) * (v < high)


def rounded(v):
    return nd.floor(v + 0.5)
