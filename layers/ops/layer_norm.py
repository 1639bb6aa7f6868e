"""Layer normalization."""

from __future__ import annotations

from ..engine import nd
from ._arrays import moments, narrow, rows, widen
from .ways.class_form import operator

__all__ = ["layer_norm"]


@operator(name="layers.layer_norm")
class layer_norm:
    """Normalization of the last axis, y = gamma (x - mean) / √(variance + epsilon) + beta.

    x : (..., k)      gamma, beta : (k,)      y : (..., k)

    For x (4096, 768) in float32 it keeps 33 KB besides its inputs; the composition of mean, square
    and so on keeps 25 MB. With PyTorch it has a kernel, which takes 0.3 of the time of this formula
    on one core.

    J. L. Ba, J. R. Kiros, G. E. Hinton, Layer normalization, arXiv:1607.06450, 2016.
    """

    saves = ("mean", "rstd")
    renamed = {"eps": "epsilon"}

    def forward(x, gamma, beta, *, epsilon: float = 1e-5):
        mean, centered, rstd = moments(widen(x), epsilon)
        scale = (1,) * (x.ndim - 1) + (-1,)
        y = centered * rstd * widen(gamma).reshape(scale) + widen(beta).reshape(scale)
        return narrow(y, x), mean, rstd

    def backward(dy, x, gamma, beta, mean, rstd):  # a second derivative takes all inputs, beta too
        given = widen(dy), widen(x), widen(gamma), mean, rstd
        dx, dgamma, dbeta = layer_norm_gradients(*given)
        return {"x": narrow(dx, x), "gamma": narrow(dgamma, gamma), "beta": narrow(dbeta, beta)}

    def shapes(x):
        return {"gamma": x[-1:], "beta": x[-1:], "y": x}


def layer_norm_gradients(dy, x, gamma, mean, rstd):
    """Return the gradients of x, gamma and beta."""
    k = x.shape[-1]
    head, weight = rows(dy), gamma.reshape((-1, 1))
    rstd = rstd.reshape((-1, 1))
    centered = rows(x) - mean.reshape((-1, 1))
    product = head * centered
    level = nd.dot(head, weight) / k
    slope = nd.dot(product, weight) * nd.square(rstd) / k
    dx = (head * weight.reshape((1, -1)) - centered * slope - level) * rstd
    dgamma = nd.dot(rstd, product, transpose_a=True).reshape((-1,))
    return nd.reshape_like(dx, x), dgamma, nd.sum(head, axis=0)
