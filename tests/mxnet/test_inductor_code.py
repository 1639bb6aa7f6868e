"""Recorded calls of compiled graphs: inductor's code alone, where nothing beside it is needed."""

import os
from importlib import import_module

import numpy as np
import pytest

from layers import operator
from layers.engine import autograd, gluon, mx, nd

pytestmark = [
    pytest.mark.engine("torch"),
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of what inductor itself imports
]
CALLS = 3  # the first is the compiler's

if os.environ["LAYERS_ENGINE"] == "torch":
    torch = import_module("torch")
    code = import_module("layers.mxnet._graph.direct")
    ATTEMPTS = import_module("layers.mxnet._graph.graph_call").ATTEMPTS


@pytest.fixture
def direct(monkeypatch):
    """What is known of inductor's code, forward and backward, for the later calls by it alone."""
    made, by_code = [], code._by_code
    monkeypatch.setattr(code, "_by_code", lambda *args: made.append(args[2:]) or by_code(*args))
    return made


@pytest.fixture
def watched(monkeypatch):
    """The calls of the compiler's function, which are watched or not."""
    made, code_alone = [], code.code_alone

    def counted(program, what, function, run):
        return code_alone(program, what, function, lambda *args: made.append(args) or run(*args))

    monkeypatch.setattr(import_module("layers.mxnet._graph.compiled"), "code_alone", counted)
    return made


def compiled(function):
    net = gluon.nn.HybridLambda(function)
    net.hybridize(backend="inductor")
    return net


def variables(*shapes):
    arrays = [nd.random.normal(shape=shape) for shape in shapes]
    for array in arrays:
        array.attach_grad()
    return arrays


def gradients(function, arrays, **options):
    with autograd.record():
        y = function(*arrays)
    y.backward(nd.cos(y.detach()), **options)
    return [y.asnumpy(), *(a.grad.asnumpy() for a in arrays if a.grad is not None)]


def agree(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def gated(F, x, w, t):
    return F.sigmoid(F.dot(x, w)) * F.tanh(t)


def test_later_calls_are_of_the_code(direct, watched):
    net = compiled(gated)
    for _ in range(CALLS):
        arrays = [*variables((4, 3), (3, 5)), nd.random.normal(shape=(4, 5))]
        agree(gradients(net, arrays), gradients(lambda *a: gated(nd, *a), arrays))
        assert len(direct) == len(watched) == 1


def test_many_tensors_are_saved_in_their_order(direct):
    def function(F, *arrays):
        y = arrays[0]
        for i, array in enumerate(arrays[1:]):
            y = F.tanh(y + array) if i % 3 else F.sin(y) * array
        return y

    net = compiled(function)
    for _ in range(CALLS):
        arrays = variables(*[(3,)] * 21)
        agree(gradients(net, arrays), gradients(lambda *a: function(nd, *a), arrays))
    (((*_, saved), _),) = direct
    assert saved == sorted(saved)  # a list: the order of a set is another one


def test_a_graph_that_is_kept_goes_back_twice(direct):
    def function(F, x, w):  # its code writes into what is saved
        return F.dot(F.softmax(F.dot(x, w)), w) * F.exp(x)

    net = compiled(function)
    for n in range(CALLS):
        arrays = variables((64, 64), (64, 64))
        with autograd.record():
            y = net(*arrays)
        y.backward(retain_graph=n > 0)
        first = [a.grad.asnumpy() for a in arrays]
        if n > 0:
            y.backward()
        agree([a.grad.asnumpy() for a in arrays], first)
        assert direct
    with pytest.raises(mx.base.MXNetError, match="used up"):
        y.backward()


def test_an_output_without_a_gradient(direct):
    net = compiled(lambda F, x: [F.exp(x), F.sin(x)])
    for n in range(CALLS):
        (x,) = variables((3,))
        with autograd.record():
            a, b = net(x)
        autograd.backward([a, b] if n == 0 else [b])
        slope = nd.cos(x) + (nd.exp(x) if n == 0 else 0)
        agree([x.grad.asnumpy()], [slope.asnumpy()])
    assert direct


def test_a_second_derivative_is_refused(direct):
    net = compiled(lambda F, x: F.tanh(x))
    for _ in range(CALLS):
        (x,) = variables((3,))
        with autograd.record():
            (slope,) = autograd.grad(net(x), [x], create_graph=True)
        agree([slope.asnumpy()], [1 - np.tanh(x.asnumpy()) ** 2])
        with pytest.raises(mx.base.MXNetError, match="second derivative through a compiled graph"):
            slope.backward()
        gradients(net, [x])
    assert direct


@pytest.mark.parametrize("place", [1, 2])  # a transposed view of it is saved, and it itself
def test_what_is_overwritten_is_told(direct, place):
    net = compiled(lambda F, x, w, t: F.dot(x, w) * F.sin(t))
    for _ in range(CALLS):
        arrays = variables((4, 3), (3, 5), (4, 5))
        gradients(net, arrays)
        with autograd.record():
            y = net(*arrays)
        arrays[place][:] = 0
        with pytest.raises(mx.base.MXNetError, match="overwritten"):
            y.backward()


def test_states_are_changed_in_each_call(direct):
    net, same = gluon.nn.BatchNorm(in_channels=3), gluon.nn.BatchNorm(in_channels=3)
    net.initialize()
    same.initialize()
    net.hybridize(backend="inductor")
    for _ in range(CALLS):
        (x,) = variables((4, 3))
        agree(gradients(net, [x]), gradients(same, [x]))
        agree([net.running_var.data().asnumpy()], [same.running_var.data().asnumpy()])
    assert not direct


FACTOR = {"array": nd.ones(3)}


@operator
class times_size:
    def forward(x):
        return x * x * FACTOR["array"].shape[0]

    def dx(dy, x):
        return 2 * x * dy * FACTOR["array"].shape[0]

    def shapes(x):
        return {"y": x}


def test_an_array_from_outside_is_looked_at(direct, monkeypatch):
    net = compiled(lambda F, x: times_size(x))
    for n in (3, 3, 3, 4):
        monkeypatch.setitem(FACTOR, "array", nd.ones(n))
        (x,) = variables((3,))
        with autograd.record():
            y = net(x)
        y.backward()
    assert not direct


def test_one_gradient_for_two_outputs_and_then_two(direct):
    net = compiled(lambda F, x: [F.exp(x), F.sin(x)])
    for factor in (1, 2, 3):
        (x,) = variables((3,))
        with autograd.record():
            a, b = net(x)
            y = a + factor * b
        y.backward()
        agree([x.grad.asnumpy()], [(nd.exp(x) + factor * nd.cos(x)).asnumpy()])


def test_one_array_for_two_inputs_and_then_two(direct):
    def function(F, x, a, b):
        return F.sin(x * a) * F.cos(x * b)

    net = compiled(function)
    (x, a, b) = variables((3,), (3,), (3,))
    for other in (a.detach(), b.detach(), a.detach()):
        agree(gradients(net, [x, a, other]), gradients(lambda *i: function(nd, *i), [x, a, other]))


def test_an_error_in_the_code_names_the_graph(direct):
    net = compiled(lambda F, x, i: F.exp(F.take(x, i, mode="raise")))
    (x,) = variables((3,))
    for _ in range(CALLS):
        gradients(net, [x, nd.array([0, 2])])
    assert direct
    with pytest.raises(mx.base.MXNetError, match="graph"), autograd.record():
        net(x, nd.array([0, 9]))


def test_arrays_of_inference_mode(direct):
    net = compiled(lambda F, x, m: F.exp(x) + m)
    with torch.inference_mode():
        m = nd.ones(3)
    for _ in range(CALLS):
        (x,) = variables((3,))
        agree(gradients(net, [x, m]), gradients(lambda x, m: nd.exp(x) + m, [x, m]))


def test_an_output_that_is_overwritten_is_told(direct):
    net = compiled(lambda F, x, w, v: list_of_products(F, x, w, v))
    for _ in range(CALLS):
        arrays = variables((4, 3), (3, 5), (5, 2))
        with autograd.record():
            h, y = net(*arrays)
        autograd.backward([h, y])
    assert direct
    with autograd.record():
        h, y = net(*arrays)
    h[:] = 0
    with pytest.raises(mx.base.MXNetError, match="overwritten"):
        y.backward()


def list_of_products(F, x, w, v):
    h = F.dot(x, w)
    return [h, F.dot(h, v)]


def test_calls_without_a_backward(direct):
    net = compiled(gated)
    arrays = variables((4, 3), (3, 5), (4, 5))
    for _ in range(ATTEMPTS + 2):
        with autograd.record():
            y = net(*arrays)
    y.backward()
    assert not direct
    agree(gradients(net, arrays), gradients(lambda *a: gated(nd, *a), arrays))


def test_much_that_is_saved_is_freed_by_the_compiler(direct, monkeypatch):
    monkeypatch.setattr(code, "MOST_SAVED", 4 * 5 * 4 - 1)
    net, arrays = compiled(gated), variables((4, 3), (3, 5), (4, 5))
    for _ in range(CALLS):
        agree(gradients(net, arrays), gradients(lambda *a: gated(nd, *a), arrays))
    assert not direct


def test_a_head_gradient_of_other_strides(direct):
    net = compiled(lambda F, x: F.exp(x))
    for _ in range(CALLS):
        (x,) = variables((3, 4))
        with autograd.record():
            y = nd.transpose(net(x))
        y.backward(nd.arange(12).reshape((4, 3)))
        agree([x.grad.asnumpy()], [np.arange(12).reshape(4, 3).T * np.exp(x.asnumpy())])
    assert direct


def test_one_array_in_two_places(direct):
    net = compiled(lambda F, x, y: F.exp(x) * y)
    for _ in range(CALLS):
        (x,) = variables((3,))
        agree(gradients(net, [x, x]), gradients(lambda x, y: nd.exp(x) * y, [x, x]))
