"""Weights of samples in `fit`, and what it says of other arrays beside x and y."""

import numpy as np
import pytest

from layers import SoftmaxLoss
from layers.engine import autograd, gluon, mx, nd
from train import Refused, callbacks, fit

RNG = np.random.default_rng(6)
Y = np.arange(60) % 3
X = (np.eye(3, 4)[Y] * 3 + RNG.normal(size=(60, 4))).astype("float32")
W = RNG.uniform(0, 2, 60)
ENTROPY = gluon.loss.SoftmaxCrossEntropyLoss()
TOLERANCE = {"float32": 1e-5}


def dense(ctx=None):
    net = gluon.nn.Dense(3, in_units=4)
    mx.random.seed(2)
    net.initialize(mx.init.Xavier(), ctx=ctx)
    return net


def loader(*arrays, size=60):
    return gluon.data.DataLoader(gluon.data.ArrayDataset(*arrays), size)


def after_one_step(weights, loss=ENTROPY):
    """The weights of a net after a step of gradient descent, and the mean loss before."""
    net = dense()
    with autograd.record():
        mean = (loss(net(nd.array(X)), nd.array(Y)) * nd.array(weights)).mean()
    mean.backward()
    return (net.weight.data() - 0.5 * net.weight.grad()).asnumpy(), mean.asscalar()


@pytest.mark.parametrize("metric", [None, "accuracy"])
@pytest.mark.parametrize(
    "data, how",
    [
        ((X, Y, W), {}),
        ((X, Y, W.astype("float32")), {"accumulate": 3, "batch_size": 20}),
        ((X, Y, W), {"hybridize": "recorded"}),
        ((nd.array(X), nd.array(Y), nd.array(W)), {"ctx": [mx.cpu(0), mx.cpu(1)]}),
        (loader(X, Y.astype("float32"), W), {}),
        ([(X, Y, W)], {"accumulate": 2}),
    ],
    ids=["arrays", "accumulated", "recorded", "two contexts", "DataLoader", "a list"],
)
@pytest.mark.parametrize("loss", [ENTROPY, SoftmaxLoss()], ids=["gluon", "layers"])
def test_losses_are_multiplied_by_the_weights(data, how, metric, loss):
    net = dense(how.get("ctx"))
    how = {"batch_size": 60, "optimizer": "sgd", "learning_rate": 0.5, "metric": metric} | how
    [epoch] = fit(net, data, loss, validation=(X, Y, W), **how)
    expected, mean = after_one_step(W, loss)
    found = net.weight.list_data()[0].asnumpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE["float32"])
    assert epoch.loss == pytest.approx(mean, rel=1e-5)
    outputs = net(nd.array(X))
    held_out = (loss(outputs, nd.array(Y)) * nd.array(W)).mean().asscalar()
    assert epoch.held_out_loss == pytest.approx(held_out, rel=1e-5)
    if metric:  # has no weights
        assert epoch.held_out_metric == pytest.approx((outputs.asnumpy().argmax(1) == Y).mean())


def test_a_sample_of_weight_0_is_not_learned():
    wrong = np.where(np.arange(60) < 20, (Y + 1) % 3, Y)
    kept = (np.arange(60) >= 20).astype("float32")
    nets = [dense() for _ in range(2)]
    how = {"optimizer": "sgd", "batch_size": 60, "epochs": 3}
    fit(nets[0], (X, wrong, 1.5 * kept), ENTROPY, learning_rate=0.5, **how)
    fit(nets[1], (X[20:], Y[20:]), ENTROPY, learning_rate=0.5, **how)  # 40 of 60
    first, second = (net.weight.data().asnumpy() for net in nets)
    np.testing.assert_allclose(first, second, rtol=0, atol=TOLERANCE["float32"])


def test_a_training_with_weights_resumes(tmp_path):
    def run(data, *more, **how):
        net = dense()
        history = fit(net, data, ENTROPY, batch_size=16, callbacks=more, **how)
        return str([epoch.loss for epoch in history]), net.weight.data().asnumpy()

    expected = run((X, Y, W), callbacks.Guard(), epochs=3)
    run((X, Y, W), callbacks.Guard(), callbacks.Checkpoint(tmp_path), epochs=2)
    found = run((X, Y, W), callbacks.Guard(), epochs=3, resume=tmp_path)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])
    for other in ((X, Y), (X, Y, W + 1)):
        with pytest.raises(Refused, match="its data is 60 samples"):
            run(other, callbacks.Guard(), epochs=3, resume=tmp_path)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("metric", [pytest.param(None, marks=pytest.mark.slow), "accuracy"])
def test_a_compiled_step_takes_weights(metric):
    """Also where only some batches have them."""
    expected, mean = after_one_step(W)
    net = dense()
    how = {"batch_size": 60, "optimizer": "sgd", "learning_rate": 0.5, "hybridize": "step"}
    how |= {"optimizer_params": {"momentum": 0}, "metric": metric}
    [epoch] = fit(net, (X, Y, W), ENTROPY, **how)
    np.testing.assert_allclose(net.weight.data().asnumpy(), expected, atol=TOLERANCE["float32"])
    assert epoch.loss == pytest.approx(mean, rel=1e-5)
    nets = [dense() for _ in range(2)]
    for each, weights in zip(nets, ([], [np.ones(60)])):
        fit(each, [(X, Y, W), (X, Y, *weights)], ENTROPY, **how)
    first, second = (each.weight.data().asnumpy() for each in nets)
    np.testing.assert_allclose(first, second, rtol=0, atol=TOLERANCE["float32"])


TAKES = "expected (x, y), (x, y, weights of samples), or batches of these, as of a DataLoader"
ALIKE = "expected as many, and some"
TARGETS = [X[:, :2], X[:, 2:], X]


@pytest.mark.parametrize(
    "data, reason",
    [
        ((X, Y, W[:-1]), "data: weights is (59,); expected (60,), a number for each sample"),
        ((X, Y, W[:, None]), "data: weights is (60, 1); expected (60,), a number for each sample"),
        ((X, Y, np.where(W > 1, np.nan, W)), "data: weights["),
        ((X, Y, W.astype(str)), "data: weights has values such as "),
        ([(X, Y, W[1:])], "data: batch 1, weights is (59,); expected (60,), a number for each"),
        ([(X, Y), (X, Y, W[1:])], "data: batch 2, weights is (59,); expected (60,), a number"),
        (X, f"data: ndarray; {TAKES}"),
        ([X], f"data: a batch is ndarray; {TAKES}"),
        ([(X, Y, W, W)], f"data: a batch is tuple of 4; {TAKES}"),
        (gluon.data.ArrayDataset(X, Y), f"data: ArrayDataset; {TAKES}"),
        (([X, X[:, :2]], Y), "data: x is a list of 2 arrays; expected a tuple, if it is several"),
        (((X, X[:9]), Y), f"data: x has 60 and 9 samples, y 60; {ALIKE}"),
        ((X, TARGETS), "data: y is a list of 3 arrays; expected a tuple, if it is several"),
        (((X, Y.astype(str)), Y), "data: x, 2 of 2, has values such as '0'; expected numbers"),
        ([((X, X), Y[1:])], f"data: batch 1, x has 60 and 60 samples, y 59; {ALIKE}"),
        (((X, X), Y), "net: of x (2, 4), (2, 4) of data: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_arrays(data, reason):
    with pytest.raises(Refused) as refused:
        fit(dense(), data, ENTROPY)
    assert str(refused.value).startswith(reason)


def test_a_list_of_samples_is_one_array():
    assert fit(dense(), ([*X], [*Y]), ENTROPY)[0].samples == 60
