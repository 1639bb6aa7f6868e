"""One training step of an MLP: layers of this library, of Gluon, and of operators written here.

`build` has its variants in two words: what the layers are, and how they are run.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from layers import DenseBlock, ReLUBlock, SigmoidBlock, SoftmaxLoss, compiled_step, operator
from layers.engine import autograd, gluon, mx, nd

from ..data import RATE, batches
from ..worker import Entry
from . import place
from .operators import register, sigmoid

nn = gluon.nn


@operator
class dense:
    """y = x wᵀ + b."""

    def forward(x, w, b):
        return nd.FullyConnected(x, w, b, num_hidden=w.shape[0])

    def dx(dy, w):
        return nd.dot(dy, w)

    def dw(dy, x):
        return nd.dot(dy, x, transpose_a=True)

    def db(dy):
        return nd.sum(dy, axis=0)

    def shapes(x, w):
        return {"b": w[:1], "y": (x[0], w[0])}


@operator
class relu:
    """y = max(x, 0)."""

    def forward(x):
        return nd.relu(x)

    def dx(dy, y):
        return dy * nd.sign(y)

    def shapes(x):
        return {"y": x}


class Dense(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x, w, b = (a.asnumpy() for a in in_data)
        self.assign(out_data[0], req[0], nd.array(x.dot(w.T) + b))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        dy, x, w = out_grad[0].asnumpy(), in_data[0].asnumpy(), in_data[1].asnumpy()
        if req[0] != "null":
            self.assign(in_grad[0], req[0], nd.array(dy.dot(w)))
        self.assign(in_grad[1], req[1], nd.array(dy.T.dot(x)))
        self.assign(in_grad[2], req[2], nd.array(dy.sum(axis=0)))


@mx.operator.register("steps_dense")
class DenseProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["data", "weight", "bias"]

    def infer_shape(self, in_shape):
        data, weight, _ = in_shape
        return in_shape, [[data[0], weight[0]]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Dense()


class ReLU(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(np.maximum(in_data[0].asnumpy(), 0)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        dx = out_grad[0].asnumpy() * (out_data[0].asnumpy() > 0)
        self.assign(in_grad[0], req[0], nd.array(dx))


register("steps_relu", ReLU)


class CrossEntropy(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x, label = in_data[0].asnumpy(), in_data[1].asnumpy().astype("int64")
        x = x - x.max(axis=1, keepdims=True)
        y = np.log(np.exp(x).sum(axis=1)) - x[np.arange(len(x)), label]
        self.assign(out_data[0], req[0], nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        x, label = in_data[0].asnumpy(), in_data[1].asnumpy().astype("int64")
        y = np.exp(x - x.max(axis=1, keepdims=True))
        y /= y.sum(axis=1, keepdims=True)
        y[np.arange(len(x)), label] -= 1
        self.assign(in_grad[0], req[0], nd.array(y * out_grad[0].asnumpy()[:, None]))


@mx.operator.register("steps_cross_entropy")
class CrossEntropyProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0][:1]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return CrossEntropy()


class OwnDense(gluon.HybridBlock):
    def __init__(self, in_channels, channels):
        super().__init__()
        self.weight = self.params.get("weight", shape=(channels, in_channels))
        self.bias = self.params.get("bias", shape=(channels,), init="zeros")

    def hybrid_forward(self, F, x, weight, bias):
        return dense(x, weight, bias)


class CustomDense(OwnDense):
    def hybrid_forward(self, F, x, weight, bias):
        return F.Custom(x, weight, bias, op_type="steps_dense")


class CustomActivation(gluon.HybridBlock):
    def __init__(self, op_type):
        super().__init__()
        self._op_type = op_type

    def hybrid_forward(self, F, x):
        return F.Custom(x, op_type=self._op_type)


class CustomLoss(gluon.HybridBlock):
    def hybrid_forward(self, F, x, label):
        return F.Custom(x, label, op_type="steps_cross_entropy")


# For each variant: a dense layer of k and m channels, an activation by name, and the loss.
PARTS = {
    "blocks": (DenseBlock, {"relu": ReLUBlock, "sigmoid": SigmoidBlock}.get, SoftmaxLoss),
    "own": (
        OwnDense,
        lambda a: lambda: nn.HybridLambda(lambda F, x: {"relu": relu, "sigmoid": sigmoid}[a](x)),
        SoftmaxLoss,
    ),
    "nn": (
        lambda k, m: nn.Dense(m, in_units=k),
        lambda activation: lambda: nn.Activation(activation),
        gluon.loss.SoftmaxCrossEntropyLoss,
    ),
    "numpy": (
        CustomDense,
        lambda a: lambda: CustomActivation({"relu": "steps_relu", "sigmoid": "sigmoid_numpy"}[a]),
        CustomLoss,
    ),
}


class Losses(gluon.HybridBlock):
    """Net and loss in one graph."""

    def __init__(self, net, loss):
        super().__init__()
        self.net, self.loss = net, loss

    def hybrid_forward(self, F, x, label):
        return self.loss(self.net(x), label)


# What `hybridize` is told; nothing where it is not called.
HYBRIDIZE = {
    "eager": None,
    "plain": {},
    "recorded": {"static_alloc": True, "static_shape": True},
    "compiled": {"backend": "inductor"},
}


# And what `compiled_step` is told.
WHOLE = {"whole": {}, "cpp": {"options": {"cpp_wrapper": True}}}


def build(variant: str, device: str, sizes: tuple, batch: int, activation: str) -> Entry:
    parts, how = variant.split()
    data, label, weights = batches(sizes, batch)
    layer_of, activations, loss = PARTS[parts]
    net = nn.HybridSequential()
    for w in weights:
        if len(net):
            net.add(activations(activation)())
        net.add(layer_of(*w.shape[::-1]))
    context = place(device)
    net.initialize(ctx=context)
    for layer, w in zip(net[::2], weights):
        layer.weight.set_data(nd.array(w))
    return train(how, net, loss(), nd.array(data, ctx=context), nd.array(label, ctx=context))


def train(how: str, net, loss, x, label, rate: float = RATE) -> Entry:
    """Steps of SGD: a key of HYBRIDIZE or, with the update in the graph, of WHOLE."""
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate})
    losses = loss_of(how, net, loss)

    def step():
        with autograd.record():
            y = losses(x, label)
        y.backward()
        trainer.step(len(x))
        return y

    if how in WHOLE:
        whole = compiled_step(net, loss, trainer, **WHOLE[how])

        def step():
            return whole(x, label)

    return Entry(step, lambda: [float(step().mean().asscalar()) for _ in range(3)])


def loss_of(how: str, net, loss) -> Callable:
    flags = HYBRIDIZE.get(how)
    if flags is None:
        return lambda x, label: loss(net(x), label)
    losses = Losses(net, loss)
    losses.hybridize(**flags)
    return losses
