"""Attention layers: the operator alone, and multi-head attention with its projections."""

from __future__ import annotations

from ._inputs import expect_bias, expect_numbers, expect_sizes, in_order
from ._renamed import formerly
from .dense import DenseBlock
from .engine import expect, gluon, mxnet_error, nd
from .ops import scaled_dot_product_attention

__all__ = ["MultiHeadAttention", "ScaledDotProductAttention"]


class ScaledDotProductAttention(gluon.HybridBlock):
    """Attention, y = softmax(scale q kᵀ) v, that never holds the whole matrix of scores.

    Parameters
    ----------
    causal : bool
        If True, a query attends only to keys up to its own position; the last query has the
        position of the last key.
    scale : float, optional
        1/√d by default.

    Inputs:
        - **q**: (batch, heads, queries, d)
        - **k**: (batch, heads, keys, d)
        - **v**: (batch, heads, keys, e)
        - **mask**: (batch, keys), 0 for a key to leave out; or (batch,), the number of leading keys
          to attend to; optional
    Outputs:
        - **y**: (batch, heads, queries, e); 0 for a query that may attend to no key

    Raises
    ------
    ValueError
        The shapes of the inputs do not fit together.
    IndexError
        A length in the mask is not a whole number from 0 to the number of keys. Lengths on a GPU
        are not checked, because a check would have to wait for the GPU, nor are lengths inside a
        larger graph. There, lengths are clipped to that range.

    A. Vaswani et al., Attention is all you need, NeurIPS 2017.
    """

    @formerly("causal scale")
    def __init__(self, *, causal: bool = False, scale: float | None = None, **kwargs):
        super().__init__(**kwargs)
        self._attributes = {"causal": bool(causal), "scale": scale}

    def __call__(self, *inputs, **named):
        """Return the attention; inputs are given by position or by name.

        Raises
        ------
        TypeError
            An input is missing, unknown, or of the other engine.
        """
        inputs = in_order(self, inputs, named)
        expect(self.name, inputs)
        if len(inputs) > 3:
            _expect_lengths("ScaledDotProductAttention", inputs[3], inputs[1], 2)
        return super().__call__(*inputs)

    def hybrid_forward(self, F, q, k, v, mask=None):
        return scaled_dot_product_attention(q, k, v, mask, **self._attributes)

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v}" for k, v in self._attributes.items() if v)
        return f"{type(self).__name__}({shown})"


def _expect_lengths(who, mask, keys, axis):
    """Refuse a mask of lengths that are no whole numbers from 0 to the number of keys."""
    if isinstance(mask, nd.NDArray) and isinstance(keys, nd.NDArray) and mask.ndim == 1:
        count = keys.shape[axis]
        expected = f"whole numbers from 0 to {count}, the number of keys"
        expect_numbers(f"{who}: mask", mask, count + 1, None, expected)


class MultiHeadAttention(gluon.HybridBlock):
    """Multi-head attention, y = out(concat of softmax(qᵢ kᵢᵀ / √d) vᵢ over heads i).

    q = query(x), k = key(memory) and v = value(memory) are split into heads of size d = channels /
    num_heads. `query`, `key`, `value` and `out` are the four `DenseBlock`s of this block. Other
    libraries take a query, a key and a value as inputs; this block takes x for the query, and
    memory for the key and the value. Without memory it is self-attention, ``block(x)`` or
    ``block(x, mask=mask)``; with memory it is cross-attention, ``block(x, memory)`` or
    ``block(x, memory, mask)``.

    Parameters
    ----------
    in_channels : int
        Size of the last axis of x; 0 takes it from the first call's input.
    channels : int
        Size of the last axis of the output, and of all heads together.
    num_heads : int
    causal : bool
        If True, a position of x attends only to positions of the memory up to its own; the last
        positions of both coincide.
    bias : bool
        If True, the four layers have biases.
    weight_initializer : str or Initializer, optional
        By default the initializer passed to `initialize`.
    dtype : str

    Inputs:
        - **x**: (batch, length, in_channels)
        - **memory**: (batch, keys, any size), optional
        - **mask**: (batch, keys), 0 for a position of the memory to leave out; or (batch,), the
          number of leading positions to attend to; optional
    Outputs:
        - **y**: (batch, length, channels)

    Raises
    ------
    ValueError
        `channels` or `num_heads` is not a whole number from 1, or `in_channels` from 0; `num_heads`
        does not divide `channels`; the inputs have another number of axes, or different batch
        sizes.
    TypeError
        `bias` is neither True nor False; an input of the call is missing or unknown.

    A. Vaswani et al., Attention is all you need, NeurIPS 2017.
    """

    @formerly(
        "units heads in_channels=0 causal bias weight_initializer dtype",
        units="channels",
        heads="num_heads",
    )
    def __init__(
        self,
        in_channels: int,
        channels: int,
        *,
        num_heads: int,
        causal: bool = False,
        bias: bool = True,
        weight_initializer=None,
        dtype: str = "float32",
        **kwargs,
    ):
        expect_sizes("MultiHeadAttention", 0, in_channels=in_channels)
        expect_sizes("MultiHeadAttention", channels=channels, num_heads=num_heads)
        bias = expect_bias("MultiHeadAttention", bias)
        if channels % num_heads:
            raise mxnet_error(
                ValueError,
                f"MultiHeadAttention: channels is {channels}, num_heads is {num_heads}\n"
                "  expected channels that are a multiple of num_heads",
            )
        super().__init__(**kwargs)
        self._heads = num_heads
        options = {"bias": bias, "weight_initializer": weight_initializer, "dtype": dtype}
        with self.name_scope():
            self.query = DenseBlock(in_channels, channels, prefix="query_", **options)
            self.key = DenseBlock(0, channels, prefix="key_", **options)
            self.value = DenseBlock(0, channels, prefix="value_", **options)
            self.out = DenseBlock(channels, channels, prefix="out_", **options)
            self.attention = ScaledDotProductAttention(causal=causal)

    def __call__(self, *inputs, **named):
        """Return the attention; inputs are given by position or by name.

        Raises
        ------
        TypeError
            An input is missing, unknown, or of the other engine.
        ValueError
            The inputs have another number of axes, or different batch sizes.
        """
        inputs = in_order(self, inputs, named)
        expect(self.name, inputs)
        self._expect_one_batch(*inputs)
        return super().__call__(*inputs)

    def _expect_one_batch(self, x, memory=None, mask=None):
        given = {"x": x, "memory": memory, "mask": mask}
        shapes = {n: a.shape for n, a in given.items() if isinstance(a, nd.NDArray)}
        axes = {"x": (3,), "memory": (3,), "mask": (1, 2)}
        fits = all(len(shape) in axes[n] for n, shape in shapes.items())
        if fits and len({shape[0] for shape in shapes.values()}) < 2:
            _expect_lengths("MultiHeadAttention", mask, x if memory is None else memory, 1)
            return
        raise mxnet_error(
            ValueError,
            f"MultiHeadAttention: {', '.join(f'{n} is {s}' for n, s in shapes.items())}\n"
            "  expected x (batch, length, size), memory (batch, keys, size), mask (batch, keys) or "
            "(batch,); x.expand_dims(0) is a batch of one",
        )

    def hybrid_forward(self, F, x, memory=None, mask=None):
        memory = x if memory is None else memory
        projected = self.query(x), self.key(memory), self.value(memory)
        q, k, v = (self._split(F, a) for a in projected)
        y = self.attention(q, k, v) if mask is None else self.attention(q, k, v, mask)
        return self.out(F.reshape(F.transpose(y, axes=(0, 2, 1, 3)), shape=(0, 0, -3)))

    def _split(self, F, x):
        """Reshape (batch, length, channels) to (batch, heads, length, d)."""
        return F.transpose(F.reshape(x, shape=(0, 0, -4, self._heads, -1)), axes=(0, 2, 1, 3))

    def __repr__(self) -> str:
        channels, in_channels = self.query.weight.shape
        return f"{type(self).__name__}({in_channels or None} -> {channels}, {self._heads} heads)"
