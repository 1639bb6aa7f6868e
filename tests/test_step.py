"""`compiled_step`: a whole training step in one call."""

import numpy as np
import pytest

from layers import DenseBlock, SoftmaxLoss, compiled_step


@pytest.fixture
def data(mx):
    x = np.random.RandomState(0).uniform(-1, 1, (12, 5))
    return mx.nd.array(x), mx.nd.array(np.arange(12) % 3)


def made(mx, optimizer="sgd", **settings):
    """A net, its loss and its trainer, the same ones at every call."""
    mx.random.seed(3)
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(DenseBlock(5, 7, activation="sigmoid"), mx.gluon.nn.Dense(3, in_units=7))
    net.initialize(mx.init.Uniform(0.5))
    loss = SoftmaxLoss()
    return net, loss, mx.gluon.Trainer(net.collect_params(), optimizer, settings)


def stepped(mx, net, loss, trainer):
    """What `compiled_step` stands for."""

    def step(x, label, batch_size=None):
        with mx.autograd.record():
            losses = loss(net(x), label)
        losses.backward()
        trainer.step(batch_size or x.shape[0])
        return losses

    return step


OPTIMIZERS = {
    "sgd": {"learning_rate": 0.5, "momentum": 0.9, "wd": 0.01},
    "adam": {"learning_rate": 0.05},
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_it_trains_as_the_single_calls_do(mx, data, optimizer):
    found = []
    for make in (stepped, lambda mx, *parts: compiled_step(*parts)):
        parts = made(mx, optimizer, **OPTIMIZERS[optimizer])
        net, _, trainer = parts
        step = make(mx, *parts)
        losses = [step(*data).asnumpy() for _ in range(3)]
        trainer.set_learning_rate(0.01)
        losses += [step(*data).asnumpy(), step(*data, batch_size=100).asnumpy()]
        found.append([*losses, *[p.data().asnumpy() for p in net.collect_params().values()]])
        assert not np.allclose(losses[0], losses[-1])
    for plain, whole in zip(*found):
        np.testing.assert_allclose(whole, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.engine("torch")
def test_it_is_one_graph(mx, data):
    import torch

    torch._dynamo.utils.counters.clear()
    step = compiled_step(*made(mx), backend="aot_eager")
    for _ in range(2):  # the operators are tried in the first, the second is compiled
        step(*data)
    counters = torch._dynamo.utils.counters
    assert not counters["graph_break"]
    before = counters["stats"]["unique_graphs"]
    step(*data)
    assert counters["stats"]["unique_graphs"] == before


@pytest.mark.engine("torch")
def test_frozen_parameters_and_gradients_that_are_added(mx, data):
    found = []
    for make in (stepped, lambda mx, *parts: compiled_step(*parts, backend="aot_eager")):
        net, loss, trainer = made(mx)
        net[0].weight.grad_req = "null"
        net[1].weight.grad_req = "add"
        step = make(mx, net, loss, trainer)
        for _ in range(2):
            step(*data)
        net[1].bias.grad_req = "null"
        net[0].weight.grad_req = "write"
        step(*data)
        found.append([p.data().asnumpy() for p in net.collect_params().values()])
        found[-1].append(net[1].weight.grad().asnumpy())
    for plain, whole in zip(*found):
        np.testing.assert_allclose(whole, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.engine("torch")
def test_operators_that_run_as_they_are(mx, data):
    class Noise(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            noise = mx.nd.array(np.random.uniform(size=in_data[0].shape))
            self.assign(out_data[0], req[0], in_data[0] + noise)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0])

    @mx.operator.register("test_step_noise")
    class NoiseProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Noise()

    found = []
    for make in (stepped, lambda mx, *parts: compiled_step(*parts, backend="aot_eager")):
        net, loss, trainer = made(mx, learning_rate=0.5)
        net.add(mx.gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type="test_step_noise")))
        step = make(mx, net, loss, trainer)
        np.random.seed(5)
        found.append([step(*data).asnumpy() for _ in range(3)])
    for plain, whole in zip(*found):
        np.testing.assert_allclose(whole, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.engine("torch")
def test_a_layer_that_is_added_later(mx, data):
    found = []
    for make in (stepped, lambda mx, *parts: compiled_step(*parts, backend="aot_eager")):
        parts = made(mx, learning_rate=0.5)
        step = make(mx, *parts)
        step(*data)
        parts[0].add(mx.gluon.nn.Activation("tanh"))
        found.append([step(*data).asnumpy() for _ in range(2)])
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)


@pytest.mark.engine("torch")
def test_an_attribute_that_changes_is_compiled_again(mx, data):
    import torch

    class Scale(mx.operator.CustomOp):
        factor = 1.0

        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], self.factor * in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], self.factor * out_grad[0])

    @mx.operator.register("test_step_scale")
    class ScaleProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Scale()

    found = []
    torch._dynamo.utils.counters.clear()
    for make in (stepped, lambda mx, *parts: compiled_step(*parts, backend="aot_eager")):
        net, loss, trainer = made(mx, learning_rate=0.5)
        net.add(mx.gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type="test_step_scale")))
        step = make(mx, net, loss, trainer)
        Scale.factor = 1.0
        before = [step(*data).asnumpy() for _ in range(2)]
        Scale.factor = 2.0
        found.append([*before, *[step(*data).asnumpy() for _ in range(2)]])
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)
    # dense, sigmoid, scale and the loss are tried alone; then the step, and the step again
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 6


@pytest.mark.engine("torch")
def test_what_cannot_be_stepped_is_refused(mx):
    net, loss, trainer = made(mx)
    with pytest.raises(mx.base.MXNetError, match="expected a HybridBlock"):
        compiled_step(lambda x: x, loss, None)
    with pytest.raises(mx.base.MXNetError, match="expected a Trainer"):
        compiled_step(net, loss, None)
    with pytest.raises(mx.base.MXNetError, match="has no unknown"):
        compiled_step(net, loss, trainer, unknown=1)
    with pytest.warns(UserWarning, match="compiled_step: there is no backend 'TensorRT'"):
        step = compiled_step(net, loss, trainer, backend="TensorRT")
    with pytest.raises(mx.base.MXNetError, match="expected NDArrays"):
        step(np.ones((2, 5)), mx.nd.zeros(2))
    assert step(mx.nd.ones((2, 5)), mx.nd.zeros(2)).shape == (2,)
    with mx.autograd.record(), pytest.raises(mx.MXNetError, match=r"inside autograd\.record\(\)"):
        step(mx.nd.ones((2, 5)), mx.nd.zeros(2))
    with pytest.raises(ValueError, match="the Trainer has 'net_.*, and no parameter of other"):
        compiled_step(mx.gluon.nn.Dense(2, prefix="other_"), loss, trainer)
    net.collect_params().reset_ctx([mx.cpu(0), mx.cpu(1)])
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    with pytest.raises(mx.base.MXNetError, match="expected one context"):
        compiled_step(net, loss, trainer)


@pytest.mark.engine("torch")
def test_a_batch_of_nothing_is_told(mx, data):
    step = compiled_step(*made(mx))
    with pytest.raises(ValueError, match="batch_size is 0\n  expected 1 or more"):
        step(*[array[:0] for array in data])
