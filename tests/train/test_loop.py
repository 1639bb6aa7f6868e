"""Learning with Gluon: what it computes, that it repeats itself, on one context and several."""

import logging
import math

import numpy as np
import pytest

from layers import SoftmaxLoss, nets
from layers.engine import autograd, gluon, mx, nd
from train import Diverged, fit
from train.config import HYBRIDIZE
from train.data import ArrayBatches, Data, batches
from train.learner import Learner, loss_of
from train.loop import train
from train.metrics import ScaledSquare, WithMetric
from train.scaling import with_scaling
from train.state import Callback, Meter, Run
from train.task import Task

TOLERANCE = {"float32": 2e-5, "one value": 1e-4}


def points(n=90, classes=3):
    """Points around corners, one for each class."""
    rng = np.random.default_rng(5)
    y = np.arange(n) % classes
    x = (np.eye(classes, 4)[y] * 3 + rng.normal(size=(n, 4))).astype("float32")
    held_out = x[: n // 3], y[: n // 3].astype("float32")
    task = Task(tuple("abcdefgh"[:classes]))
    return Data(x, y.astype("float32"), *held_out, task, (4,), *unscaled())


def unscaled():
    """A mean of 0 and a deviation of 1, for all features."""
    return np.zeros((1, 1), "float32"), np.ones((1, 1), "float32")


def started(data, ctx, optimizer="sgd", lr=0.1, hidden=(8,), mode="none"):
    mx.random.seed(0)
    net = with_scaling(nets.mlp(data.features, list(hidden), data.task.outputs), data)
    net.initialize(ctx=ctx)
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": lr})
    return Learner(net, loss_of(data.task), trainer, ctx, mode, data.features)


def learn(ctx, optimizer="sgd", seed=0, lr=0.1, mode="none", **options):
    data = points()
    learner = started(data, ctx, optimizer, lr, mode=mode)
    return learner.net, train(running(learner, data, 16, seed=seed, **options))


def running(learner, data, size, **options):
    """A training of three epochs."""
    held_out = ArrayBatches(data.held_out_x, data.held_out_y, size)
    options = {"epochs": 3, "measure": data.task} | options
    return Run(learner, ArrayBatches(data.x, data.y, size), held_out, **options)


def numbers(epochs):
    return [list((vars(epoch) | {"seconds": 0, "more": 0}).values()) for epoch in epochs]


def weights(net, ctx=None):
    learned = [p for p in net.collect_params().values() if p.grad_req != "null"]
    return [p.data(ctx).asnumpy() for p in learned]


def test_the_network():
    net = nets.mlp(64, [32, 16], 10)
    net.initialize()
    shapes = [p.shape for p in net.collect_params().values()]
    assert shapes == [(32, 64), (32,), (16, 32), (16,), (10, 16), (10,)]
    assert net(nd.zeros((5, 64))).shape == (5, 10)
    first = net[0].weight.data().asnumpy()
    bound = np.sqrt(48 / ((64 + 32) / 2))
    assert bound / 2 < np.abs(first).max() <= bound


def test_one_step_is_gradient_descent():
    """w - lr · the gradient of the mean loss, found here by differences."""
    data = points(n=12)
    learner = started(data, [mx.cpu()], lr=0.5, hidden=())
    weight, bias = weights(learner.net)

    def mean_loss(w, b):
        scores = data.x.astype("float64") @ w.T + b
        logs = np.log(np.exp(scores).sum(1))
        return (logs - scores[np.arange(12), data.y.astype(int)]).mean()

    gradient, step = np.zeros_like(weight, "float64"), 1e-5
    for i in np.ndindex(*weight.shape):
        there, back = weight.astype("float64"), weight.astype("float64")
        there[i] += step
        back[i] -= step
        gradient[i] = (mean_loss(there, bias) - mean_loss(back, bias)) / (2 * step)
    meter = Meter("")
    learner.learn(data.x, data.y, meter)
    np.testing.assert_allclose(weights(learner.net)[0], weight - 0.5 * gradient, atol=1e-5)
    assert meter.read()[0] == pytest.approx(mean_loss(weight, bias), rel=1e-5)


def test_it_learns():
    _, epochs = learn([mx.cpu()], lr=1, epochs=8)
    assert [epoch.epoch for epoch in epochs] == list(range(1, 9))
    assert epochs[-1].loss < epochs[0].loss / 2
    assert epochs[-1].metric > 0.9 and epochs[-1].held_out_metric > 0.9
    assert all(epoch.seconds > 0 for epoch in epochs)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_same_seed_gives_the_same_numbers(optimizer):
    (net, epochs), (again, repeated) = (learn([mx.cpu()], optimizer) for _ in range(2))
    assert numbers(epochs) == numbers(repeated)
    for w, v in zip(weights(net), weights(again)):
        np.testing.assert_array_equal(w, v)
    assert numbers(learn([mx.cpu()], optimizer, seed=1)[1]) != numbers(epochs)


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_over_contexts_it_is_the_same(optimizer, count):
    ctx = [mx.cpu(i) for i in range(count)]
    one, epochs = learn([mx.cpu()], optimizer)
    several, shared = learn(ctx, optimizer)
    tolerance = TOLERANCE["float32"]
    np.testing.assert_allclose(numbers(shared), numbers(epochs), rtol=tolerance, atol=tolerance)
    for c in ctx:
        for w, v in zip(weights(one), weights(several, c)):
            np.testing.assert_allclose(v, w, rtol=tolerance, atol=tolerance)


def test_every_sample_once_in_an_epoch():
    data = points()
    learner = started(data, [mx.cpu(0), mx.cpu(1)])
    meter, seen = Meter(""), []
    for x, y in batches(data.x, data.y, 16, np.random.default_rng(0)):
        seen.append(x)
        learner.learn(x, y, meter)
        assert len(meter.pending) == len(seen)
    meter.read()
    assert meter.samples == len(data.x) and meter.steps == len(seen) == 6
    assert sorted(np.concatenate(seen).tolist()) == sorted(data.x.tolist())


def test_held_out_samples_teach_nothing():
    data = points()
    learner, meter = started(data, [mx.cpu()]), Meter("held out")
    net = learner.net
    before = weights(net)
    for x, y in batches(data.x, data.y, 7):
        learner.evaluate(x, y, meter)
    loss, accuracy = meter.read()
    scores = net(nd.array(data.x)).asnumpy().astype("float64")
    picked = scores[np.arange(len(scores)), data.y.astype(int)]
    assert loss == pytest.approx((np.log(np.exp(scores).sum(1)) - picked).mean(), rel=1e-5)
    assert accuracy == pytest.approx((scores.argmax(1) == data.y).mean())
    for w, v in zip(before, weights(net)):
        np.testing.assert_array_equal(w, v)
    assert not autograd.is_recording()


def test_fewer_held_out_samples_than_contexts():
    data = points()
    ctx = [mx.cpu(0), mx.cpu(1)]
    learner, meter = started(data, ctx), Meter("")
    learner.evaluate(data.x[:1], data.y[:1], meter)
    assert meter.read()[1] in (0, 1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_loss_that_is_not_finite(value):
    meter = Meter("epoch 4")
    for loss in (1.0, 2.0, value, 3.0):
        meter.add([nd.array([[loss, 1.0], [1.0, 0.0]])])
    assert not math.isfinite(meter.read()[0]) and meter.bad == 3
    run = Run(None, None, None, 1, None)
    with pytest.raises(Diverged, match=f"^epoch 4, step 3: the loss is {value}$"):
        run.total(meter)


def test_many_steps_are_read_while_they_are_added():
    """One sample, and one on each of two contexts; the sums do not depend on when they are read."""
    ctx, rng, meters = [mx.cpu(0), mx.cpu(1)], np.random.default_rng(0), [Meter(""), Meter("")]
    for step in range(1200):
        rows = rng.normal(size=(1 + step % 2, 2)).astype("float32")
        parts = [nd.array(row[None], ctx=c) for row, c in zip(rows, ctx)]
        for meter in meters:
            meter.add(parts)
        if step % 7 == 0:
            meters[1].read()
    assert len(meters[0].pending) == 200
    assert meters[0].read() == meters[1].read() and meters[0].samples == 1800


class Notes(Callback):
    """Notes what it was told, and stops after some steps."""

    def __init__(self, stop=None):
        self.told, self.steps, self.stop = [], 0, stop

    def begin(self, run):
        self.told.append("begin")

    def after_step(self, run):
        self.told.append((run.epoch, run.step))
        self.steps += 1
        if self.steps == self.stop:
            run.stop = "enough"

    def after_epoch(self, run, epoch):
        assert epoch is run.history[-1]
        self.told.append(f"after {epoch.epoch}")

    def end(self, run):
        self.told.append(f"end: {run.error}" if run.error else "end")


def test_callbacks_are_told():
    notes = Notes()
    learn([mx.cpu()], callbacks=[notes, Callback()], epochs=2)
    steps = range(1, 7)
    first, second = ([(epoch, step) for step in steps] for epoch in (1, 2))
    assert notes.told == ["begin", *first, "after 1", *second, "after 2", "end"]


def test_a_callback_may_end_it():
    notes = Notes(stop=8)
    _, epochs = learn([mx.cpu()], callbacks=[notes])
    assert notes.told[-4:] == [(2, 1), (2, 2), "after 2", "end"]
    assert [epoch.samples for epoch in epochs] == [90, 30]
    assert numbers(epochs)[0] == numbers(learn([mx.cpu()])[1])[0]


def test_the_end_is_told_of_errors():
    class Fails(Callback):
        def after_step(self, run):
            raise ValueError("no more")

    notes = Notes()
    with pytest.raises(ValueError, match="no more"):
        learn([mx.cpu()], callbacks=[notes, Fails()])
    assert notes.told == ["begin", (1, 1), "end: no more"]


def test_the_end_is_told_to_all():
    """Also where one fails at it: files are closed."""

    class Fails(Callback):
        def end(self, run):
            raise ValueError("not written")

    notes = Notes()
    with pytest.raises(ValueError, match="not written"):
        learn([mx.cpu()], callbacks=[Fails(), notes], epochs=1)
    assert notes.told[-1] == "end"


def test_every_draw_follows_from_epoch_and_step():
    """A custom operator, dropout and the data may draw: after a part of an epoch, all alike."""

    class Draws:
        ctx = [mx.cpu()]

        def evaluate(self, x, y, meter):
            meter.add([nd.ones((1, 2))])

        def learn(self, x, y, meter):
            drawn.append((x.sum(), nd.random.uniform(shape=(1,)).asscalar(), np.random.random()))
            meter.add([nd.ones((len(x), 2))])

    class Batches:
        def batches(self, rng=None):
            rng = rng or np.random.default_rng()
            return ((np.array([rng.random(), np.random.random()]), 0) for _ in range(5))

    drawn = []
    train(Run(Draws(), Batches(), None, 2, None))
    whole, drawn = drawn, []
    np.random.seed(1)
    assert len({*whole}) == 10
    first = train(Run(Draws(), Batches(), None, 1, None))
    drawn.clear()
    train(Run(Draws(), Batches(), None, 2, None, history=first, step=3))
    assert drawn == whole[8:]


def test_loss_and_hits():
    """What is measured beside the loss has no part in its gradient."""
    scores, label = nd.array([[1.0, 3.0], [5.0, 2.0]]), nd.array([1, 1])
    scores.attach_grad()
    with autograd.record():
        both = WithMetric(SoftmaxLoss(), "accuracy")(scores, label)
    both.backward()
    rtol = TOLERANCE["one value"]
    losses = np.log1p(np.exp([-2.0, 3.0]))
    np.testing.assert_allclose(both.asnumpy(), np.stack([losses, [1, 0]], 1), rtol)
    dx = 1 - np.exp(-losses)
    np.testing.assert_allclose(scores.grad.asnumpy(), np.stack([dx, -dx], 1), rtol)


def modes():
    on_torch = pytest.mark.engine("torch")
    marks = {"compiled": [on_torch, pytest.mark.slow], "step": [on_torch, pytest.mark.slow]}
    return [pytest.param(mode, marks=marks.get(mode, ())) for mode in HYBRIDIZE if mode != "none"]


@pytest.mark.parametrize("mode", modes())
def test_however_it_is_hybridized_it_is_the_same(mode):
    _, epochs = learn([mx.cpu()])
    _, others = learn([mx.cpu()], mode=mode)
    tolerance = TOLERANCE["float32"]
    np.testing.assert_allclose(numbers(others), numbers(epochs), rtol=tolerance, atol=tolerance)


def numbers_to_predict(n=80):
    """Targets far from 0 and features of different sizes, which nothing but scaling makes easy."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=(n, 3))
    y = (5000 + 300 * (z[:, 0] - 2 * z[:, 1])).astype("float32")
    x = (z * [1e-3, 1, 1e4] + [7, 0, -1e5]).astype("float32")
    task = Task((), float(y.mean()), float(y.std()))
    mean, std = x.mean(axis=0, keepdims=True), x.std(axis=0, keepdims=True)
    return Data(x[20:], y[20:], x[:20], y[:20], task, (3,), mean, std)


# MXNet's own process has crashed in long runs of recorded graphs with operators in Python.
RECORDED = pytest.param("recorded", marks=pytest.mark.engine("torch"))


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize("ctx", [[0], [0, 1]], ids=str)
@pytest.mark.parametrize("mode", ["none", RECORDED])
def test_it_learns_to_predict_a_number(ctx, mode):
    data = numbers_to_predict()
    learner = started(data, [mx.cpu(i) for i in ctx], "adam", 0.05, mode=mode)
    *_, last = train(running(learner, data, 20, epochs=40))
    assert last.held_out_loss < 0.15
    values = learner.net(nd.array(data.held_out_x, ctx=mx.cpu(0))).asnumpy()
    assert values.shape == (20, 1)
    error = values[:, 0].astype("float64") - data.held_out_y
    assert last.held_out_metric == pytest.approx(np.abs(error).mean(), rel=1e-3)
    expected = (error**2).mean() / data.task.std**2
    assert last.held_out_loss == pytest.approx(expected, rel=1e-3)


def test_error_and_its_gradient():
    """The absolute error beside the loss has no part in the gradient."""
    values, target = nd.array([[1.0], [5.0]]), nd.array([3.0, 4.0])
    values.attach_grad()
    with autograd.record():
        both = WithMetric(ScaledSquare(2.0), "mae")(values, target)
    both.backward()
    np.testing.assert_allclose(both.asnumpy(), [[1, 2], [0.25, 1]])
    np.testing.assert_allclose(values.grad.asnumpy(), [[-1], [0.5]])


def test_scaling_is_no_parameter_to_learn():
    data = numbers_to_predict()
    learner = started(data, [mx.cpu()], "adam", 0.05, hidden=(4,))
    learner.learn(data.x, data.y, Meter(""))
    assert learner.parameters == 3 * 4 + 4 + 4 + 1
    np.testing.assert_array_equal(learner.net[0].mean.data().asnumpy(), data.mean)
    np.testing.assert_array_equal(learner.net[0].std.data().asnumpy(), data.std)
    scaled = learner.net[0](nd.array(data.x)).asnumpy()
    np.testing.assert_allclose(scaled, (data.x - data.mean) / data.std, rtol=1e-5)
    back = learner.net[2](nd.array([[0.0], [1.0]])).asnumpy()[:, 0]
    np.testing.assert_allclose(back, [data.task.mean, data.task.mean + data.task.std], rtol=1e-6)


def test_the_logger_is_told_of_each_epoch(caplog, capsys):
    """Nothing is printed, and the root logger is left as it is."""
    data, loss = points(), gluon.loss.SoftmaxCrossEntropyLoss()
    handlers = [*logging.getLogger().handlers]
    with caplog.at_level(logging.INFO, logger="train"):
        (epoch,) = fit(gluon.nn.Dense(3), (data.x, data.y), loss, metric="accuracy")
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("train", "INFO")
    assert record.message.startswith(f"epoch 1, loss {epoch.loss:.6g}, accuracy ")
    assert "held_out" not in record.message and capsys.readouterr() == ("", "")
    assert logging.getLogger().handlers == handlers
