"""Gaussian error linear unit, approximated with tanh."""

from __future__ import annotations

from math import pi, sqrt

from ..engine import nd
from .ways.class_form import operator

__all__ = ["gelu_tanh"]

SCALE, CUBIC = 2 * sqrt(2 / pi), 0.044715  # (1 + tanh(u)) / 2 is σ(2u)


@operator(name="layers.gelu_tanh")
class gelu_tanh:
    """GELU with tanh, y = x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2, of any shape.

    It differs from x Φ(x), which is ``nd.LeakyReLU(x, act_type="gelu")``, by less than 0.0005.
    It keeps x for backward, where the composition of built-in operators keeps 6 arrays. A step
    takes 0.45 of its time on one core with PyTorch (512 x 1024; 0.55 at 64 x 128).

    D. Hendrycks, K. Gimpel, Gaussian error linear units (GELUs), arXiv:1606.08415, 2016.
    """

    def forward(x):
        return gelu(x)

    def dx(dy, x):
        return dy * slope(x)

    def shapes(x):
        return {"y": x}


def gelu(x):
    return x * probability(x)


def probability(x):
    """Return σ(2u), the factor of x in y."""
    return nd.sigmoid(x * (SCALE + SCALE * CUBIC * nd.square(x)))


def slope(x):
    # Beyond, the slope is 0 or 1; 0 times infinity would be NaN.
    x = nd.clip(x, a_min=-10, a_max=10)
    squares = nd.square(x)
    p = nd.sigmoid(x * (SCALE + SCALE * CUBIC * squares))
    return p * (1 + x * (SCALE + 3 * SCALE * CUBIC * squares) * (1 - p))
