"""Swish, the SiLU for β = 1."""

from __future__ import annotations

from ..engine import nd
from .ways.class_form import operator

__all__ = ["swish"]


@operator(name="layers.swish")
class swish:
    """Swish, y = x σ(βx), of any shape; σ is the logistic function.

    It keeps x for backward, where the composition of built-in operators keeps 2 arrays. With
    PyTorch and beta 1 it has a kernel, which takes 0.35 of the time of this formula for 512 x 1024
    on one core.

    S. Elfwing, E. Uchibe, K. Doya, Sigmoid-weighted linear units for neural network function
    approximation in reinforcement learning, arXiv:1702.03118, 2017; P. Ramachandran, B. Zoph,
    Q. V. Le, Searching for activation functions, arXiv:1710.05941, 2017.
    """

    def forward(x, *, beta: float = 1.0):
        return x * nd.sigmoid(x if beta == 1 else beta * x)

    def dx(dy, x, beta):
        z = x if beta == 1 else beta * x
        s = nd.sigmoid(z)
        return dy * s * (1 + z * (1 - s))

    def shapes(x):
        return {"y": x}
