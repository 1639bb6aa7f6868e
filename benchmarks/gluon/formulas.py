"""The library's operators and layers, and the same of built-in ones: forward and backward."""

from __future__ import annotations

from functools import partial
from math import pi, sqrt

import numpy as np

from layers import GELUBlock, MishBlock, MultiHeadAttention, Remat, ops
from layers.engine import autograd, gluon, nd

from ..data import HEADS, formula_inputs
from ..worker import Entry
from . import place


def normal(x, axis=-1, epsilon=1e-5):
    """x without its mean, over its deviation."""
    centered = nd.broadcast_sub(x, nd.mean(x, axis=axis, keepdims=True))
    square = nd.mean(nd.square(centered), axis=axis, keepdims=True)
    return nd.broadcast_mul(centered, nd.rsqrt(square + epsilon))


def layer_norm(x, gamma, beta):
    return nd.broadcast_add(nd.broadcast_mul(normal(x), gamma), beta)


def rms_norm(x, gamma):
    rate = nd.rsqrt(nd.mean(nd.square(x), axis=-1, keepdims=True) + 1e-6)
    return nd.broadcast_mul(nd.broadcast_mul(x, rate), gamma)


def group_norm(x, gamma, beta):
    y = normal(x.reshape((0, 2, -1))).reshape(x.shape)
    gamma, beta = (a.reshape((1, -1, 1, 1)) for a in (gamma, beta))
    return nd.broadcast_add(nd.broadcast_mul(y, gamma), beta)


def gelu_tanh(x):
    return 0.5 * x * (1 + nd.tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)))


def rotary(x):
    length, half = x.shape[-2], x.shape[-1] // 2
    places = nd.arange(length, ctx=x.context).reshape((-1, 1))
    angles = places * (10000.0 ** (nd.arange(half, ctx=x.context) / -half)).reshape((1, -1))
    cos, sin = (a.reshape((1, 1, length, half)) for a in (nd.cos(angles), nd.sin(angles)))
    first, second = x[..., :half], x[..., half:]
    return nd.concat(first * cos - second * sin, second * cos + first * sin, dim=-1)


def sparsemax(x):
    z = nd.sort(x, axis=1, is_ascend=False)
    sums, places = nd.cumsum(z, axis=1), nd.arange(1, x.shape[1] + 1, ctx=x.context)
    count = nd.sum(1 + nd.broadcast_mul(z, places.reshape((1, -1))) > sums, axis=1)
    tau = (nd.pick(sums, count - 1) - 1) / count
    return nd.relu(nd.broadcast_sub(x, tau.reshape((-1, 1))))


def attention(q, k, v):
    scores = nd.linalg_gemm2(q, k, transpose_b=True) * q.shape[-1] ** -0.5
    return nd.linalg_gemm2(nd.softmax(scores, axis=-1), v)


def multi_head_attention(x, *weights):
    q, k, v = (linear(x, w).reshape((0, 0, -4, HEADS, -1)) for w in weights[:3])
    y = attention(*(a.transpose((0, 2, 1, 3)) for a in (q, k, v)))
    return linear(y.transpose((0, 2, 1, 3)).reshape((0, 0, -3)), weights[3])


def linear(x, w):
    return nd.FullyConnected(x, w, no_bias=True, num_hidden=len(w), flatten=False)


def perceptron(x, *weights):
    for up, down in zip(weights[::2], weights[1::2]):
        x = linear(nd.tanh(linear(x, up)), down)
    return x


def embedding_bag(w, ids):
    return nd.sum(nd.Embedding(ids, w, input_dim=w.shape[0], output_dim=w.shape[1]), axis=1)


def softmax_cross_entropy(x, label):
    return -nd.pick(nd.log_softmax(x), label)


def sigmoid_cross_entropy(x, t):
    p = nd.sigmoid(x)
    return -t * nd.log(p) - (1 - t) * nd.log(1 - p)


def focal(x, t):
    p = nd.sigmoid(x * (2 * t - 1))
    return -(0.75 - 0.5 * t) * nd.square(1 - p) * nd.log(p)


def triplet(x, near, far):
    distances = [nd.sum(nd.square(x - other), axis=1) for other in (near, far)]
    return nd.relu(distances[0] - distances[1] + 1)


def straight_sign(x):
    clipped = nd.clip(x, a_min=-1, a_max=1)
    return clipped + nd.BlockGrad(2 * (x >= 0) - 1 - clipped)


def lsq(x, scale):
    rate = 1 / sqrt(x.size * 127)
    scale = scale * rate + nd.BlockGrad(scale * (1 - rate))
    steps = nd.clip(nd.broadcast_div(x, scale), a_min=-128, a_max=127)
    return nd.broadcast_mul(steps + nd.BlockGrad(nd.floor(steps + 0.5) - steps), scale)


class Clip(autograd.Function):
    """What no composition has: the gradient, clipped to 0.5 and then to the norm 10."""

    def forward(self, x):
        return x * 1

    def backward(self, dy):
        dy = nd.clip(dy, a_min=-0.5, a_max=0.5)
        return nd.broadcast_mul(dy, 10 / nd.maximum(nd.norm(dy), 10))


PLAIN = {
    "attention": attention,
    "dense": lambda x, w, b: nd.FullyConnected(x, w, b, num_hidden=len(w), flatten=False),
    "embedding_bag": embedding_bag,
    "focal": focal,
    "geglu_tanh": lambda gate, value: gelu_tanh(gate) * value,
    "gelu": lambda x: 0.5 * x * (1 + nd.erf(x * sqrt(0.5))),
    "gelu_tanh": gelu_tanh,
    "gradient_clip": lambda x: Clip()(x),
    "gradient_reversal": lambda x: nd.BlockGrad(1.5 * x) - 0.5 * x,
    "gradient_scale": lambda x: nd.BlockGrad(0.75 * x) + 0.25 * x,
    "group_norm": group_norm,
    "hard_swish": lambda x: x * nd.clip(x + 3, a_min=0, a_max=6) / 6,
    "info_nce": lambda x, z: softmax_cross_entropy(
        nd.dot(x, z, transpose_b=True), nd.arange(x.shape[0], ctx=x.context)
    ),
    "layer_norm": layer_norm,
    "linear_cross_entropy": lambda x, w, label: softmax_cross_entropy(
        nd.dot(x, w, transpose_b=True), label
    ),
    "lsq": lsq,
    "mish": lambda x: x * nd.tanh(nd.log(1 + nd.exp(x))),
    "multi_head_attention": multi_head_attention,
    "relu": nd.relu,
    "remat": perceptron,
    "rms_norm": rms_norm,
    "rotary": rotary,
    "sigmoid": nd.sigmoid,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "softmax": nd.SoftmaxOutput,
    "softmax_cross_entropy": softmax_cross_entropy,
    "softplus": lambda x: nd.log(1 + nd.exp(x)),
    "sparsemax": sparsemax,
    "straight_round": lambda x: x + nd.BlockGrad(nd.round(x) - x),
    "straight_sign": straight_sign,
    "swiglu": lambda gate, value: gate * nd.sigmoid(gate) * value,
    "swish": lambda x: x * nd.sigmoid(x),
    "triplet": triplet,
}
ATTRIBUTES = {  # of the library's operators
    "gradient_clip": {"value": 0.5, "norm": 10},
    "gradient_reversal": {"factor": 0.5},
    "gradient_scale": {"factor": 0.25},
    "group_norm": {"num_groups": 2},
}


def rematerialized(shape):
    """The perceptron in parts, of which each keeps its input only."""
    _, width, depth = shape
    net = gluon.nn.HybridSequential()
    for _ in range(depth):
        part = gluon.nn.HybridSequential()
        part.add(gluon.nn.Dense(4 * width, "tanh", use_bias=False))
        part.add(gluon.nn.Dense(width, use_bias=False))
        net.add(Remat(part))
    return net


LAYERS = {  # what is no operator of its own, for a shape; the last inputs are its parameters
    "gelu": lambda shape: GELUBlock(),
    "mish": lambda shape: MishBlock(),
    "multi_head_attention": lambda shape: MultiHeadAttention(
        0, shape[-1], num_heads=HEADS, bias=False
    ),
    "remat": rematerialized,
}


def of_layer(layer, arrays):
    """The layer as a function of its inputs and parameters, and these arrays."""
    parameters = [*layer.collect_params().values()]
    layer.initialize(ctx=arrays[0].context)
    count = len(arrays) - len(parameters)
    layer(*arrays[:count])  # finds the sizes of its parameters
    for p, a in zip(parameters, arrays[count:]):
        p.set_data(a)
    return lambda *given: layer(*given[:count]), arrays[:count] + [p.data() for p in parameters]


def compiled(function) -> gluon.nn.HybridLambda:
    net = gluon.nn.HybridLambda(lambda F, *arrays: function(*arrays))
    net.hybridize(backend="inductor")
    return net


def build(variant: str, device: str, operator: str, shape: tuple[int, ...]) -> Entry:
    """`variant` is 'ours', 'compiled' or 'plain'."""
    arrays = [nd.array(a, ctx=place(device)) for a in formula_inputs(operator, shape)]
    full = {"attention": "scaled_dot_product_attention", "softmax": "softmax_output"}
    name = full.get(operator, operator)
    if variant == "plain":
        function = PLAIN[operator]
    elif operator in LAYERS:
        function, arrays = of_layer(LAYERS[operator](shape), arrays)
    else:
        function = partial(getattr(ops, name), **ATTRIBUTES.get(operator, {}))
    learned = [a for a, x in zip(arrays, formula_inputs(operator, shape)) if x.dtype == np.float32]
    for a in learned:
        a.attach_grad()
    y = function(*arrays)
    head = nd.array(np.cos(np.arange(y.size)).reshape(y.shape), ctx=place(device))
    run = compiled(function) if variant == "compiled" else function

    def step():
        with autograd.record():
            y = run(*arrays)
        y.backward(head)
        return y

    def check() -> list[float]:
        y = step()
        parts = [y, *(a.grad for a in learned)]
        return [x for part in parts for x in part.asnumpy().ravel()[:3].tolist()]

    return Entry(step, check)
