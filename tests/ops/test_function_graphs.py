"""Operators of plain functions in graphs, as methods, compiled, and at length."""

import copy
import gc
import inspect
import logging
import pickle
import threading

import numpy as np
import pytest
from functions import cross_entropy, gradients, product

from layers.engine import autograd, gluon, mx, nd
from layers.ops.ways.function import Primitive, customop

# By name, in graphs, as methods


class Net(gluon.HybridBlock):
    """Three times the cross entropy of 2 x, by name; and half of the product with itself."""

    def hybrid_forward(self, F, x, label):
        loss = F.Custom(2 * x, label, op_type=cross_entropy.name)
        return 3 * loss + F.sum(product(x, x, 2)) * 0.5


def losses(net, x, label):
    x = nd.array(x)
    x.attach_grad()
    with autograd.record():
        y = net(x, label)
    y.backward()
    return y.asnumpy(), x.grad.asnumpy()


X, LABEL = np.random.RandomState(0).randn(4, 3), nd.array([0, 2, 1, 0], dtype="int32")


def expected(x, label):
    p = np.exp(2 * x - (2 * x).max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    hot = np.eye(3)[label]
    y = -3 * np.log((p * hot).sum(axis=1)).mean() + 0.5 * (x**3).sum()
    return np.array([y]), 6 * (p - hot) / len(x) + 1.5 * x**2


def assert_near(found, wanted):
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("hybrid", [False, True])
def test_in_a_block(hybrid):
    net = Net()
    net.hybridize(hybrid)
    for _ in range(2):
        assert_near(losses(net, X, LABEL), expected(X, [0, 2, 1, 0]))
    assert_near(losses(net, X[:2], LABEL[:2]), expected(X[:2], [0, 2]))


def test_in_a_symbol():
    x = mx.sym.Variable("x")
    y = mx.sym.Custom(x=x, w=mx.sym.Variable("w"), op_type=product.name, power=2)
    assert y.list_arguments() == ["x", "w"]
    arrays = {"x": nd.array([2.0]), "w": nd.array([3.0])}
    executor = y.bind(mx.current_context(), arrays, args_grad={n: nd.zeros((1,)) for n in arrays})
    assert executor.forward(is_train=True)[0].asscalar() == 18
    executor.backward(nd.ones((1,)))
    assert [g.asscalar() for g in executor.grad_arrays] == [9, 12]
    _, shapes, _ = cross_entropy(x, mx.sym.Variable("label")).infer_shape(x=(4, 3), label=(4,))
    assert shapes == [(1,)]


def test_annotated_parameters_are_attributes_by_name():
    @customop("numpy")
    def annotated(x, factor: float, mode: "str | None" = None):
        return x * factor if mode is None else x

    x = nd.ones((1,))
    assert annotated.inputs == ("x",)
    assert nd.Custom(x, op_type=annotated.name, factor=3.0).asscalar() == 3
    assert nd.Custom(x, op_type=annotated.name, factor="inf").asscalar() == np.inf
    assert nd.Custom(x, op_type=annotated.name, factor=3, mode="keep").asscalar() == 1


class Scaled(gluon.HybridBlock):
    """Its operators are methods."""

    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    @customop("numpy")
    def scale(self, x, power=1):
        """x factor ** power"""
        return x * self.factor**power

    scale.def_grad(lambda ans, self, x, power=1: lambda g: g * self.factor**power)

    def hybrid_forward(self, F, x):
        return self.scale(x) + self.scale(x, power=2)


class Doubly(Scaled):
    @customop("numpy")
    def scale(self, x, power=1):
        return 2 * x * self.factor**power

    scale.def_grad(lambda ans, self, x, power=1: lambda g: 2 * g * self.factor**power)

    def both(self, x):
        return self.scale(x) - super().scale(x)


@pytest.mark.parametrize("hybrid", [False, True])
def test_methods(hybrid):
    for made in (Scaled(3.0), Scaled(5.0)):
        made.hybridize(hybrid)
        factor = made.factor
        assert gradients(made, [1.0]) == [[factor + factor**2]]
        made.factor = 2.0
        assert gradients(made, [1.0]) == [[6]]


def test_a_method_is_one_of_its_instance_and_class():
    one, other = Scaled(3.0), Doubly(3.0)
    x = nd.ones((1,))
    assert [one.scale(x).asscalar(), other.scale(x).asscalar(), other.both(x).asscalar()] == [
        3,
        6,
        3,
    ]
    assert one.scale is one.scale and isinstance(Scaled.scale, Primitive)
    assert str(inspect.signature(one.scale)) == "(x, power=1)"
    assert one.scale.__doc__ == "x factor ** power"
    assert Scaled.scale.__get__(other)(x).asscalar() == 3


class Plain:
    """A class whose instances are copied and pickled."""

    def __init__(self, factor):
        self.factor = factor

    @customop("numpy")
    def scale(self, x):
        return x * self.factor

    scale.def_grad(lambda ans, self, x: lambda g: g * self.factor)


def test_copies_and_pickles():
    made = Plain(3.0)
    x = nd.ones((1,))
    assert made.scale(x).asscalar() == 3
    for twin in (copy.deepcopy(made), copy.copy(made)):
        twin.factor = 5.0
        assert [twin.scale(x).asscalar(), made.scale(x).asscalar()] == [5, 3]
    assert copy.deepcopy(product) is product


@pytest.mark.engine("torch")
def test_it_is_pickled_by_its_place():
    from layers.ops.ways import function

    module = type(function)("pickled_operators")
    exec("def double(x):\n    return 2 * x", vars(module))
    double = module.double
    double.__module__ = "pickled_operators"
    module.double = customop("numpy")(double)
    import sys

    sys.modules["pickled_operators"] = module
    try:
        assert pickle.loads(pickle.dumps(module.double)) is module.double
    finally:
        del sys.modules["pickled_operators"]


@pytest.mark.engine("torch")  # MXNet's registry keeps all operators
def test_instances_go():
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        assert Plain(2.0).scale(nd.ones((1,))).asscalar() == 2
    gc.collect()
    assert len(gc.get_objects()) - before < 300


# Compiled


def told(caplog):
    """What was logged of operators."""
    return [r.getMessage() for r in caplog.records if r.name == "layers.mxnet.hybridize"]


def full_like(x):
    return np.full_like(x, 2) * x


def by_name(x):
    return (x + np.zeros(x.shape, "float32") + np.eye(4, 3).astype("float32")) / np.sqrt(x.shape[1])


@pytest.mark.engine("torch")
@pytest.mark.slow
@pytest.mark.parametrize("function", [full_like, by_name])
def test_numpy_that_does_not_read_a_dtype_is_compiled(function, caplog):
    """It is what docs/hybridize.md tells to write instead of x.dtype."""
    caplog.set_level(logging.INFO, "layers.mxnet.hybridize")
    op = customop("numpy")(function)
    op.def_grad(lambda ans, x: lambda dy: dy)
    net = gluon.nn.HybridLambda(lambda F, x: op(x))
    net.hybridize(backend="aot_eager")
    for _ in range(2):
        found = net(nd.array(X))
    np.testing.assert_allclose(found.asnumpy(), function(X.astype("float32")), rtol=1e-5)
    assert told(caplog) == [f"operator {op.name!r} is compiled"]


@pytest.mark.engine("torch")
@pytest.mark.slow
def test_numpy_is_compiled_into_the_graph(caplog):
    import torch

    caplog.set_level(logging.INFO, "layers.mxnet.hybridize")
    net = Net()
    net.hybridize(backend="inductor")
    torch._dynamo.utils.counters.clear()
    for _ in range(2):
        assert_near(losses(net, X, LABEL), expected(X, [0, 2, 1, 0]))
    names = cross_entropy.name, product.name
    assert sorted(told(caplog)) == [f"operator {n!r} is compiled" for n in names]
    assert not torch._dynamo.utils.counters["graph_break"]


FACTOR = 2.0


@customop("numpy")
def by_factor(x):
    return x * FACTOR


by_factor.def_grad(lambda ans, x: lambda g: g * FACTOR)


@customop("numpy", pure=False)
def by_current_factor(x):
    return x * FACTOR


by_current_factor.def_grad(lambda ans, x: lambda g: g * FACTOR)


@pytest.mark.engine("torch")
@pytest.mark.filterwarnings("ignore:.*should not be instantiated")  # PyTorch's, of its compiler
def test_what_is_read_is_part_of_a_compiled_graph_unless_it_is_not_pure(monkeypatch, caplog):
    def net(op):
        made = gluon.nn.HybridLambda(lambda F, x: op(x + 1))
        made.hybridize(backend="aot_eager")
        return made

    pure, other = net(by_factor), net(by_current_factor)
    assert gradients(pure, [1.0]) == gradients(other, [1.0]) == [[2]]
    messages = told(caplog)
    assert len(messages) == 1 and "runs as it is: it says that it is not pure" in messages[0]
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert gradients(pure, [1.0]) == [[2]] and gradients(other, [1.0]) == [[5]]
    pure.hybridize(backend="aot_eager")
    assert gradients(pure, [1.0]) == [[5]]


# Failures, memory, threads


@pytest.mark.engine("torch")  # MXNet loses exceptions of callbacks
@pytest.mark.parametrize("where", ["forward", "maker", "grad"])
def test_an_exception_is_the_users_own_with_a_note(where):
    failing = [where]

    @customop("numpy")
    def f(x, scale=2):
        return [][0] if failing == ["forward"] else x * scale

    def maker(ans, x, scale):
        if failing == ["maker"]:
            raise IndexError("maker")
        return lambda g: [][0] if failing == ["grad"] else g * scale

    f.def_grad(maker)
    with pytest.raises(IndexError) as caught:
        gradients(f, [[1.0, 2.0]])
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    phase = "forward" if where == "forward" else "backward"
    assert f"in {phase} of operator {f.name!r}" in told and "(1, 2) float32" in told
    assert not autograd.is_recording()
    failing.clear()
    assert gradients(f, [[1.0, 2.0]]) == [[[2, 2]]]


@pytest.mark.slow
@pytest.mark.engine("torch")
def test_a_thousand_calls_leave_memory_flat():
    x, w = nd.ones((4, 4)), nd.ones((4, 4))
    x.attach_grad()
    made = Plain(2.0)

    def calls(count):
        for i in range(count):
            with autograd.record():
                y = made.scale(product(x, w, power=float(i))) + product(x, 2.0)
            y.backward()
        gc.collect()
        return len(gc.get_objects())

    before = calls(300)
    assert calls(1000) - before < 200


def test_eight_threads():
    @customop("numpy")
    def f(x, w, n):
        return x * w * n

    f.def_grad(lambda ans, x, w, n: lambda g: g * w * n)
    f.def_grad(lambda ans, x, w, n: lambda g: g * x * n, 1)
    wrong, start = [], threading.Barrier(8)

    def work(number):
        try:
            start.wait()
            for _ in range(20):
                if gradients(lambda x, w: f(x, w, number), [2.0], [3.0]) != [
                    [3 * number],
                    [2 * number],
                ]:
                    wrong.append(number)
        except Exception as error:  # told in the main thread
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(t.is_alive() for t in threads)
