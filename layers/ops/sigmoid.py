"""Logistic function."""

from __future__ import annotations

from ..engine import nd
from .ways.class_form import operator

__all__ = ["sigmoid"]


@operator(name="layers.sigmoid")
class sigmoid:
    """Logistic function, y = 1 / (1 + e⁻ˣ), of any shape.

    It is neither faster nor leaner than the built-in operator. It is here as an example of an
    operator, and to make nets only of this library's operators. It keeps y for backward, which the
    next layer keeps anyway.

    P.-F. Verhulst, Recherches mathématiques sur la loi d'accroissement de la population, 1845.
    """

    def forward(x):
        return nd.sigmoid(x)

    def dx(dy, y):
        return dy * y * (1 - y)

    def shapes(x):
        return {"y": x}
