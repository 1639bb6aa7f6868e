"""Activations, each a layer around an operator."""

from __future__ import annotations

from .engine import expect, gluon
from .ops import Operator, relu, sigmoid, sparsemax

__all__ = ["ReLUBlock", "SigmoidBlock", "SparsemaxBlock"]


class Elementwise(gluon.HybridBlock):
    """A layer without parameters: an operator of one input.

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x
    """

    operator: Operator

    def __call__(self, x):
        expect(self.name, (x,))
        return super().__call__(x)

    def hybrid_forward(self, F, x):
        return self.operator(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class SigmoidBlock(Elementwise):
    """Logistic function, y = 1 / (1 + e⁻ˣ), of any shape."""

    operator = sigmoid


class ReLUBlock(Elementwise):
    """Rectifier, y = max(x, 0), of any shape."""

    operator = relu


class SparsemaxBlock(Elementwise):
    """Sparse probabilities of the last axis, y = max(x - tau, 0), with tau so that Σ y = 1."""

    operator = sparsemax


_OTHERS = ("tanh", "softrelu", "softsign")  # Gluon has layers for them
_BLOCKS = {"relu": ReLUBlock, "sigmoid": SigmoidBlock}


def activate(activation):
    """The activation of a layer, from its argument: a name, a function or Block, or None."""
    if activation is None or callable(activation):
        return activation
    if activation in _BLOCKS:
        return _BLOCKS[activation]()
    if activation not in _OTHERS:
        raise ValueError(
            f"activation is {activation!r}\n  expected a function, or one of "
            + ", ".join((*_BLOCKS, *_OTHERS))
        )
    return gluon.nn.Activation(activation)
