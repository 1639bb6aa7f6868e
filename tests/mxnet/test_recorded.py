"""Recorded graphs: as operator by operator, in values and in conduct."""

import copy
import gc
import importlib
import logging
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import forks
import numpy as np
import pytest

from layers import SoftmaxLoss, operator
from layers.engine import autograd, gluon, mx, nd

pytestmark = pytest.mark.engine("torch")
CALLS = 4  # two are compared, and what the first did is done again by the later ones
RECORDED = {"static_alloc": True, "static_shape": True}


@operator
class dense:
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
class square:
    def forward(x):
        return x * x

    def dx(dy, x):
        return 2 * x * dy

    def shapes(x):
        return {"y": x}


@operator
class tanh:
    def forward(x):
        return nd.tanh(x)

    def dx(dy, y):
        return dy * (1 - y * y)

    def shapes(x):
        return {"y": x}


@operator
class pair:
    outputs = ("y", "z")

    def forward(x, w):
        return x * w, nd.exp(x)

    def dx(dy, dz, w, z):
        return dy * w + dz * z

    def dw(dy, x):
        return dy * x

    def shapes(x):
        return {"w": x, "y": x, "z": x}


@operator
class half_squares:
    """A loss: its gradient is that of half the squares, whatever comes from above."""

    def forward(x):
        return x + 0

    def dx(x):
        return x + 0

    def shapes(x):
        return {"y": x}


@operator
class shifted:
    def forward(x, b=None):
        return x + 1 if b is None else x + b

    def dx(dy):
        return dy

    def db(dy):
        return dy + 0

    def shapes(x):
        return {"b": x, "y": x}


@operator
class picked:
    """The gradient of the label is not there."""

    def forward(x, label):
        return nd.pick(x, label)

    def dx(dy, x, label):
        return nd.one_hot(label, x.shape[1], dtype=x.dtype) * dy.expand_dims(1)

    def shapes(x):
        return {"label": x[:1], "y": x[:1]}


@operator
class parted:
    """One part of one."""

    def forward(x):
        return nd.split(x, num_outputs=1, axis=0) * 2

    def dx(dy):
        return nd.split(dy, num_outputs=1, axis=0) * 2

    def shapes(x):
        return {"y": x}


@operator
class same:
    def forward(x):
        return x

    def dx(dy):
        return dy

    def shapes(x):
        return {"y": x}


@operator
class detached:
    def forward(x):
        return x.detach()

    def dx(dy):
        return dy.detach()

    def shapes(x):
        return {"y": x}


@operator
class twice:
    """One array for two outputs."""

    outputs = ("y", "z")

    def forward(x):
        y = x * 2
        return y, y

    def dx(dy, dz, y, z):
        return (dy + dz) * 2 + 0 * y + 0 * z

    def shapes(x):
        return {"y": x, "z": x}


@operator
class largest:
    """Numbers of columns, which have no gradient."""

    def forward(x):
        return nd.argmax(x, axis=1).astype("int32")

    def types(x):
        return {"y": "int32"}

    def shapes(x):
        return {"y": x[:1]}


class InNumPy(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.array(np.sin(in_data[0].asnumpy())))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        dx = out_grad[0].asnumpy() * np.cos(in_data[0].asnumpy())
        self.assign(in_grad[0], req[0], nd.array(dx))


class InNd(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        out_data[0][:] = nd.sin(in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * nd.cos(in_data[0]))


class Keeping(mx.operator.CustomOp):
    """What it needs for the gradient is on itself."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.cos = nd.cos(in_data[0])
        self.assign(out_data[0], req[0], nd.sin(in_data[0]))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.cos)


def register(kind):
    @mx.operator.register(f"chain_{kind.__name__}")
    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return kind()


for kind in (InNumPy, InNd, Keeping):
    register(kind)


class Net(gluon.HybridBlock):
    """A function of F and arrays as a block."""

    def __init__(self, function):
        super().__init__()
        self._function = function

    def hybrid_forward(self, F, *args):
        return self._function(F, *args)


# What a net computes of x (2, 3) and w (2, 3).
NETS = {
    "one": lambda F, x, w: square(x),
    "a chain": lambda F, x, w: tanh(square(tanh(x))),
    "two inputs": lambda F, x, w: pair(square(x), tanh(w)),
    "one output of two": lambda F, x, w: square(pair(x, w)[1]),
    "itself": lambda F, x, w: [same(x), same(same(w))],
    "detached": lambda F, x, w: [detached(detached(x)), square(detached(w))],
    "one array twice": lambda F, x, w: pair(twice(x)[0], twice(w)[1])[0],
    "one array as two outputs": lambda F, x, w: sum(twice(x)[:2]) + w,
    "two gradients that are one": lambda F, x, w: sum(pair(x, w)[:2]),
    "a tuple of one": lambda F, x, w: parted(x),
    "an input twice": lambda F, x, w: pair(x, x)[0],
    "a value twice": lambda F, x, w: pair(square(x), square(x))[0] + tanh(square(x)),
    "outputs within": lambda F, x, w: [square(x), tanh(square(x)), square(tanh(square(x)))],
    "built-in between": lambda F, x, w: tanh(F.exp(square(x)) * w),
    "built-in beside": lambda F, x, w: pair(F.exp(x), square(F.exp(w)))[0] + F.exp(w),
    "without a gradient": lambda F, x, w: tanh(F.BlockGrad(square(x))) * w,
    "left out": lambda F, x, w: shifted(shifted(x), w),
    "a loss": lambda F, x, w: half_squares(tanh(x) * w),
    "a loss beside": lambda F, x, w: [half_squares(tanh(x)), square(w)],
    "a loss that is not asked": lambda F, x, w: [square(w), half_squares(tanh(x))],
    "whole numbers": lambda F, x, w: picked(square(x), largest(x)) * 2,
    "in NumPy": lambda F, x, w: F.Custom(square(x), op_type="chain_InNumPy"),
    "in nd": lambda F, x, w: F.Custom(F.Custom(x, op_type="chain_InNd"), op_type="chain_InNd"),
    "kept on self": lambda F, x, w: square(F.Custom(square(x), op_type="chain_Keeping")),
    "with a constant": lambda F, x, w: pair(x, F.ones_like(x))[0],
}


IN_PYTHON = {"in NumPy", "in nd", "kept on self"}  # CustomOps, in each call


def calls(net, count=CALLS, **kwargs):
    """Outputs and gradients of some calls, each with other values."""
    found = []
    for i in range(count):
        x, w = (nd.array(np.random.RandomState(i + k).rand(2, 3), **kwargs) for k in (0, 9))
        x.attach_grad()
        w.attach_grad()
        with autograd.record():
            y = net(x, w)
        ys = y if isinstance(y, (list, tuple)) else [y]
        autograd.backward(ys[:1], retain_graph=True)
        first = [x.grad.copy(), w.grad.copy()]
        autograd.backward(ys)
        found.append([a.asnumpy() for a in (*ys, *first, x.grad, w.grad)])
    return found


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_recorded_is_eager(name, dtype, phases):
    net = Net(NETS[name])
    expected = calls(net, dtype=dtype)
    net.hybridize(**RECORDED)
    for found, wanted in zip(calls(net, dtype=dtype), expected, strict=True):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_max_ulp(a, b, maxulp=1)  # sums of three, in another order
    phases.clear()
    outputs = len(calls(net, 1, dtype=dtype)[0]) - 4
    if outputs == 1:  # of several, the second backward goes back from others than the first
        assert bool(phases) == (name in IN_PYTHON)


@pytest.mark.parametrize("layer", ["RNN", "LSTM", "GRU"])
def test_a_recurrent_layer_that_is_trained_is_eager(layer):
    """oneDNN's LSTM cannot go backward from recorded calls: it runs plainly."""
    found = []
    for options in (None, RECORDED):
        net = getattr(gluon.rnn, layer)(2, prefix="net_")
        net.initialize(mx.init.One())
        if options:
            net.hybridize(**options)
        for i in range(CALLS):
            x = nd.array(np.sin(i + np.arange(12)).reshape(3, 2, 2))
            x.attach_grad()
            with autograd.record():
                y = net(x)
            y.backward()
            found.append([y.asnumpy(), x.grad.asnumpy()])
    np.testing.assert_allclose(found[:CALLS], found[CALLS:], rtol=1e-5, atol=1e-6)


class Dense(gluon.HybridBlock):
    def __init__(self, in_channels, channels):
        super().__init__()
        self.weight = self.params.get("weight", shape=(channels, in_channels))
        self.bias = self.params.get("bias", shape=(channels,), init="zeros")

    def hybrid_forward(self, F, x, weight, bias):
        return dense(x, weight, bias)


def mlp(**kwargs):
    """A net of operators of its own, of which each runs its Python."""
    first, second = (gluon.nn.HybridLambda(lambda F, x, f=f: f(x)) for f in (tanh, square))
    net = gluon.nn.HybridSequential()
    net.add(Dense(5, 8), first, Dense(8, 8), second, Dense(8, 3))
    net.initialize(mx.init.Xavier())
    net.hybridize(**(kwargs or RECORDED))
    return net


def step(net, n=4):
    x = nd.random.uniform(shape=(n, 5))
    with autograd.record():
        y = net(x)
    y.backward()
    return y


def test_their_python_runs_in_the_first_two_calls(phases):
    net = mlp()
    for number in (10, 10, 0, 0):
        phases.clear()
        step(net)
        assert len(phases) == number
    phases.clear()
    step(net, 3)  # of another shape
    assert len(phases) == 10
    for number in (5, 5, 0, 0):
        phases.clear()
        net(nd.ones((4, 5)))  # not recorded
        assert len(phases) == number


@operator
class counted:
    """x times a number from outside; it counts its calls, and says that it is pure."""

    def forward(x):
        COUNTS.append("forward")
        return x * FACTOR["value"]

    def dx(dy):
        COUNTS.append("dx")
        return dy * FACTOR["value"]

    def shapes(x):
        return {"y": x}


COUNTS, FACTOR = [], {"value": 1}


@pytest.mark.parametrize("flags", [{}, {"static_alloc": True}], ids=["plain", "static_alloc"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_without_both_flags_nothing_is_recorded(flags, outputs, monkeypatch):
    net = Net(lambda F, x: counted(x) if outputs == 1 else [counted(x), square(x)])
    net.hybridize(**flags)
    for factor in (1, 1, 1, 2):
        monkeypatch.setitem(FACTOR, "value", factor)
        COUNTS.clear()
        x = nd.ones((2,))
        x.attach_grad()
        with autograd.record():
            y = net(x)
        y = y if outputs == 1 else y[0]
        y.backward()
        assert COUNTS == ["forward", "dx"]
        assert y.asnumpy().tolist() == x.grad.asnumpy().tolist() == [factor] * 2


def test_it_is_one_function_for_autograd():
    net = mlp()
    for _ in range(3):
        node = step(net)._tensor.grad_fn
        assert {type(n).__name__ for n, _ in node.next_functions if n} == {"AccumulateGrad"}


def test_in_numpy_it_runs_in_each_call(phases, caplog):
    net = Net(NETS["in NumPy"])
    net.hybridize(**RECORDED)
    with caplog.at_level(logging.DEBUG, "layers.mxnet.hybridize"):
        calls(net, 3)
    assert len(phases) == 3 * 2 * 3  # two operators, forward and twice backward
    assert "is not recorded, and runs as it is: Custom 'chain_InNumPy' is not pure" in caplog.text


class Reads(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * in_data[0].sum().asscalar())


def test_a_refusal_names_all_operators_that_are_not_pure(caplog):
    for name in ("refused_first", "refused_last"):
        made = {"create_operator": lambda *_: Reads()}
        mx.operator.register(name)(type("Prop", (mx.operator.CustomOpProp,), made))
    net = gluon.nn.HybridLambda(
        lambda F, x: F.Custom(
            F.Custom(F.Custom(x, op_type="refused_last"), op_type="refused_first"),
            op_type="refused_last",
        )
    )
    net.hybridize(**RECORDED)
    net(nd.ones(2))
    told = "Custom 'refused_last', Custom 'refused_first' are not pure; `pure = True` in a Custom"
    assert told in caplog.text


@operator
class elsewhere:
    """3 x, computed by another thread, which the recorder does not see."""

    def forward(x):
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(lambda: 3 * x).result()

    def dx(dy):
        return 3 * dy


def test_what_another_thread_computes_is_no_constant(caplog):
    net = Net(lambda F, x: elsewhere(x))
    net.hybridize(**RECORDED)
    for factor in (1, 2, 3, 4):
        assert net(nd.ones((2,)) * factor).asnumpy().tolist() == [3 * factor] * 2
    for factor in (1, 2, 3, 4):
        x = nd.ones((2,))
        x.attach_grad()
        with autograd.record():
            y = net(x)
        y.backward(nd.ones((2,)) * factor)
        assert x.grad.asnumpy().tolist() == [3 * factor] * 2
    assert "done again, its calls give other values" in caplog.text


@operator
class inverse:
    def forward(x):
        return nd.linalg.inverse(x)

    def dx(dy, y):
        return -nd.linalg.gemm2(nd.linalg.gemm2(y, dy, transpose_a=True), y, transpose_b=True)


@pytest.mark.parametrize("options", [{}, RECORDED])
def test_a_check_that_gives_nothing_is_done_again(options):
    net = Net(lambda F, x: inverse(x) * 2)
    net.hybridize(**options)
    for _ in range(3):
        assert net(nd.eye(2) * 4).asnumpy().tolist() == [[0.5, 0], [0, 0.5]]
    with pytest.raises(mx.base.MXNetError, match="(?s)singular.*Net"):
        net(nd.zeros((2, 2)))


@pytest.mark.parametrize("own", [square, tanh])
def test_a_sparse_gradient_is_not_recorded(own, caplog):
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.table = gluon.nn.Embedding(7, 4, sparse_grad=True)

        def hybrid_forward(self, F, x):
            return own(self.table(x))

    found = []
    for options in (None, {"static_alloc": True, "static_shape": True}):
        mx.random.seed(0)
        net = Net()
        net.initialize()
        if options:
            net.hybridize(**options)
        for _ in range(3):
            with autograd.record():
                y = net(nd.array([1, 3, 3]))
            y.backward()
        gradient = net.table.weight.grad()
        assert gradient.stype == "row_sparse" and gradient.indices.asnumpy().tolist() == [1, 3]
        found.append([y.asnumpy(), gradient.asnumpy()])
    for a, b in zip(*found):
        np.testing.assert_array_equal(a, b)
    assert "it computes a gradient that is sparse" in caplog.text


def test_a_refusal_names_the_line_that_reads_values(caplog):
    made = {"create_operator": lambda *_: Reads(), "pure": True}
    mx.operator.register("refused_reads")(type("Prop", (mx.operator.CustomOpProp,), made))
    net = gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type="refused_reads"))
    net.hybridize(**RECORDED)
    net(nd.ones(2))
    line = Reads.forward.__code__.co_firstlineno + 1
    assert (
        f"hands values to Python or NumPy, whose work is not recorded ({__file__}:{line}: self"
        in (caplog.text)
    )


# Gradients of gradients


def second(net, dtype="float64"):
    found = []
    for i in range(CALLS):
        x, w = (nd.array(np.random.RandomState(i + k).rand(2, 3), dtype=dtype) for k in (0, 9))
        x.attach_grad()
        w.attach_grad()
        with autograd.record():
            u = x * 2  # has a past, and is kept by none where only y is
            y = net(u, w * u)
            y = y[0] if isinstance(y, (list, tuple)) else y
            dx, dw = autograd.grad(y, [u, w], create_graph=True)
            ddx = autograd.grad((dx * dx).sum() + (dw * x).sum(), x, create_graph=True)[0]
        ddx.backward()
        found.append([a.asnumpy() for a in (dx, dw, ddx, x.grad, w.grad)])
    return found


def first(y):
    return y[-1] if isinstance(y, list) else y


@pytest.mark.parametrize(
    "name",
    ["a chain", "two inputs", "outputs within", "built-in between", "a value twice", "left out"],
)
def test_gradients_of_gradients(name):
    if name not in ("two inputs", "built-in between"):
        net = Net(lambda F, x, w: pair(first(NETS[name](F, x, w)), tanh(tanh(w)))[0])
    else:
        net = Net(NETS[name])
    expected = second(net)
    net.hybridize(**RECORDED)
    for found, wanted in zip(second(net), expected, strict=True):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_loss_has_no_second_derivative():
    net = Net(NETS["a loss"])
    net.hybridize(**RECORDED)
    for _ in range(3):
        x, w = nd.ones((2, 3)), nd.ones((2, 3))
        x.attach_grad()
        with autograd.record():
            dx = autograd.grad(net(x, w), x, create_graph=True)[0]
        with pytest.raises(mx.base.MXNetError, match="no second derivative"):
            dx.backward()


# Which gradients


def test_a_gradient_that_is_not_there_is_told():
    net = Net(lambda F, x, label: picked(square(x), tanh(label)))
    net.hybridize(**RECORDED)
    for i in range(4):
        x, label = nd.array([[1, 2], [3, 4]]), nd.array([0, 1])
        x.attach_grad()
        if i % 2:
            label.attach_grad()
        with autograd.record():
            y = net(x, label)
        if i % 2:
            with pytest.raises(mx.base.MXNetError, match="label asks for a gradient"):
                y.backward()
        else:
            y.backward()
            assert x.grad.asnumpy().tolist() == [[2, 0], [6, 0]]


def test_only_gradients_that_are_asked_for(monkeypatch):
    asked = []

    def counted(name, rule):
        def gradient(*values):
            asked.append(name)
            return rule(*values)

        return gradient

    for name, rule in [*dense.rules.items()]:
        monkeypatch.setitem(dense.rules, name, counted(name, rule))
    monkeypatch.delitem(vars(dense), "_adapter", raising=False)  # which has the rules themselves
    net, seen = mlp(), []
    net(nd.ones((4, 5)))
    for frozen in (False, True, False):
        net[0].weight.grad_req = "null" if frozen else "write"
        for _ in range(3):
            asked.clear()
            before = net[2].weight.grad().copy()
            step(net)
            assert (net[2].weight.grad() != before).sum().asscalar()
            # not of the input, nor of what is frozen; and by Python in two calls of a kind
            expected = [0, 0] if seen.count(frozen) > 1 else [2, 2 if frozen else 3]
            assert [asked.count("x"), asked.count("w")] == expected
            seen.append(frozen)


def test_of_one_output_by_another():
    def function(F, x, w):
        s = square(x)
        return [s, tanh(square(s)), square(w)]

    net = Net(function)
    for is_hybrid in (False, True):
        net.hybridize(is_hybrid)
        for _ in range(CALLS):
            x, w = nd.full((2,), 0.5), nd.ones((2,))
            x.attach_grad()
            w.attach_grad()
            with autograd.record():
                a, b, c = net(x, w)
            (found,) = autograd.grad(b, a, retain_graph=True)
            s = 0.25
            np.testing.assert_allclose(
                found.asnumpy(), (1 - np.tanh(s * s) ** 2) * 2 * s, rtol=1e-6
            )
            with pytest.raises(mx.base.MXNetError, match="do not depend on"):
                autograd.grad(c, a)
    net.hybridize(**RECORDED)
    for _ in range(2):
        with autograd.record():
            a, b, c = net(x, w)
        with pytest.raises(mx.base.MXNetError, match="do not depend on"):
            autograd.grad(b, a, retain_graph=True)
        autograd.backward([a, b, c])


def test_what_depends_on_no_variable_is_not_recorded():
    net = Net(lambda F, x, w: [square(x), square(w), picked(w, largest(x))])
    for is_hybrid in (False, True):
        net.hybridize(is_hybrid)
        for _ in range(CALLS):
            x, w = nd.full((2, 3), 3), nd.ones((2, 3))
            x.attach_grad()
            with autograd.record():
                a, b, c = net(x, w)
                dx = autograd.grad(a + b, x, create_graph=True)[0]
            dx.backward()
            assert x.grad[0, 0].asscalar() == 2
            for y in (b, c):
                with pytest.raises(mx.base.MXNetError, match="was not recorded"):
                    y.backward()


def test_gradients_are_added_up():
    net = mlp()
    net.collect_params().setattr("grad_req", "add")
    net(nd.ones((4, 5)))
    for _ in range(CALLS):
        net.collect_params().zero_grad()
        x = nd.random.uniform(shape=(4, 5))
        for times in (1, 2, 3):
            with autograd.record():
                y = net(x)
            y.backward()
            if times == 1:
                once = net[0].weight.grad().copy()
            np.testing.assert_allclose(
                net[0].weight.grad().asnumpy(), times * once.asnumpy(), rtol=1e-5
            )


def test_one_head_gradient_for_two_outputs():
    class Two(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return square(x), square(x + 1)

    net, x = Two(), nd.array([1.0, 2.0])
    net.hybridize(static_alloc=True, static_shape=True)
    x.attach_grad()
    same, other = nd.array([1.0, 1.0]), nd.array([10.0, 0.0])
    for heads in [(same, same)] * 3 + [(same, other)]:
        with autograd.record():
            y = net(x)
        autograd.backward(list(y), list(heads))
        expected = 2 * x * heads[0] + 2 * (x + 1) * heads[1]
        np.testing.assert_array_equal(x.grad.asnumpy(), expected.asnumpy())


def test_head_gradients_of_any_layout():
    heads = [lambda y: y, lambda y: y.T, lambda y: y.sum(), lambda y: y * 2, lambda y: y[1:]]
    net = Net(NETS["a chain"])
    x, found = nd.random.uniform(shape=(2, 3)), {False: [], True: []}
    x.attach_grad()
    for is_hybrid in (False, True):
        net.hybridize(is_hybrid, **RECORDED)
        for _ in range(CALLS):
            for head in heads:
                with autograd.record():
                    y = head(net(x, x))
                y.backward()
                found[is_hybrid].append(x.grad.asnumpy())
    np.testing.assert_array_equal(found[True], found[False])


def test_predicting_before_training():
    net = Net(NETS["two inputs"])
    net.hybridize(**RECORDED)
    x, w = nd.random.uniform(shape=(2, 3)), nd.random.uniform(shape=(2, 3))
    x.attach_grad()
    for _ in range(CALLS):
        assert not net(x, w)[0]._tensor.requires_grad
    with autograd.record(train_mode=False):
        y = net(x, w)[0]
    y.backward()
    assert x.grad.norm().asscalar() > 0


# What PyTorch's autograd looks after


def test_gradients_are_used_up():
    net = mlp()
    for _ in range(CALLS):
        with autograd.record():
            y = net(nd.ones((4, 5)))
        y.backward(retain_graph=True)
        y.backward()
        with pytest.raises(mx.base.MXNetError, match="used up"):
            y.backward()


def test_what_was_overwritten_is_told():
    net = mlp()
    for _ in range(CALLS):
        x = nd.ones((4, 5))
        with autograd.record():
            y = net(x)
        x[:] = 2
        with pytest.raises(mx.base.MXNetError, match="overwritten"):
            y.backward()


def test_memory_is_freed_after_backward():
    net = mlp()
    for _ in range(CALLS):
        x = nd.ones((4, 5))
        with autograd.record():
            y = net(x)
        kept = weakref.ref(x._tensor)
        del x
        assert kept() is not None
        y.backward()
        assert kept() is None and y.shape == (4, 3)


def test_memory_is_freed_without_a_backward():
    net = mlp()
    gc.collect()
    gc.disable()
    try:
        for _ in range(CALLS):
            x = nd.ones((4, 5))
            x.attach_grad()
            with autograd.record():
                y = net(x * 2)
            kept = weakref.ref(x._tensor)
            del x, y
            assert kept() is None
    finally:
        gc.enable()


@operator
class written:
    """Both ways write into what is a view of what they were given, for some layouts of that."""

    def forward(x):
        y = nd.reshape(x, (-1,))
        y[1:] = 1
        return nd.reshape(y, x.shape)

    def dx(dy):
        dx = nd.reshape(dy, (-1,))
        dx[1:] = 2
        return nd.reshape(dx, dy.shape)

    def shapes(x):
        return {"y": x}


def test_what_it_was_given_is_not_written():
    net = Net(lambda F, x: written(x))
    net.hybridize(**RECORDED)
    tensor = nd.zeros((3, 2))._tensor
    for layout in (tensor.t(), tensor.t(), tensor.t(), tensor.reshape(2, 3), tensor.reshape(2, 3)):
        x = nd.from_torch(layout)
        assert net(x).asnumpy().tolist() == [[0, 1, 1], [1, 1, 1]]
        assert not x.asnumpy().any()
    x.attach_grad()
    for turned in (True, True, True, False, False):
        with autograd.record():
            y = net(x).T if turned else net(x)
        top = nd.ones(y.shape)
        y.backward(top)
        assert x.grad.asnumpy().tolist() == [[1, 2, 2], [2, 2, 2]]
        assert (top == 1).asnumpy().all()


# Errors


def test_errors_are_those_of_the_operator():
    net = mlp()
    for _ in range(CALLS):
        step(net)
        with pytest.raises(mx.base.MXNetError) as caught:
            net(nd.ones((4, 7)))
        notes = "\n".join(getattr(caught.value, "__notes__", caught.value.args))
        assert f"in forward of operator {dense.name!r} ((4, 7) float32, (8, 5) float32" in notes
        assert notes.count("of the graph") == 1 and "in Custom '" in notes


def test_an_error_of_one_call_is_of_that_call_alone():
    @operator
    class limited:
        def forward(x):
            if x.shape[0] > 2:
                raise ValueError(f"{x.shape[0]} rows")
            return x + 1

        def dx(dy):
            if dy.shape[0] > 1:
                raise KeyError("dy")
            return dy + 0

        def shapes(x):
            return {"y": x}

    net = Net(lambda F, x: limited(limited(x)))
    net.hybridize(**RECORDED)
    for _ in range(CALLS):
        assert product_of(net, 1) == 3
        with pytest.raises(KeyError, match="dy"):
            product_of(net, 2)
        with pytest.raises(ValueError, match="3 rows"):
            product_of(net, 3)


def product_of(net, n):
    x = nd.ones((n,))
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward()
    return y[0].asscalar()


def test_not_finite_values_are_found(monkeypatch):
    from layers.mxnet._op import call

    @operator
    class inverse:
        def forward(x):
            return 1 / x

        def dx(dy, y):
            return -dy * y * y

        def shapes(x):
            return {"y": x}

    net = Net(lambda F, x: square(inverse(x)))
    net.hybridize(**RECORDED)
    monkeypatch.setattr(call, "CHECK_NAN", True)
    for _ in range(3):
        assert net(nd.ones((1,))).asscalar() == 1
        with pytest.raises(mx.base.MXNetError, match="inverse': output y is inf"):
            net(nd.zeros((1,)))


# Kinds of calls


def test_shapes_dtypes_and_contexts():
    net = Net(NETS["a chain"])
    net.hybridize(**RECORDED)
    for value in (0.1, 0.2, 0.3):
        for context in (mx.cpu(0), mx.cpu(1)):
            for dtype in ("float32", "float64", "float16"):
                for shape in ((2, 3), (3,), (0, 3)):
                    x = nd.full(shape, value, ctx=context, dtype=dtype)
                    y = net(x, x + 0)
                    assert (y.shape, y.dtype, y.context) == (shape, np.dtype(dtype), context)
                    expected = np.tanh(np.tanh(np.full(shape, value)) ** 2)
                    np.testing.assert_allclose(y.asnumpy(), expected, rtol=5e-3)


def test_what_is_noted_is_of_one_context():
    @operator
    class placed:
        def forward(x):
            return x * (x.context.device_id + 1)

        def dx(dy):
            return dy * (dy.context.device_id + 1)

        def shapes(x):
            return {"y": x}

    net = Net(lambda F, x: placed(x))
    net.hybridize(**RECORDED)
    for _ in range(CALLS):
        for number in (0, 1):
            x = nd.ones((2,), ctx=mx.cpu(number))
            x.attach_grad()
            with autograd.record():
                y = net(x)
            y.backward()
            assert y[0].asscalar() == x.grad[0].asscalar() == number + 1


def test_kinds_are_counted(monkeypatch, phases):
    from layers.mxnet._graph import recorded

    monkeypatch.setattr(recorded, "MOST_KINDS", 2)
    net = mlp()
    for n in (1, 1, 2, 2, 3, 3, 3):
        assert net(nd.ones((n, 5))).shape == (n, 3)
    phases.clear()
    net(nd.ones((1, 5)))
    net(nd.ones((2, 5)))
    assert not phases
    net(nd.ones((3, 5)))
    assert len(phases) == 5


def test_kinds_without_a_backward_are_counted_too():
    net = mlp()
    for n in range(1, 41):
        with autograd.record():
            net(nd.ones((n, 5)))
    [graph] = net._graphs.values()
    assert len(graph.run.runs) == 32


def test_threads():
    net, wrong = Net(NETS["two inputs"]), []
    net.hybridize(**RECORDED)
    start = threading.Barrier(8)

    def run(seed):
        start.wait()
        for i in range(20):
            shape = (i % 4 + 1, 3)
            x, w = (nd.array(np.random.RandomState(seed + k).rand(*shape)) for k in (0, 1))
            x.attach_grad()
            with autograd.record():
                y = net(x, w)[0]
            y.backward()
            s, t = x.asnumpy() ** 2, np.tanh(w.asnumpy())
            dx = 2 * x.asnumpy() * t
            if not np.allclose(y.asnumpy(), s * t) or not np.allclose(x.grad.asnumpy(), dx):
                wrong.append((seed, i))

    threads = [threading.Thread(target=run, args=[seed]) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_copy_notes_for_itself(phases):
    net = mlp()
    for _ in range(3):
        step(net)
    twin = copy.deepcopy(net)
    phases.clear()
    step(twin)
    assert len(phases) == 10
    x = nd.ones((4, 5))
    assert (twin(x) == net(x)).asnumpy().all()
    twin[0].weight.set_data(nd.zeros((8, 5)))
    assert (twin(x) != net(x)).asnumpy().any()


def test_a_symbol_block_with_chains_is_copied(tmp_path):
    net = mlp()
    step(net)
    files = net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(files[0], "data", files[1])
    block.hybridize(**RECORDED)
    x = nd.random.uniform(shape=(4, 5))
    for _ in range(3):
        assert (block(x) == net(x)).asnumpy().all()
    twin = copy.deepcopy(block)
    assert (twin(x) == net(x)).asnumpy().all()


def test_training_by_chains_is_training_operator_by_operator():
    weights = {}
    for is_hybrid in (False, True):
        mx.random.seed(1)
        net, loss = mlp(), SoftmaxLoss()
        net.hybridize(is_hybrid, **RECORDED)
        loss.hybridize(is_hybrid, **RECORDED)
        trainer = gluon.Trainer(net.collect_params(), "adam")
        for i in range(8):
            rng = np.random.RandomState(i)
            x, label = nd.array(rng.rand(4, 5)), nd.array(rng.randint(0, 3, 4))
            with autograd.record():
                y = loss(net(x), label)
            y.backward()
            trainer.step(4)
        weights[is_hybrid] = net[0].weight.data().asnumpy()
    np.testing.assert_array_equal(weights[True], weights[False])


PROGRAM = """
import sys
from layers import DenseBlock
from layers.engine import autograd, nd

net = DenseBlock(5, 3)
net.initialize()
net.hybridize(static_alloc=True, static_shape=True)
for _ in range(4):
    with autograd.record():
        y = net(nd.ones((2, 5)))
    y.backward()
print(*{"torch._dynamo", "sympy"} & {*sys.modules})
"""


def test_no_compiler_is_imported():
    """It would take as long as a hundred thousand calls."""
    found = forks.run(["-c", PROGRAM])
    assert (found.stdout.strip(), found.returncode) == ("", 0), found.stderr


WAYS_TO_WRITE = {
    "an element": lambda a, x: a.__setitem__(0, a[0] + 1),
    "in place": lambda a, x: a.__iadd__(1),
    "an array": lambda a, x: a.__setitem__(slice(None), a + x.mean()),
    "a number": lambda a, x: a.__setitem__(slice(None), 3),
    "a slice": lambda a, x: a[:1].__iadd__(x.mean()),
}


def operator_that_writes(write, name, first, second):
    """An operator that is not pure, but says so by nothing."""

    @operator(name=name)
    class writing:
        def forward(x):
            write(first, x)
            return x * first

        def dx(dy):
            write(second, dy)
            return dy * second

        def shapes(x):
            return {"y": x}

    return writing


@pytest.mark.parametrize("write", WAYS_TO_WRITE.values(), ids=WAYS_TO_WRITE)
@pytest.mark.parametrize("flags", [{}, RECORDED], ids=["plain", "recorded"])
def test_arrays_from_outside_are_written_once_in_each_call(write, flags):
    found = []
    for is_hybrid in (False, True):
        outer = [nd.zeros((1,)), nd.zeros((1,))]
        writing = operator_that_writes(write, f"recorded_writing_{is_hybrid}", *outer)
        net = gluon.nn.HybridLambda(lambda F, x, op=writing: op(x))
        net.hybridize(is_hybrid, **flags)
        values = []
        for i in range(CALLS):
            x = nd.ones((2,)) * (i + 1)
            x.attach_grad()
            with autograd.record():
                y = net(x)
            y.backward()
            values += [a.asnumpy().tolist() for a in (y, x.grad, *outer)]
        found.append(values)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "module, name", [("recorded", "_below_autograd"), ("graph_call", "keeps_graph")]
)
def test_without_what_pytorch_does_not_promise(monkeypatch, phases, module, name):
    torch = importlib.import_module("torch")
    without = {"_below_autograd": torch.no_grad, "keeps_graph": lambda: True}[name]
    monkeypatch.setattr(f"layers.mxnet._graph.{module}.{name}", without)
    net, function = Net(NETS["two inputs"]), NETS["two inputs"]
    net.hybridize(**RECORDED)
    for _ in range(CALLS):
        found = []
        arrays = [nd.random.uniform(shape=(2, 3)) for _ in range(2)]
        phases.clear()
        for run in (net, lambda x, w: function(nd, x, w)):
            for array in arrays:
                array.attach_grad()
            with autograd.record():
                y, z = run(*arrays)
            autograd.backward([y, z])
            found.append([a.asnumpy() for a in (y, z, *(a.grad for a in arrays))])
        np.testing.assert_allclose(*map(np.concatenate, found), rtol=1e-6)
    assert len(phases) == 6  # of the last call eagerly, and none recorded


def test_the_precision_of_products_is_a_part_of_a_kind(monkeypatch):
    torch, kinds = map(importlib.import_module, ("torch", "layers.mxnet._graph.kinds"))
    matmul, seen = torch.backends.mkldnn.matmul, []
    before = matmul.fp32_precision
    try:
        for matmul.fp32_precision in ("none", "bf16"):
            seen.append(kinds.process_modes("cpu"))
            with monkeypatch.context() as without:
                without.setattr(kinds, "_fp32_precision", kinds._public_precision)
                assert kinds.process_modes("cpu") == seen[-1]
    finally:
        matmul.fp32_precision = before
    assert seen[0] != seen[1]


@pytest.mark.parametrize("trained", [True, False])
def test_what_is_seen_while_a_call_is_recorded_is_let_go_at_once(monkeypatch, trained):
    from layers.mxnet._graph import recorded

    made, recorder = [], recorded.Recorder
    monkeypatch.setattr(
        recorded, "Recorder", lambda: (seen := recorder(), made.append(weakref.ref(seen)))[0]
    )
    net, x = mlp(), nd.ones((4, 5))
    gc.disable()
    try:
        step(net) if trained else net(x)
        assert [seen() for seen in made] == [None]
    finally:
        gc.enable()
