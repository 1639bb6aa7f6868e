"""Normalization by the root mean square."""

from __future__ import annotations

from ..engine import nd
from ._arrays import inverse_root, narrow, rows, widen
from .ways.class_form import operator

__all__ = ["rms_norm"]


@operator(name="layers.rms_norm")
class rms_norm:
    """Normalization of the last axis by its root mean square, y = gamma x / √(mean x² + epsilon).

    x : (..., k)      gamma : (k,)      y : (..., k)

    For x (4096, 768) in float32 it keeps 16 KB besides its inputs; the composition of mean, square
    and so on keeps 13 MB. With PyTorch it has a kernel, which takes half the time of this formula
    on one core.

    B. Zhang, R. Sennrich, Root mean square layer normalization, NeurIPS 2019.
    """

    saves = ("rstd",)
    renamed = {"eps": "epsilon"}

    def forward(x, gamma, *, epsilon: float = 1e-6):
        y, rstd = normal_by_square(widen(x), widen(gamma), epsilon)
        return narrow(y, x), rstd

    def backward(dy, x, gamma, rstd):
        dx, dgamma = rms_norm_gradients(widen(dy), widen(x), widen(gamma), rstd)
        return {"x": narrow(dx, x), "gamma": narrow(dgamma, gamma)}

    def shapes(x):
        return {"gamma": x[-1:], "y": x}


def normal_by_square(x, gamma, epsilon):
    """Return the output, and 1 / √(mean x² + epsilon) of each row."""
    rstd = inverse_root(x, epsilon)
    return x * rstd * gamma.reshape((1,) * (x.ndim - 1) + (-1,)), rstd


def rms_norm_gradients(dy, x, gamma, rstd):
    """Return the gradients of x and gamma."""
    head, data, weight = rows(dy), rows(x), gamma.reshape((-1, 1))
    rstd = rstd.reshape((-1, 1))
    product = head * data
    slope = nd.dot(product, weight) * nd.square(rstd) / x.shape[-1]
    dx = (head * weight.reshape((1, -1)) - data * slope) * rstd
    dgamma = nd.dot(rstd, product, transpose_a=True).reshape((-1,))
    return nd.reshape_like(dx, x), dgamma
