"""Convolutions and pooling."""

from __future__ import annotations

from ...base import integer_types
from ..block import HybridBlock
from ..parameter import ParameterError
from .activations import Activation

__all__ = [
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "ReflectionPad2D",
]

_LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def _sizes(block: HybridBlock, name: str, value) -> tuple[int, ...]:
    """A number for each spatial axis, from one for all or a list."""
    if isinstance(value, integer_types):
        return (int(value),) * block._ndim
    if len(value) != block._ndim:
        raise ParameterError(
            f"{type(block).__name__}: {name} is {value!r}\n"
            f"  expected a number, or {block._ndim} of them"
        )
    return tuple(value)


def _layout(block: HybridBlock, layout: str | None) -> str:
    allowed = _LAYOUTS[block._ndim]
    if layout not in (None, *allowed):
        raise ParameterError(
            f"{type(block).__name__}: layout is {layout!r}\n  expected {' or '.join(allowed)}"
        )
    return layout or allowed[0]


class _Conv(HybridBlock):
    """What the convolutions have in common.

    Parameters
    ----------
    channels : int
        The number of filters, which is that of the output's channels.
    kernel_size, strides, padding, dilation : int or tuple of int
        For each spatial axis, or one for all.
    groups : int
        Channels are split into so many groups, each with filters of its own.
    layout : str
        The order of the axes: ``'NCHW'``, or with the channels last.
    activation : str, optional
        As for `Activation`.
    use_bias : bool
    weight_initializer, bias_initializer : str or Initializer, optional
    in_channels : int
        0: the first call tells.
    """

    _op_name = "Convolution"

    def __init__(
        self,
        channels: int,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer=None,
        bias_initializer="zeros",
        in_channels: int = 0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._channels, self._in_channels = channels, in_channels
        self._kwargs = {
            "kernel": _sizes(self, "kernel_size", kernel_size),
            "stride": _sizes(self, "strides", strides),
            "dilate": _sizes(self, "dilation", dilation),
            "pad": _sizes(self, "padding", padding),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": _layout(self, layout),
        }
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=self._weight_shape(*self._filters(channels, in_channels, groups)),
                init=weight_initializer,
                allow_deferred_init=True,
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True
                )
            self.act = None
            if activation is not None:
                self.act = Activation(activation, prefix=f"{activation}_")

    def _alias(self) -> str:
        return "conv"

    def _filters(self, channels: int, in_channels: int, groups: int) -> tuple[int, int]:
        """The sizes of the weight besides the kernel's: its first axis, and the channels'."""
        return channels, in_channels // groups

    def _weight_shape(self, first: int, second: int) -> tuple[int, ...]:
        kernel = self._kwargs["kernel"]
        last = self._kwargs["layout"].endswith("C")
        return (first, *kernel, second) if last else (first, second, *kernel)

    def hybrid_forward(self, F, x, weight, bias=None):
        """The convolution of x, and the activation of it."""
        y = getattr(F, self._op_name)(x, weight, bias, name="fwd", **self._kwargs)
        return y if self.act is None else self.act(y)

    def __repr__(self) -> str:
        first, second = self.weight.shape[:2]
        settings = self._kwargs
        shown = [f"{second or None} -> {first}"]
        shown += [f"kernel_size={settings['kernel']}", f"stride={settings['stride']}"]
        if any(settings["pad"]):
            shown.append(f"padding={settings['pad']}")
        if set(settings["dilate"]) != {1}:
            shown.append(f"dilation={settings['dilate']}")
        if settings["num_group"] != 1:
            shown.append(f"groups={settings['num_group']}")
        if self.bias is None:
            shown.append("bias=False")
        if self.act is not None:
            shown.append(str(self.act))
        return f"{type(self).__name__}({', '.join(shown)})"


class Conv1D(_Conv):
    """The correlation of x (n, c, w) with each of `channels` kernels, and a bias."""

    _ndim = 1


class Conv2D(_Conv):
    """The correlation of x (n, c, h, w) with each of `channels` kernels, and a bias."""

    _ndim = 2


class Conv3D(_Conv):
    """The correlation of x (n, c, d, h, w) with each of `channels` kernels, and a bias."""

    _ndim = 3


class _ConvTranspose(_Conv):
    """What the transposed convolutions have in common: what a convolution's gradient does.

    Parameters
    ----------
    output_padding : int or tuple of int
        Added to the size of the output on one side, less than the stride.

    The others are those of the convolutions.
    """

    _op_name = "Deconvolution"

    def __init__(
        self,
        channels: int,
        kernel_size: int | tuple[int, ...],
        strides: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0,
        output_padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer=None,
        bias_initializer="zeros",
        in_channels: int = 0,
        **kwargs,
    ):
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            in_channels,
            **kwargs,
        )
        self._kwargs["adj"] = _sizes(self, "output_padding", output_padding)

    def _filters(self, channels: int, in_channels: int, groups: int) -> tuple[int, int]:
        return in_channels, channels // groups


class Conv1DTranspose(_ConvTranspose):
    """The transpose of a convolution over x (n, c, w), and a bias."""

    _ndim = 1


class Conv2DTranspose(_ConvTranspose):
    """The transpose of a convolution over x (n, c, h, w), and a bias."""

    _ndim = 2


class Conv3DTranspose(_ConvTranspose):
    """The transpose of a convolution over x (n, c, d, h, w), and a bias."""

    _ndim = 3


class _Pooling(HybridBlock):
    """What the poolings have in common.

    Parameters
    ----------
    pool_size : int or tuple of int
        The window, for each spatial axis, or one for all.
    strides : int or tuple of int, optional
        By default the window: the windows do not overlap.
    padding : int or tuple of int
    layout : str
        The order of the axes: ``'NCHW'``, or with the channels last.
    ceil_mode : bool
        Round the size of the output up, not down.
    count_include_pad : bool
        Whether a mean counts the padding.
    """

    _global = False

    def __init__(self, pool_size, strides, padding, layout, ceil_mode, settings, **kwargs):
        super().__init__(**kwargs)
        self._kwargs = {
            "kernel": _sizes(self, "pool_size", pool_size),
            "stride": _sizes(self, "strides", pool_size if strides is None else strides),
            "pad": _sizes(self, "padding", padding),
            "global_pool": self._global,
            "pool_type": self._type,
            "layout": _layout(self, layout),
            "pooling_convention": "full" if ceil_mode else "valid",
        } | settings

    def _alias(self) -> str:
        return "pool"

    def hybrid_forward(self, F, x):
        """The pooled x."""
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self) -> str:
        settings = self._kwargs
        return (
            f"{type(self).__name__}(size={settings['kernel']}, stride={settings['stride']}, "
            f"padding={settings['pad']}, ceil_mode={settings['pooling_convention'] == 'full'}, "
            f"global_pool={self._global}, pool_type={self._type}, layout={settings['layout']})"
        )


# The orders of the arguments are MXNet's, which differ between the numbers of axes.


class _MaxPool(_Pooling):
    _type = "max"

    def __init__(
        self, pool_size=2, strides=None, padding=0, layout=None, ceil_mode=False, **kwargs
    ):
        super().__init__(pool_size, strides, padding, layout, ceil_mode, {}, **kwargs)


class MaxPool1D(_MaxPool):
    """The largest value in each window of x (n, c, w)."""

    _ndim = 1


class MaxPool2D(_MaxPool):
    """The largest value in each window of x (n, c, h, w)."""

    _ndim = 2


class MaxPool3D(_MaxPool):
    """The largest value in each window of x (n, c, d, h, w)."""

    _ndim = 3

    def __init__(
        self, pool_size=2, strides=None, padding=0, ceil_mode=False, layout=None, **kwargs
    ):
        super().__init__(pool_size, strides, padding, layout, ceil_mode, **kwargs)


class _AvgPool(_Pooling):
    _type = "avg"

    def __init__(
        self,
        pool_size=2,
        strides=None,
        padding=0,
        ceil_mode=False,
        layout=None,
        count_include_pad=True,
        **kwargs,
    ):
        counted = {"count_include_pad": count_include_pad}
        super().__init__(pool_size, strides, padding, layout, ceil_mode, counted, **kwargs)


class AvgPool1D(_AvgPool):
    """The mean of each window of x (n, c, w)."""

    _ndim = 1

    def __init__(
        self,
        pool_size=2,
        strides=None,
        padding=0,
        layout=None,
        ceil_mode=False,
        count_include_pad=True,
        **kwargs,
    ):
        super().__init__(
            pool_size, strides, padding, ceil_mode, layout, count_include_pad, **kwargs
        )


class AvgPool2D(_AvgPool):
    """The mean of each window of x (n, c, h, w)."""

    _ndim = 2


class AvgPool3D(_AvgPool):
    """The mean of each window of x (n, c, d, h, w)."""

    _ndim = 3


class _GlobalPool(_Pooling):
    _global = True

    def __init__(self, layout=None, **kwargs):
        super().__init__(1, None, 0, layout, True, {}, **kwargs)


class GlobalMaxPool1D(_GlobalPool):
    """The largest value of each channel of x (n, c, w)."""

    _ndim, _type = 1, "max"


class GlobalMaxPool2D(_GlobalPool):
    """The largest value of each channel of x (n, c, h, w)."""

    _ndim, _type = 2, "max"


class GlobalMaxPool3D(_GlobalPool):
    """The largest value of each channel of x (n, c, d, h, w)."""

    _ndim, _type = 3, "max"


class GlobalAvgPool1D(_GlobalPool):
    """The mean of each channel of x (n, c, w)."""

    _ndim, _type = 1, "avg"


class GlobalAvgPool2D(_GlobalPool):
    """The mean of each channel of x (n, c, h, w)."""

    _ndim, _type = 2, "avg"


class GlobalAvgPool3D(_GlobalPool):
    """The mean of each channel of x (n, c, d, h, w)."""

    _ndim, _type = 3, "avg"


class ReflectionPad2D(HybridBlock):
    """x (n, c, h, w) with its edges mirrored outside.

    Parameters
    ----------
    padding : int or tuple of 8 int
        How much on each side; or before and after, for each of the axes n, c, h, w.

    Raises
    ------
    ParameterError
        `padding` is neither a number nor 8 of them.
    """

    def __init__(self, padding: int | tuple[int, ...] = 0, **kwargs):
        super().__init__(**kwargs)
        padding = (
            (0,) * 4 + (padding,) * 4 if isinstance(padding, integer_types) else tuple(padding)
        )
        if len(padding) != 8:
            raise ParameterError(
                f"ReflectionPad2D: padding is {padding}\n  expected a number, or 8 of them"
            )
        self._padding = padding

    def hybrid_forward(self, F, x):
        """The padded x."""
        return F.pad(x, mode="reflect", pad_width=self._padding)
