"""The logistic function."""

from __future__ import annotations

from ..engine import nd
from .ways.class_form import operator

__all__ = ["sigmoid"]


@operator(name="layers.sigmoid")
class sigmoid:
    """Logistic function, y = 1 / (1 + e⁻ˣ), of any shape.

    It is neither faster nor leaner than the built-in operator: it is here as an example of how an
    operator is written, and so that nets can be made of this library's operators alone. It keeps y
    for backward, which the next layer keeps anyway.

    P.-F. Verhulst, Recherches mathématiques sur la loi d'accroissement de la population, 1845.
    """

    def forward(x):
        return nd.sigmoid(x)

    def dx(dy, y):
        return dy * y * (1 - y)

    def shapes(x):
        return {"y": x}
