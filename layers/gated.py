"""Gated linear units: feed-forward layers of transformers."""

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
        """Return True if the layers have biases; warn without `bias`: its default will change."""
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
        """Return the gated unit: the activation of the gate, times the value."""
        raise NotImplementedError

    def hybrid_forward(self, F, x):
        return self.down(self.multiply(F, self.gate(x), self.up(x)))

    def __repr__(self) -> str:
        hidden, channels = self.gate.weight.shape[0], self.down.weight.shape[0]
        in_channels = self.gate.weight.shape[1] or None
        return f"{type(self).__name__}({in_channels} -> {hidden} -> {channels})"


class SwiGLU(Gated):
    """Feed-forward layer of a transformer, y = down(swish(gate(x)) up(x)), on the last axis.

    `gate`, `up` and `down` are its three `DenseBlock`s. The product swish(gate) value alone is the
    operator `layers.ops.swiglu`.

    Parameters
    ----------
    in_channels : int
        Size of the last axis of the input; 0 takes it from the first call's input.
    hidden_channels : int
        Size of the last axis of the gate and of its factor. Two thirds of the usual hidden size,
        such as 8/3 of `in_channels`, give as many weights as a layer without a gate.
    channels : int
        Size of the last axis of the output.
    bias : bool
        If True, the three layers have biases. Give it: the default is False now, as in the paper,
        with a DeprecationWarning, and will be True from the next release, as in all other layers.
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
        `hidden_channels` or `channels` is not a whole number from 1, or `in_channels` from 0.
    TypeError
        `bias` is neither True nor False.

    N. Shazeer, GLU variants improve transformer, arXiv:2002.05202, 2020.
    """

    def multiply(self, F, gate, value):
        """Return swish(gate) value."""
        return swiglu(gate, value)


class GeGLU(Gated):
    """Feed-forward layer of a transformer, y = down(GELU(gate(x)) up(x)), on the last axis.

    `gate`, `up` and `down` are its three `DenseBlock`s. With `approximate`, the product GELU(gate)
    value is the operator `layers.ops.geglu_tanh`. Without it, it is the built-in GELU, which keeps
    only the gate for backward, and a product.

    Parameters
    ----------
    in_channels : int
        Size of the last axis of the input; 0 takes it from the first call's input.
    hidden_channels : int
        Size of the last axis of the gate and of its factor. Two thirds of the usual hidden size,
        such as 8/3 of `in_channels`, give as many weights as a layer without a gate.
    channels : int
        Size of the last axis of the output.
    bias : bool
        If True, the three layers have biases. Give it: the default is False now, as in the paper,
        with a DeprecationWarning, and will be True from the next release, as in all other layers.
    weight_initializer : str or Initializer, optional
        By default the initializer passed to `initialize`.
    dtype : str
    approximate : bool
        If True, compute GELU with tanh, as in Gemma; if False, exactly.

    Inputs:
        - **x**: (..., in_channels)
    Outputs:
        - **y**: (..., channels)

    Raises
    ------
    ValueError
        `hidden_channels` or `channels` is not a whole number from 1, or `in_channels` from 0.
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
        """Return GELU(gate) value."""
        if self._approximate:
            return geglu_tanh(gate, value)
        return F.LeakyReLU(gate, act_type="gelu") * value
