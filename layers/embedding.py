"""Tables of learned vectors."""

from __future__ import annotations

from .engine import expect, gluon
from .ops import embedding_bag

__all__ = ["EmbeddingBag"]


class EmbeddingBag(gluon.HybridBlock):
    """Sums or means of learned vectors, yᵢ = Σⱼ weightsᵢⱼ w[idsᵢⱼ], one of each bag of ids.

    A bag is a row of ids, or what is between two offsets: ``block(ids)``, ``block(ids, offsets)``,
    ``block(ids, offsets, weights)``; a hybridized block is always called in the same one of these.
    Without offsets, None is in their place before weights.

    Parameters
    ----------
    input_dim : int
        How many vectors there are.
    output_dim : int
        Size of a vector.
    mode : str
        'sum' or 'mean'. The mean of no ids is 0.
    padding : int, optional
        The id that counts for nothing, in rows of ids; such as -1.
    weight_initializer : str or Initializer, optional
        By default the initializer passed to `initialize`.
    dtype : str

    Inputs:
        - **ids**: (n, k), or (t,) with offsets
        - **offsets**: (n,) where each bag begins in ids, in ascending order from 0; or left out
        - **weights**: the shape of ids, for the sum; or left out
    Outputs:
        - **y**: (n, output_dim)

    Raises
    ------
    ValueError
        `mode` is neither, or `input_dim` or `output_dim` is less than 1; offsets are not in
        ascending order from 0.
    IndexError
        There is no vector of an id. This and the order of offsets are checked with PyTorch on a
        CPU; elsewhere such ids are those of the nearest vector.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        mode: str = "sum",
        padding: int | None = None,
        weight_initializer=None,
        dtype: str = "float32",
        **kwargs,
    ):
        if mode not in ("sum", "mean") or min(input_dim, output_dim) < 1:
            raise ValueError(
                f"EmbeddingBag: mode is {mode!r}, input_dim {input_dim}, output_dim {output_dim}\n"
                "  expected the mode 'sum' or 'mean', and sizes from 1"
            )
        super().__init__(**kwargs)
        self._attributes = {"mode": mode, "padding": padding}
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=(input_dim, output_dim), dtype=dtype, init=weight_initializer
            )

    def __call__(self, ids, *more):
        expect(self.name, (ids, *more))
        return super().__call__(ids, *more)

    def hybrid_forward(self, F, ids, offsets=None, weights=None, *, weight):
        return embedding_bag(weight, ids, offsets, weights, **self._attributes)

    def __repr__(self) -> str:
        count, size = self.weight.shape
        return f"{type(self).__name__}({count} -> {size}, {self._attributes['mode']})"
