"""Gated linear units, as the feed-forward layers of transformers."""

from __future__ import annotations

from ._inputs import expect_sizes
from .dense import DenseBlock
from .engine import expect, gluon
from .ops import geglu_tanh, swiglu

__all__ = ["GeGLU", "SwiGLU"]


class Gated(gluon.HybridBlock):
    """Three fully connected layers, y = down(activation(gate(x)) up(x)), on the last axis."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        channels: int,
        bias: bool = False,
        weight_initializer=None,
        dtype: str = "float32",
        **kwargs,
    ):
        sizes = {"hidden_channels": hidden_channels, "channels": channels}
        expect_sizes(type(self).__name__, 0, in_channels=in_channels)
        expect_sizes(type(self).__name__, **sizes)
        super().__init__(**kwargs)
        options = {"weight_initializer": weight_initializer, "dtype": dtype}
        with self.name_scope():
            self.gate = DenseBlock(in_channels, hidden_channels, bias, prefix="gate_", **options)
            self.up = DenseBlock(in_channels, hidden_channels, bias, prefix="up_", **options)
            self.down = DenseBlock(hidden_channels, channels, bias, prefix="down_", **options)

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
        Whether the three layers have biases.
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
        Whether the three layers have biases.
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

    N. Shazeer, GLU variants improve transformer, arXiv:2002.05202, 2020.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        channels: int,
        bias: bool = False,
        weight_initializer=None,
        dtype: str = "float32",
        approximate: bool = False,
        **kwargs,
    ):
        super().__init__(
            in_channels, hidden_channels, channels, bias, weight_initializer, dtype, **kwargs
        )
        self._approximate = approximate

    def multiply(self, F, gate, value):
        """GELU(gate) value."""
        if self._approximate:
            return geglu_tanh(gate, value)
        return F.LeakyReLU(gate, act_type="gelu") * value
