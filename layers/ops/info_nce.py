"""InfoNCE loss: the cross entropy of finding the row that belongs to each row."""

from __future__ import annotations

from ._arrays import expect_one_shape, numbered
from .linear_cross_entropy import BLOCK, linear_cross_entropy
from .ways.class_form import operator

__all__ = ["info_nce"]


@operator(name="layers.info_nce")
class info_nce:
    """Cross entropy of finding row i of z for row i of x, y = -log softmax(x zᵀ / temperature)ᵢᵢ.

    The matrix x zᵀ is never whole in memory, as in `linear_cross_entropy`.

    x, z : (n, k), both of one shape, else a ValueError      y : (n,)

    A. van den Oord, Y. Li, O. Vinyals, Representation learning with contrastive predictive coding,
    2018.
    """

    saves = ("level",)

    def forward(x, z, *, temperature: float = 1.0, block: int = BLOCK):
        expect_one_shape("info_nce", x=x, z=z)
        own = numbered(x.shape[0], x)
        return linear_cross_entropy.forward(x / temperature, z, own, block=block)

    def backward(dy, x, z, level, temperature, block):
        own = numbered(x.shape[0], x)
        known = dy, x / temperature, z, own, None, level
        found = linear_cross_entropy.backward(*known, None, 0.0, 0.0, block)
        return {"x": found["x"] / temperature, "z": found["w"]}

    def shapes(x):
        return {"z": x, "y": x[:1]}
