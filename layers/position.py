"""Positional embeddings of sequences."""

from __future__ import annotations

from ._renamed import formerly
from .engine import expect, gluon
from .ops import rotary

__all__ = ["RotaryBlock"]


class RotaryBlock(gluon.HybridBlock):
    """Rotary embedding: position p rotates each pair (x_i, x_{i+d/2}) by the angle p base^(-2i/d).

    Parameters
    ----------
    offset : int
        The position of the first row.
    base : float

    Inputs:
        - **x**: (..., positions, d), d even: queries or keys
    Outputs:
        - **y**: the shape of x

    Raises
    ------
    ValueError
        The input has less than two axes, or an odd d.

    J. Su et al., RoFormer: enhanced transformer with rotary position embedding, arXiv:2104.09864,
    2021. The pairs follow GPT-NeoX and LLaMA; the paper pairs neighbours.
    """

    @formerly("offset base")
    def __init__(self, *, offset: int = 0, base: float = 10000.0, **kwargs):
        super().__init__(**kwargs)
        self._attributes = {"offset": int(offset), "base": float(base)}

    def __call__(self, x):
        expect(self.name, (x,))
        return super().__call__(x)

    def hybrid_forward(self, F, x):
        return rotary(x, **self._attributes)

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v}" for k, v in self._attributes.items())
        return f"{type(self).__name__}({shown})"
