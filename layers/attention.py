"""Attention: the operator as a layer, and with its projections."""

from __future__ import annotations

from ._inputs import expect_bias, expect_numbers, expect_sizes, in_order
from ._renamed import formerly
from .dense import DenseBlock
from .engine import expect, gluon, mxnet_error, nd
from .ops import scaled_dot_product_attention

__all__ = ["MultiHeadAttention", "ScaledDotProductAttention"]


class ScaledDotProductAttention(gluon.HybridBlock):
    """Attention, y = softmax(scale q kᵀ) v, which never has the whole matrix of scores.

    Parameters
    ----------
    causal : bool
        Whether a query attends only to the keys up to its own place. The last query stands at the
        last key.
    scale : float, optional
        By default 1/√d.

    Inputs:
        - **q**: (batch, heads, queries, d)
        - **k**: (batch, heads, keys, d)
        - **v**: (batch, heads, keys, e)
        - **mask**: (batch, keys), 0 where a key is left out; or (batch,), how many of the first
          keys are allowed; or left out
    Outputs:
        - **y**: (batch, heads, queries, e); 0 for a query that may attend to no key

    Raises
    ------
    ValueError
        The shapes of the inputs do not fit together.
    IndexError
        A length in the mask is not a whole number from 0 to the number of keys. Lengths on a GPU
        are not checked, for which it would have to wait, nor those inside a larger graph: there
        more than all keys are all, and less than none are none.

    A. Vaswani et al., Attention is all you need, NeurIPS 2017.
    """

    @formerly("causal scale")
    def __init__(self, *, causal: bool = False, scale: float | None = None, **kwargs):
        super().__init__(**kwargs)
        self._attributes = {"causal": bool(causal), "scale": scale}

    def __call__(self, *inputs, **named):
        """The attention, for inputs by position or by name.

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
    """Refuse a mask of lengths that no keys on this axis can have."""
    if isinstance(mask, nd.NDArray) and isinstance(keys, nd.NDArray) and mask.ndim == 1:
        count = keys.shape[axis]
        expected = f"whole numbers from 0 to {count}, the number of keys"
        expect_numbers(f"{who}: mask", mask, count + 1, None, expected)


class MultiHeadAttention(gluon.HybridBlock):
    """Attention of several heads, y = out(concat of softmax(qᵢ kᵢᵀ / √d) vᵢ over heads i).

    q = query(x), k = key(memory) and v = value(memory), cut into heads of d = channels / num_heads;
    `query`, `key`, `value` and `out` are `DenseBlock`s of this block, and no inputs: where other
    libraries take a query, a key and a value, it takes x for the query and memory for both others.
    Without a memory, x attends to itself: ``block(x)``, or ``block(x, mask=mask)``;
    ``block(x, memory)`` is cross attention, ``block(x, memory, mask)`` such with a mask.

    Parameters
    ----------
    in_channels : int
        Size of the last axis of x; with 0 it is that of the first call's input.
    channels : int
        Size of the last axis of the output, and of all heads together.
    num_heads : int
    causal : bool
        Whether a place of x attends only to the places up to its own. The last place of x stands at
        the last of the memory.
    bias : bool
        Whether the four layers have biases.
    weight_initializer : str or Initializer, optional
        By default the initializer passed to `initialize`.
    dtype : str

    Inputs:
        - **x**: (batch, length, in_channels)
        - **memory**: (batch, keys, any size), or left out
        - **mask**: (batch, keys), 0 where a place of the memory is left out; or (batch,), how many
          of its first places are allowed; or left out
    Outputs:
        - **y**: (batch, length, channels)

    Raises
    ------
    ValueError
        A size is not a whole number from 1; `in_channels` may be 0; `num_heads` does not divide
        `channels`; the inputs have other numbers of axes, or not one batch.
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
        """The attention, for inputs by position or by name.

        Raises
        ------
        TypeError
            An input is missing, unknown, or of the other engine.
        ValueError
            The inputs have other numbers of axes, or not one batch.
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
        """(batch, length, channels) as (batch, heads, length, d)."""
        return F.transpose(F.reshape(x, shape=(0, 0, -4, self._heads, -1)), axes=(0, 2, 1, 3))

    def __repr__(self) -> str:
        channels, in_channels = self.query.weight.shape
        return f"{type(self).__name__}({in_channels or None} -> {channels}, {self._heads} heads)"
