"""One call of a custom operator, written in every way."""

from __future__ import annotations

from functools import partial

import numpy as np

from layers import operator
from layers.engine import autograd, mx, nd
from layers.ops import Custom, customop

from ..worker import Entry
from . import loops, place


@operator
class double:
    """y = 2 x."""

    def forward(x):
        return x * 2

    def dx(dy):
        return dy * 2

    def shapes(x):
        return {"y": x}


@operator
class sigmoid:
    """y = 1 / (1 + e⁻ˣ)."""

    def forward(x):
        return nd.sigmoid(x)

    def dx(dy, y):
        return dy * y * (1 - y)

    def shapes(x):
        return {"y": x}


class Double(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


class DoubleNumPy(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(in_data[0].asnumpy() * 2))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], nd.array(out_grad[0].asnumpy() * 2))


class Sigmoid(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.sigmoid(in_data[0]))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0]
        self.assign(in_grad[0], req[0], out_grad[0] * y * (1 - y))


class SigmoidNumPy(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = 1 / (1 + np.exp(-in_data[0].asnumpy()))
        self.assign(out_data[0], req[0], nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0].asnumpy()
        self.assign(in_grad[0], req[0], nd.array(out_grad[0].asnumpy() * y * (1 - y)))


SHORT = {"double": double, "sigmoid": sigmoid}


def function(border: str, body: str):
    """By `customop` and `def_grad`."""
    exp = nd.exp if border == "mxnet" else np.exp
    forward, maker = {
        "double": (lambda x: x * 2, lambda ans, x: lambda g: g * 2),
        "sigmoid": (lambda x: 1 / (1 + exp(-x)), lambda ans, x: lambda g: g * ans * (1 - ans)),
    }[body]
    return customop(border)(forward).def_grad(maker)


def custom(kind: str, body: str):
    """By `Custom` and `bprop`: the code in NumPy, as a loop kernel, or in C."""
    kind_of = {"pyfunc": "pyfunc", "kernel": "hybrid", "library": "aot"}[kind]
    forward, backward = loops.SOURCES[kind][body]

    def same(*shapes):
        return shapes[0]

    back = Custom(backward, same, same, func_type=kind_of)
    return Custom(forward, same, same, func_type=kind_of, bprop=lambda x, y, dy: (back(x, y, dy),))


WAYS = {
    "operator": SHORT.__getitem__,
    "function numpy": partial(function, "numpy"),
    "function mxnet": partial(function, "mxnet"),
    "pyfunc": partial(custom, "pyfunc"),
    "kernel": partial(custom, "kernel"),
    "library": partial(custom, "library"),
}
CUSTOM = {
    "double_nd": Double,
    "double_numpy": DoubleNumPy,
    "sigmoid_nd": Sigmoid,
    "sigmoid_numpy": SigmoidNumPy,
}


def register(name: str, op: type) -> None:
    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return op()

    Prop.__name__ = Prop.__qualname__ = name
    mx.operator.register(name)(Prop)


for _name, _op in CUSTOM.items():
    register(_name, _op)


def build(variant: str, device: str, body: str, backward: bool) -> Entry:
    x = nd.array(np.linspace(-2, 2, 16, dtype="float32").reshape(4, 4), ctx=place(device))
    head = nd.full(x.shape, 0.5, ctx=x.context)
    if variant in WAYS:
        call = WAYS[variant](body)
    else:
        op_type = f"{body}_{variant}"

        def call(x):
            return nd.Custom(x, op_type=op_type)

    if not backward:
        return Entry(lambda: call(x), lambda: call(x).asnumpy().ravel().tolist())
    x.attach_grad()

    def step():
        with autograd.record():
            y = call(x)
        y.backward(head)

    def check():
        step()
        return x.grad.asnumpy().ravel().tolist()

    return Entry(step, check)
