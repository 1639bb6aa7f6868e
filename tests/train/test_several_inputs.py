"""Nets of several inputs and losses of several targets in `fit`."""

import numpy as np
import pytest

from layers.engine import autograd, gluon, mx, nd
from train import Diverged, Refused, callbacks, fit
from train.learner import Learner

RNG = np.random.default_rng(6)
N = 48
FIRST, SECOND = (RNG.normal(size=(N, k)).astype("float32") for k in (4, 3))
SUM = (FIRST.sum(1) - SECOND.sum(1)).astype("float32")
POSITIVE = (SUM > 0).astype("float32")
W = RNG.uniform(0, 2, N).astype("float32")
TOLERANCE = {"float32": 1e-5, "bfloat16": 3e-2}


class Two(gluon.HybridBlock):
    """A number and a score of two inputs."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.first = gluon.nn.Dense(2, in_units=4)
            self.second = gluon.nn.Dense(2, in_units=3)

    def hybrid_forward(self, F, x, z):
        return self.first(x) + self.second(z)


class Both(gluon.HybridBlock):
    """Half the squared error of the number, and the cross entropy of the score."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.number, self.score = gluon.loss.L2Loss(), gluon.loss.SigmoidBCELoss()

    def hybrid_forward(self, F, outputs, number, score):
        number_, score_ = (F.slice_axis(outputs, axis=1, begin=i, end=i + 1) for i in range(2))
        return self.number(number_, number) + self.score(score_, score)


def net(ctx=None):
    made = Two()
    mx.random.seed(3)
    made.initialize(mx.init.Xavier(), ctx=ctx)
    return made


def arrays(made):
    return [p.list_data()[0].asnumpy() for p in made.collect_params().values()]


def one_step(weights=None):
    """The parameters after a step of gradient descent, and the mean loss before."""
    made, weights = net(), np.ones(N) if weights is None else weights
    with autograd.record():
        losses = Both()(made(nd.array(FIRST), nd.array(SECOND)), nd.array(SUM), nd.array(POSITIVE))
        loss = (losses * nd.array(weights)).mean()
    loss.backward()
    parameters = made.collect_params().values()
    return [(p.data() - 0.3 * p.grad()).asnumpy() for p in parameters], loss.asscalar()


def loader(*more):
    pairs = [gluon.data.ArrayDataset(*each) for each in ((FIRST, SECOND), (SUM, POSITIVE))]
    return gluon.data.DataLoader(gluon.data.ArrayDataset(*pairs, *more), N)


MODES = [
    {},
    {"hybridize": "recorded"},
    {"accumulate": 3},
    {"ctx": [mx.cpu(0), mx.cpu(1)]},
    {"clip": 1e6},
    pytest.param({"hybridize": "compiled"}, marks=[pytest.mark.engine("torch"), pytest.mark.slow]),
    pytest.param({"hybridize": "step"}, marks=pytest.mark.engine("torch")),
    pytest.param({"precision": "bfloat16"}, marks=pytest.mark.engine("torch")),
]
X, Y = (FIRST, SECOND), (SUM, POSITIVE)
DATA = {
    "arrays": ((X, Y), None),
    "weights": ((X, Y, W), W),
    "DataLoader": (loader(), None),
    "DataLoader with weights": (loader(W), W),
    "list": ([(X, Y)], None),
}


@pytest.mark.parametrize("how", MODES, ids=str)
@pytest.mark.parametrize("data, weights", DATA.values(), ids=DATA)
def test_one_step(data, weights, how):
    made = net(how.get("ctx"))
    size = N // how.get("accumulate", 1) if isinstance(data, tuple) else N
    how = {"optimizer": "sgd", "optimizer_params": {"momentum": 0}, "batch_size": size} | how
    [epoch] = fit(made, data, Both(), validation=(X, Y), learning_rate=0.3, **how)
    expected, loss = one_step(weights)
    tolerance = TOLERANCE[how.get("precision", "float32")]
    for array, other in zip(arrays(made), expected):
        np.testing.assert_allclose(array, other, rtol=0, atol=tolerance)
    assert epoch.loss == pytest.approx(loss, rel=tolerance)
    outputs = made(nd.array(FIRST), nd.array(SECOND))
    held_out = Both()(outputs, nd.array(SUM), nd.array(POSITIVE)).mean().asscalar()
    assert epoch.held_out_loss == pytest.approx(held_out, rel=tolerance)


def test_several_inputs_and_one_target_have_metrics():
    history = fit(
        net(), (X, POSITIVE), gluon.loss.SoftmaxCrossEntropyLoss(), validation=(X, POSITIVE),
        metric=["accuracy", "f1"], epochs=30, learning_rate=0.05, batch_size=8,
    )  # fmt: skip
    assert history[-1].held_out_metric > 0.9 and history[-1].more["f1"] > 0.9


def test_batches_in_the_same_order():
    """Inputs and targets of a sample stay together."""
    seen = []

    class Looking(Learner):
        def losses(self, x, y):
            seen.append([each.asnumpy() for each in (*x, *y)])
            return super().losses(x, y)

    fit(net(), (X, Y), Both(), batch_size=10, learner=Looking)
    first, second, total, positive = (np.concatenate(parts) for parts in zip(*seen))
    assert len(first) == N and (first != FIRST).any()
    np.testing.assert_allclose(total, first.sum(1) - second.sum(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(positive, total > 0)


def test_it_is_resumed(tmp_path):
    def run(epochs, *more, data=(X, Y), **how):
        made = net()
        fit(made, data, Both(), epochs=epochs, batch_size=10, callbacks=[*more], **how)
        return arrays(made)

    expected = run(3)
    run(2, callbacks.Guard(), callbacks.Checkpoint(tmp_path))
    for array, other in zip(run(3, callbacks.Guard(), resume=tmp_path), expected):
        np.testing.assert_array_equal(array, other)
    with pytest.raises(Refused, match="its data is 48 samples"):
        run(3, data=((FIRST, SECOND + 1), Y), resume=tmp_path)


def test_a_loss_that_is_not_finite_is_looked_for():
    huge = np.where(np.arange(N)[:, None] == 3, np.float32(3e38), FIRST)
    how = {"epochs": 2, "learning_rate": 10.0, "optimizer": "sgd"}
    with pytest.raises(Diverged, match="the output of layer first .* is the first that is"):
        fit(net(), ((huge, SECOND), Y), Both(), callbacks=[callbacks.Guard()], **how)


@pytest.mark.parametrize("metric", ["accuracy", "mae", ["mae", "f1"], "mse"])
def test_several_targets_have_no_metric(metric):
    with pytest.raises(Refused, match="metric: y is 2 arrays; expected None, which is the loss"):
        fit(net(), (X, Y), Both(), validation=(X, Y), metric=metric)


def test_a_loss_of_gluon_with_weights_as_a_target():
    """They are the loss's own, which may be of another shape than (n,)."""
    made, x = gluon.nn.Dense(1, in_units=4), (FIRST,)
    [epoch] = fit(made, (x, (SUM, W[:, None])), gluon.loss.L2Loss(), batch_size=N)
    assert np.isfinite(epoch.loss)


def test_a_list_is_batches_and_a_tuple_is_several():
    assert fit(net(), [(X, Y), (X, Y)], Both())[0].samples == 2 * N
    assert fit(net(), (X, Y), Both())[0].samples == N
    one = gluon.nn.Dense(1, in_units=4)
    assert fit(one, [(FIRST, SUM), (FIRST, SUM)], gluon.loss.L2Loss())[0].samples == 2 * N
    assert fit(one, ([*FIRST], [*SUM]), gluon.loss.L2Loss())[0].samples == N
