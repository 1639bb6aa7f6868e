"""Convolutions that learn where to look."""

from __future__ import annotations

import math

from ....base import ArgumentError, integer_types
from ...block import HybridBlock
from ...nn import Activation

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


class DeformableConvolution(HybridBlock):
    """A convolution whose kernel has its points moved by offsets that another one computes.

    Parameters
    ----------
    channels : int
        The number of filters, which is that of the output's channels.
    kernel_size, strides, padding, dilation : int or tuple of int
        For both axes, or a number for each.
    groups : int
        Channels are split into so many groups, each with filters of its own.
    num_deformable_group : int
        Channels are split into so many groups, each with offsets of its own.
    layout : str
        ``'NCHW'``, and no other.
    use_bias, offset_use_bias : bool
    in_channels : int
        0: the first call tells.
    activation : str, optional
        As for `Activation`.
    weight_initializer, bias_initializer : str or Initializer, optional
        Of the convolution.
    offset_weight_initializer, offset_bias_initializer : str or Initializer, optional
        Of the convolution that computes the offsets.
    op_name : str
        The operator of nd.contrib.
    adj : None
        No such convolution has it.

    Inputs: (n, in_channels, h, w). Outputs: (n, channels, h', w').

    Raises
    ------
    ArgumentError
        The layout is another, or adj is given.

    (Dai et al. 2017, Deformable Convolutional Networks)
    """

    _per_point = 2  # numbers that are computed for each point of the kernel: y and x

    def __init__(
        self,
        channels: int,
        kernel_size: int | tuple[int, int] = (1, 1),
        strides: int | tuple[int, int] = (1, 1),
        padding: int | tuple[int, int] = (0, 0),
        dilation: int | tuple[int, int] = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer=None,
        bias_initializer="zeros",
        offset_weight_initializer="zeros",
        offset_bias_initializer="zeros",
        offset_use_bias: bool = True,
        op_name: str | None = None,
        adj=None,
        prefix: str | None = None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        name = type(self).__name__
        if layout != "NCHW" or adj is not None:
            raise ArgumentError(
                f"{name}: layout is {layout!r}, adj is {adj}\n  expected NCHW, None"
            )
        self._channels, self._in_channels = channels, in_channels
        self._op_name = op_name or name
        kernel, strides, padding, dilation = (
            (size,) * 2 if isinstance(size, integer_types) else tuple(size)
            for size in (kernel_size, strides, padding, dilation)
        )
        shared = {"kernel": kernel, "stride": strides, "dilate": dilation, "pad": padding}
        shared |= {"num_group": groups, "layout": layout}
        self._points = num_deformable_group * math.prod(kernel)
        computed = self._per_point * self._points
        self._kwargs_offset = shared | {"num_filter": computed, "no_bias": not offset_use_bias}
        self._kwargs_deformable_conv = shared | {
            "num_filter": channels,
            "num_deformable_group": num_deformable_group,
            "no_bias": not use_bias,
        }
        convolutions = {
            "offset": (
                computed,
                offset_weight_initializer,
                offset_use_bias,
                offset_bias_initializer,
            ),
            "deformable_conv": (channels, weight_initializer, use_bias, bias_initializer),
        }
        with self.name_scope():
            for part in self._order(list(convolutions)):
                self._own(part, in_channels // groups, kernel, *convolutions[part])
            self.act = None
            if activation:
                self.act = Activation(activation, prefix=f"{activation}_")

    def _order(self, parts: list[str]) -> list[str]:
        """The convolutions in the order of their parameters."""
        return parts

    def _own(self, part, in_channels, kernel, filters, init, use_bias, bias_init) -> None:
        """Own the weight and the bias of a convolution."""
        weight = self.params.get(
            f"{part}_weight",
            shape=(filters, in_channels, *kernel),
            init=init,
            allow_deferred_init=True,
        )
        bias = None
        if use_bias:
            bias = self.params.get(
                f"{part}_bias", shape=(filters,), init=bias_init, allow_deferred_init=True
            )
        setattr(self, f"{part}_weight", weight)
        setattr(self, f"{part}_bias", bias)

    def _alias(self) -> str:
        return "deformable_conv"

    def hybrid_forward(
        self,
        F,
        x,
        offset_weight,
        deformable_conv_weight,
        offset_bias=None,
        deformable_conv_bias=None,
    ):
        """The convolution of x at the places that are computed of x, and the activation of it."""
        biases = [] if offset_bias is None else [offset_bias]
        moved = F.Convolution(x, offset_weight, *biases, **self._kwargs_offset)
        biases = [] if deformable_conv_bias is None else [deformable_conv_bias]
        inputs = *self._moved(F, moved), deformable_conv_weight, *biases
        operator = getattr(F.contrib, self._op_name)
        y = operator(x, *inputs, name="fwd", **self._kwargs_deformable_conv)
        return y if self.act is None else self.act(y)

    def _moved(self, F, computed) -> tuple:
        """What the operator takes between the data and the weight."""
        return (computed,)

    def __repr__(self) -> str:
        inputs = self.deformable_conv_weight.shape[1] or None
        shown = self._kwargs_deformable_conv
        text = f"{inputs} -> {self._channels}, kernel_size={shown['kernel']}"
        text += f", stride={shown['stride']}"
        for name, word, usual in (("pad", "padding", 0), ("dilate", "dilation", 1)):
            text += f", {word}={shown[name]}" if shown[name] != (usual, usual) else ""
        text += f", groups={shown['num_group']}" if shown["num_group"] != 1 else ""
        text += ", bias=False" if shown["no_bias"] else ""
        text += f", {self.act}" if self.act else ""
        return f"{type(self).__name__}({text})"


class ModulatedDeformableConvolution(DeformableConvolution):
    """A DeformableConvolution with a computed weight for each point of the kernel, from 0 to 2.

    Its parameters, inputs and outputs are those of `DeformableConvolution`.

    (Zhu et al. 2019, Deformable ConvNets v2)
    """

    _per_point = 3

    def _order(self, parts: list[str]) -> list[str]:
        return parts[::-1]

    def _alias(self) -> str:
        return "modulated_deformable_conv"

    def _moved(self, F, computed) -> tuple:
        offset = F.slice_axis(computed, axis=1, begin=0, end=2 * self._points)
        weight = F.slice_axis(computed, axis=1, begin=2 * self._points, end=None)
        return offset, F.sigmoid(weight) * 2
