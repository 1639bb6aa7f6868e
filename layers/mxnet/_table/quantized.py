"""Operators on 8-bit integers; `quantize` says what their ranges mean.

Sums of products are exact in int32 (`int8`). An output in int32 has a range that is computed from
those of the inputs; `_contrib_requantize` makes 8 bits of it.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F

from .. import _dtype
from ..base import ArgumentError, DTypeError, ShapeError, UnsupportedError
from . import int8, nn, rnn
from .attributes import DType, Shape
from .nn import Layout
from .quantize import (
    BYTES,
    TOP,
    WHOLE,
    abs_max,
    calibrated_range,
    expect_bytes,
    extremes,
    saturate,
)
from .registry import NUM_ARGS, REQUIRED, Tensor, op, zeros

RANGE = torch.float32, torch.float32
OUTPUTS = ("output", "min_output", "max_output")
_WEIGHTED = ("data", "weight", "bias", "min_data", "max_data", "min_weight", "max_weight",
             "min_bias", "max_bias")  # fmt: skip


def _bias_and_bounds(name, no_bias, data, weight, *given):
    """The bias, and r of data, weight and bias, from what is given after the weight.

    Without a bias these are the ends of two ranges; by position the first of them comes where the
    bias would.
    """
    given = [tensor for tensor in given if tensor is not None]
    if len(given) != (4 if no_bias else 7):
        raise ArgumentError(
            f"{name}: {len(given) + 2} inputs with no_bias={no_bias}\n"
            f"  expected {', '.join(_inputs(no_bias))}"
        )
    bias = None if no_bias else given.pop(0)
    expect_bytes(name, data=data)
    for key, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.dtype is not torch.int8:
            raise DTypeError(f"{name}: {key} is {_dtype.name(tensor.dtype)}\n  expected int8")
    return bias, [abs_max(*given[i : i + 2]) for i in range(0, len(given), 2)]


def _inputs(no_bias):
    return tuple(n for n in _WEIGHTED if not no_bias or "bias" not in n)


def _range_inputs(no_bias):
    return tuple(n for n in _inputs(no_bias) if n.startswith(("min_", "max_")))


def _with_bias(y, bias, data, bounds):
    """y, with the bias in its steps, cut to integers as MXNet does."""
    if bias is None:
        return y
    of_data, of_weight, of_bias = bounds
    top = TOP[torch.int8]
    steps = (TOP[data.dtype] / of_data) * (top / of_weight) * (of_bias / top)
    return y + (bias * steps).to(torch.int32).reshape(-1, *(1,) * (y.dim() - 2))


def _product_range(lhs, rhs, a, b):
    """The range of the products, in int32, of integers of these dtypes, whose r are a and b."""
    r = a * b / (WHOLE[lhs.dtype] * WHOLE[rhs.dtype]) * TOP[torch.int32]
    return -r, r


@op
def _contrib_quantized_fully_connected(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    min_data: Tensor | None = None,
    max_data: Tensor | None = None,
    min_weight: Tensor | None = None,
    max_weight: Tensor | None = None,
    min_bias: Tensor | None = None,
    max_bias: Tensor | None = None,
    num_hidden: int = REQUIRED,
    no_bias: bool = False,
    flatten: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """The affine map y = data weightᵀ + bias of integers, in int32, and its range.

    data : (n, ...), int8 or uint8, taken as (n, k); (..., k) without `flatten`
    weight : (num_hidden, k), int8      bias : (num_hidden,), int8      y : (n, num_hidden)
    """
    name = "_contrib_quantized_fully_connected"
    ends = bias, min_data, max_data, min_weight, max_weight, min_bias, max_bias
    bias, bounds = _bias_and_bounds(name, no_bias, data, weight, *ends)
    x = data.reshape(len(data), math.prod(data.shape[1:])) if flatten else data
    if weight.shape != (num_hidden, x.shape[-1]) or (not no_bias and bias.shape != (num_hidden,)):
        raise ShapeError(
            f"{name}: weight is {tuple(weight.shape)} for data {tuple(data.shape)}\n"
            f"  expected (num_hidden, columns) = ({num_hidden}, {x.shape[-1]}), and bias "
            f"({num_hidden},)"
        )
    y = _with_bias(int8.linear(x.reshape(-1, x.shape[-1]), weight), bias, data, bounds)
    return y.reshape(*x.shape[:-1], num_hidden), *_product_range(data, weight, *bounds[:2])


@op
def _contrib_quantized_conv(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    min_data: Tensor | None = None,
    max_data: Tensor | None = None,
    min_weight: Tensor | None = None,
    max_weight: Tensor | None = None,
    min_bias: Tensor | None = None,
    max_bias: Tensor | None = None,
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
) -> tuple[Tensor, Tensor, Tensor]:
    """The correlation of integers with each of `num_filter` kernels, in int32, and its range.

    data : (n, c, ...), int8 or uint8      weight : (num_filter, c / num_group, *kernel), int8
    bias : (num_filter,), int8      y : (n, num_filter, ...)
    """
    name = "_contrib_quantized_conv"
    ends = bias, min_data, max_data, min_weight, max_weight, min_bias, max_bias
    bias, bounds = _bias_and_bounds(name, no_bias, data, weight, *ends)
    expected = nn.Convolution.infer_rules[0](
        tuple(data.shape), kernel, num_filter, num_group, no_bias, layout
    )
    found = {"weight": weight, "bias": bias}
    if any(tuple(found[key].shape) != shape for key, shape in expected.items()):
        raise ShapeError(
            f"{name}: weight is {tuple(weight.shape)} for data {tuple(data.shape)}\n"
            f"  expected {', '.join(f'{key} {shape}' for key, shape in expected.items())}"
        )
    stride, dilate, pad = nn._spatial(name, data.shape, kernel, stride, dilate, pad)
    last = nn._channels_last(layout)
    x, w = (t.movedim(-1, 1) if last else t for t in (data, weight))
    y = _with_bias(int8.convolution(x, w, stride, pad, dilate, num_group), bias, data, bounds)
    return y.movedim(1, -1) if last else y, *_product_range(data, weight, *bounds[:2])


@_contrib_quantized_conv.infer
def _(data, kernel, num_filter, num_group, no_bias, layout):
    shapes = nn.Convolution.infer_rules[0](data, kernel, num_filter, num_group, no_bias, layout)
    return shapes | dict.fromkeys(_range_inputs(no_bias), (1,))


@_contrib_quantized_fully_connected.infer
def _(data, num_hidden, no_bias, flatten):
    shapes = nn.FullyConnected.infer_rules[0](data, num_hidden, no_bias, flatten)
    return shapes | dict.fromkeys(_range_inputs(no_bias), (1,))


@_contrib_quantized_conv.shaped
def _(data, kernel, stride, dilate, pad, num_filter, num_group, layout):
    shape = nn.Convolution.shape_rule(
        data, kernel, stride, dilate, pad, num_filter, num_group, layout
    )
    return shape and [shape, (1,), (1,)]


@_contrib_quantized_fully_connected.shaped
def _(data, num_hidden, flatten):
    return [nn.FullyConnected.shape_rule(data, num_hidden, flatten), (1,), (1,)]


for _row in (_contrib_quantized_conv, _contrib_quantized_fully_connected):
    _row.takes(_inputs)
    _row.types(lambda: (torch.int32, *RANGE))

    @_row.typed
    def _(no_bias):
        of = [torch.int8] * (1 if no_bias else 2)
        names = _inputs(no_bias)[1:]
        return dict(zip(names, of + [torch.float32] * len(names)))


@op(view=True)
def _contrib_quantized_pooling(
    data: Tensor,
    min_data: Tensor,
    max_data: Tensor,
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
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest integer of each window, or the nearest to its mean, and the range of data.

    The windows are those of Pooling.

    data : (n, c, ...), int8 or uint8
    """
    expect_bytes("_contrib_quantized_pooling", data=data)
    if pool_type not in ("avg", "max"):
        raise UnsupportedError(
            f"_contrib_quantized_pooling: pool_type is {pool_type!r}\n  expected 'max' or 'avg'"
        )
    y = nn.Pooling.function(
        data.float(), kernel, pool_type, global_pool, cudnn_off, pooling_convention, stride, pad,
        p_value, count_include_pad, layout,
    )  # fmt: skip
    return saturate(y, data.dtype), min_data, max_data


@_contrib_quantized_pooling.shaped
def _(data, kernel, global_pool, pooling_convention, stride, pad, layout):
    told = nn.Pooling.shape_rule(data, kernel, global_pool, pooling_convention, stride, pad, layout)
    return [told, (1,), (1,)]


@op(view=True)
def _contrib_quantized_flatten(
    data: Tensor, min_data: Tensor, max_data: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The integers as a matrix, and their range.

    data : (n, ...), int8 or uint8      y : (n, k)
    """
    return data.reshape(len(data), math.prod(data.shape[1:])), min_data, max_data


@_contrib_quantized_flatten.shaped
def _(data):
    return [(data[0], math.prod(data[1:])), (1,), (1,)]


@op(view=True)
def _contrib_quantized_act(
    data: Tensor,
    min_data: Tensor,
    max_data: Tensor,
    act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"] = REQUIRED,
) -> tuple[Tensor, Tensor, Tensor]:
    """The integers that are positive, 0 for the others, and the range of data.

    data : (...), int8 or uint8
    """
    expect_bytes("_contrib_quantized_act", data=data)
    if act_type != "relu":
        raise UnsupportedError(
            f"_contrib_quantized_act: act_type is {act_type!r}\n  expected 'relu'"
        )
    return data.clamp(min=0), min_data, max_data


_contrib_quantized_act.shaped(lambda data: [data, (1,), (1,)])

for _row in (_contrib_quantized_pooling, _contrib_quantized_flatten, _contrib_quantized_act):
    _row.types(lambda data: (data, *RANGE))
    _row.infer(lambda: {"min_data": (1,), "max_data": (1,)})
    _row.typed(lambda: {"min_data": torch.float32, "max_data": torch.float32})


@op(states=("moving_mean", "moving_var"))
def _contrib_quantized_batch_norm(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    min_data: Tensor,
    max_data: Tensor,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """gamma (x - mean) / √(var + eps) / √(1 + eps) + beta of what the integers stand for, in int8.

    MXNet divides by the second root too. The statistics are the moving ones, which stay as they
    are. Without a calibrated range, which MXNet wants, it is that of the result.

    data : (n, c, ...), int8 or uint8      gamma, beta, moving_mean, moving_var : (c,)
    """
    name = "_contrib_quantized_batch_norm"
    expect_bytes(name, data=data)
    top, each = TOP[torch.int8], abs_max(min_data, max_data)
    x = data.float()
    if data.dtype is torch.uint8:  # MXNet takes it as int8
        x = saturate(x * (top / TOP[torch.uint8]), torch.int8).float()
    gamma = torch.ones_like(gamma) if fix_gamma else gamma
    scale = gamma.double() / torch.sqrt(moving_var.double() + eps)
    shift = beta - moving_mean * scale
    scale = scale / math.sqrt(1 + eps) * each
    shape = [1] * data.dim()
    shape[axis] = -1
    scale, shift = scale.reshape(shape), shift.reshape(shape)
    low, high = calibrated_range(data, min_calib_range, max_calib_range) or extremes(
        x * (scale / top).float() + shift.float()
    )
    r = abs_max(low, high)
    y = x * (scale / r).float() + (shift * (top / r)).float()
    return saturate(y, torch.int8), low, high


@_contrib_quantized_batch_norm.infer
def _(data, axis):
    names = ("gamma", "beta", "moving_mean", "moving_var")
    return dict.fromkeys(names, (data[axis],)) | {"min_data": (1,), "max_data": (1,)}


@_contrib_quantized_batch_norm.typed
def _():
    return dict.fromkeys(_contrib_quantized_batch_norm.inputs[1:], torch.float32)


_contrib_quantized_batch_norm.shaped(lambda data: [data, (1,), (1,)])
_contrib_quantized_batch_norm.types(lambda: (torch.int8, *RANGE))


@op
def _contrib_quantized_embedding(
    data: Tensor,
    weight: Tensor,
    min_weight: Tensor,
    max_weight: Tensor,
    input_dim: int = REQUIRED,
    output_dim: int = REQUIRED,
    dtype: DType = torch.float32,
    sparse_grad: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """The rows of `weight`, int8, at the indices in `data`, and their range.

    data : (...)      weight : (input_dim, output_dim)      y : (..., output_dim)
    """
    if tuple(weight.shape) != (input_dim, output_dim):
        raise ShapeError(
            f"_contrib_quantized_embedding: weight is {tuple(weight.shape)}\n"
            f"  expected (input_dim, output_dim) = ({input_dim}, {output_dim})"
        )
    at = data.long().clamp(0, input_dim - 1)
    return F.embedding(at, weight), min_weight.clone(), max_weight.clone()


@_contrib_quantized_embedding.infer
def _(input_dim, output_dim):
    return {"weight": (input_dim, output_dim), "min_weight": (1,), "max_weight": (1,)}


@_contrib_quantized_embedding.shaped
def _(data, output_dim):
    return [(*data, output_dim), (1,), (1,)]


@_contrib_quantized_embedding.typed
def _():
    return {"weight": torch.int8, "min_weight": torch.float32, "max_weight": torch.float32}


_contrib_quantized_embedding.types(lambda: (torch.int8, *RANGE))


@op
def _contrib_quantized_elemwise_add(
    lhs: Tensor,
    rhs: Tensor,
    lhs_min: Tensor,
    lhs_max: Tensor,
    rhs_min: Tensor,
    rhs_max: Tensor,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The sum of what two arrays of one shape stand for: in 8 bits if calibrated, else in int32.

    Without a calibrated range it is that of the inputs, added. Two uint8 give a uint8.

    lhs, rhs : (...), int8 or uint8
    """
    name = "_contrib_quantized_elemwise_add"
    expect_bytes(name, lhs=lhs, rhs=rhs)
    _expect_one_shape(name, lhs, rhs)
    a, b = abs_max(lhs_min, lhs_max), abs_max(rhs_min, rhs_max)
    calibrated = calibrated_range(lhs, min_calib_range, max_calib_range)
    dtype = _sum_type(lhs.dtype, rhs.dtype, min_calib_range, max_calib_range)
    low, high = calibrated or (-(a + b), a + b)
    r = abs_max(low, high)
    if calibrated is None:
        steps = [(one * TOP[dtype]) / (r * TOP[t.dtype]) for one, t in ((a, lhs), (b, rhs))]
    else:
        steps = [one / r * (TOP[dtype] / TOP[t.dtype]) for one, t in ((a, lhs), (b, rhs))]
    x, y = lhs * steps[0], rhs * steps[1]
    if dtype is torch.int8:  # what comes as uint8 is an int8 of the sum's range first
        pairs = ((x, lhs), (y, rhs))
        x, y = (saturate(t, dtype) if of.dtype is torch.uint8 else t for t, of in pairs)
    return saturate(x + y, dtype), low, high


def _sum_type(lhs, rhs, low, high):
    if low is None or high is None:
        return torch.int32
    return torch.uint8 if lhs is torch.uint8 and rhs is torch.uint8 else torch.int8


def _expect_one_shape(name, lhs, rhs):
    if lhs.shape != rhs.shape:
        raise ShapeError(
            f"{name}: lhs is {tuple(lhs.shape)}, rhs is {tuple(rhs.shape)}\n  expected one shape"
        )


@_contrib_quantized_elemwise_add.types
def _(lhs, rhs, min_calib_range, max_calib_range):
    return _sum_type(lhs, rhs, min_calib_range, max_calib_range), *RANGE


_contrib_quantized_elemwise_add.shaped(lambda lhs: [lhs, (1,), (1,)])


@op
def _contrib_quantized_elemwise_mul(
    lhs: Tensor,
    rhs: Tensor,
    lhs_min: Tensor,
    lhs_max: Tensor,
    rhs_min: Tensor,
    rhs_max: Tensor,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    enable_float_output: bool = False,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """The products: in int32, in int8 cut towards 0 if calibrated, or what they stand for.

    lhs, rhs : (...), int8, of one shape
    """
    name = "_contrib_quantized_elemwise_mul"
    for key, tensor in (("lhs", lhs), ("rhs", rhs)):
        if tensor.dtype is not torch.int8:
            raise DTypeError(f"{name}: {key} is {_dtype.name(tensor.dtype)}\n  expected int8")
    _expect_one_shape(name, lhs, rhs)
    a, b, top = abs_max(lhs_min, lhs_max), abs_max(rhs_min, rhs_max), TOP[torch.int8]
    products = lhs.int() * rhs.int()
    step = a * b / top / top
    if enable_float_output:
        return products * step
    calibrated = calibrated_range(lhs, min_calib_range, max_calib_range)
    if calibrated is None:
        return products, *_product_range(lhs, rhs, a, b)
    low, high = calibrated
    y = products * (step * (top / abs_max(low, high)))
    return saturate(y.trunc(), torch.int8), low, high


@_contrib_quantized_elemwise_mul.types
def _(min_calib_range, max_calib_range, enable_float_output):
    if enable_float_output:
        return torch.float32
    calibrated = min_calib_range is not None and max_calib_range is not None
    return torch.int8 if calibrated else torch.int32, *RANGE


@_contrib_quantized_elemwise_mul.shaped
def _(lhs, enable_float_output):
    return lhs if enable_float_output else [lhs, (1,), (1,)]


@_contrib_quantized_elemwise_mul.gives
def _(enable_float_output):
    return OUTPUTS[:1] if enable_float_output else OUTPUTS


for _row in (_contrib_quantized_elemwise_add, _contrib_quantized_elemwise_mul):
    _row.infer(lambda: dict.fromkeys(("lhs_min", "lhs_max", "rhs_min", "rhs_max"), (1,)))
    _row.infer(lambda lhs: {"rhs": lhs})
    _row.infer(lambda rhs: {"lhs": rhs})


@op(counted=NUM_ARGS._replace(group=3))
def _contrib_quantized_concat(*data: Tensor, dim: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Arrays one after the other along an axis, in a range for all: uint8 if each is, else int8.

    data : so many arrays, then the two ends of the range of each: a, b, min_a, max_a, min_b, max_b
    """
    count, rest = divmod(len(data), 3)
    if rest or not count:
        raise ArgumentError(
            f"_contrib_quantized_concat: {len(data)} inputs\n"
            "  expected the arrays, and then the two ends of the range of each"
        )
    arrays, lows, highs = data[:count], data[count::2], data[count + 1 :: 2]
    expect_bytes("_contrib_quantized_concat", **{f"arg{i}": a for i, a in enumerate(arrays)})
    dtype = _common([a.dtype for a in arrays])
    low, high = torch.cat(lows).amin().reshape(1), torch.cat(highs).amax().reshape(1)
    r = abs_max(low, high)
    steps = [abs_max(*ends) / r for ends in zip(lows, highs)]
    parts = [saturate(a * (s * (TOP[dtype] / TOP[a.dtype])), dtype) for a, s in zip(arrays, steps)]
    return torch.cat(parts, dim), low, high


def _common(dtypes):
    return torch.uint8 if all(dtype is torch.uint8 for dtype in dtypes) else torch.int8


@_contrib_quantized_concat.types
def _(dtypes):
    return _common([dtype for dtype in dtypes if dtype in BYTES] or [torch.int8]), *RANGE


@_contrib_quantized_concat.shaped
def _(shapes, dim):
    first, count = shapes[0], len(shapes) // 3
    at = dim % len(first)
    size = sum(shape[at] for shape in shapes[:count])
    return [(*first[:at], size, *first[at + 1 :]), (1,), (1,)]


@op(traceable=False)
def _contrib_quantized_rnn(
    data: Tensor,
    parameters: Tensor,
    state: Tensor,
    state_cell: Tensor | None = None,
    data_scale: Tensor | None = None,
    data_shift: Tensor | None = None,
    state_size: int = REQUIRED,
    num_layers: int = REQUIRED,
    bidirectional: bool = False,
    mode: Literal["gru", "lstm", "rnn_relu", "rnn_tanh"] = REQUIRED,
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """RNN of what the integers stand for, (data - data_shift) / data_scale, in float32.

    data : (t, n, k), uint8      data_scale, data_shift : (1,), as _contrib_quantize_asym has them
    """
    if data_shift is None:  # by position, where there is no cell
        state_cell, data_scale, data_shift = None, state_cell, data_scale
    return rnn.RNN.function(
        (data - data_shift) / data_scale, parameters, state, state_cell, None, state_size,
        num_layers, bidirectional, mode, p, state_outputs, projection_size, lstm_state_clip_min,
        lstm_state_clip_max, lstm_state_clip_nan, use_sequence_length,
    )  # fmt: skip


@_contrib_quantized_rnn.takes
def _(mode):
    cell = ("state_cell",) * (mode == "lstm")
    return ("data", "parameters", "state", *cell, "data_scale", "data_shift")


_contrib_quantized_rnn.gives(rnn.RNN.outputs_rule)
_contrib_quantized_rnn.types(lambda: torch.float32)


@_contrib_quantized_rnn.infer
def _(data, state_size, num_layers, bidirectional, mode, projection_size, use_sequence_length):
    shapes = rnn.RNN.infer_rules[0](
        data, state_size, num_layers, bidirectional, mode, projection_size, use_sequence_length
    )
    return shapes | {"data_scale": (1,), "data_shift": (1,)}


for _row in (
    _contrib_quantized_conv,
    _contrib_quantized_fully_connected,
    _contrib_quantized_pooling,
    _contrib_quantized_flatten,
    _contrib_quantized_act,
    _contrib_quantized_batch_norm,
    _contrib_quantized_embedding,
    _contrib_quantized_elemwise_add,
    _contrib_quantized_concat,
):
    _row.gives(lambda: OUTPUTS)
for _row in (
    _contrib_quantized_flatten,
    _contrib_quantized_embedding,
    _contrib_quantized_batch_norm,
):
    _row.grad(zeros)
