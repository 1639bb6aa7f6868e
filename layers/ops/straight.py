"""Step functions whose gradients go straight through them."""

from __future__ import annotations

from ..engine import nd
from .ways.class_form import operator

__all__ = ["straight_round", "straight_sign"]


@operator(name="layers.straight_round")
class straight_round:
    """y = round(x), with the gradient of y = x; halves go away from zero; of any shape.

    It keeps nothing for backward, and takes 0.9 of the time of x + BlockGrad(round(x) - x)
    (forward and backward, 512 x 1024 elements, one thread).

    Y. Bengio, N. Léonard, A. Courville, Estimating or propagating gradients through stochastic
    neurons for conditional computation, arXiv:1308.3432, 2013.
    """

    def forward(x):
        return nd.round(x)

    def dx(dy):
        return dy

    def surrogate(x):
        return x

    def shapes(x):
        return {"y": x}


@operator(name="layers.straight_sign")
class straight_sign:
    """y = 1 where x ≥ 0, else -1, with the gradient of y = min(max(x, -1), 1); of any shape.

    It keeps x for backward, and takes 0.6 of the time of a clip with BlockGrad
    (forward and backward, 512 x 1024 elements, one thread).

    M. Courbariaux, I. Hubara, D. Soudry, R. El-Yaniv, Y. Bengio, Binarized neural networks,
    arXiv:1602.02830, 2016.
    """

    def forward(x):
        return 2 * (x >= 0) - 1

    def dx(dy, x):
        return dy * (nd.abs(x) <= 1)

    def surrogate(x):
        return nd.clip(x, a_min=-1, a_max=1)

    def shapes(x):
        return {"y": x}
