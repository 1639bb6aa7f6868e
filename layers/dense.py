"""Fully connected layer."""

from __future__ import annotations

import numpy as np

from ._inputs import expect_kind, expect_sizes
from ._renamed import formerly
from .activation import activate
from .engine import expect, gluon, mxnet_error
from .ops import dense, lsq
from .quantize import scale_of_inputs, scale_of_weight, start

__all__ = ["DenseBlock"]


class DenseBlock(gluon.HybridBlock):
    """Fully connected layer on the last axis, y = activation(x wᵀ + b).

    The activation is an operator of its own, not a part of `layers.ops.dense`. Eagerly, a relu
    takes 3 % of the time of the layer before it (256 x 1024, 1024 outputs), and compiled PyTorch
    fuses it.

    With `quantize`, the weights are rounded to multiples of a scale before the product, as in LSQ:
    w becomes s round(clip(w / s, -2ᵇ⁻¹, q)) with q = 2ᵇ⁻¹ - 1. `quantize_inputs` rounds the inputs
    in the same way. This is fake quantization: the arrays keep their dtype, and the net learns to
    work with weights of so few bits. The scale s is the Parameter `weight_scale`, which is learned
    with the weights, but without weight decay.

    The first call sets the scale to 2 mean|w| / √q of the weights at that time. To start from
    weights that were learned without quantization, load them between `initialize` and the first
    call, with ``load_parameters(file, allow_missing=True)``. The first call sets `input_scale` from
    its inputs in the same way; see `LSQBlock`. Both scales are saved with the weights.

    A net of 64, 48 and 10 units recognized 98.5 % of scikit-learn's digits without quantization. It
    learned to recognize as many with weights of 8 and of 4 bits, and 97.9 % with inputs of 4 bits
    too.

    Parameters
    ----------
    in_channels : int
        Size of the last axis of the input; 0 takes it from the first call's input.
    channels : int
        Size of the last axis of the output.
    bias : bool or float
        True for a learned bias, False for none; a float, such as 0.1, is a constant bias.
    activation : str, callable or None
        The name of an activation, such as 'relu', 'gelu' or 'swish'; or a function or Block.
    weight_initializer, bias_initializer : str or Initializer, optional
        By default the initializer passed to `initialize`, and zeros.
    dtype : str
    quantize : int, optional
        The number of bits to round weights to, from 2 to 16.
    quantize_inputs : bool or str
        Round inputs to as many bits: 'signed', the same as True; or 'unsigned', which uses all
        levels for inputs that are never negative, such as the outputs of relu.
    flatten : bool
        If True, take all axes of x after the first as one, as Gluon's Dense does by default; if
        False, map the last axis.

    Inputs:
        - **x**: (..., in_channels); with `flatten` (n, ...), with in_channels elements per sample
    Outputs:
        - **y**: (..., channels); with `flatten` (n, channels)

    Raises
    ------
    TypeError
        `bias` is neither a bool nor a float; the integers 0 and 1 are refused, too.
    ValueError
        `channels` is not a whole number from 1, `in_channels` from 0, or `quantize` from 2 to 16;
        `quantize_inputs` is none of the above, or is given without `quantize`; or `activation` is
        no name of an activation.

    S. K. Esser et al., Learned step size quantization, ICLR 2020.
    """

    @formerly(
        "in_channels channels bias activation weight_initializer bias_initializer dtype quantize "
        "quantize_inputs flatten"
    )
    def __init__(
        self,
        in_channels: int,
        channels: int,
        bias: bool | float = True,
        *,
        activation=None,
        weight_initializer=None,
        bias_initializer="zeros",
        dtype: str = "float32",
        quantize: int | None = None,
        quantize_inputs: bool | str = False,
        flatten: bool = False,
        **kwargs,
    ):
        expect_sizes("DenseBlock", 0, in_channels=in_channels)
        expect_sizes("DenseBlock", channels=channels)
        learned, constant = _parse_bias(bias)
        super().__init__(**kwargs)
        self._flatten, self._shared, self._attributes = flatten, "params" in kwargs, constant
        self._bits, self._input_levels = quantize, _levels(quantize, quantize_inputs)
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(channels, in_channels),
                dtype=dtype,
                init=weight_initializer,
                allow_deferred_init=True,
            )
            if learned:
                self.bias = self.params.get(
                    "bias", shape=(channels,), dtype=dtype, init=bias_initializer
                )
            self._make_scales(dtype)
            self.activation = activate("DenseBlock", activation)

    def _make_scales(self, dtype: str) -> None:
        """Make the scales for the weights and the inputs, where they are quantized."""
        if self._bits is not None:
            self.weight_scale = scale_of_weight(
                self.params, "weight_scale", self.weight, self._bits
            )
        if self._input_levels:
            self.input_scale = scale_of_inputs(
                self.params, "input_scale", dtype, **self._input_levels
            )

    @classmethod
    def of(cls, old, **options) -> DenseBlock:
        """Return a layer that replaces another one and shares its Parameters: same output.

        `weight` and `bias` are the same Parameter objects, with their names, values, contexts and
        multipliers, so that a Trainer of the old layer updates them, and files fit both layers.
        `quantize` adds new ones, `weight_scale` and `input_scale`. They are initialized on the
        contexts of the weight, and get their values at the first call.

        Parameters
        ----------
        old : gluon.nn.Dense or DenseBlock
            It need not be initialized yet.
        **options
            Arguments of this class, such as ``quantize=8``, in place of those of `old`.

        Returns
        -------
        DenseBlock
            (n, ...) to (n, units) if `old` flattens, else (..., in_units) to (..., units).

        Raises
        ------
        TypeError
            `old` is of another class, or of a class with a forward pass of its own.
        """
        expect_kind(cls.__name__, old, (gluon.nn.Dense, DenseBlock))
        channels, in_channels = old.weight.shape
        bias = getattr(old, "bias", None)
        found = {
            "bias": bias is not None,
            "weight_initializer": old.weight.init,
            "bias_initializer": "zeros" if bias is None else bias.init,
            "dtype": old.weight.dtype,
            "flatten": old._flatten,
        }
        if isinstance(old, DenseBlock):
            found |= {"activation": old.activation, "quantize": old._bits} | old._attributes
            if levels := old._input_levels:
                found["quantize_inputs"] = "signed" if levels["signed"] else "unsigned"
        elif old.act is not None:
            found["activation"] = old.act._act_type
        new = cls(in_channels, channels, **found | options, prefix=old.prefix, params=old.params)
        for name, parameter in new.params.items():
            if name not in old.params:
                _initialize_as(old.weight, parameter)
        return new

    def __call__(self, x):
        expect(self.name, (x,))
        if self._input_levels:
            start(self.input_scale, x, **self._input_levels)
        return super().__call__(x)

    def hybrid_forward(self, F, x, weight, bias=None, weight_scale=None, input_scale=None):
        x = F.flatten(x) if self._flatten else x
        if weight_scale is not None:
            # Pass the inputs where the weight's shape is not known: they give it. A shared weight
            # may have been traced before its shape was known.
            inputs = None if all(self.weight.shape) and not self._shared else x
            weight = lsq(weight, weight_scale, inputs, bits=self._bits)
        if input_scale is not None:
            x = lsq(x, input_scale, per_sample=True, **self._input_levels)
        y = dense(x, weight, bias, **self._attributes)
        return y if self.activation is None else self.activation(y)

    def __repr__(self) -> str:
        channels, in_channels = self.weight.shape
        bits = "" if self._bits is None else f", {self._bits} bits"
        return f"{type(self).__name__}({in_channels or None} -> {channels}{bits})"


def _parse_bias(bias: bool | float | None) -> tuple[bool, dict[str, float]]:
    """Return True for a learned bias, and the attributes of `dense` for a constant one."""
    if bias is None or isinstance(bias, (bool, np.bool_)):
        return bool(bias), {}
    if isinstance(bias, (float, np.floating)):
        return False, {"bias": float(bias)}
    number = float(bias) if isinstance(bias, (int, np.integer)) else 0.1
    raise mxnet_error(
        TypeError,
        f"DenseBlock: bias is {bias!r}\n"
        f"  expected True or False, or a float such as {number} for a constant bias",
    )


def _initialize_as(weight, parameter) -> None:
    """Initialize a Parameter on the contexts of another one, if that one is initialized."""
    try:
        ctx = weight.list_ctx()
    except RuntimeError:  # not initialized yet: both will be together
        return
    parameter.initialize(ctx=ctx)


def _levels(bits: int | None, inputs: bool | str) -> dict:
    """Return the attributes of `lsq` for inputs; {} if they are not quantized."""
    if inputs is False:
        return {}
    kinds = {True: True, "signed": True, "unsigned": False}
    if inputs not in kinds or bits is None:
        raise mxnet_error(
            ValueError,
            f"DenseBlock: quantize is {bits}, and quantize_inputs {inputs!r}\n"
            "  expected a number of bits, and a bool, 'signed' or 'unsigned'",
        )
    return {"bits": bits, "signed": kinds[inputs]}
