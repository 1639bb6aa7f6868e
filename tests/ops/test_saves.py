"""What a forward saves for its own gradients: `saves`, which nobody else sees."""

import gc
import os
import sys
import weakref
from functools import partial

import forks
import numpy as np
import pytest
from ways import each

from layers import OperatorBlock, engine, operator
from layers.check import check_operator
from layers.engine import autograd, gluon, mx, nd


@operator
class standardize:
    """y = g (x - mean) rstd + b, over the last axis; the statistics are float32."""

    saves = ("mean", "rstd")

    def forward(x, g, b, *, eps: float = 1e-5):
        mean = nd.mean(x, axis=-1, keepdims=True)
        rstd = nd.rsqrt(nd.mean(nd.square(nd.broadcast_sub(x, mean)), axis=-1, keepdims=True) + eps)
        y = nd.broadcast_mul(nd.broadcast_sub(x, mean), rstd)
        return nd.broadcast_add(nd.broadcast_mul(y, g), b), mean, rstd

    def dx(dy, x, g, b, mean, rstd):
        normal = nd.broadcast_mul(nd.broadcast_sub(x, mean), rstd)
        dn = nd.broadcast_mul(dy, g)
        along = nd.mean(dn * normal, axis=-1, keepdims=True)
        flat = nd.mean(dn, axis=-1, keepdims=True)
        inner = nd.broadcast_sub(dn, flat) - nd.broadcast_mul(normal, along)
        return nd.broadcast_mul(inner, rstd)

    def dg(dy, x, g, b, mean, rstd):
        normal = nd.broadcast_mul(nd.broadcast_sub(x, mean), rstd)
        return nd.sum(dy * normal, axis=-1, exclude=True)

    def db(dy):
        return nd.sum(dy, axis=-1, exclude=True)

    def shapes(x):
        return {"g": x[-1:], "b": x[-1:], "y": x}


@operator
class lean_square:
    """y = x², which keeps 2x and not x: it has no second derivative."""

    saves = ("slope",)

    def forward(x):
        return x * x, 2 * x

    def dx(dy, slope):
        return dy * slope


@operator
class two_outputs:
    """Gradients together, an attribute, and a mask that is drawn."""

    outputs = ("y", "z")
    saves = ("mask",)

    def forward(x, *, rate: float = 0.5):
        mask = nd.random.uniform(shape=x.shape, ctx=x.context) > rate
        return x * mask, x * (1 - mask), mask

    def backward(dy, dz, x, mask):
        return {"x": dy * mask + dz * (1 - mask)}

    def shapes(x):
        return {"y": x, "z": x}


@operator
class half_statistics:
    """y = x - mean(x), whose mean is float32 whatever x is."""

    saves = ("mean", "count")

    def forward(x):
        mean = nd.mean(x.astype("float32"), axis=-1, keepdims=True)
        return nd.broadcast_sub(x, mean.astype(x.dtype)), mean, nd.array([3], dtype="int32")

    def dx(dy, x, mean, count):
        assert np.dtype(mean.dtype) == "float32" and np.dtype(count.dtype) == "int32"
        assert mean.shape == (2, 1) and count.asnumpy().tolist() == [3]
        return nd.broadcast_sub(dy, nd.mean(dy, axis=-1, keepdims=True))

    def shapes(x):
        return {"y": x}


def built_in(x, g, b):
    return nd.LayerNorm(x, g, b, eps=1e-5)


def arrays(n=4, seed=0):
    random = np.random.RandomState(seed)
    shapes = (n, 5), (5,), (5,)
    made = [nd.array(random.uniform(0.2, 1, s) * random.choice([-1, 1], s)) for s in shapes]
    for a in made:
        a.attach_grad()
    return made


def gradients(function, given, train_mode=True):
    with autograd.record(train_mode):
        y = function(*given)
        loss = (y * y * nd.arange(y.size).reshape(y.shape)).sum()
    loss.backward(train_mode=train_mode)
    return [y.asnumpy(), *(a.grad.asnumpy() for a in given)]


def agree(found, expected):
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def refusals(caplog):
    """What the engine says of graphs and operators that it does not record or compile."""
    named = [r for r in caplog.records if r.name.startswith("layers")]
    return [r.getMessage() for r in named if r.levelname == "WARNING"]


def by_name(x, g, b):
    return nd.Custom(x, g, b, op_type=standardize.name)


@pytest.mark.parametrize("function", [standardize, by_name], ids=["called", "by name"])
@pytest.mark.parametrize("train_mode", [True, False], ids=["training", "predicting"])
def test_the_gradients_take_what_forward_saved(function, train_mode, monkeypatch):
    calls, forward = [], standardize.forward

    def counted(*args, **attributes):
        calls.append(args)
        return forward(*args, **attributes)

    monkeypatch.setattr(standardize, "forward", counted)
    agree(gradients(function, arrays(), train_mode), gradients(built_in, arrays()))
    assert len(calls) == 1


def test_nobody_else_sees_it():
    x, g, b = arrays()
    assert isinstance(standardize(x, g, b), nd.NDArray)  # outside of record
    with autograd.record():
        assert isinstance(standardize(x, g, b), nd.NDArray)
    node = standardize(*(mx.sym.var(n) for n in "xgb"))
    assert len(node.list_outputs()) == 1 and standardize.outputs == ("y",)
    shapes, outputs, states = node.infer_shape(x=(4, 5))
    assert (shapes, outputs, states) == ([(4, 5), (5,), (5,)], [(4, 5)], [])
    assert len(two_outputs(x)) == 2
    assert len(two_outputs(mx.sym.var("x")).list_outputs()) == 2
    assert lean_square(mx.sym.var("x")).infer_shape(x=(2, 3))[1] == [(2, 3)]  # by a run on zeros


def test_calls_between_a_forward_and_its_backward():
    many = [arrays(seed=seed) for seed in range(3)]
    with autograd.record():
        heads = [(standardize(*given) ** 2).sum() for given in many]
    standardize(*arrays(6, seed=9)).wait_to_read()
    for order in (2, 0, 1):
        heads[order].backward()
    for given in many:
        again = [a.copy() for a in given]
        for a in again:
            a.attach_grad()
        with autograd.record():
            y = (built_in(*again) ** 2).sum()
        y.backward()
        agree([a.grad.asnumpy() for a in given], [a.grad.asnumpy() for a in again])


def test_several_outputs_with_a_mask_that_is_drawn():
    x = nd.ones((50,))
    x.attach_grad()
    with autograd.record():
        y, z = two_outputs(x, rate=0.4)
    autograd.backward([y, z], [2 * nd.ones((50,)), 3 * nd.ones((50,))])
    np.testing.assert_array_equal(x.grad.asnumpy(), 2 * y.asnumpy() + 3 * z.asnumpy())
    assert 0 < y.asnumpy().sum() < 50


def test_dtypes_and_shapes_are_free():
    x = nd.array(np.arange(6).reshape(2, 3), dtype="float16")
    x.attach_grad()
    with autograd.record():
        y = half_statistics(x)
    y.backward(nd.array([[1, 0, 0], [0, 0, 3]], dtype="float16"))
    expected = [[0.667, -0.333, -0.333], [-1, -1, 2]]
    np.testing.assert_allclose(x.grad.asnumpy(), expected, atol=1e-3)


PARAMS = {"g": {"init": "ones"}, "b": {"init": "zeros"}}
READER = """
import sys
import myops
from layers.engine import mx, nd, autograd
net = mx.gluon.SymbolBlock.imports(sys.argv[1] + "-symbol.json", ["data"])
x = nd.array([0.5, -1.0])
x.attach_grad()
with autograd.record():
    y = net(x)
y.backward()
print(*y.asnumpy(), *x.grad.asnumpy())
"""


@pytest.mark.slow_on("mxnet")
def test_exported_and_read_in_another_process(tmp_path, engine):
    from myops import saving

    net = gluon.nn.HybridLambda(lambda F, x: saving(x))
    net.hybridize()
    x = nd.array([0.5, -1.0])
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward()
    net.export(str(tmp_path / "net"))
    done = forks.run(
        ["-W", "ignore", "-c", READER, str(tmp_path / "net")],
        env={**os.environ, "LAYERS_ENGINE": engine, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    found = [float(word) for word in done.stdout.split()]
    np.testing.assert_allclose(found, [*y.asnumpy(), *x.grad.asnumpy()], rtol=1e-6)


@pytest.mark.parametrize("options", each("eager"))
def test_in_graphs(options, caplog):
    caplog.set_level("INFO", "layers")
    block = OperatorBlock(standardize, params=PARAMS)
    block.initialize()
    block.hybridize(**options)
    for n in (4, 4, 4, 2):  # the first call of a kind, later ones, and another kind
        x, g, b = arrays(n)
        block(x).wait_to_read()
        block.g.set_data(g)
        block.b.set_data(b)
        with autograd.record():
            y = block(x)
            loss = (y * y * nd.arange(y.size).reshape(y.shape)).sum()
        loss.backward()
        found = [y, x.grad, block.g.grad(), block.b.grad()]
        agree([a.asnumpy() for a in found], gradients(built_in, [x, g, b]))
    assert not (engine.compiles() and refusals(caplog))


def test_two_calls_of_a_static_graph_before_their_backwards():
    block = OperatorBlock(standardize, params=PARAMS)
    block.initialize()
    block.hybridize(static_alloc=True, static_shape=True)
    for _ in range(3):
        many = [arrays(seed=seed) for seed in range(3)]
        with autograd.record():
            heads = [(block(given[0]) ** 3).sum() for given in many]
        for order in (2, 0, 1):
            heads[order].backward()
        for x, *_ in many:
            found = x.grad.asnumpy()
            with autograd.record():
                y = (built_in(x, block.g.data(), block.b.data()) ** 3).sum()
            y.backward()
            agree([found], [x.grad.asnumpy()])


@operator
class aliases:
    """y = x², which saves the input itself and a view of it."""

    saves = ("same", "flat")

    def forward(x):
        return x * x, x, x.reshape((-1,))

    def dx(dy, same, flat):
        return dy * (same + flat.reshape(dy.shape))


def test_what_is_saved_may_be_the_memory_of_an_input():
    class Net(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.exp(F.relu(aliases(F.relu(F.sin(x)))) * 2)

    for options in ({}, {"static_alloc": True, "static_shape": True}):
        net = Net()
        net.hybridize(**options)
        many = [nd.array(np.linspace(0.1 * i, 3, 12).reshape(3, 4)) for i in range(1, 4)]
        for x in many:
            x.attach_grad()
        for _ in range(3):
            with autograd.record():
                heads = [net(x) for x in many]
            for order in (1, 2, 0):
                heads[order].backward()
            for x in many:
                v = x.asnumpy()
                expected = 4 * np.sin(v) * np.cos(v) * np.exp(2 * np.sin(v) ** 2)
                np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-4, atol=1e-5)


def test_two_contexts():
    many = []
    for i, context in enumerate((mx.cpu(0), mx.cpu(1))):
        given = [a.as_in_context(context) for a in arrays(seed=i)]
        for a in given:
            a.attach_grad()
        many.append(given)
    with autograd.record():
        heads = [(standardize(*given) ** 3).sum() for given in many]
    for head in heads:
        head.backward()
    for given in many:
        found = [a.grad.asnumpy() for a in given]
        with autograd.record():
            y = (built_in(*given) ** 3).sum()
        y.backward()
        agree(found, [a.grad.asnumpy() for a in given])


def test_a_step(caplog):
    from layers import compiled_step

    def trained(make):
        mx.random.seed(1)
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(5), OperatorBlock(standardize, params=PARAMS))
        net.initialize(mx.init.Uniform(0.5))
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
        step = make(net, loss, trainer)
        x, label = nd.array(np.eye(8, 6)), nd.array(np.arange(8) % 5)
        losses = [step(x, label).asnumpy() for _ in range(5)]
        return [*losses, *(p.data().asnumpy() for p in net.collect_params().values())]

    def by_hand(net, loss, trainer):
        def step(x, label):
            with autograd.record():
                y = loss(net(x), label)
            y.backward()
            trainer.step(x.shape[0])
            return y

        return step

    caplog.set_level("INFO", "layers")
    agree(trained(partial(compiled_step, backend="aot_eager")), trained(by_hand))
    assert not refusals(caplog)


@pytest.mark.slow
def test_the_checker_agrees():
    assert check_operator(standardize, (4, 3), (3,), (3,)).passed
    assert check_operator(lean_square, (4, 3), compiled=False).passed


def test_a_definition_that_cannot_be():
    def define(saves, **parts):
        forward = {"forward": lambda x: (x, x), "dx": lambda dy, m: dy * m}
        return operator(type("bad", (), forward | parts | {"saves": saves}))

    for name in ("x", "y", "dy"):
        with pytest.raises(TypeError, match=f"it saves '{name}', which is a name already"):
            define(("m", name))
    with pytest.raises(
        TypeError, match="it saves 'n', which no gradient takes\n.*expected n among"
    ):
        define(("m", "n"))
    with pytest.raises(TypeError, match="saves is 'm'"):
        define("m")


@pytest.mark.engine("torch")
def test_what_forward_returns_is_checked():
    def define(result):
        parts = {"forward": lambda x: result(x), "dx": lambda dy, m: dy * m, "saves": ("m",)}
        return operator(type("wrong", (), parts))

    with pytest.raises(ValueError, match="gave 1 output\n  expected 2: y, and what it saves: m"):
        define(lambda x: x)(nd.ones((2,)))
    with pytest.raises(TypeError, match=r"m, which it saves, is 2.0 \(float\)\n  expected an ND"):
        define(lambda x: (x * 1, 2.0))(nd.ones((2,)))


# Memory


@pytest.mark.engine("torch")
def test_only_what_a_gradient_that_is_asked_for_names_is_kept():
    import torch

    def bytes_kept(asked):
        given = arrays()
        for a, there in zip(given, asked):
            a.attach_grad("write" if there else "null")
        kept = []
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t)
        with hooks, autograd.record():
            y = standardize(*given)
        return sorted(tuple(t.shape) for t in kept), y

    assert bytes_kept((False, False, True))[0] == []
    assert bytes_kept((True, False, False))[0] == [(4, 1), (4, 1), (4, 5), (5,), (5,)]


@pytest.mark.engine("torch")
def test_it_is_freed_by_backward():
    import torch

    x = nd.ones((4,))
    x.attach_grad()
    kept = []

    def keep(tensor):
        kept.append(weakref.ref(tensor.untyped_storage()))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t), autograd.record():
        y = lean_square(x)
    gc.collect()
    assert len(kept) == 1
    y.backward()
    with pytest.raises(RuntimeError, match="used up"):
        y.backward()


# Second derivatives


def second(function, *values):
    given = [nd.array(v) for v in values]
    for a in given:
        a.attach_grad()
    with autograd.record():
        y = function(*given)
        (dx,) = autograd.grad((y * y * y).sum(), [given[0]], create_graph=True, retain_graph=True)
        total = (dx * dx).sum()
    total.backward()
    return [a.grad.asnumpy() for a in given]


@pytest.mark.engine("torch")
def test_a_second_derivative_computes_it_again():
    values = [a.asnumpy() for a in arrays()]
    agree(second(standardize, *values), second(built_in, *values))


@pytest.mark.engine("torch")
@pytest.mark.parametrize("hybridized", [False, True])
def test_a_second_derivative_without_the_inputs_is_an_error(hybridized):
    function = OperatorBlock(lean_square)
    if hybridized:
        function.hybridize()
    with pytest.raises(RuntimeError, match=r"no second derivative: the gradient of x takes slope"):
        second(function, [1.0, 2.0])


@pytest.mark.engine("torch")
def test_a_second_derivative_with_a_state_is_an_error():
    @operator
    class counts:
        states, saves = ("n",), ("m",)

        def forward(x, n):
            n[:] = n + 1
            return x * n, n + 0

        def dx(dy, x, n, m):
            return dy * m

    n = nd.zeros((1,))
    with pytest.raises(RuntimeError, match="forward has changed n since\n.*without states"):
        second(lambda x: counts(x, n), [1.0])


@pytest.mark.engine("torch")
def test_a_second_derivative_of_what_is_drawn_is_an_error():
    with pytest.raises(RuntimeError, match="forward draws random numbers, and mask"):
        second(lambda x: two_outputs(x)[0], [1.0, 2.0])
