"""Layers: affine maps, activations, normalization, convolution, pooling.

Where an operator takes a layout, the default has the channels on axis 1; in one that ends in C they
are the last axis, of the weight too.
"""

from __future__ import annotations

import math
from functools import wraps
from typing import Literal

import torch
import torch.nn.functional as F

from .. import _dtype
from ..base import ArgumentError, DTypeError, ShapeError, UnsupportedError
from .attributes import DType, Shape
from .index import positions
from .product import linear
from .registry import REQUIRED, Tensor, constant, op

Layout = Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC"] | None


def _bias(name, bias, no_bias):
    """The bias, or None where there is to be none."""
    if (bias is None) is not no_bias:
        given = "is missing" if bias is None else f"is {tuple(bias.shape)}"
        expected = "no bias" if no_bias else "a bias"
        raise ArgumentError(f"{name}: bias {given}\n  expected {expected} with no_bias={no_bias}")
    return bias


def _expect(name, data, expected, **given):
    """Check that the given inputs have the shapes that the data asks for."""
    for key, tensor in given.items():
        if tensor is not None and tuple(tensor.shape) != expected[key]:
            raise ShapeError(
                f"{name}: {key} is {tuple(tensor.shape)} for data {tuple(data.shape)}\n"
                f"  expected {key} {expected[key]}"
            )


@op
def FullyConnected(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    num_hidden: int = REQUIRED,
    no_bias: bool = False,
    flatten: bool = True,
) -> Tensor:
    """The affine map, y = x Wᵀ + b.

    data : (n, ...), taken as (n, k); without `flatten` (..., k)      weight : (num_hidden, k)
    bias : (num_hidden,)      y : (n, num_hidden), or (..., num_hidden)

    Raises
    ------
    ShapeError
        `weight` or `bias` has another shape than `num_hidden` and `data` ask for.
    ArgumentError
        `bias` is given with `no_bias`, or missing without it.
    """
    x = data if not flatten or data.dim() == 2 else _rows(data)
    if weight.shape != (num_hidden, x.shape[-1]):
        fits = weight.dim() == 2 and len(weight) == num_hidden
        columns = f", or data with {weight.shape[1]} columns" if fits else ""
        raise ShapeError(
            f"FullyConnected: weight is {tuple(weight.shape)}, but data {tuple(data.shape)} "
            f"{'flattens to' if flatten else 'has'} {x.size(-1)} columns\n"
            f"  expected weight (num_hidden={num_hidden}, {x.size(-1)}){columns}"
        )
    if (bias is None) is not no_bias or (not no_bias and bias.shape != (num_hidden,)):
        _bias("FullyConnected", bias, no_bias)
        _expect("FullyConnected", data, {"bias": (num_hidden,)}, bias=bias)
    return linear(x, weight, bias)


def _rows(x):
    return x.reshape(len(x), math.prod(x.shape[1:]))


@FullyConnected.infer
def _(data, num_hidden, no_bias, flatten):
    columns = math.prod(data[1:]) if flatten else data[-1]
    return {"weight": (num_hidden, columns)} | ({} if no_bias else {"bias": (num_hidden,)})


@FullyConnected.shaped
def _(data, num_hidden, flatten):
    return *(data[:1] if flatten else data[:-1]), num_hidden


@FullyConnected.back
def _(inputs, output, flatten):
    """The output has the rows of the data."""
    data = inputs[0]
    if data is None or len(output) != (2 if flatten else len(data)):
        return inputs
    return [(output[0], *data[1:]) if flatten else (*output[:-1], data[-1])]


def _weighted(no_bias):
    return ("data", "weight") if no_bias else ("data", "weight", "bias")


FullyConnected.takes(_weighted)


# Activations

_ACTIVATIONS = {
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "softrelu": F.softplus,
    "softsign": F.softsign,
    "tanh": torch.tanh,
}


@op(same=True)
def Activation(
    data: Tensor,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"] = REQUIRED,
) -> Tensor:
    """max(x, 0), 1 / (1 + e⁻ˣ), log(1 + eˣ), x / (1 + |x|) or tanh x, as `act_type` says."""
    return _ACTIVATIONS[act_type](data)


@op(inits={"gamma": '["Constant", {"value": 0.25}]'}, draws=True, names_input=True)
def LeakyReLU(
    data: Tensor,
    gamma: Tensor | None = None,
    act_type: Literal["elu", "gelu", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    *,
    training: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """x where it is positive, and below:

    leaky: slope x. elu: slope (eˣ - 1). prelu: gamma x, one gamma, one for each channel, or one for
    each example and channel.
    rrelu: when training a slope drawn from lower_bound to upper_bound for each element, else their
    mean; a second output has the slopes that were drawn, or zeros. selu is a scaled elu, gelu is
    x Φ(x).

    Raises
    ------
    ArgumentError
        `gamma` is missing for prelu, or given for another `act_type`.
    """
    if (gamma is None) is (act_type == "prelu"):
        given = "is missing" if gamma is None else f"is {tuple(gamma.shape)}"
        raise ArgumentError(
            f"LeakyReLU: gamma {given}, act_type is {act_type!r}\n  expected gamma for 'prelu' only"
        )
    if act_type == "prelu":
        return _prelu(data, gamma)
    if act_type == "leaky":
        return F.leaky_relu(data, slope)
    if act_type == "elu":
        return F.elu(data, slope)
    if act_type == "rrelu":
        return _rrelu(data, lower_bound, upper_bound, training)
    return F.gelu(data) if act_type == "gelu" else F.selu(data)


def _prelu(x, gamma):
    if gamma.dim() == 1 and (len(gamma) == 1 or (x.dim() > 1 and len(gamma) == x.shape[1])):
        return F.prelu(x, gamma)
    if 1 < gamma.dim() < x.dim():  # of the first axes: a slope for each example and channel
        gamma = gamma.reshape(*gamma.shape, *[1] * (x.dim() - gamma.dim()))
    return torch.where(x > 0, x, x * gamma)


def _rrelu(x, low, high, training):
    if not training:
        return F.leaky_relu(x, (low + high) / 2), constant(torch.zeros_like(x), x)
    slope = low + (high - low) * torch.rand_like(x, memory_format=torch.contiguous_format)
    return torch.where(x > 0, x, slope * x), constant(slope, x)


@LeakyReLU.gives
def _(act_type):
    return ("output", "mask") if act_type == "rrelu" else 1


@LeakyReLU.takes
def _(act_type):
    return ("data", "gamma") if act_type == "prelu" else ("data",)


@LeakyReLU.infer
def _(data, act_type):
    return {"gamma": (data[1] if len(data) > 1 else 1,)} if act_type == "prelu" else {}


@LeakyReLU.shaped
def _(data, act_type):
    return [data, data] if act_type == "rrelu" else data


@op(names_input=True)
def softmax(
    data: Tensor,
    length: Tensor | None = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: DType | None = None,
    use_length: bool | None = False,
) -> Tensor:
    """exp(x / temperature) over its sum along an axis.

    With `use_length` over the first `length` elements only, and 0 after them.

    length : the shape of data without the axis

    Raises
    ------
    ArgumentError
        `length` is given without `use_length`, or missing with it.
    """
    x = data if temperature in (None, 1) else data / temperature
    if (length is None) is bool(use_length):
        given = "is missing" if length is None else f"is {tuple(length.shape)}"
        raise ArgumentError(f"softmax: length {given}\n  expected use_length={not use_length}")
    if length is None:
        return torch.softmax(x, axis, dtype)
    after = positions(data, axis) >= length.unsqueeze(axis)
    return torch.softmax(x.masked_fill(after, -math.inf), axis, dtype).masked_fill(after, 0)


@softmax.takes
def _(use_length):
    return ("data", "length") if use_length else ("data",)


@softmax.shaped
def _(data):
    return data


@softmax.infer
def _(data, axis, use_length):
    axis %= len(data)
    return {"length": data[:axis] + data[axis + 1 :]} if use_length else {}


@op(same=True, names_input=True)
def log_softmax(
    data: Tensor,
    axis: int = -1,
    temperature: float | None = None,
    dtype: DType | None = None,
    use_length: bool | None = False,
) -> Tensor:
    """The logarithm of softmax.

    Raises
    ------
    UnsupportedError
        `use_length` is True: there is no length.
    """
    _whole("log_softmax", use_length)
    return torch.log_softmax(data if temperature in (None, 1) else data / temperature, axis, dtype)


@op(same=True)
def softmin(
    data: Tensor,
    axis: int = -1,
    temperature: float | None = None,
    dtype: DType | None = None,
    use_length: bool | None = False,
) -> Tensor:
    """softmax of -x.

    Raises
    ------
    UnsupportedError
        `use_length` is True: there is no length.
    """
    _whole("softmin", use_length)
    return torch.softmax(-data if temperature in (None, 1) else data / -temperature, axis, dtype)


def _whole(name, use_length):
    if use_length:
        raise UnsupportedError(
            f"{name}: use_length is True\n  expected softmax, which takes a length"
        )


@op(same=True)
def SoftmaxActivation(data: Tensor, mode: Literal["channel", "instance"] = "instance") -> Tensor:
    """softmax over the last axis, or over the channels (axis 1)."""
    return torch.softmax(data, 1 if mode == "channel" else -1)


@op
def softmax_cross_entropy(data: Tensor, label: Tensor) -> Tensor:
    """The cross entropy, -Σᵢ log softmax(data[i])[label[i]], as (1,).

    data : (n, k)      label : (n,), indices

    Raises
    ------
    ShapeError
        The shapes are not (n, k) and (n,).
    """
    if data.dim() != 2 or label.shape != data.shape[:1]:
        raise ShapeError(
            f"softmax_cross_entropy: data is {tuple(data.shape)}, label is {tuple(label.shape)}\n"
            "  expected (n, k) and (n,)"
        )
    index = label.long().clamp(0, data.shape[1] - 1)
    return F.cross_entropy(data, index, reduction="sum").reshape(1)


@softmax_cross_entropy.infer
def _(data):
    return {"label": data[:1]}


@softmax_cross_entropy.shaped
def _(data):
    return (1,) if len(data) == 2 else None


@op(view=True, draws=True, names_input=True)
def Dropout(
    data: Tensor,
    p: float = 0.5,
    mode: Literal["always", "training"] = "training",
    axes: Shape = (),
    cudnn_off: bool | None = False,
    *,
    training: bool = False,
) -> Tensor:
    """0 with probability p, else x / (1 - p); x itself when not training, unless mode is 'always'.

    On `axes` one draw holds for all.

    Raises
    ------
    ArgumentError
        `p` is not from 0 to 1.
    """
    if not 0 <= p <= 1:
        raise ArgumentError(f"Dropout: p is {p}\n  expected a probability")
    if not training and mode != "always":
        return data
    if not axes and data.is_contiguous():
        return F.dropout(data, p)
    shape = list(data.shape)  # drawn in the order of the elements, wherever they lie in memory
    for axis in axes:
        shape[axis] = 1
    return data * F.dropout(data.new_ones(shape), p)


# Normalization


_moving = op(
    states=("moving_mean", "moving_var"),
    inits={"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'},
)


@_moving
def BatchNorm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    *,
    training: bool = False,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """gamma (x - mean) / √(var + eps) + beta, for each channel; gamma is taken as 1 by `fix_gamma`.

    Training takes mean and variance (Σ(x - mean)² / n) of the batch, and moves the moving ones:
    moving = momentum moving + (1 - momentum) batch. Otherwise, and with `use_global_stats`, the
    moving ones are taken. With `output_mean_var` also the mean and 1 / √(var + eps).

    Raises
    ------
    ShapeError
        A parameter has another shape than `data` asks for.
    """
    inputs = {"gamma": gamma, "beta": beta, "moving_mean": moving_mean, "moving_var": moving_var}
    _expect("BatchNorm", data, dict.fromkeys(inputs, (data.shape[axis],)), **inputs)
    x = data if axis == 1 else data.unsqueeze(0) if data.dim() == 1 else data.movedim(axis, 1)
    if fix_gamma:
        gamma = constant(torch.ones_like(gamma), gamma)
    if training and not use_global_stats:
        if not _fills_memory(x):  # PyTorch's kernel for such is slower, and rounds 20 times more
            x = x.contiguous()
        y, mean, scale = torch.native_batch_norm(x, gamma, beta, None, None, True, 0.0, eps)
        with torch.no_grad():
            moving_mean.lerp_(mean.to(moving_mean.dtype), 1 - momentum)
            moving_var.lerp_((scale**-2 - eps).to(moving_var.dtype), 1 - momentum)
    else:
        y = torch.batch_norm(x, gamma, beta, moving_mean, moving_var, False, 0.0, eps, True)
        mean = scale = None
    y = y if axis == 1 else y.squeeze(0) if data.dim() == 1 else y.movedim(1, axis)
    if not output_mean_var:
        return y
    if mean is None:
        mean, scale = moving_mean.clone(), torch.rsqrt(moving_var + eps)
    return y, constant(mean, data, gamma, beta), constant(scale, data, gamma, beta)


def _fills_memory(x: Tensor) -> bool:
    """Whether the elements lie one after another, with the channels before the image or behind."""
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
    return x.is_contiguous() or last is not None and x.is_contiguous(memory_format=last)


def _with_relu(function):
    @wraps(function)  # and with its signature
    def row(*args, **kwargs):
        y = function(*args, **kwargs)
        return torch.relu(y) if isinstance(y, Tensor) else (torch.relu(y[0]), *y[1:])

    row.__name__ = row.__qualname__ = "_contrib_BatchNormWithReLU"
    row.__doc__ = "The positive part of BatchNorm."
    return row


BatchNormWithReLU = _moving(_with_relu(BatchNorm.function))


@_moving
def _contrib_SyncBatchNorm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    ndev: int = 1,
    key: str = REQUIRED,
    *,
    training: bool = False,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """BatchNorm over the axis 1, of one device: `ndev` above 1 is not supported.

    A context computes at once here, and cannot wait for the batch of another.
    """
    if ndev > 1:
        raise UnsupportedError(
            f"SyncBatchNorm: ndev is {ndev}, and devices do not wait for each other here\n"
            "  expected 1, or BatchNorm on each device"
        )
    inputs = data, gamma, beta, moving_mean, moving_var
    settings = eps, momentum, fix_gamma, use_global_stats, output_mean_var
    return BatchNorm.function(*inputs, *settings, training=training)


@BatchNorm.gives
@BatchNormWithReLU.gives
@_contrib_SyncBatchNorm.gives
def _(output_mean_var):
    return 3 if output_mean_var else 1


@BatchNorm.infer
@BatchNormWithReLU.infer
def _(data, axis):
    return dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), (data[axis],))


@_contrib_SyncBatchNorm.infer
def _(data):
    return dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), (data[1],))


@BatchNorm.shaped
@BatchNormWithReLU.shaped
@_contrib_SyncBatchNorm.shaped
def _like_data(data, output_mean_var):
    return None if output_mean_var else data


@BatchNorm.typed
@BatchNormWithReLU.typed
@_contrib_SyncBatchNorm.typed
def _(data):
    held = torch.float32 if data.itemsize == 2 else data  # as gluon's cast leaves them
    return dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), held)


@BatchNorm.types
@BatchNormWithReLU.types
@_contrib_SyncBatchNorm.types
def _(data):
    return data


@op
def LayerNorm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    axis: int = -1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """gamma (x - mean) / √(var + eps) + beta, with mean and variance over an axis.

    gamma, beta : (data.shape[axis],)

    With `output_mean_var` also the mean and √(var + eps), the axis with size 1.

    Raises
    ------
    ShapeError
        A parameter has another shape than `data` asks for.
    """
    size = (data.shape[axis],)
    _expect("LayerNorm", data, {"gamma": size, "beta": size}, gamma=gamma, beta=beta)
    last = axis in (-1, data.dim() - 1)
    x = data if last else data.movedim(axis, -1)
    given = x, gamma, beta
    if x.is_cpu and x.element_size() == 2:  # PyTorch sums up the gradients in 16 bits there
        given = [t.float() for t in given]
    found = torch.native_layer_norm(given[0], size, *given[1:], eps)
    y, mean, scale = [t.to(x.dtype) for t in found]
    parts = (
        (y, *(constant(a.detach(), data, gamma, beta) for a in (mean, 1 / scale)))
        if output_mean_var
        else (y,)
    )
    parts = parts if last else tuple([part.movedim(-1, axis) for part in parts])
    return parts if output_mean_var else parts[0]


LayerNorm.gives(BatchNorm.outputs_rule)


LayerNorm.shaped(_like_data)


@LayerNorm.infer
def _(data, axis):
    return {"gamma": (data[axis],), "beta": (data[axis],)}


@op
def InstanceNorm(data: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-3) -> Tensor:
    """gamma (x - mean) / √(var + eps) + beta, with mean and variance of each channel of a sample.

    data : (n, c, ...), 3 axes or more      gamma, beta : (c,)

    Raises
    ------
    ShapeError
        `data` has fewer than 3 axes, or a parameter has another shape than it asks for.
    """
    if data.dim() < 3:
        raise ShapeError(f"InstanceNorm: data is {tuple(data.shape)}\n  expected 3 axes or more")
    size = (data.shape[1],)
    _expect("InstanceNorm", data, {"gamma": size, "beta": size}, gamma=gamma, beta=beta)
    # PyTorch's instance_norm gives wrong gradients of one sample for dy with channels last.
    return torch.group_norm(data, data.shape[1], gamma, beta, eps)


@InstanceNorm.infer
def _(data):
    return {"gamma": (data[1],), "beta": (data[1],)}


@InstanceNorm.shaped
def _(data):
    return data if len(data) > 2 else None


@op
def GroupNorm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    num_groups: int = 1,
    eps: float = 1e-5,
    output_mean_var: bool = False,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """gamma (x - mean) / √(var + eps) + beta, with mean and variance of a group of channels.

    data : (n, c, ...)      gamma, beta : (num_groups,), as in MXNet, not (c,)

    With `output_mean_var` also the mean and √(var + eps), (n, num_groups).

    Raises
    ------
    ShapeError
        `data` has fewer than 3 axes, its channels are no multiple of `num_groups`, or a parameter
        has another shape than that asks for.
    """
    if data.dim() < 3 or num_groups < 1 or data.shape[1] % num_groups:
        raise ShapeError(
            f"GroupNorm: data is {tuple(data.shape)}, num_groups is {num_groups}\n"
            "  expected (n, c, ...), c a multiple of num_groups"
        )
    size = (num_groups,)
    _expect("GroupNorm", data, {"gamma": size, "beta": size}, gamma=gamma, beta=beta)
    groups = data.reshape(len(data), num_groups, -1)
    y, mean, scale = torch.native_layer_norm(groups, groups.shape[2:], None, None, eps)
    y = torch.addcmul(beta[:, None], y, gamma[:, None]).reshape(data.shape)
    if not output_mean_var:
        return y
    parts = mean[..., 0], 1 / scale[..., 0]
    return y, *(constant(a.detach(), data, gamma, beta) for a in parts)


GroupNorm.gives(BatchNorm.outputs_rule)


@GroupNorm.infer
def _(num_groups):
    return {"gamma": (num_groups,), "beta": (num_groups,)}


@GroupNorm.shaped
def _(data, num_groups, output_mean_var):
    if len(data) < 3 or num_groups < 1 or data[1] % num_groups:
        return None
    of_groups = data[0], num_groups
    return [data, of_groups, of_groups] if output_mean_var else data


# Convolution and pooling


def _spatial(name, shape, kernel, stride, dilate, pad):
    """Stride, dilation and padding, as many as the kernel has axes; 1, 1 and 0 where not given.

    `shape` is the data's.
    """
    n = len(kernel)
    given = stride[:n] if n == 1 else stride, dilate, pad[:n] if n == 1 else pad  # as MXNet takes
    sizes = [one or (default,) * n for one, default in zip(given, (1, 1, 0))]
    if not 1 <= n <= 3 or any(len(size) != n for size in sizes):
        raise ShapeError(
            f"{name}: kernel is {kernel}, stride {stride}, dilate {dilate}, pad {pad}\n"
            "  expected 1 to 3 numbers, as many of each"
        )
    if len(shape) != n + 2:
        raise ShapeError(
            f"{name}: data is {tuple(shape)}, and the kernel {kernel}\n"
            f"  expected {n + 2} axes: batch, channels, and {n} for the kernel"
        )
    return sizes


def _channels_last(layout):
    return layout is not None and layout.endswith("C")


@op
def Convolution(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    kernel: Shape = REQUIRED,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: int = REQUIRED,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Layout = None,
) -> Tensor:
    """The correlation of data with each of `num_filter` kernels, in 1, 2 or 3 dimensions.

    data : (n, c, ...)      weight : (num_filter, c / num_group, *kernel)      bias : (num_filter,)

    Raises
    ------
    ShapeError
        A parameter has another shape than `data` asks for.
    ArgumentError
        `bias` is given with `no_bias`, or missing without it.
    """
    bias, stride, dilate, pad = checked_convolution(
        data, weight, bias, kernel, stride, dilate, pad, num_filter, num_group, no_bias, layout
    )
    zeros = (0,) * len(kernel)
    if not _channels_last(layout):
        return torch.convolution(data, weight, bias, stride, pad, dilate, False, zeros, num_group)
    x, w = data.movedim(-1, 1), weight.movedim(-1, 1)
    y = torch.convolution(x, w, bias, stride, pad, dilate, False, zeros, num_group)
    return y.movedim(1, -1)


def checked_convolution(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: int = REQUIRED,
    num_group: int = 1,
    no_bias: bool = False,
    layout: Layout = None,
    **_,
) -> tuple[Tensor | None, Shape, Shape, Shape]:
    """The bias, stride, dilation and padding of a Convolution whose inputs fit together.

    Raises
    ------
    ShapeError, ArgumentError
        They do not; see `Convolution`.
    """
    stride, dilate, pad = _spatial("Convolution", data.shape, kernel, stride, dilate, pad)
    bias = _bias("Convolution", bias, no_bias)
    expected = _convolution_shapes(data.shape, kernel, num_filter, num_group, False, layout)
    _expect("Convolution", data, expected, weight=weight, bias=bias)
    return bias, stride, dilate, pad


@Convolution.infer
def _convolution_shapes(data, kernel, num_filter, num_group, no_bias, layout):
    last = _channels_last(layout)
    channels = data[-1 if last else 1] // num_group
    inner = (*kernel, channels) if last else (channels, *kernel)
    return {"weight": (num_filter, *inner)} | ({} if no_bias else {"bias": (num_filter,)})


@Convolution.shaped
def _(data, kernel, stride, dilate, pad, num_filter, num_group, layout):
    last = _channels_last(layout)
    given = _spatial("Convolution", data, kernel, stride, dilate, pad)
    sizes = data[1:-1] if last else data[2:]
    if (
        min(*given[0], *given[1]) < 1
        or data[-1 if last else 1] % num_group
        or num_filter % num_group
    ):
        return None
    sizes = [
        (size - d * (k - 1) - 1 + 2 * p) // s + 1 for size, k, s, d, p in zip(sizes, kernel, *given)
    ]
    if min(sizes) < 1:
        return None
    return (data[0], *sizes, num_filter) if last else (data[0], num_filter, *sizes)


@Convolution.back
def _(inputs, output, kernel, stride, dilate, pad, layout):
    """The batch size, and as in MXNet the sizes of axes along which the stride is 1."""
    data = inputs[0]
    if not output or not data:
        return inputs
    first = 1 if _channels_last(layout) else 2
    axes = zip(kernel, *(each or (None,) * len(kernel) for each in (stride, dilate, pad)))
    sizes = [
        size + (d or 1) * (k - 1) - 2 * (p or 0) if size and (s or 1) == 1 else 0
        for size, (k, s, d, p) in zip(output[first:], axes)
    ]
    known = [size or inferred for size, inferred in zip(data[first:], sizes)]
    return [(output[0], *data[1:first], *known, *data[first + len(kernel) :])]


Convolution.takes(_weighted)


@op
def Deconvolution(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    kernel: Shape = REQUIRED,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    adj: Shape = (),
    target_shape: Shape = (),
    num_filter: int = REQUIRED,
    num_group: int = 1,
    workspace: int = 512,
    no_bias: bool = True,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Layout = None,
) -> Tensor:
    """The transpose of Convolution: what its gradient does to the data.

    data : (n, c, ...)      weight : (c, num_filter / num_group, *kernel)      bias : (num_filter,)

    The size is stride (size - 1) + dilate (kernel - 1) + 1 - 2 pad + adj, or `target_shape`, from
    which pad and adj then follow.

    Raises
    ------
    ShapeError
        A parameter has another shape than `data` asks for.
    ArgumentError
        `target_shape` cannot be reached; or `bias` is given with `no_bias`, or missing without it.
    """
    stride, dilate, pad = _spatial("Deconvolution", data.shape, kernel, stride, dilate, pad)
    bias = _bias("Deconvolution", bias, no_bias)
    expected = _deconvolution_shapes(data.shape, kernel, num_filter, num_group, False, layout)
    _expect("Deconvolution", data, expected, weight=weight, bias=bias)
    last = _channels_last(layout)
    x, w = (data.movedim(-1, 1), weight.movedim(-1, 1)) if last else (data, weight)
    if target_shape:
        pad, adj = _aimed(x.shape[2:], kernel, stride, dilate, target_shape)
    adj = adj or (0,) * len(kernel)
    y = torch.convolution(x, w, bias, stride, pad, dilate, True, adj, num_group)
    return y.movedim(1, -1) if last else y


def _aimed(size, kernel, stride, dilate, target_shape):
    """The padding and adjustment that make a deconvolution give `target_shape`."""
    most = [s * (i - 1) + d * (k - 1) + 1 for i, k, s, d in zip(size, kernel, stride, dilate)]
    over = [m - t for m, t in zip(most, target_shape)]
    if len(target_shape) != len(kernel) or min(over) < 0:
        raise ArgumentError(
            f"Deconvolution: target_shape is {target_shape}\n  expected at most {tuple(most)}"
        )
    return [(o + 1) // 2 for o in over], [o % 2 for o in over]


@Deconvolution.infer
def _deconvolution_shapes(data, kernel, num_filter, num_group, no_bias, layout):
    last = _channels_last(layout)
    filters = num_filter // num_group
    inner = (*kernel, filters) if last else (filters, *kernel)
    weight = (data[-1 if last else 1], *inner)
    return {"weight": weight} | ({} if no_bias else {"bias": (num_filter,)})


@Deconvolution.shaped
def _(data, kernel, stride, dilate, pad, adj, target_shape, num_filter, num_group, layout):
    last = _channels_last(layout)
    stride, dilate, pad = _spatial("Deconvolution", data, kernel, stride, dilate, pad)
    size = data[1:-1] if last else data[2:]
    if target_shape:
        pad, adj = _aimed(size, kernel, stride, dilate, target_shape)
    adj = adj or (0,) * len(kernel)
    size = [
        s * (i - 1) + d * (k - 1) + 1 - 2 * p + a
        for i, k, s, d, p, a in zip(size, kernel, stride, dilate, pad, adj)
    ]
    fits = min(size) > 0 and data[-1 if last else 1] % num_group == num_filter % num_group == 0
    # What an adjustment may be, PyTorch says.
    if not fits or any(a and a >= max(s, d) for a, s, d in zip(adj, stride, dilate)):
        return None
    return (data[0], *size, num_filter) if last else (data[0], num_filter, *size)


Deconvolution.takes(_weighted)


@op(names_input=True)
def Pooling(
    data: Tensor,
    kernel: Shape = (),
    pool_type: Literal["avg", "lp", "max", "sum"] = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: Shape = (),
    pad: Shape = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: Literal["NCDHW", "NCHW", "NCW", "NDHWC", "NHWC", "NWC"] | None = None,
) -> Tensor:
    """The largest, the mean, the sum or the p-norm (Σxᵖ)^(1/p) of each window.

    The output's size is (size + 2 pad - kernel) / stride + 1, rounded down by ``valid`` and up by
    ``full``; by ``same`` it is size / stride, rounded up. `global_pool` has one window, of
    everything. `count_include_pad` says whether the mean counts the padding.

    data : (n, c, ...)

    Raises
    ------
    ArgumentError
        `p_value` is not 1, 2 or 3 where `pool_type` is 'lp'.
    ShapeError
        The kernel does not fit into the padded axis, or is not larger than the padding.
    """
    x = data.movedim(-1, 1) if _channels_last(layout) else data
    windows = _windows(x.shape, kernel, global_pool, pooling_convention, stride, pad)
    if pool_type == "lp":
        y = _root(_sums(_power(x, p_value), windows), p_value)
    elif pool_type == "avg":
        y = _means(x, windows, count_include_pad is not False)
    else:
        y = _largest(x, windows) if pool_type == "max" else _sums(x, windows)
    return y.movedim(1, -1) if _channels_last(layout) else y


@Pooling.shaped
def _(data, kernel, global_pool, pooling_convention, stride, pad, layout):
    last = _channels_last(layout)
    shape = (data[0], data[-1], *data[1:-1]) if last else data
    windows = _windows(shape, kernel, global_pool, pooling_convention, stride, pad)
    counts = [window.count for window in windows]
    return (data[0], *counts, data[-1]) if last else (*data[:2], *counts)


def _windows(shape, kernel, global_pool, convention, stride, pad):
    """The windows on each axis of data of a shape that has its channels on axis 1."""
    if global_pool:
        kernel, stride, pad, convention = tuple(shape[2:]), (), (), "valid"
    n = len(kernel)  # MXNet does not read further numbers; GluonCV gives four of padding
    stride, _, pad = _spatial("Pooling", shape, kernel, stride[:n], (), pad[:n])
    return [Window(*sizes, convention) for sizes in zip(shape[2:], kernel, stride, pad)]


class Window:
    """Where the windows of a pooling lie on one axis: padding before and after, and how many."""

    def __init__(self, size, kernel, stride, pad, convention):
        self.size, self.kernel, self.stride = size, kernel, stride
        if kernel > size + 2 * pad or kernel < 1 or stride < 1 or pad >= kernel:
            raise ShapeError(
                f"Pooling: kernel is {kernel}, stride {stride}, pad {pad} for an axis of {size}\n"
                "  expected a kernel that is larger than pad, and fits into the padded axis"
            )
        if convention == "same":
            self.count = -(-size // stride)
            total = max((self.count - 1) * stride + kernel - size, 0)
            self.before, self.after = total // 2, total - total // 2
        else:
            rest = size + 2 * pad - kernel
            self.count = (-(-rest // stride) if convention == "full" else rest // stride) + 1
            self.before = self.after = pad
        self.end = size + self.after  # what is padded beyond it, for `full`, is never counted
        self.after += max((self.count - 1) * stride + kernel - size - self.before - self.after, 0)
        self.plain = self.before == self.after <= kernel // 2  # PyTorch can pad this itself

    def counted(self, with_padding):
        """How many elements each window has, 1 where it has none."""
        first, last = (-self.before, self.end) if with_padding else (0, self.size)
        starts = [i * self.stride - self.before for i in range(self.count)]
        return [max(min(s + self.kernel, last) - max(s, first), 1) for s in starts]


def _pooled(function, x, windows, fill):
    """function(x, kernel, stride, padding) in 2 or 3 dimensions, on x padded where it must be."""
    kernel, stride = [w.kernel for w in windows], [w.stride for w in windows]
    if all(w.plain for w in windows):
        padding = [w.before for w in windows]
    else:
        padding = [0] * len(windows)
        x = F.pad(x, [p for w in reversed(windows) for p in (w.before, w.after)], value=fill)
    if len(windows) > 1:
        return function(x, kernel, stride, padding)
    return function(x.unsqueeze(2), (1, *kernel), (1, *stride), (0, *padding)).squeeze(2)


def _max_pool2d(x, kernel, stride, padding):
    """A tenth of the time of PyTorch's where it can take many channels at once."""
    if not x.is_cpu or torch.compiler.is_compiling() or x.shape[1] < 8 or x.numel() < 2**14:
        return F.max_pool2d(x, kernel, stride, padding)
    channels_last = x.contiguous(memory_format=torch.channels_last)
    y = F.max_pool2d(channels_last, kernel, stride, padding)
    return y if channels_last is x else y.contiguous()


def _largest(x, windows):
    if not x.is_floating_point():
        raise DTypeError(
            f"Pooling: data is {_dtype.name(x.dtype)}\n  expected floats; astype changes it"
        )
    function = F.max_pool3d if len(windows) == 3 else _max_pool2d
    return _pooled(function, x, windows, torch.finfo(x.dtype).min)


def _average(windows):
    return F.avg_pool3d if len(windows) == 3 else F.avg_pool2d


def _sums(x, windows):
    function = _average(windows)
    return _pooled(lambda *a: function(*a, divisor_override=1), x, windows, 0)


def _means(x, windows, with_padding):
    if all(w.plain for w in windows):
        function = _average(windows)
        return _pooled(lambda *a: function(*a, count_include_pad=with_padding), x, windows, 0)
    y = _sums(x, windows)
    for axis, window in enumerate(windows, 2):
        shape = [1] * y.dim()
        shape[axis] = window.count
        y = y / y.new_tensor(window.counted(with_padding)).reshape(shape)
    return y


def _power(x, p):
    if p not in (1, 2, 3):
        raise ArgumentError(f"Pooling: p_value is {p}\n  expected 1, 2 or 3 with pool_type='lp'")
    return x**p


def _root(x, p):
    """The p-th root of numbers of either sign, with gradient 0 at 0."""
    if p == 1:
        return x
    safe = torch.where(x == 0, torch.ones_like(x), x)
    return torch.where(x == 0, torch.zeros_like(x), safe.sign() * safe.abs() ** (1 / p))


@op(inits={"weight": '["bilinear", {}]'})
def UpSampling(
    *data: Tensor,
    scale: int = REQUIRED,
    num_filter: int = 0,
    sample_type: Literal["bilinear", "nearest"] = REQUIRED,
    multi_input_mode: Literal["concat", "sum"] = "concat",
    workspace: int = 512,
) -> Tensor:
    """Images (n, c, h, w) enlarged to (n, c, scale h, scale w).

    nearest: each pixel is repeated; several inputs are brought to the size of the first and joined
    along the channels, or added. bilinear: data and the weight of a Deconvolution, which
    initializer.Bilinear fills, (num_filter, 1, kernel, kernel) with kernel 2 scale - scale mod 2.

    Raises
    ------
    ShapeError
        `data` is not (n, c, h, w), or an input does not fit: its height and width have to divide
        the outputs', and inputs that are added need as many channels.
    ArgumentError
        For bilinear there are other inputs than data and weight, or no `num_filter`.
    """
    if sample_type == "bilinear":
        if len(data) != 2 or num_filter < 1:
            raise ArgumentError(
                f"UpSampling: {len(data)} inputs, num_filter is {num_filter}, for 'bilinear'\n"
                "  expected data and weight, and as many filters as data has channels"
            )
        return _upsampled(*data, scale, num_filter)
    size = [scale * s for s in data[0].shape[2:]]
    for x in data:
        added = multi_input_mode == "sum" and x.shape[:2] != data[0].shape[:2]
        if x.dim() != 4 or added or any(s % own for s, own in zip(size, x.shape[2:])):
            raise ShapeError(
                f"UpSampling: data is {tuple(x.shape)} beside {tuple(data[0].shape)}\n"
                f"  expected (n, c, h, w), h and w divisors of {tuple(size)}, one c to add"
            )
    images = [F.interpolate(x, size=size, mode="nearest") for x in data]
    if len(images) == 1:
        return images[0]
    return torch.cat(images, 1) if multi_input_mode == "concat" else sum(images)


@UpSampling.shaped
def _(shapes, scale, sample_type):
    if sample_type == "bilinear" or len(shapes) > 1 or len(shapes[0]) != 4:
        return None
    n, c, h, w = shapes[0]
    return n, c, scale * h, scale * w


@UpSampling.takes
def _(sample_type):
    return ("data", "weight") if sample_type == "bilinear" else None


@UpSampling.infer
def _(data, scale, num_filter):
    return {"weight": (num_filter, 1, *(2 * scale - scale % 2,) * 2)}


def _upsampled(data, weight, scale, num_filter):
    size = 2 * scale - scale % 2
    return Deconvolution.run(
        data,
        weight,
        kernel=(size, size),
        stride=(scale, scale),
        pad=(scale // 2,) * 2,
        num_filter=num_filter,
        num_group=num_filter,
    )
