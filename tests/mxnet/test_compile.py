"""`hybridize(backend=...)`: custom operators, compiled whole or run as they are."""

import copy
import getpass
import importlib
import logging
import os
import random
import subprocess
import sys
import threading
import warnings

import forks
import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from repeated import first_alone

torch = pytest.importorskip("torch", reason="layers.mxnet is MXNet's API on PyTorch")

import layers.mxnet as mx  # noqa: E402 - it needs torch
from layers.mxnet import autograd, gluon, nd  # noqa: E402 - it needs torch
from layers.mxnet.base import ArgumentError, RecordingError  # noqa: E402 - it needs torch
from layers.ops import Custom  # noqa: E402 - it needs torch

FAST = "aot_eager"  # traced and differentiated as for inductor, but not turned into C++


class One(mx.operator.CustomOpProp):
    """An operator of one input and output, of one shape."""

    made_of: type

    @property
    def pure(self):
        return getattr(self.made_of, "pure", None)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return self.made_of()


def registered(operator, name=None):
    """The `op_type` of an operator of one input and output."""
    name = name or f"test_compile_{operator.__name__}"
    mx.operator.register(name)(type(f"{operator.__name__}Prop", (One,), {"made_of": operator}))
    return name


class Calls(gluon.HybridBlock):
    """tanh(op(2 x)): something before the operator, and something after it."""

    def __init__(self, op_type, **kwargs):
        super().__init__(**kwargs)
        self.op_type = op_type

    def hybrid_forward(self, F, x):
        return F.tanh(F.Custom(2 * x, op_type=self.op_type))


def values_and_gradients(block, x):
    x = nd.array(x, dtype=x.dtype)
    x.attach_grad()
    with autograd.record():
        y = block(x)
    y.backward(nd.array(np.cos(np.arange(y.size)).reshape(y.shape), dtype=y.dtype))
    return y.asnumpy(), x.grad.asnumpy()


def assert_compiled_is_eager(op_type, backend=FAST, dtype="float64"):
    x = np.random.RandomState(3).uniform(-1, 1, (4, 6)).astype(dtype)
    eager, compiled = Calls(op_type), Calls(op_type)
    compiled.hybridize(backend=backend)
    for _ in range(2):
        for a, b in zip(values_and_gradients(eager, x), values_and_gradients(compiled, x)):
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-14)
    return compiled


@pytest.fixture
def told(caplog):
    """What was logged of operators."""
    name = "layers.mxnet.hybridize"
    caplog.set_level(logging.INFO, name)
    return lambda: [r.getMessage() for r in caplog.records if r.name == name]


# Ways of writing outputs


class Assigned(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(np.exp(in_data[0].asnumpy()), dtype="float64"))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * out_data[0])


class Filled(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        out_data[0][:] = in_data[0] * in_data[0]

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        in_grad[0][:] = 2 * in_data[0] * out_grad[0]


class Sliced(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x, y = in_data[0], out_data[0]
        y[:2] = nd.sin(x[:2])
        y[2:] = 3 * x[2:]

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        x, dy, dx = in_data[0], out_grad[0], in_grad[0]
        dx[:2] = nd.cos(x[:2]) * dy[:2]
        dx[2:] = 3 * dy[2:]


class Added(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])
        self.assign(out_data[0], "add", in_data[0] * in_data[0])
        out_data[0] += 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])
        self.assign(in_grad[0], "add", 2 * in_data[0] * out_grad[0])


class KeptSlice(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        view = out_data[0][1:3]
        out_data[0][:] = in_data[0]
        view *= 5
        view[:] = view + in_data[0][1:3]

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        view = in_grad[0][1:3]
        in_grad[0][:] = out_grad[0]
        view *= 6


class TheInput(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])
        out_data[0] *= 2
        in_data[0][:] = 0

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])
        in_grad[0] *= 2 * in_data[0] / in_data[0]


class InPlaceNumpy(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0].asnumpy()
        y[:, ::2] *= 3.0
        y -= y.mean(axis=1, keepdims=True)
        self.assign(out_data[0], req[0], nd.array(y, dtype="float64"))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        dx = out_grad[0].asnumpy()
        dx -= dx.mean(axis=1, keepdims=True)
        dx[:, ::2] *= 3.0
        self.assign(in_grad[0], req[0], nd.array(dx, dtype="float64"))


WEIGHTS = np.arange(6.0)


class KeptArrays(mx.operator.CustomOp):
    """It reads arrays of NumPy, of its own and of the module."""

    def __init__(self):
        super().__init__()
        self.scale = np.linspace(1, 2, 6)

    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0].asnumpy() * WEIGHTS * self.scale
        self.assign(out_data[0], req[0], nd.array(y, dtype="float64"))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        dx = out_grad[0].asnumpy() * WEIGHTS * self.scale
        self.assign(in_grad[0], req[0], nd.array(dx, dtype="float64"))


class Same(mx.operator.CustomOp):
    """y = 3 x; subclasses do it in odd ways."""

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 3 * out_grad[0])


class Tries(Same):
    def forward(self, is_train, req, in_data, out_data, aux):
        try:
            raise ValueError("always")
        except ValueError:
            self.assign(out_data[0], req[0], 3 * in_data[0])


class TriesInHelper(Same):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], self.factor() * in_data[0])

    def factor(self):
        try:
            return [][0]
        except IndexError:
            return 3


class Multiplies(mx.operator.CustomOp):
    """Products of nd with attributes; nd.dot looks in each call for a storage type among them."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0]
        self.assign(out_data[0], req[0], nd.dot(nd.dot(x, x, transpose_b=True), x))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        x, dy = in_data[0], out_grad[0]
        self.assign(in_grad[0], req[0], nd.dot(nd.dot(dy, x, transpose_b=True), x))


WAYS = [
    Tries,
    TriesInHelper,
    Assigned,
    Filled,
    Sliced,
    Added,
    KeptSlice,
    TheInput,
    InPlaceNumpy,
    KeptArrays,
    Multiplies,
]


@pytest.mark.parametrize("operator", first_alone(WAYS, 4), ids=lambda o: o.__name__)
def test_ways_of_writing_are_compiled_whole(operator, told):
    assert_compiled_is_eager(registered(operator))
    assert told() == [f"Custom 'test_compile_{operator.__name__}' is compiled"]


class SortsInNumPy(Same):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = np.sort(in_data[0].asnumpy(), axis=0)
        self.assign(out_data[0], req[0], nd.array(np.add(x, np.subtract(1, 1)), dtype="float64"))


class SortsInNd(Same):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0]
        self.assign(out_data[0], req[0], nd.add(nd.sort(x, axis=0), nd.reverse(x, axis=0) * 0))


@pytest.mark.parametrize("operator", [SortsInNumPy, SortsInNd], ids=lambda o: o.__name__)
def test_functions_named_as_methods_that_change_an_object_are_compiled(operator, told):
    """np.sort, nd.reverse and np.add change nothing; list.sort, list.reverse and set.add do."""
    assert_compiled_is_eager(registered(operator))
    assert told() == [f"Custom 'test_compile_{operator.__name__}' is compiled"]


def test_rounding_through_16_bits_stays():
    """Inductor may compute a chain of 16-bit operations in float32, where it fuses them."""
    net = gluon.nn.HybridLambda(
        lambda F, x: F.cast(F.cast(x, "float16") * 100 * 1000 / 1000, "float32")
    )
    x = nd.array([0.1, 30, 548.8135, 70000])
    eager = net(x).asnumpy()
    net.hybridize(backend="inductor")
    for _ in range(2):
        assert net(x).asnumpy().tolist() == eager.tolist()
    assert np.isinf(eager[1])


# What cannot be compiled runs as it is


class DrawsByAGenerator(Same):
    def forward(self, is_train, req, in_data, out_data, aux):
        noise = np.random.default_rng(0).normal(size=in_data[0].shape)
        self.assign(out_data[0], req[0], in_data[0] + nd.array(noise, dtype="float64"))


class Keeps(Same):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.kept = 3 * in_data[0]
        self.assign(out_data[0], req[0], self.kept)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.kept / in_data[0])


class Draws(Same):
    def forward(self, is_train, req, in_data, out_data, aux):
        noise = np.random.uniform(size=in_data[0].shape)
        self.assign(out_data[0], req[0], 3 * in_data[0] + nd.array(noise, dtype="float64"))


class DrawsInPython(Same):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], 3 * in_data[0] + random.random())


class Counts(Same):
    calls = []

    def forward(self, is_train, req, in_data, out_data, aux):
        self.calls.append(len(self.calls))
        self.assign(out_data[0], req[0], 3 * in_data[0])


class Windows(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = np.pad(in_data[0].asnumpy(), ((0, 0), (0, 1)))
        y = sliding_window_view(x, 2, axis=1).sum(-1)
        self.assign(out_data[0], req[0], nd.array(y, dtype="float64"))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        dy = out_grad[0].asnumpy()
        dx = dy.copy()
        dx[:, 1:] += dy[:, :-1]
        self.assign(in_grad[0], req[0], nd.array(dx, dtype="float64"))


class Branches(Same):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0]
        y = 3 * x if x.sum().asscalar() < 1e9 else x
        self.assign(out_data[0], req[0], y)


class Impure(Same):
    pure = False

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], 3 * in_data[0])


class NoBackward(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], 3 * in_data[0])


def test_an_operator_without_a_backward_runs_as_it_is(told):
    block, x = Calls(registered(NoBackward)), nd.ones((2, 3))
    x.attach_grad()
    block.hybridize(backend=FAST)
    with autograd.record():
        y = block(x)
    np.testing.assert_allclose(y.asnumpy(), np.tanh(6), 1e-6)
    (message,) = told()
    assert "runs as it is: ObservedNotImplementedError" in message


AS_THEY_ARE = {
    Keeps: "it changes self.kept, which outlives a call",
    Draws: "it draws random numbers from NumPy",
    DrawsInPython: "random.random())",
    DrawsByAGenerator: "default_rng",
    Counts: "it changes self.calls, which outlives a call",
    Windows: "",
    Branches: "it branches on values",
    Impure: "it says that it is not pure",
}


@pytest.mark.parametrize("operator", AS_THEY_ARE, ids=lambda o: o.__name__)
def test_what_cannot_be_compiled_runs_as_it_is(operator, told):
    op_type = registered(operator)
    x = np.random.RandomState(3).uniform(1, 2, (4, 6))
    found = []
    for backend in (None, FAST):
        block = Calls(op_type)
        if backend:
            block.hybridize(backend=backend)
        np.random.seed(7)
        random.seed(7)
        found.append([values_and_gradients(block, x) for _ in range(3)])
    for eager, compiled in zip(*found):
        for a, b in zip(eager, compiled):
            np.testing.assert_allclose(b, a, rtol=1e-12)
    (message,) = told()
    assert message.startswith(f"Custom {op_type!r} is not compiled, and runs as it is: ")
    assert AS_THEY_ARE[operator] in message


# The three operators of the tutorials, in NumPy


class Dense(mx.operator.CustomOp):
    def __init__(self, bias):
        super().__init__()
        self.bias = bias

    def forward(self, is_train, req, in_data, out_data, aux):
        x, w = (a.asnumpy() for a in in_data)
        self.assign(out_data[0], req[0], nd.array(x.dot(w.T) + self.bias))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        x, w = (a.asnumpy() for a in in_data)
        dy = out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], nd.array(dy.dot(w)))
        self.assign(in_grad[1], req[1], nd.array(dy.T.dot(x)))


@mx.operator.register("test_compile_dense")
class DenseProp(mx.operator.CustomOpProp):
    def __init__(self, bias):
        super().__init__(need_top_grad=True)
        self.bias = float(bias)

    def list_arguments(self):
        return ["data", "weight"]

    def infer_shape(self, in_shape):
        data, weight = in_shape
        return [data, weight], [(data[0], weight[0])], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Dense(self.bias)


class Sigmoid(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        y = 1.0 / (1.0 + np.exp(-in_data[0].asnumpy()))
        self.assign(out_data[0], req[0], nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y, dy = out_data[0].asnumpy(), out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], nd.array(y * (1.0 - y) * dy))


class Softmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
        y /= y.sum(axis=1).reshape((x.shape[0], 1))
        self.assign(out_data[0], req[0], nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().ravel().astype(np.int64)
        y = out_data[0].asnumpy()
        y[np.arange(label.shape[0]), label] -= 1.0
        self.assign(in_grad[0], req[0], nd.array(y))


@mx.operator.register("test_compile_softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Softmax()


class Net(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.first = self.params.get("first", shape=(7, 5))
            self.second = self.params.get("second", shape=(3, 7))

    def hybrid_forward(self, F, x, label, first, second):
        h = F.Custom(x, first, bias=0.1, op_type="test_compile_dense")
        h = F.Custom(h, op_type=registered(Sigmoid))
        h = F.Custom(h, second, bias=0.2, op_type="test_compile_dense")
        return F.Custom(h, label, op_type="test_compile_softmax")


def trained(backend, steps=3, **options):
    mx.random.seed(1)
    net = Net(prefix="net_")
    net.initialize(mx.init.Uniform(0.5))
    if backend:
        net.hybridize(backend=backend, **options)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    x, label = nd.random.uniform(shape=(8, 5)), nd.array(np.arange(8) % 3)
    for _ in range(steps):
        with autograd.record():
            y = net(x, label)
        y.backward()
        trainer.step(8)
    return [y.asnumpy(), net.first.data().asnumpy(), net.second.data().asnumpy()]


@pytest.mark.parametrize("backend", first_alone([FAST, "inductor"]))
def test_operators_in_numpy_become_one_graph(backend):
    torch._dynamo.utils.counters.clear()
    for a, b in zip(trained(None), trained(backend)):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)
    assert not torch._dynamo.utils.counters["graph_break"]


# What Python reads while it is traced is part of the graph


FACTOR = 2.0


class Scales(mx.operator.CustomOp):
    of_class = 1.0

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0] * (self.factor * self.of_class * FACTOR)
        self.assign(out_data[0], req[0], y if is_train else -y)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * (self.factor * self.of_class * FACTOR))


made = []


@mx.operator.register("test_compile_scales")
class ScalesProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        made.append(Scales(3.0))
        return made[-1]


class Scaled(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.Custom(x, op_type="test_compile_scales") + 1


def test_what_an_operator_reads_is_part_of_the_graph(monkeypatch):
    block, x = Scaled(), nd.ones((2, 2))
    block.hybridize(backend=FAST)
    made.clear()

    def value():
        with autograd.train_mode():
            return float(block(x)[0, 0].asscalar())

    assert value() == 7
    for instance in made:
        monkeypatch.setattr(instance, "factor", 5.0)
    monkeypatch.setattr(Scales, "of_class", 10.0)
    monkeypatch.setitem(globals(), "FACTOR", 1.0)
    assert value() == 7
    block.hybridize(backend=FAST)
    assert value() == 31


def test_arrays_that_an_operator_reads_may_change(monkeypatch):
    op_type, x = registered(KeptArrays), np.full((2, 6), 0.01)
    eager, compiled = Calls(op_type), Calls(op_type)
    compiled.hybridize(backend=FAST)

    def assert_same():
        for a, b in zip(values_and_gradients(eager, x), values_and_gradients(compiled, x)):
            np.testing.assert_allclose(b, a, rtol=1e-12)

    assert_same()
    monkeypatch.setitem(globals(), "WEIGHTS", 2 * WEIGHTS)
    assert_same()
    WEIGHTS[:] /= 3
    assert_same()


def written(tmp_path, monkeypatch, name, text):
    """A module of the user's, of this name."""
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module(name)


def test_helpers_in_modules_are_traced_too(tmp_path, monkeypatch, told):
    name = "torch_helper"
    text = "import numpy as np\n\ndef helped(x):\n    return np.random.rand() * 0 + x\n"
    helper = written(tmp_path, monkeypatch, name, text)

    class Helped(Same):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], 3 * helper.helped(in_data[0]))

    op_type = registered(Helped, name)
    assert_compiled_is_eager(op_type)
    assert "runs as it is: " in told()[0]
    assert f"{name}.py:4: return np.random.rand() * 0 + x" in told()[0]


def test_training_mode_dtype_and_shape_are_compiled_apart():
    block = Scaled()
    block.hybridize(backend=FAST)
    for shape, dtype in [((2, 2), "float32"), ((3, 1), "float32"), ((2, 2), "float64")] * 2:
        x = nd.ones(shape, dtype=dtype)
        with autograd.train_mode():
            assert block(x).dtype == np.dtype(dtype)
            assert (block(x).asnumpy() == 7).all()
        assert (block(x).asnumpy() == -5).all()
        assert block(x).shape == shape


@pytest.mark.slow
def test_inputs_with_other_strides():
    block = Scaled()
    block.hybridize(backend="inductor")
    whole = np.arange(12.0, dtype="float32").reshape(3, 4)
    inputs = [torch.from_numpy(whole), torch.from_numpy(whole.T.copy()).T, torch.ones(3, 8)[:, ::2]]
    for x in [nd.from_torch(t) for t in inputs] * 2:
        with autograd.train_mode():
            np.testing.assert_array_equal(block(x).asnumpy(), 6 * x.asnumpy() + 1)


# Layers of the library


def layers_net():
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(
            gluon.nn.Conv2D(3, 3, padding=1),
            gluon.nn.BatchNorm(),
            gluon.nn.Activation("relu"),
            gluon.nn.MaxPool2D(),
            gluon.nn.Flatten(),
            gluon.nn.Dropout(0.5),
            gluon.nn.Dense(4),
        )
    mx.random.seed(5)
    net.initialize(mx.init.Uniform(0.5))
    net(nd.ones((1, 2, 6, 6)))
    return net


@pytest.mark.parametrize("backend", first_alone([None, FAST, "inductor"], 2))
def test_states_and_draws_are_those_of_eager_mode(backend):
    x = nd.array(np.random.RandomState(0).randn(5, 2, 6, 6))
    found = []
    for hybridized in (False, True):
        net = layers_net()
        if hybridized:
            net.hybridize(backend=backend)
        net(x)  # not training: the states stay
        outputs = []
        mx.random.seed(11)
        for _ in range(2):
            with autograd.record():
                y = net(x)
            y.backward()
            outputs.append(y.asnumpy())
        assert not np.allclose(*outputs)  # Dropout draws anew
        found.append([*outputs, net[1].running_mean.data().asnumpy(), net(x).asnumpy()])
        found[-1].append(net[0].weight.grad().asnumpy())
    for eager, graph in zip(*found):
        np.testing.assert_allclose(graph, eager, rtol=1e-4, atol=1e-5)


def test_threads_share_a_compiled_net():
    net = layers_net()
    net.hybridize(backend=FAST)
    x = nd.array(np.random.RandomState(0).randn(5, 2, 6, 6))
    expected, found = layers_net()(x).asnumpy(), []

    def run():
        for _ in range(3):
            found.append(net(x).asnumpy())

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 24
    for y in found:
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


def test_threads_compile_nets_of_their_own(told):
    x, found, filters = nd.ones((2, 3), dtype="float64"), [], list(warnings.filters)

    def run(op_type):
        block = Calls(op_type)
        block.hybridize(backend=FAST)
        found.append(block(x).asnumpy())

    op_types = [registered(o, f"test_compile_own_{o.__name__}") for o in WAYS[:4]]
    threads = [threading.Thread(target=run, args=[op_type]) for op_type in op_types]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert sorted(told()) == sorted(f"Custom {o!r} is compiled" for o in op_types)
    assert warnings.filters == filters


@pytest.mark.slow
@pytest.mark.parametrize("is_lowered", [True, False])
def test_large_products_are_those_of_gemm(monkeypatch, is_lowered):
    from torch._inductor.lowering import lowerings

    from layers.mxnet._graph import inductor
    from layers.mxnet._table import product

    product.choose("onednn")
    inductor.rewrite.cache_clear()
    if not is_lowered:
        assert inductor._define() and inductor._lower()
        monkeypatch.delitem(lowerings, torch.ops.layers.mm.default)
        monkeypatch.setattr(inductor, "_lower", lambda: False)
    try:
        eager, graph = (dense_and_its_gradients(backend) for backend in (None, "inductor"))
        for a, b in zip(eager(), graph()):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
        with torch.autograd.profiler.profile() as profile:
            graph()
    finally:
        product.choose()
        inductor.rewrite.cache_clear()
    names = {event.name for event in profile.function_events}
    assert "mkldnn::_linear_pointwise" in names
    assert ("layers::mm" in names) is not is_lowered


def dense_and_its_gradients(backend):
    mx.random.seed(2)
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(gluon.nn.Dense(33, activation="relu", in_units=20), gluon.nn.Dense(5, in_units=33))
    net.initialize(mx.init.Uniform(0.5))
    if backend:
        net.hybridize(backend=backend)
    x = nd.array(np.random.RandomState(0).randn(9, 20))

    def run():
        with autograd.record():
            y = net(x)
        y.backward()
        return [y.asnumpy(), *[p.grad().asnumpy() for p in net.collect_params().values()]]

    return run


STATE = {
    "a dict": ({"n": 0}, "STATE['n'] += 1; n = STATE['n']"),
    "a list": ([], "STATE.append(1); n = len(STATE)"),
    "an array": (np.zeros(1), "STATE[:] = STATE + 1; n = STATE[0]"),
    "an iterator": (iter(range(1, 9)), "n = next(STATE)"),
    "random numbers": (np.random.RandomState(0), "n = STATE.normal()"),
    "an attribute of an object": (type("Own", (), {"n": 0})(), "STATE.n += 1; n = STATE.n"),
    "by setattr": (type("Own", (), {"n": 0})(), "setattr(STATE, 'n', STATE.n + 1); n = STATE.n"),
}


@pytest.mark.parametrize("kind", STATE)
def test_what_outlives_a_call_is_changed_once_in_each(kind, tmp_path, monkeypatch, told):
    start, code = STATE[kind]
    lines = "\n".join(f"    {line}" for line in code.split("; "))
    name = f"changes_{kind.replace(' ', '_')}"
    (tmp_path / f"{name}.py").write_text(f"def times(x):\n{lines}\n    return x * n\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(name)

    class Stateful(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], nd.array(module.times(in_data[0].asnumpy())))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0])

    block = Calls(registered(Stateful, name))
    found = []
    for options in ({}, {"backend": FAST}):
        module.STATE = copy.deepcopy(start)
        block.hybridize(**options)
        found.append([values_and_gradients(block, np.ones(2, "float32"))[0] for _ in range(4)])
    np.testing.assert_allclose(*found, rtol=1e-6)
    assert "not compiled, and runs as it is" in told()[-1]


def test_a_refusal_without_the_notes_of_the_tracer(told, monkeypatch):
    """They are not public: another version of PyTorch may have none."""
    monkeypatch.setattr("layers.mxnet._graph.tracing._changes", lambda error: iter(()))
    block = Calls(registered(Counts))
    block.hybridize(backend=FAST)
    block(nd.ones(2))
    (message,) = told()
    assert "it changes self.calls, which outlives a call (" in message
    assert f"{__file__}:{Counts.forward.__code__.co_firstlineno}: def forward(" in message


CHANGING = """\
CALLS, SEEN = 0, {}


class Config:
    count = 0


def change(op, x):
    global CALLS
"""
CHANGES = {  # what code changes, as the message names it: in forward, in backward
    "CALLS += 1": ("changing.CALLS", "CALLS"),
    "SEEN['x'] = x": ("changing.SEEN", "what outlives"),
    "op.kept = x": ("self.kept", "what outlives"),
    "Config.count += 1": ("changing.Config.count", "count"),
}


@pytest.mark.parametrize("phase", ["forward", "backward"])
@pytest.mark.parametrize("code", CHANGES)
def test_a_refusal_names_what_is_changed_and_the_line(code, phase, told, tmp_path, monkeypatch):
    file = tmp_path / "changing.py"
    file.write_text(f"{CHANGING}    {code}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "changing", raising=False)
    change = importlib.import_module("changing").change

    class Changing(Same):
        def forward(self, is_train, req, in_data, out_data, aux):
            if phase == "forward":
                change(self, in_data[0])
            self.assign(out_data[0], req[0], 3 * in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            if phase == "backward":
                change(self, out_grad[0])
            self.assign(in_grad[0], req[0], 3 * out_grad[0])

    block = Calls(registered(Changing))
    block.hybridize(backend=FAST)
    values_and_gradients(block, np.ones(2, "float32"))
    (message,) = told()
    assert f"runs as it is: it changes {CHANGES[code][phase == 'backward']}" in message
    assert "outlives a call (" in message
    # PyTorch does not tell where backward changes a number: there it is the line of `backward`.
    of_backward = phase == "backward" and "+=" in code
    place = f"{__file__}:" if of_backward else f"{file}:10: {code})"
    assert place in message and ("def backward(" in message) is of_backward


def test_the_mark_of_a_constant_is_pytorchs():
    """Set by hand on the shapes of a graph that makes arrays: PyTorch's function imports a lot."""
    from layers.mxnet._graph.program import MARK_OF_CONSTANTS

    @torch.compiler.assume_constant_result
    def function():
        pass

    assert vars(function) == {MARK_OF_CONSTANTS: True}


def test_a_graph_is_compiled_for_so_many_shapes(monkeypatch, told):
    monkeypatch.setattr("layers.mxnet._graph.compiled.MOST_KINDS", 2)
    net = gluon.nn.HybridLambda(lambda F, x: F.tanh(x))
    net.hybridize(backend=FAST)
    torch._dynamo.utils.counters.clear()
    for _ in range(2):
        for n in range(1, 6):
            np.testing.assert_allclose(net(nd.ones(n)).asnumpy(), np.full(n, np.tanh(1)), 1e-6)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 2
    (message,) = told()
    assert "not compiled, and runs as it is: it was called with 2 shapes" in message


@pytest.mark.parametrize("backend", [FAST, pytest.param("inductor", marks=pytest.mark.slow)])
def test_an_input_that_is_overwritten_before_backward(backend):
    net = gluon.nn.HybridLambda(lambda F, x: F.exp(F.sin(x)) * x)
    net.hybridize(backend=backend)
    for _ in range(3):
        x = nd.array([1.0, 2, 3])
        x.attach_grad()
        with autograd.record():
            y = net(x)
        x[:] = 5
        told = r"backward: an array \[3\] was overwritten .*\n  expected it to keep its value"
        with pytest.raises(RecordingError, match=told):
            y.backward()


def test_a_second_derivative_is_refused():
    net = gluon.nn.HybridLambda(lambda F, x: F.tanh(x))
    net.hybridize(backend=FAST)
    x = nd.ones(3)
    x.attach_grad()
    with autograd.record():
        (slope,) = autograd.grad(net(x), [x], create_graph=True)
    with pytest.raises(mx.base.MXNetError, match="second derivative through a compiled graph"):
        slope.backward()


# Switching it on


@pytest.mark.slow
def test_without_a_compiler_the_graph_runs_as_it_is(tmp_path):
    program = """
import numpy as np
from layers.mxnet import gluon, nd

net = gluon.nn.HybridLambda(lambda F, x: F.tanh(x) * 7)
net.hybridize(backend="inductor")
for _ in range(2):
    np.testing.assert_allclose(net(nd.ones(3)).asnumpy(), 7 * np.tanh(1), 1e-6)
"""
    nowhere = {"PATH": str(tmp_path), "CXX": "g++", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    done = forks.run(["-W", "ignore", "-c", program], env=os.environ | nowhere)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("the graph of hybridlambda0 is not compiled, and runs as it is: ")
    assert "ompiler" in line


@pytest.mark.parametrize("variable", ["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TMPDIR"])
def test_compiled_code_that_others_can_change_is_not_loaded(tmp_path, variable):
    program = """
from layers.mxnet import gluon, nd

net = gluon.nn.HybridLambda(lambda F, x: F.tanh(x) * 7)
net.hybridize(backend="inductor")
assert [net(nd.zeros(3)).sum().asscalar() for _ in range(2)] == [0, 0]
"""
    folder = tmp_path / f"torchinductor_{getpass.getuser()}"
    folder.mkdir()
    folder.chmod(0o777)
    place = tmp_path if variable == "TMPDIR" else folder
    environment = {n: v for n, v in os.environ.items() if n != "TORCHINDUCTOR_CACHE_DIR"}
    command = [sys.executable, "-W", "ignore", "-c", program]  # a fork has PyTorch's settings
    done = subprocess.run(
        command, env=environment | {variable: str(place)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    told = "the graph of hybridlambda0 is not compiled, and runs as it is: UnsupportedError: "
    told += "compiled code would be loaded from a place that others can change; expected TMPDIR, "
    told += "TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR of your own: "
    assert line.startswith(told)
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_a_wrong_input_is_the_callers_error(told):
    net = gluon.nn.Dense(3, in_units=4)
    net.initialize()
    net.hybridize(backend=FAST)
    with pytest.raises(mx.base.MXNetError):
        net(nd.ones((2, 5)))
    assert net(nd.ones((2, 4))).shape == (2, 3)
    assert not told()


def test_the_environment_asks_for_it(monkeypatch):
    monkeypatch.setenv("LAYERS_HYBRIDIZE_BACKEND", FAST)
    torch._dynamo.utils.counters.clear()
    net = gluon.nn.Dense(3, in_units=4)
    net.initialize()
    net.hybridize()
    net(nd.ones((2, 4)))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize(
    "wrong", [{"depth": 3}, {"mode": "fastest"}, {"options": {"max_autotune": True, "depth": 3}}]
)
def test_what_the_backend_does_not_know_is_refused(wrong):
    with pytest.raises(ArgumentError, match=f"hybridize: .* has no .*{list(wrong)[0]}"):
        gluon.nn.Dense(3).hybridize(backend="inductor", **wrong)


def test_other_backends_have_no_modes():
    with pytest.raises(ArgumentError, match="'aot_eager' has no mode='fastest'"):
        gluon.nn.Dense(3).hybridize(backend="aot_eager", mode="fastest")


def test_a_symbol_block_is_compiled():
    x = mx.sym.var("x")
    block = gluon.SymbolBlock(mx.sym.tanh(2 * x), x)
    block.hybridize(backend=FAST)
    torch._dynamo.utils.counters.clear()
    np.testing.assert_allclose(block(nd.ones(3)).asnumpy(), np.tanh(2), 1e-6)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1
    copied = copy.deepcopy(block)
    np.testing.assert_allclose(copied(nd.ones(3)).asnumpy(), np.tanh(2), 1e-6)


# Operators inside operators


def test_a_gradient_that_is_an_operator_is_compiled(told):
    def same(*kinds):
        return kinds[0]

    back = Custom(lambda x, dy: 2 * x * dy, same, same, "pyfunc")
    square = Custom(lambda x: x * x, same, same, "pyfunc", bprop=lambda x, y, dy: (back(x, dy),))
    block = gluon.nn.HybridLambda(lambda F, x: F.tanh(square(x)))
    x = np.array([[0.5, -1.0, 2.0]], "float32")
    expected = values_and_gradients(block, x)
    block.hybridize(backend=FAST)
    for _ in range(2):
        for found, value in zip(values_and_gradients(block, x), expected):
            np.testing.assert_allclose(found, value, rtol=1e-5)
    assert [line for line in told() if line.endswith("is compiled")]


class TwoOutputs(gluon.HybridBlock):
    def __init__(self):
        super().__init__(prefix="")
        self.first, self.second = (gluon.nn.Dense(1, in_units=2) for _ in range(2))

    def hybrid_forward(self, F, x):
        return self.first(x), self.second(x)


@pytest.mark.parametrize("how, left_alone", [({}, True), ({"backend": FAST}, False)])
def test_gradients_of_what_another_output_uses(how, left_alone):
    net = TwoOutputs()
    net.initialize()
    net.hybridize(**how)
    for _ in range(2):
        with autograd.record():
            first, second = net(nd.ones((1, 2)))
        first.backward(retain_graph=True)
        second.backward()
        found = net.first.weight.grad().asnumpy()
        np.testing.assert_array_equal(found, np.full((1, 2), float(left_alone)))


def test_a_loss_of_several_labels_in_a_step():
    from layers import compiled_step

    class Weighed(gluon.HybridBlock):
        def hybrid_forward(self, F, y, labels):
            label, weights = labels
            return F.sum(F.square(y - label), axis=1) * weights

    net = gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(mx.init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    step = compiled_step(net, Weighed(), trainer, backend=FAST)
    losses = step(nd.ones((2, 2)), [nd.zeros((2, 1)), nd.array([0, 3])])
    np.testing.assert_allclose(losses.asnumpy(), [0, 12])
    np.testing.assert_allclose(net.weight.data().asnumpy(), np.full((1, 2), -2.0))
