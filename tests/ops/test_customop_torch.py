"""`customop("torch")`: operators written in PyTorch."""

import logging
import os
import sys

import forks
import numpy as np
import pytest
from repeated import as_slow

from layers import OperatorBlock
from layers.check import check_operator
from layers.engine import autograd, gluon, mx, nd
from layers.ops import customop


@pytest.mark.engine("mxnet")
def test_mxnet_has_no_tensors():
    with pytest.raises(TypeError, match=r"cube'.* takes tensors of PyTorch.*\n.*'mxnet'\), or"):

        @customop("torch")
        def cube(x):
            return x**3


torch = pytest.importorskip("torch") if os.environ.get("LAYERS_ENGINE") == "torch" else None
on_torch = pytest.mark.engine("torch")


def made():
    """The operators; on MXNet there are none."""

    @customop("torch")
    def gate(x, w):
        """y = x w / (1 + e⁻ˣ), which broadcasts."""
        return torch.nn.functional.silu(x) * w

    def dx(ans, x, w):
        def grad(g):
            s = torch.sigmoid(x)
            return g * w * s * (1 + x * (1 - s))

        return grad

    gate.def_grad(dx)
    gate.def_grad(lambda ans, x, w: lambda g: (g * torch.nn.functional.silu(x)).sum(0), argnum=1)
    return gate


gate = made() if torch else None


def given():
    random = np.random.RandomState(0)
    return nd.array(random.uniform(-2, 2, (4, 3))), nd.array(random.uniform(-2, 2, (3,)))


def composed(x, w):
    return nd.broadcast_mul(x * nd.sigmoid(x), w)


def gradients(function, *arrays):
    for a in arrays:
        a.attach_grad()
    with autograd.record():
        y = function(*arrays)
        loss = (y * y * y).sum()
    loss.backward()
    return [y.asnumpy(), *(a.grad.asnumpy() for a in arrays)]


def agree(found, expected):
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5)


@on_torch
def test_values_and_gradients():
    agree(gradients(gate, *given()), gradients(composed, *given()))
    by_name = gradients(lambda x, w: nd.Custom(x, w, op_type=gate.name), *given())
    agree(by_name, gradients(composed, *given()))


@on_torch
@pytest.mark.slow
def test_the_checker_agrees():
    report = check_operator(gate, (4, 3), (3,))
    assert report.passed, report
    assert "not compiled" not in report["compiled = eager"].text


@on_torch
@pytest.mark.parametrize(
    "options",
    [{}, {"static_alloc": True, "static_shape": True}, as_slow({"backend": "inductor"})],
    ids=["plain", "recorded", "compiled"],
)
def test_in_graphs(options, caplog):
    caplog.set_level("INFO", "layers")
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3), OperatorBlock(gate, params={"w": {"shape": (3,), "init": "ones"}}))
    net.initialize(mx.init.Uniform(1))
    x, _ = given()
    eager = gradients(net, x)
    net.hybridize(**options)
    for _ in range(3):
        agree(gradients(net, x), eager)
    told = [r for r in caplog.records if r.name.startswith("layers")]
    assert not [r for r in told if r.levelno > logging.INFO]


@on_torch
def test_it_compiles_in_one_graph():
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    torch._dynamo.register_backend(backend, name="counted_for_customop")
    net = OperatorBlock(gate)
    net.hybridize(backend="counted_for_customop")
    agree(gradients(net, *given()), gradients(composed, *given()))
    (graph,) = graphs  # of all of the net
    assert any("silu" in str(part.code) for part in graph.modules())


@on_torch
def test_no_copies():
    seen = {}

    @customop("torch")
    def doubled(x):
        seen["x"] = x.data_ptr()
        y = x * 2
        seen["y"] = y.data_ptr()
        return y

    doubled.def_grad(lambda ans, x: lambda g: seen.update(ans=ans.data_ptr()) or 2 * g)
    x = nd.ones((4, 3))
    x.attach_grad()
    for _ in range(2):  # the first call shows what it writes into
        with autograd.record():
            y = doubled(x)
        y.backward()
    assert seen["x"] == x.to_torch().data_ptr()
    assert seen["y"] == y._tensor.data_ptr() == seen["ans"]


@on_torch
@pytest.mark.parametrize(
    "options",
    [
        None,
        {},
        {"static_alloc": True, "static_shape": True},
        {"backend": "aot_eager"},
        as_slow({"backend": "inductor"}),
    ],
    ids=["eager", "plain", "recorded", "aot_eager", "inductor"],
)
def test_what_it_writes_into_is_a_copy(options):
    @customop("torch")
    def doubled(x):
        return x.mul_(2)

    def dx(ans, x):
        def grad(g):
            ans.zero_()
            x.zero_()
            return g.mul_(2)

        return grad

    doubled.def_grad(dx)
    call = doubled
    if options is not None:
        call = gluon.nn.HybridLambda(lambda F, x: doubled(x))
        call.hybridize(**options)
    for _ in range(4):
        x, head = nd.array([1.0, 2.0]), nd.array([3.0, 4.0])
        x.attach_grad()
        with autograd.record():
            y = call(x)
        y.backward(head)
        assert x.asnumpy().tolist() == [1, 2] and y.asnumpy().tolist() == [2, 4]
        assert head.asnumpy().tolist() == [3, 4] and x.grad.asnumpy().tolist() == [6, 8]
        assert call(x).asnumpy().tolist() == [2, 4] and x.asnumpy().tolist() == [1, 2]


@on_torch
def test_a_write_that_comes_later_is_an_error():
    @customop("torch")
    def doubled(x):
        return x.mul_(2) if x[0] > 0 else x * 2

    doubled(nd.array([-1.0]))
    with pytest.raises(ValueError, match=r"doubled'.* wrote into .*\n  expected one that writes"):
        doubled(nd.array([1.0]))
    x = nd.array([1.0])
    assert doubled(x).asscalar() == 2 and x.asscalar() == 1


@on_torch
def test_what_is_the_memory_of_an_input_is_copied():
    @customop("torch")
    def same(x):
        return x.reshape(-1)

    @customop("torch")
    def rows(x):
        return x.expand(2, -1)

    x = nd.array([1.0, 2.0])
    y, z = same(x), rows(x)
    x[:] = 7
    assert y.asnumpy().tolist() == [1, 2] and z.asnumpy().tolist() == [[1, 2], [1, 2]]
    y[:] = 3
    assert x.asnumpy().tolist() == [7, 7]


@on_torch
def test_a_result_without_axes():
    @customop("torch")
    def total(x):
        return x.sum()

    def grad(ans, x):
        assert ans.ndim == 0

        def grad(g):
            assert g.ndim == 0
            return g.expand_as(x)

        return grad

    total.def_grad(grad)
    x = nd.array([[1.0, 2.0]])
    x.attach_grad()
    with autograd.record():
        y = total(x)
    assert y.shape == (1,) and y.asscalar() == 3
    y.backward()
    x.grad[:] = x.grad + 1  # it has memory of its own
    assert x.grad.asnumpy().tolist() == [[2, 2]]


@on_torch
def test_attributes_several_outputs_and_joint_gradients():
    @customop("torch", outputs=2)
    def parts(x, bound=1.0):
        return x.clamp(max=bound), (x - bound).clamp(min=0)

    def grads(ans, x, bound=1.0):
        return lambda g: [torch.where(x < bound, g[0], g[1])]

    parts.def_multiple_grad(grads, [0])
    x = nd.array([0.5, 3.0])
    x.attach_grad()
    with autograd.record():
        y, z = parts(x, bound=2.0)
    autograd.backward([y, z], [nd.array([10.0, 10.0]), nd.array([20.0, 20.0])])
    assert y.asnumpy().tolist() == [0.5, 2] and z.asnumpy().tolist() == [0, 1]
    assert x.grad.asnumpy().tolist() == [10, 20]


@on_torch
def test_it_can_be_differentiated_twice():
    def second(function):
        x, w = given()
        for a in (x, w):
            a.attach_grad()
        with autograd.record():
            y = (function(x, w) ** 2).sum()
            dx, dw = autograd.grad(y, [x, w], create_graph=True, retain_graph=True)
            total = (dx * dx).sum() + (dw * dw * dw).sum()
        total.backward()
        return x.grad.asnumpy(), w.grad.asnumpy()

    agree(second(gate), second(composed))


@on_torch
def test_float16_and_bfloat16():
    for dtype in ("float16", "bfloat16"):
        arrays = [a.astype(dtype) for a in given()]
        assert gate(*arrays).dtype is arrays[0].dtype


@on_torch
@pytest.mark.parametrize(
    "function, error, told",
    [
        (lambda x: 3.0, TypeError, r"result 0 is 3.0 \(float\)\n  expected a tensor of PyTorch"),
        (lambda x: nd.ones((2,)), TypeError, r"is NDArray \(2,\)\n.*or customop\('mxnet'\)"),
        (lambda x: x.numpy(), TypeError, r"is ndarray \(2,\)\n  expected a tensor"),
        (lambda x: x.double(), TypeError, "output output is .*float64.*\n.*expected float32"),
        (lambda x: x.to(torch.complex64), TypeError, "complex64"),
    ],
)
def test_what_is_no_result(function, error, told):
    @customop("torch")
    def wrong(x):
        return function(x)

    with pytest.raises(error, match=told):
        wrong(nd.ones((2,)))


@on_torch
def test_tensors_are_no_inputs():
    """The message has their shape, and not their elements."""

    @customop("torch")
    def doubled(x):
        return x * 2

    told = (
        r"x is Tensor \(4, 3\)\n  expected an NDArray \(nd.from_torch\(...\) makes one of a tensor"
    )
    with pytest.raises(TypeError, match=told):
        doubled(torch.ones(4, 3))
    with pytest.raises(TypeError, match=r"x is a list of Tensor \(4, 3\)\n  .*one by one"):
        doubled([torch.ones(4, 3)])


MODULE = """
import torch
from layers.ops import customop

@customop("torch")
def cube(x):
    return x ** 3

cube.def_grad(lambda ans, x: lambda g: 3 * g * x * x)
"""
WRITER = """
import sys
from mytorch import cube
from layers.engine import gluon, nd
net = gluon.nn.HybridLambda(lambda F, x: cube(x))
net.hybridize()
net(nd.array([1.0, 2.0]))
net.export(sys.argv[1])
"""
READER = """
import sys
import mytorch
from layers.engine import gluon, nd, autograd
net = gluon.SymbolBlock.imports(sys.argv[1] + "-symbol.json", ["data"])
x = nd.array([1.0, 2.0])
x.attach_grad()
with autograd.record():
    y = net(x)
y.backward()
print(y.asnumpy().tolist(), x.grad.asnumpy().tolist())
"""


@pytest.mark.slow
@on_torch
def test_exported_and_read_in_another_process(tmp_path):
    (tmp_path / "mytorch.py").write_text(MODULE)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    for code in (WRITER, READER):
        done = forks.run(
            ["-W", "ignore", "-c", code, str(tmp_path / "net")],
            env={**os.environ, "LAYERS_ENGINE": "torch", "PYTHONPATH": path},
        )
        assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[1.0, 8.0] [3.0, 12.0]"


@on_torch
def test_tensors_are_dense():
    """Also behind convolutions of a static graph, whose images have their channels last."""

    @customop("torch")
    def doubled(x):
        return x.view(x.shape[0], -1).mul(2).view(x.shape)

    doubled.def_grad(lambda ans, x: lambda g: g.view(g.shape[0], -1).mul(2).view(g.shape))
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(8, 3), gluon.nn.Conv2D(8, 3), OperatorBlock(doubled))
    net.add(gluon.nn.Conv2D(8, 3))
    net.initialize()
    x = nd.random.uniform(shape=(2, 3, 12, 12))
    expected = net(x).asnumpy()
    net.hybridize(static_alloc=True, static_shape=True)
    for _ in range(3):
        with autograd.record():
            y = net(x)
        y.backward()
        np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
