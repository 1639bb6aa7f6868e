"""Gated linear units, as the feed-forward layers of transformers."""

from __future__ import annotations

from ._inputs import expect_bias, expect_sizes
from ._renamed import deprecate, formerly
from .dense import DenseBlock
from .engine import expect, gluon
from .ops import geglu_tanh, swiglu

__all__ = ["GeGLU", "SwiGLU"]


class Gated(gluon.HybridBlock):
    """Three fully connected layers, y = down(activation(gate(x)) up(x)), on the last axis."""

    @formerly("in_channels hidden_channels channels bias weight_initializer dtype")
    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        channels: int,
        *,
        bias: bool | None = None,
        weight_initializer=None,
        dtype: str = "float32",
        **kwargs,
    ):
        sizes = {"hidden_channels": hidden_channels, "channels": channels}
        expect_sizes(type(self).__name__, 0, in_channels=in_channels)
        expect_sizes(type(self).__name__, **sizes)
        has_bias = self._has_bias(bias)
        super().__init__(**kwargs)
        options = {"bias": has_bias, "weight_initializer": weight_initializer, "dtype": dtype}
        with self.name_scope():
            self.gate = DenseBlock(in_channels, hidden_channels, prefix="gate_", **options)
            self.up = DenseBlock(in_channels, hidden_channels, prefix="up_", **options)
            self.down = DenseBlock(hidden_channels, channels, prefix="down_", **options)

    def _has_bias(self, bias: bool | None) -> bool:
        """True if the layers have biases; while the default is changing, it is to be given."""
        who = type(self).__name__
        if bias is None:
            deprecate(
                f"{who}: bias is not given, and False; from the next release it is True, as in all "
                "other layers\n  write bias=False for layers as they are now, or bias=True"
            )
        return expect_bias(who, bias is not None and bias)

    def __call__(self, x):
        expect(self.name, (x,))
        return super().__call__(x)

    def multiply(self, F, gate, value):
        """The gated unit: the activation of the gate, times the value."""
        raise NotImplementedError

    def hybrid_forward(self, F, x):
        return self.down(self.multiply(F, self.gate(x), self.up(x)))

    def __repr__(self) -> str:
        hidden, channels = self.gate.weight.shape[0], self.down.weight.shape[0]
        in_channels = self.gate.weight.shape[1] or None
        return f"{type(self).__name__}({in_channels} -> {hidden} -> {channels})"


class SwiGLU(Gated):
    """Feed-forward layer of a transformer, y = down(swish(gate(x)) up(x)), on the last axis.

    `gate`, `up` and `down` are its three `DenseBlock`s. The gated unit alone is the operator
    `layers.ops.swiglu`.

    Parameters
    ----------
    in_channels : int
        Size of the last axis of the input; with 0 it is that of the first call's input.
    hidden_channels : int
        Size of the last axis of the gate and of what it is multiplied with. For as many weights as
        without a gate it is two thirds of the usual, such as 8/3 of `in_channels`.
    channels : int
        Size of the last axis of the output.
    bias : bool
        Whether the three layers have biases. Give it: what is left out is False now, as in the
        paper, with a DeprecationWarning, and True from the next release, as in all other layers.
    weight_initializer : str or Initializer, optional
        By default the initializer passed to `initialize`.
    dtype : str

    Inputs:
        - **x**: (..., in_channels)
    Outputs:
        - **y**: (..., channels)

    Raises
    ------
    ValueError
        A size is not a whole number from 1; `in_channels` may be 0.
    TypeError
        `bias` is neither True nor False.

    N. Shazeer, GLU variants improve transformer, arXiv:2002.05202, 2020.
    """

    def multiply(self, F, gate, value):
        """swish(gate) value."""
        return swiglu(gate, value)


class GeGLU(Gated):
    """Feed-forward layer of a transformer, y = down(GELU(gate(x)) up(x)), on the last axis.

    `gate`, `up` and `down` are its three `DenseBlock`s. The gated unit alone is the operator
    `layers.ops.geglu_tanh`, with `approximate`; else it is the built-in GELU, which keeps the gate
    alone, and a product.

    Parameters
    ----------
    in_channels : int
        Size of the last axis of the input; with 0 it is that of the first call's input.
    hidden_channels : int
        Size of the last axis of the gate and of what it is multiplied with. For as many weights as
        without a gate it is two thirds of the usual, such as 8/3 of `in_channels`.
    channels : int
        Size of the last axis of the output.
    bias : bool
        Whether the three layers have biases. Give it: what is left out is False now, as in the
        paper, with a DeprecationWarning, and True from the next release, as in all other layers.
    weight_initializer : str or Initializer, optional
        By default the initializer passed to `initialize`.
    dtype : str
    approximate : bool
        Whether GELU is computed with tanh, as in Gemma, and not exactly.

    Inputs:
        - **x**: (..., in_channels)
    Outputs:
        - **y**: (..., channels)

    Raises
    ------
    ValueError
        A size is not a whole number from 1; `in_channels` may be 0.
    TypeError
        `bias` is neither True nor False.

    N. Shazeer, GLU variants improve transformer, arXiv:2002.05202, 2020.
    """

    @formerly("in_channels hidden_channels channels bias weight_initializer dtype approximate")
    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        channels: int,
        *,
        bias: bool | None = None,
        weight_initializer=None,
        dtype: str = "float32",
        approximate: bool = False,
        **kwargs,
    ):
        options = {"weight_initializer": weight_initializer, "dtype": dtype}
        super().__init__(in_channels, hidden_channels, channels, bias=bias, **options, **kwargs)
        self._approximate = approximate

    def multiply(self, F, gate, value):
        """GELU(gate) value."""
        if self._approximate:
            return geglu_tanh(gate, value)
        return F.LeakyReLU(gate, act_type="gelu") * value
