"""Compiled functions are called without PyTorch's tracer, where that is right."""

import os
from importlib import import_module

import forks
import numpy as np
import pytest

pytestmark = pytest.mark.engine("torch")

if os.environ["LAYERS_ENGINE"] == "torch":
    torch = import_module("torch")
    mx = import_module("layers.mxnet")
    torch_compile = import_module("layers.mxnet._graph.torch_compile")
    direct = import_module("layers.mxnet._graph.direct")
    FACTOR = torch.full((2,), 3.0)


def made(function, backend="aot_eager", **options):
    return torch_compile.compile_function(function, backend, True, "cpu", **options)


def untraced(function):
    """The function; PyTorch's tracer may not be asked again."""

    def fail(*_, **__):
        raise AssertionError("traced again")

    function._traced = fail
    return function


def rand(*shape):
    return torch.rand(*shape, dtype=torch.float64)


# PyTorch warns of what inductor itself imports.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "backend", ["aot_eager", "eager", pytest.param("inductor", marks=pytest.mark.slow)]
)
def test_later_calls_are_direct(backend):
    def function(a, unused, b, *, factor):
        a.mul_(factor)
        return b + a, a * b, a * b + 1

    compiled = made(function, backend)
    for _ in range(3):
        given = rand(2), rand(3), rand(2)
        copies, before = [t.clone() for t in given], [t._version for t in given]
        found, expected = compiled(*given, factor=2), function(*copies, factor=2)
        for x, y in zip([*found, given[0]], [*expected, copies[0]]):
            torch.testing.assert_close(x, y)
        written = [t._version > v for t, v in zip(given, before)]
        assert written == [True, False, False]  # for autograd, which may need what it was
        untraced(compiled)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.slow
@pytest.mark.parametrize("code_alone", [True, False])
def test_inductors_code_is_called_alone(code_alone, monkeypatch):
    def function(a):
        a.add_(1)
        return [a * 2] if code_alone else [(a * 2).view(-1), a[:1]]  # a view is made outside of it

    compiled, graphs = made(function, "inductor"), []
    kind = import_module("torch._inductor.output_code").CompiledFxGraph
    call = kind.__call__
    for _ in range(3):
        a = rand(2)
        b = a.clone()
        with torch.enable_grad():
            found = compiled(a)
        for x, y in zip([*found, a], [*function(b), b]):
            torch.testing.assert_close(x, y)
        monkeypatch.setattr(kind, "__call__", lambda *args: graphs.append(args) or call(*args))
    assert bool(graphs) is not code_alone


def test_what_pytorch_does_not_count_is_not_called_alone():
    compiled = made(lambda a: [a.mul_(2) + 1, None], "eager")
    with torch.inference_mode():
        compiled(rand(2))
    a = rand(2)
    before = a._version
    compiled(a)
    assert a._version > before


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
@pytest.mark.parametrize("keeps", [True, False])  # something for backward
def test_gradients_come_without_the_tracer_too(backend, keeps):
    def function(a, b):
        return [(a * b).exp() if keeps else a + b]

    compiled = made(function, backend)
    for _ in range(3):
        a, b = rand(2).requires_grad_(), rand(2)
        (y,) = compiled(a, b)
        y.sum().backward()
        expected = b * (a.detach() * b).exp() if keeps else torch.ones_like(b)
        torch.testing.assert_close(a.grad, expected)
        untraced(compiled)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: [a * FACTOR],  # an array from outside
        lambda a: [a * FACTOR.shape[0]],  # whose shape alone is read
        lambda a: [a * 2, a],  # a result that no graph gives
    ],
)
def test_the_tracer_stays_where_its_code_does_more(function, monkeypatch):
    compiled, a = made(function), rand(2)
    for n in (2, 2, 1):
        monkeypatch.setitem(globals(), "FACTOR", torch.full((n,), float(n)))
        for x, y in zip(compiled(a), function(a)):
            torch.testing.assert_close(x, y)
    assert compiled.direct is None


def test_a_net_and_a_step_are_called_directly(monkeypatch):
    compiled = []

    class Watched(direct.Whole):
        def __init__(self, *args):
            super().__init__(*args)
            compiled.append(self)

    monkeypatch.setattr(torch_compile, "Whole", Watched)
    from layers import compiled_step

    net, x = mx.gluon.nn.Dense(3, in_units=4), mx.nd.ones((2, 4))
    net.initialize(mx.init.One())
    net.hybridize(backend="aot_eager")
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    step = compiled_step(net, mx.gluon.loss.L2Loss(), trainer, backend="aot_eager")
    for n in range(3):
        np.testing.assert_allclose(net(x).asnumpy(), 4 * 0.0**n)
        step(x, mx.nd.zeros((2, 3)))
        net.weight.set_data(mx.nd.zeros((3, 4)))
        net.bias.set_data(mx.nd.zeros((3,)))
        assert all(each.direct for each in compiled)
        for each in compiled:
            untraced(each)
    assert len(compiled) == 2


@pytest.mark.parametrize(
    "kernels, given, channels_last",
    [
        ([1], {}, True),
        ([3], {}, False),
        ([3, 1, 1, 1], {}, True),
        ([3], {"options": {"layout_optimization": True}}, True),
        ([1], {"options": {"layout-optimization": False}}, False),
    ],
)
def test_channels_are_last_where_that_pays(monkeypatch, kernels, given, channels_last):
    from torch._inductor import compile_fx

    seen = []

    def compile(graph, inputs, config_patches, decompositions):
        seen.append(config_patches["layout_optimization"])
        return graph

    monkeypatch.setattr(compile_fx, "compile_fx", compile)
    net = mx.gluon.nn.HybridSequential()
    net.add(*[mx.gluon.nn.Conv2D(8, n, padding=n // 2, in_channels=8) for n in kernels])
    net.initialize()
    x = mx.nd.random.uniform(shape=(1, 8, 4, 4))
    expected = net(x).asnumpy()
    net.hybridize(backend="inductor", **given)
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert seen == [channels_last]


FORKED = """
import os, threading
from layers.mxnet._graph import direct
from torch._inductor.output_code import CompiledFxGraph

original, inside, done = CompiledFxGraph.__call__, threading.Event(), threading.Event()


def watch():
    with direct.graphs_watched():
        inside.set()
        done.wait()


thread = threading.Thread(target=watch)
thread.start()
inside.wait()
with direct.graphs_watched(wait=False):
    assert CompiledFxGraph.__call__ is not original  # the other thread's
if (child := os.fork()) == 0:
    with direct.graphs_watched():
        pass
    os._exit(CompiledFxGraph.__call__ is not original)
status = os.waitpid(child, 0)[1]
done.set()
thread.join()
print(status, CompiledFxGraph.__call__ is original)
"""


@pytest.mark.skipif(not forks.CAN_FORK, reason="there is no fork")
def test_a_child_of_a_process_that_watches():
    found = forks.run(["-W", "ignore", "-c", FORKED])
    assert found.stdout.split() == ["0", "True"], found.stderr
