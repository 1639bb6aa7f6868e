"""Operators that give an array which lives outside them: a global, an attribute of an object."""

import numpy as np
import pytest

from layers import operator
from layers.engine import autograd, gluon, mx, nd
from layers.ops import customop

TABLE = nd.array([[1.0, 2.0], [3.0, 4.0]])
NUMBERS = TABLE.asnumpy()
VALUES, GRADIENT = NUMBERS.copy(), np.full((2, 2), 2.0, "float32")

WAYS = {
    "eager": None,
    "plain": {},
    "recorded": {"static_alloc": True, "static_shape": True},
    "compiled": {"backend": "aot_eager"},
}


class Keeps(mx.operator.CustomOp):
    def __init__(self):
        super().__init__()
        self.table = TABLE

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], self.table)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 2 * out_grad[0])


@mx.operator.register("outside_keeps")
class KeepsProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Keeps()


def make_operator():
    @operator
    class outside_forward:
        def forward(x):
            return TABLE

        def dx(dy, x):
            return 2 * dy

        def shapes(x):
            return {"y": x}

    return lambda F, x: outside_forward(x)


def make_slice():
    @operator
    class outside_slice:
        def forward(x):
            return TABLE[:]

        def dx(dy, x):
            return 2 * dy

        def shapes(x):
            return {"y": x}

    return lambda F, x: outside_slice(x)


def make_customop():
    @customop("numpy")
    def outside_numbers(x):
        return NUMBERS

    outside_numbers.def_grad(lambda ans, x: lambda g: 2 * g)
    return lambda F, x: outside_numbers(x)


def make_custom():
    return lambda F, x: F.Custom(x, op_type="outside_keeps")


MAKERS = [make_operator, make_slice, make_customop, make_custom]


@pytest.mark.engine("torch")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_an_output_from_outside(make, way):
    net = gluon.nn.HybridLambda(make())
    if WAYS[way] is not None:
        net.hybridize(**WAYS[way])
    x = nd.zeros((2, 2))
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            y = net(x)
        y.backward()
        np.testing.assert_array_equal(y.asnumpy(), VALUES)
        np.testing.assert_array_equal(x.grad.asnumpy(), GRADIENT)
        y[:] = 7  # the caller's array, and not the operator's
        np.testing.assert_array_equal(TABLE.asnumpy(), VALUES)
        np.testing.assert_array_equal(NUMBERS, VALUES)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("make", MAKERS, ids=lambda m: m.__name__)
def test_what_is_computed_from_it_later_does_not_depend_on_the_input(make):
    net = gluon.nn.HybridLambda(make())
    x, w = nd.zeros((2, 2)), nd.ones((2, 2))
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y = net(x)
        z = TABLE * w
    z.backward()
    np.testing.assert_array_equal(w.grad.asnumpy(), VALUES)
    assert not x.grad.asnumpy().any()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), GRADIENT)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("way", WAYS)
def test_a_gradient_from_outside(way):
    @operator
    class outside_gradient:
        def forward(x):
            return 3 * x

        def dx(dy, x):
            return TABLE

        def shapes(x):
            return {"y": x}

    net = gluon.nn.HybridLambda(lambda F, x: outside_gradient(x))
    if WAYS[way] is not None:
        net.hybridize(**WAYS[way])
    for _ in range(3):
        x = nd.ones((2, 2))
        x.attach_grad("add")
        with autograd.record():
            y = net(x) + 5 * x
        y.backward()
        np.testing.assert_array_equal(x.grad.asnumpy(), VALUES + 5)
        with autograd.record():
            y = net(x)
        (found,) = autograd.grad(y, [x])
        found[:] = 7
        np.testing.assert_array_equal(TABLE.asnumpy(), VALUES)


@pytest.mark.engine("torch")
def test_the_outputs_of_an_executor():
    bound = make_custom()(mx.sym, mx.sym.var("x")).bind(mx.cpu(), {"x": nd.zeros((2, 2))})
    (y,) = bound.forward()
    y[:] = 7
    np.testing.assert_array_equal(TABLE.asnumpy(), VALUES)


@pytest.mark.engine("torch")
def test_one_array_as_two_outputs(caplog):
    @operator
    class outside_twice:
        outputs = ("y", "z")

        def forward(x):
            y = 2 * x
            return y, y

        def dx(dy, dz):
            return 2 * dy + 2 * dz

        def shapes(x):
            return {"y": x, "z": x}

    net = gluon.nn.HybridLambda(lambda F, x: F.elemwise_add(*outside_twice(x)))
    net.hybridize(backend="aot_eager")
    x = nd.ones((2, 2))
    x.attach_grad()
    for _ in range(2):
        with autograd.record():
            y = net(x)
        y.backward()
        np.testing.assert_array_equal(y.asnumpy(), np.full((2, 2), 4))
        np.testing.assert_array_equal(x.grad.asnumpy(), np.full((2, 2), 4))
    assert not [r for r in caplog.records if r.name == "layers.mxnet.hybridize"]  # no refusal
