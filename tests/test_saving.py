"""The state of an optimizer as arrays: a training goes on as if it had not stopped."""

import numpy as np
import pytest

import layers
from layers.engine import autograd, gluon, mx, nd

X, Y = nd.array(np.arange(12).reshape(4, 3) / 9), nd.array([0, 1, 0, 1])
LOSS = gluon.loss.SoftmaxCrossEntropyLoss()
TWO = [mx.cpu(0), mx.cpu(1)]


def made(ctx, name, **settings):
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize(mx.init.Constant(0.1), ctx=ctx)
    return net, gluon.Trainer(net.collect_params(), name, {"learning_rate": 0.1} | settings)


def learn(net, trainer, ctx, steps):
    for _ in range(steps):
        with autograd.record():
            parts = zip(*(gluon.utils.split_and_load(each, ctx) for each in (X, Y)))
            losses = [LOSS(net(x), y) for x, y in parts]
        autograd.backward(losses)
        trainer.step(4)


def values(net):
    return [p.list_data()[0].asnumpy() for p in net.collect_params().values()]


@pytest.mark.parametrize("ctx", [TWO[:1], TWO], ids=len)
@pytest.mark.parametrize("name", ["adam", "nadam", "sgd"])
def test_a_trainer_goes_on(ctx, name):
    settings = {"momentum": 0.9} if name == "sgd" else {}
    net, trainer = made(ctx, name, **settings)
    learn(net, trainer, ctx, 3)
    state = layers.optimizer_state(trainer)
    assert all(isinstance(array, np.ndarray) for array in state.values())
    again, other = made(ctx, name, **settings)
    for p, value in zip(again.collect_params().values(), values(net)):
        p.set_data(nd.array(value))
    layers.restore_optimizer_state(other, state)
    learn(net, trainer, ctx, 2)
    learn(again, other, ctx, 2)
    for found, expected in zip(values(again), values(net)):
        np.testing.assert_array_equal(found, expected)


def test_a_module_goes_on():
    def module():
        x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        made = mx.mod.Module(mx.sym.SoftmaxOutput(x, name="softmax"))
        made.bind([("data", (4, 3))], [("softmax_label", (4,))])
        made.init_params(mx.init.Constant(0.1))
        made.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.1})
        return made

    def steps(subject, count):
        for _ in range(count):
            subject.forward_backward(mx.io.DataBatch([X], [Y]))
            subject.update()
        return {name: array.asnumpy() for name, array in subject.get_params()[0].items()}

    first, again = module(), module()
    again.set_params({n: nd.array(v) for n, v in steps(first, 3).items()}, {})
    layers.restore_optimizer_state(again, layers.optimizer_state(first))
    expected = steps(first, 2)
    for name, found in steps(again, 2).items():
        np.testing.assert_array_equal(found, expected[name])


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"0/state/9": np.ones(1, "f4")}, "it has a state of parameter 9, the net has none"),
        ({"0/state/0/0": np.ones(1, "f4")}, "the state of parameter 0 has the shapes"),
        ({"count/0/0": np.array(-1)}, "a number of updates is -1; expected a count"),
    ],
    ids=["a parameter", "a shape", "a count"],
)
def test_a_state_of_something_else(change, reason):
    net, trainer = made(TWO[:1], "adam")
    learn(net, trainer, TWO[:1], 1)
    state = layers.optimizer_state(trainer) | change
    with pytest.raises(ValueError, match=reason):
        layers.restore_optimizer_state(trainer, state)
