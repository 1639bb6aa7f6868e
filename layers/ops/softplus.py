"""Smooth rectifier."""

from __future__ import annotations

from ..engine import nd
from .ways.class_form import operator

__all__ = ["softplus"]


@operator(name="layers.softplus")
class softplus:
    """Smooth rectifier, y = log(1 + eˣ), of any shape; its slope is 1 - e⁻ʸ.

    It keeps y for backward, which the next layer keeps anyway. The built-in operator keeps x:
    between two dense layers, two arrays are kept instead of three.

    C. Dugas et al., Incorporating second-order functional knowledge for better option pricing,
    NIPS 2000.
    """

    def forward(x):
        return nd.Activation(x, act_type="softrelu")

    def dx(dy, y):
        return -dy * nd.expm1(-y)

    def shapes(x):
        return {"y": x}
