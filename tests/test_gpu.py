"""What is promised of a GPU: the same numbers as on the CPU.

Where there is none, another context of the CPU stands in for it, but for what needs CUDA.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest
from repeated import as_slow

from layers import DenseBlock, SigmoidBlock, SoftmaxLoss, compiled_step
from layers.engine import autograd, gluon, mx, nd
from layers.ops import Custom, customop

pytestmark = pytest.mark.engine("torch")
SOURCES = Path(__file__).parent / "ops" / "sources"
HOW = {
    "eager": {"active": False},
    "plain": {},
    "recorded": {"static_alloc": True, "static_shape": True},
    "compiled": {"backend": "inductor"},
}


def as_compiled(what):
    """Slow where there is no GPU: on CPUs other tests compile the same."""
    return what if mx.context.num_gpus() else as_slow(what)


@pytest.fixture
def there():
    return mx.gpu(0) if mx.context.num_gpus() else mx.cpu(1)


class DenseNumPy(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x, w, b = [a.asnumpy() for a in in_data]
        self.assign(out_data[0], req[0], nd.array(x @ w.T + b))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        x, w, _ = [a.asnumpy() for a in in_data]
        dy = out_grad[0].asnumpy()
        for i, value in enumerate((dy @ w, dy.T @ x, dy.sum(axis=0))):
            self.assign(in_grad[i], req[i], nd.array(value))


@mx.operator.register("tests_gpu_dense")
class DenseNumPyProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["x", "w", "b"]

    def infer_shape(self, in_shape):
        x, w, b = in_shape
        return [x, w, b], [(x[0], w[0])], []

    def create_operator(self, ctx, shapes, dtypes):
        return DenseNumPy()


@customop("numpy")
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


sigmoid.def_grad(lambda ans, x: lambda g: g * ans * (1 - ans))


class InNumPy(gluon.HybridBlock):
    """An MLP of operators in NumPy."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            for i, shape in enumerate([(8, 5), (3, 8)]):
                for name, size in ((f"w{i}", shape), (f"b{i}", shape[:1])):
                    setattr(
                        self, name, self.params.get(name, shape=size, init=mx.init.Uniform(0.5))
                    )

    def hybrid_forward(self, F, x, w0, b0, w1, b1):
        x = sigmoid(F.Custom(x, w0, b0, op_type="tests_gpu_dense"))
        return F.Custom(x, w1, b1, op_type="tests_gpu_dense")


def of_blocks():
    net = gluon.nn.HybridSequential()
    net.add(DenseBlock(5, 8), SigmoidBlock(), DenseBlock(8, 3))
    return net


def of_layers():
    nn = gluon.nn
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Dense(3)
    )
    return net


NETS = {
    "numpy": (InNumPy, (6, 5)),
    "blocks": (of_blocks, (6, 5)),
    "conv": (of_layers, (6, 2, 7, 7)),
}


def trained(make, shape, context, how, steps=4):
    """Losses, outputs and parameters after some steps."""
    drawn = np.random.RandomState(0)
    x = drawn.uniform(-1, 1, shape).astype("float32")
    label = drawn.randint(0, 3, shape[0])
    mx.random.seed(1)
    net, loss = make(), SoftmaxLoss()
    net.initialize(mx.init.Uniform(0.5), ctx=mx.cpu())  # the same numbers
    net(nd.array(x, ctx=mx.cpu()))
    net.collect_params().reset_ctx(context)
    net.hybridize(**how)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    x, label = nd.array(x, ctx=context), nd.array(label, ctx=context)
    losses = []
    for _ in range(steps):
        with autograd.record():
            value = loss(net(x), label)
        value.backward()
        trainer.step(len(x))
        losses.append(value)
    assert all(a.context == context for a in losses)
    outputs = [net(x) for _ in range(3)]
    if "static_shape" in how and context.device_type == "gpu" and make is not InNumPy:
        from layers.mxnet._graph.cuda_graph import Launched

        runs = [run for graph in net._graphs.values() for run in graph.run.runs.values()]
        launches = [run for run in runs if isinstance(run, Launched)]
        assert len(launches) == 2  # recorded and not
    gradients = [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]
    parameters = [p.data() for p in net.collect_params().values()]
    return [a.asnumpy() for a in (*losses, *outputs, *gradients, *parameters)]


@pytest.mark.parametrize("how", [as_compiled(how) if how == "compiled" else how for how in HOW])
@pytest.mark.parametrize("name", NETS)
def test_training(name, how, there):
    make, shape = NETS[name]
    found = trained(make, shape, there, HOW[how])
    for a, b in zip(found, trained(make, shape, mx.cpu(), HOW["eager"]), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("backend", [as_compiled("inductor")])
def test_a_whole_step(there, backend):
    drawn = np.random.RandomState(0)
    x = drawn.uniform(-1, 1, (6, 5)).astype("float32")
    label = drawn.randint(0, 3, 6)
    results = []
    for context in (mx.cpu(), there):
        mx.random.seed(1)
        net = of_blocks()
        net.initialize(mx.init.Uniform(0.5), ctx=mx.cpu())
        net.collect_params().reset_ctx(context)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
        step = compiled_step(net, SoftmaxLoss(), trainer, backend=backend)
        given = nd.array(x, ctx=context), nd.array(label, ctx=context)
        losses = [step(*given) for _ in range(4)]
        parameters = [p.data() for p in net.collect_params().values()]
        results.append([a.asnumpy() for a in (*losses, *parameters)])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


def test_data_on_several_contexts(there):
    net = of_blocks()
    net.initialize(ctx=[mx.cpu(), there])
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    parts = gluon.utils.split_and_load(np.ones((6, 5), "float32"), [mx.cpu(), there])
    with autograd.record():
        losses = [net(part).sum() for part in parts]
    autograd.backward(losses)
    trainer.step(6)
    for parameter in net.collect_params().values():
        here, other = parameter.list_data()
        np.testing.assert_allclose(here.asnumpy(), other.asnumpy(), rtol=1e-4, atol=1e-5)


def test_bfloat16(there):
    net = DenseBlock(64, 32, dtype="bfloat16")
    net.initialize(ctx=there)
    x = nd.random.uniform(-1, 1, (16, 64), ctx=there).astype("bfloat16")
    with autograd.record():
        y = net(x)
    y.backward()
    expected = nd.dot(x.astype("float32"), net.weight.data().astype("float32").T)
    np.testing.assert_allclose(
        y.astype("float32").asnumpy(), expected.asnumpy(), rtol=2e-2, atol=2e-2
    )


@pytest.mark.skipif(not shutil.which("nvcc"), reason="no compiler for CUDA (nvcc) on PATH")
def test_an_operator_in_cuda(there):
    if there.device_type != "gpu":
        pytest.skip("no GPU")
    negate = Custom(
        f"{SOURCES}/negate.cu:negate",
        lambda x: x,
        lambda x: x,
        func_type="aot",
        bprop=lambda x, y, dy: (negate(dy),),
    )
    x = nd.array([1.0, -2.0, 3.0], ctx=there)
    x.attach_grad()
    with autograd.record():
        y = negate(x)
    y.backward(nd.array([1.0, 2.0, 3.0], ctx=there))
    assert y.context == there
    assert y.asnumpy().tolist() == [-1, 2, -3]
    assert x.grad.asnumpy().tolist() == [-1, -2, -3]


def test_a_library_of_the_cpu(there):
    square = Custom(f"{SOURCES}/arithmetic.c:square", lambda x: x, lambda x: x, func_type="aot")
    x = nd.array([1.0, -2.0, 3.0], ctx=there)
    y = square(x)
    assert y.context == there and y.asnumpy().tolist() == [1, 4, 9]
