"""The fully connected layer."""

from __future__ import annotations

import numpy as np

from .activation import activate
from .engine import expect, gluon
from .ops import dense

__all__ = ["DenseBlock"]


class DenseBlock(gluon.HybridBlock):
    """Fully connected layer on the last axis, y = activation(x wᵀ + b).

    Parameters
    ----------
    in_channels : int
        Size of the last axis of the input; with 0 it is that of the first call's input.
    channels : int
        Size of the last axis of the output.
    bias : bool or float
        True for a learnable bias, False for none; a number is a constant bias.
    activation : str, callable or None
        Name of an activation, such as 'relu' or 'sigmoid'; or a function or Block.
    weight_initializer, bias_initializer : str or Initializer, optional
        By default the initializer passed to `initialize`, and zeros.
    dtype : str

    Inputs:
        - **x**: (..., in_channels)
    Outputs:
        - **y**: (..., channels)

    Raises
    ------
    TypeError
        `bias` is neither a bool nor a number.
    """

    def __init__(
        self,
        in_channels: int,
        channels: int,
        bias: bool | float = True,
        activation=None,
        weight_initializer=None,
        bias_initializer="zeros",
        dtype: str = "float32",
        **kwargs,
    ):
        super().__init__(**kwargs)
        if bias is None or isinstance(bias, (bool, np.bool_)):
            learnable, self._attributes = bool(bias), {}
        elif isinstance(bias, (int, float, np.number)):
            learnable, self._attributes = False, {"bias": float(bias)}
        else:
            raise TypeError(f"DenseBlock: bias is {bias!r}\n  expected a bool or a number")
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(channels, in_channels),
                dtype=dtype,
                init=weight_initializer,
                allow_deferred_init=True,
            )
            if learnable:
                self.bias = self.params.get(
                    "bias", shape=(channels,), dtype=dtype, init=bias_initializer
                )
            self.activation = activate(activation)

    def __call__(self, x):
        expect(self.name, (x,))
        return super().__call__(x)

    def hybrid_forward(self, F, x, weight, bias=None):
        y = dense(x, weight, bias, **self._attributes)
        return y if self.activation is None else self.activation(y)

    def __repr__(self) -> str:
        channels, in_channels = self.weight.shape
        return f"{type(self).__name__}({in_channels or None} -> {channels})"
