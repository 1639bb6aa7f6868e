"""The operators of ONNX, as rows; those that move a window over an image are in `_windows`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from math import pi, prod, sqrt

import numpy as np

from ... import symbol as sym
from ...symbol import Symbol
from ._graph import Step
from ._registry import ROWS, row
from ._windows import LOWEST, padded

__all__ = ["ROWS"]

UNARY = {
    "Relu": sym.relu, "Sigmoid": sym.sigmoid, "Tanh": sym.tanh, "Softsign": sym.softsign,
    "Softplus": partial(sym.Activation, act_type="softrelu"), "Identity": sym.identity,
    "Neg": sym.negative, "Abs": sym.abs, "Exp": sym.exp, "Log": sym.log, "Sqrt": sym.sqrt,
    "Reciprocal": sym.reciprocal, "Floor": sym.floor, "Ceil": sym.ceil, "Sign": sym.sign,
    "Erf": sym.erf, "Sin": sym.sin, "Cos": sym.cos, "Tan": sym.tan, "Asin": sym.arcsin,
    "Acos": sym.arccos, "Atan": sym.arctan, "Sinh": sym.sinh, "Cosh": sym.cosh,
}  # fmt: skip
BINARY = {"Add": sym.broadcast_add, "Sub": sym.broadcast_sub, "Mul": sym.broadcast_mul}
COMPARISONS = {
    "Equal": sym.broadcast_equal, "Greater": sym.broadcast_greater,
    "GreaterOrEqual": sym.broadcast_greater_equal, "Less": sym.broadcast_lesser,
    "LessOrEqual": sym.broadcast_lesser_equal, "And": sym.broadcast_logical_and,
    "Or": sym.broadcast_logical_or, "Xor": sym.broadcast_logical_xor,
}  # fmt: skip
VARIADIC = {"Sum": sym.broadcast_add, "Max": sym.broadcast_maximum, "Min": sym.broadcast_minimum}
REDUCTIONS = {
    "ReduceSum": sym.sum, "ReduceMean": sym.mean, "ReduceMax": sym.max, "ReduceMin": sym.min,
    "ReduceProd": sym.prod,
    "ReduceL1": lambda x, **where: sym.sum(sym.abs(x), **where),
    "ReduceL2": lambda x, **where: sym.sqrt(sym.sum(sym.square(x), **where)),
    "ReduceSumSquare": lambda x, **where: sym.sum(sym.square(x), **where),
    "ReduceLogSum": lambda x, **where: sym.log(sym.sum(x, **where)),
}  # fmt: skip


for _name, _operator in UNARY.items():
    ROWS[_name] = lambda step, operator=_operator: operator(step.x())
for _name, _operator in BINARY.items():
    ROWS[_name] = lambda step, operator=_operator: operator(step.x(0), step.x(1))
for _name, _operator in COMPARISONS.items():
    ROWS[_name] = lambda step, operator=_operator: sym.cast(
        operator(step.x(0), step.x(1)), dtype="bool"
    )
for _name, _operator in VARIADIC.items():
    ROWS[_name] = lambda step, operator=_operator: reduce(operator, step.inputs)


@row("Mean")
def _mean(step: Step) -> Symbol:
    inputs = step.inputs
    return reduce(sym.broadcast_add, inputs) / len(inputs)


@row("Not")
def _not(step: Step) -> Symbol:
    return sym.cast(sym.logical_not(step.x()), dtype="bool")


@row("Div")
def _div(step: Step) -> Symbol:
    if step.dtype().kind != "f":
        raise step.unsupported(f"it divides numbers of {step.dtype()}")
    return sym.broadcast_div(step.x(0), step.x(1))


@row("Pow")
def _pow(step: Step) -> Symbol:
    exponent = step.x(1)
    if step.dtype(1) != step.dtype(0):
        exponent = sym.cast(exponent, dtype=step.dtype(0).name)
    return sym.broadcast_power(step.x(0), exponent)


# Activations


def _leaky(step: Step, kind: str, slope: float) -> Symbol:
    return sym.LeakyReLU(step.x(), act_type=kind, slope=step.attribute("alpha", slope))


ROWS["LeakyRelu"] = partial(_leaky, kind="leaky", slope=0.01)
ROWS["Elu"] = partial(_leaky, kind="elu", slope=1.0)


@row("Selu")
def _selu(step: Step) -> Symbol:
    return step.attribute("gamma", 1.0507009873554805) * _leaky(step, "elu", 1.6732632423543772)


@row("PRelu")
def _prelu(step: Step) -> Symbol:
    x = step.x()
    negative = sym.broadcast_mul(-sym.relu(-x), step.x(1))
    return sym.broadcast_add(sym.relu(x), negative)


@row("Gelu")
def _gelu(step: Step) -> Symbol:
    x = step.x()
    if step.expect("approximate", "none", "tanh") == "none":
        return sym.LeakyReLU(x, act_type="gelu")
    return x * sym.sigmoid(sqrt(8 / pi) * (x + 0.044715 * x**3))


@row("HardSigmoid")
def _hard_sigmoid(step: Step) -> Symbol:
    alpha, beta = step.attribute("alpha", 0.2), step.attribute("beta", 0.5)
    return sym.hard_sigmoid(step.x(), alpha=alpha, beta=beta)


@row("HardSwish")
def _hard_swish(step: Step) -> Symbol:
    return step.x() * sym.hard_sigmoid(step.x(), alpha=1 / 6, beta=0.5)


@row("Clip")
def _clip(step: Step) -> Symbol:
    low, high = step.known(1, "min", LOWEST), step.known(2, "max", -LOWEST)
    return sym.clip(step.x(), a_min=np.ravel(low)[0].item(), a_max=np.ravel(high)[0].item())


def _softmax(step: Step, operator: Callable) -> Symbol:
    """Softmax along an axis; until operator set 12 along that axis and all after it."""
    if step.opset >= 13:
        return operator(step.x(), axis=step.attribute("axis", -1))
    axis = step.axis(step.attribute("axis", 1))
    flat = sym.reshape(step.x(), shape=(0,) * axis + (-1,))
    return sym.reshape_like(operator(flat, axis=-1), step.x())


ROWS["Softmax"] = partial(_softmax, operator=sym.softmax)
ROWS["LogSoftmax"] = partial(_softmax, operator=sym.log_softmax)


@row("Dropout")
def _dropout(step: Step) -> Symbol:
    step.known(2)  # whether it trains, which autograd's state says here
    step.attribute("seed")
    return sym.Dropout(step.x(), p=float(step.known(1, "ratio", 0.5)))


# Products


@row("MatMul")
def _matmul(step: Step) -> Symbol:
    a, b = step.shape(0), step.shape(1)
    if len(b) <= 2:
        return sym.dot(step.x(0), step.x(1))
    if a[:-2] != b[:-2]:
        raise step.unsupported(f"the shapes are {a} and {b}")
    return sym.linalg_gemm2(step.x(0), step.x(1))


@row("Gemm")
def _gemm(step: Step) -> Symbol:
    alpha, beta = step.attribute("alpha", 1.0), step.attribute("beta", 1.0)
    flip_a, flip_b = bool(step.attribute("transA", 0)), bool(step.attribute("transB", 0))
    bias = step.shape_or_none(2) if step.has(2) else None
    outputs = step.shape(1)[0]
    if (alpha, beta, flip_a, flip_b) == (1, 1, False, True) and bias == (outputs,) != (None,):
        inputs = step.x(0), step.x(1), step.x(2)
        return sym.FullyConnected(*inputs, num_hidden=outputs, flatten=False)
    y = sym.dot(step.x(0), step.x(1), transpose_a=flip_a, transpose_b=flip_b)
    y = y if alpha == 1 else y * alpha
    if not step.has(2):
        return y
    return sym.broadcast_add(y, step.x(2) if beta == 1 else step.x(2) * beta)


# Normalization


@row("BatchNormalization")
def _batch_norm(step: Step) -> Symbol:
    step.expect("spatial", 1)
    step.expect("training_mode", 0)
    return sym.BatchNorm(
        step.x(), step.x(1), step.x(2), step.state(3), step.state(4), fix_gamma=False,
        eps=step.attribute("epsilon", 1e-5), momentum=step.attribute("momentum", 0.9),
    )  # fmt: skip


@row("InstanceNormalization")
def _instance_norm(step: Step) -> Symbol:
    eps = step.attribute("epsilon", 1e-5)
    return sym.InstanceNorm(step.x(), step.x(1), step.x(2), eps=eps)


@row("LayerNormalization")
def _layer_norm(step: Step) -> Symbol:
    step.expect("stash_type", 1)
    axis, last = step.axis(step.attribute("axis", -1)), len(step.shape()) - 1
    if axis != last:
        raise step.unsupported(f"it is along the axes {axis} to {last}, and not along one")
    eps = step.attribute("epsilon", 1e-5)
    beta = step.x(2) if step.has(2) else sym.zeros_like(step.x(1))
    return sym.LayerNorm(step.x(), step.x(1), beta, axis=-1, eps=eps)


# Shapes


@row("Flatten")
def _flatten(step: Step) -> Symbol:
    axis = step.axis(step.attribute("axis", 1))
    if axis == 1:
        return sym.flatten(step.x())
    before, after = step.shape()[:axis], step.shape()[axis:]
    if None in before and None in after:
        raise step.unsupported(f"axis is {axis} and the shape is {step.shape()}")
    shape = (-1, prod(after)) if None in before else (prod(before), -1)
    return sym.reshape(step.x(), shape=shape)


@row("Shape")
def _shape(step: Step) -> Symbol:
    n = len(step.shape())
    axes = range(n)[step.attribute("start", 0) : step.attribute("end")]
    if not axes:
        raise step.unsupported(f"start and end leave none of the {n} sizes")
    sizes = sym.shape_array(step.x())
    return sym.slice_axis(sizes, axis=0, begin=axes.start, end=axes.stop)


@row("Reshape")
def _reshape(step: Step) -> Symbol:
    shape = step.sizes_or_output(1, "shape")
    copies = not step.attribute("allowzero", 0)
    if min(shape, default=0) < -1 or (0 in shape and not copies):
        raise step.unsupported(f"the shape is {shape}")
    return sym.reshape(step.x(), shape=tuple(shape) or (1,))


ROWS["Transpose"] = lambda step: sym.transpose(step.x(), axes=tuple(step.attribute("perm", ())))


@row("Squeeze")
def _squeeze(step: Step) -> Symbol:
    axes = step.sizes(1, "axes")
    return sym.squeeze(step.x(), axis=None if axes is None else tuple(axes))


@row("Unsqueeze")
def _unsqueeze(step: Step) -> Symbol:
    axes = step.sizes(1, "axes")
    if not step.shape():  # no axis, which is one of size 1 here
        return sym.reshape(step.x(), shape=(1,) * len(axes))
    x = step.x()
    for axis in sorted(step.axis(a, len(axes)) for a in axes):
        x = sym.expand_dims(x, axis=axis)
    return x


ROWS["Concat"] = lambda step: sym.concat(*step.inputs, dim=step.attribute("axis"))


@row("Split")
def _split(step: Step) -> list[Symbol]:
    axis, sizes = step.axis(step.attribute("axis", 0)), step.sizes(1, "split")
    count = step.attribute("num_outputs", step.outputs)
    if count == 1:
        return [step.x()]
    if sizes is None:
        return list(sym.split(step.x(), num_outputs=count, axis=axis))
    ends = np.cumsum(sizes).tolist()
    return [
        sym.slice_axis(step.x(), axis=axis, begin=end - size, end=end)
        for size, end in zip(sizes, ends)
    ]


@row("Slice")
def _slice(step: Step) -> Symbol:
    starts, ends = step.numbers(1, "starts"), step.numbers(2, "ends")
    axes, steps = step.sizes(3, "axes"), step.sizes(4, "steps")
    shape = step.shape()
    begin, end, strides = [None] * len(shape), [None] * len(shape), [1] * len(shape)
    for i, axis in enumerate(range(len(starts)) if axes is None else axes):
        axis, stride = step.axis(axis), steps[i] if steps else 1
        bounds = slice(starts[i], ends[i], stride)
        if shape[axis] is not None:
            first, last, _ = bounds.indices(shape[axis])
            bounds = slice(first, None if last < 0 else last)
        elif max(starts[i], -starts[i]) >= 2**31 or stride < 0:
            raise step.unsupported(f"it begins at {starts[i]} of an axis of an open size")
        elif abs(ends[i]) >= 2**31:
            bounds = slice(starts[i], None)
        begin[axis], end[axis], strides[axis] = bounds.start, bounds.stop, stride
    return sym.slice(step.x(), begin=tuple(begin), end=tuple(end), step=tuple(strides))


@row("Gather")
def _gather(step: Step) -> Symbol:
    axis = step.axis(step.attribute("axis", 0))
    y = sym.take(step.x(), step.x(1), axis=axis, mode="wrap")
    return y if step.shape(1) else sym.squeeze(y, axis=axis)


@row("Pad")
def _pad(step: Step) -> Symbol:
    mode, count = step.expect("mode", "constant", "edge", "reflect"), len(step.shape())
    pads, axes = step.sizes(1, "pads"), step.sizes(3, "axes")
    value = np.ravel(step.known(2, "value", 0.0))[0].item()
    before, after = [0] * count, [0] * count
    axes = range(count) if axes is None else [step.axis(a) for a in axes]
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[len(axes) + i]
    return padded(step, step.x(), before, after, value, mode)


@row("DepthToSpace")
def _depth_to_space(step: Step) -> Symbol:
    step.expect("mode", "DCR")
    return sym.depth_to_space(step.x(), block_size=step.attribute("blocksize"))


@row("SpaceToDepth")
def _space_to_depth(step: Step) -> Symbol:
    return sym.space_to_depth(step.x(), block_size=step.attribute("blocksize"))


@row("Tile")
def _tile(step: Step) -> Symbol:
    repeats = step.sizes(1, "repeats")
    shape = step.shape_or_none(0) or (None,) * len(repeats)
    step.expect_size([n * (size or 1) for n, size in zip(repeats, shape)])
    return sym.tile(step.x(), reps=tuple(repeats))


@row("Expand")
def _expand(step: Step) -> Symbol:
    shape = tuple(step.sizes(1, "shape")) or (1,)
    step.expect_size(shape)
    return sym.broadcast_add(step.x(), sym.zeros(shape=shape, dtype=step.dtype().name))


@row("Where")
def _where(step: Step) -> Symbol:
    chosen, x, y = step.inputs
    if not step.shape(0) == step.shape(1) == step.shape(2) or None in step.shape(0):
        dtype = step.dtype(1).name
        chosen = sym.cast(chosen, dtype=dtype)
        zeros = [sym.zeros_like(each) for each in (chosen, x, y)]
        zero = reduce(sym.broadcast_add, zeros)
        chosen, x, y = [sym.broadcast_add(each, zero) for each in (chosen, x, y)]
    return sym.where(chosen, x, y)


@row("Cast")
def _cast(step: Step) -> Symbol:
    step.attribute("saturate")
    return sym.cast(step.x(), dtype=step.dtype_of(step.attribute("to")).name)


@row("TopK")
def _top_k(step: Step) -> list[Symbol]:
    step.attribute("sorted")  # they are
    k, axis = step.sizes(1, "k"), step.axis(step.attribute("axis", -1))
    if k is None or len(k) != 1:
        raise step.unsupported(f"k is {k}, not a number")
    ascends = not step.attribute("largest", 1)
    return list(
        sym.topk(step.x(), axis=axis, k=k[0], ret_typ="both", is_ascend=ascends, dtype="int64")
    )


# Along axes


def _reduced(step: Step, operator: Callable) -> Symbol:
    axes = step.sizes(1, "axes")
    keep = bool(step.attribute("keepdims", 1))
    if step.attribute("noop_with_empty_axes", 0) and not axes:
        raise step.unsupported("it has no axes")
    return operator(step.x(), axis=tuple(axes) if axes else None, keepdims=keep)


def _log_sum_exp(x: Symbol, axis: tuple | None, keepdims: bool) -> Symbol:
    most = sym.max(x, axis=axis, keepdims=True)
    inside = sym.sum(sym.exp(sym.broadcast_sub(x, most)), axis=axis, keepdims=True)
    return sym.sum(sym.log(inside) + most, axis=axis, keepdims=keepdims)


for _name, _operator in {**REDUCTIONS, "ReduceLogSumExp": _log_sum_exp}.items():
    ROWS[_name] = partial(_reduced, operator=_operator)


def _best(step: Step, operator: Callable) -> Symbol:
    step.expect("select_last_index", 0)
    axis, keep = step.attribute("axis", 0), bool(step.attribute("keepdims", 1))
    return sym.cast(operator(step.x(), axis=axis, keepdims=keep), dtype="int64")


ROWS["ArgMax"] = partial(_best, operator=sym.argmax)
ROWS["ArgMin"] = partial(_best, operator=sym.argmin)
