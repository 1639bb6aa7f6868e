"""Metrics of `fit`: which labels they count, over which axis, and where they are measured."""

import numpy as np
import pytest

from layers import SoftmaxLoss
from layers.engine import autograd, gluon, mx, nd
from train import Refused, callbacks, fit, saved
from train.metrics import WithMetric, ignored_label, values_of
from train.state import Callback

RNG = np.random.default_rng(3)
Y = np.arange(60) % 3
X = (np.eye(3, 4)[Y] * 3 + RNG.normal(size=(60, 4))).astype("float32")
STILL = {"optimizer": "sgd", "learning_rate": 1e-12}  # the net stays as it is
ENTROPY = gluon.loss.SoftmaxCrossEntropyLoss()


class MeanLoss(gluon.HybridBlock):
    """The mean over the labels of a sample."""

    def __init__(self, loss, **kwargs):
        super().__init__(**kwargs)
        self.loss = loss

    def hybrid_forward(self, F, scores, labels):
        return F.mean(F.reshape(self.loss(scores, labels), shape=(0, -1)), axis=1)


def dense(**options):
    net = gluon.nn.Dense(3, **options)
    net.initialize(mx.init.Xavier())
    return net


def share(net, x, y, axis=-1, ignored=None):
    """How many of the labels the net has right."""
    said = net(nd.array(x)).asnumpy().argmax(axis)
    return (said == y)[y != ignored].mean()


IGNORING = np.where(np.arange(60) % 4 < 2, 1, Y)  # class 1 is ignored; the net says it too


@pytest.mark.parametrize("hybridize", ["none", "recorded"])
@pytest.mark.parametrize("metric", ["accuracy", mx.metric.Accuracy()], ids=["accuracy", "mx"])
def test_labels_that_the_loss_ignores_are_not_counted(metric, hybridize):
    net, held_out = dense(), (X[:25], IGNORING[:25])
    how = {"validation": held_out, "batch_size": 7, "hybridize": hybridize, **STILL}
    [epoch] = fit(net, (X, IGNORING), SoftmaxLoss(ignore_label=1), metric=metric, **how)
    assert epoch.held_out_metric == pytest.approx(share(net, *held_out, ignored=1))
    if metric == "accuracy":
        assert epoch.metric == pytest.approx(share(net, X, IGNORING, ignored=1))


def test_metrics_after_the_first_do_not_count_ignored_labels():
    """F1 has no value of the label -1."""
    net, y = gluon.nn.Dense(2), np.where(Y == 2, -1, Y)
    how = {"validation": (X, y), "metric": ["accuracy", "f1", mx.metric.TopKAccuracy(2)], **STILL}
    [epoch] = fit(net, (X, y), SoftmaxLoss(ignore_label=-1), **how)
    said, right = net(nd.array(X[y >= 0])).asnumpy().argmax(1), y[y >= 0]
    f1 = 2 * (said & right).sum() / (said.sum() + right.sum())
    assert epoch.more == pytest.approx({"f1": f1, "top_k_accuracy_2": 1})


def test_without_a_label_that_counts_there_is_no_metric():
    y = np.full(60, -1)
    how = {"validation": (X, y), "metric": ["accuracy", "f1"], **STILL}
    [epoch] = fit(gluon.nn.Dense(2), (X, y), SoftmaxLoss(ignore_label=-1), **how)
    assert np.isnan([epoch.metric, epoch.held_out_metric, epoch.more["f1"]]).all()
    assert epoch.loss == 0


STEPS = np.repeat(Y[:, None], 5, axis=1)
SEQUENCES = (np.eye(3, 4)[STEPS] * 3 + RNG.normal(size=(60, 5, 4))).astype("float32")
SHORT = np.where(np.arange(5) < 1 + np.arange(60)[:, None] % 5, STEPS, -1)  # of several lengths
IMAGES = np.repeat(SEQUENCES[:, :, None], 2, axis=2)
PIXELS = np.repeat(STEPS[:, :, None], 2, axis=2)


@pytest.mark.parametrize(
    "x, y, loss, ignored",
    [
        (SEQUENCES, STEPS, ENTROPY, None),
        (SEQUENCES, STEPS[..., None], ENTROPY, None),
        (IMAGES, PIXELS, ENTROPY, None),
        (SEQUENCES, STEPS, MeanLoss(SoftmaxLoss()), None),
        (SEQUENCES, SHORT, MeanLoss(SoftmaxLoss(ignore_label=-1)), -1),
    ],
    ids=["steps", "a column of steps", "pixels", "mean", "mean without some"],
)
def test_accuracy_of_several_labels_of_a_sample(x, y, loss, ignored):
    net, held_out = dense(flatten=False), (x[:25], y[:25])
    how = {"validation": held_out, "metric": "accuracy", "batch_size": 7, **STILL}
    [epoch] = fit(net, (x, y), loss, **how)
    rows = y.reshape(x.shape[:-1])
    assert epoch.metric == pytest.approx(share(net, x, rows, ignored=ignored))
    expected = share(net, held_out[0], rows[:25], ignored=ignored)
    assert epoch.held_out_metric == pytest.approx(expected)


def test_accuracy_over_the_axis_of_the_loss():
    net, x = gluon.nn.Conv2D(3, 1), IMAGES.transpose(0, 3, 1, 2)
    loss = gluon.loss.SoftmaxCrossEntropyLoss(axis=1)
    [epoch] = fit(net, (x, PIXELS), loss, metric="accuracy", **STILL)
    assert epoch.metric == pytest.approx(share(net, x, PIXELS, axis=1))


def test_accuracy_of_labels_in_other_places():
    class Turned(gluon.HybridBlock):
        def hybrid_forward(self, F, scores, labels):
            return F.mean(F.abs(scores), axis=(1, 2)) + 0 * F.mean(labels, axis=1)

    reason = r"data: y is \(n, 4\), and accuracy takes class numbers \(n, 5\); "
    with pytest.raises(Refused, match=rf"^{reason}expected y \(n, 5\)$"):
        fit(dense(flatten=False), (SEQUENCES, STEPS[:, :4]), Turned(), metric="accuracy")


@pytest.mark.parametrize("metric", ["acc", "Accuracy", ["acc", "ce"]], ids=str)
def test_accuracy_by_its_other_names(metric):
    """It is measured in training, too."""
    [epoch] = fit(dense(), (X, Y), ENTROPY, metric=metric, validation=(X, Y), **STILL)
    assert 0 <= epoch.metric <= 1 and 0 <= epoch.held_out_metric <= 1
    with pytest.raises(Refused, match="metric: two are called 'accuracy'"):
        fit(dense(), (X, Y), ENTROPY, metric=["accuracy", "acc"], validation=(X, Y))


def test_a_metric_has_no_gradient():
    """Loss, right labels and counted ones of each sample."""
    scores, y = nd.array([[[1.0, 3.0], [5.0, 2.0]], [[0, 1], [0, 1]]]), nd.array([[1, -1], [0, 1]])
    loss = MeanLoss(SoftmaxLoss(ignore_label=-1))
    gradients = []
    for block in (loss, WithMetric(loss, "accuracy")):
        scores.attach_grad()
        with autograd.record():
            found = block(scores, y)
        found.backward()
        gradients.append(scores.grad.asnumpy())
    assert found.asnumpy()[:, 1:].tolist() == [[1, 1], [1, 2]]
    np.testing.assert_array_equal(*gradients)


def test_the_ignored_label_of_a_loss():
    assert ignored_label(SoftmaxLoss(ignore_label=0)) == 0
    assert ignored_label(MeanLoss(MeanLoss(SoftmaxLoss(ignore_label=-1)))) == -1
    for loss in (SoftmaxLoss(), ENTROPY, gluon.loss.L2Loss(), MeanLoss(ENTROPY)):
        assert ignored_label(loss) is None


def test_labels_that_are_ignored_in_other_places():
    pairs = [(nd.zeros((4, 2)), nd.zeros((4, 3, 2)))]
    with pytest.raises(Refused, match=r"^metric: y is \(4, 2\), .*; expected y \(4, 3\)$"):
        values_of([mx.metric.Accuracy()], pairs, -1)


class StopAt(Callback):
    def after_step(self, run):
        if run.step == 3:
            run.stop = "here"


@pytest.mark.parametrize(
    "ignored, is_counted", [(None, True), (None, False), (-1, True)], ids=["all", "older", "some"]
)
def test_a_resumed_epoch_counts_all_of_its_labels(tmp_path, monkeypatch, ignored, is_counted):
    """An older checkpoint does not say how many: all samples are counted."""

    def older(run, meter):
        content = describe(run, meter)
        del content["meter"]["counted"]
        return content

    def run(*more, **how):
        loss = SoftmaxLoss(ignore_label=ignored)
        y = Y if ignored is None else np.where(np.arange(60) % 4 < 2, -1, Y)
        mx.random.seed(1)
        return fit(dense(), (X, y), loss, metric="accuracy", batch_size=8, callbacks=more, **how)

    describe = saved.describe
    monkeypatch.setattr(saved, "describe", describe if is_counted else older)
    run(StopAt(), callbacks.Checkpoint(tmp_path))
    [expected], [found] = run(), run(resume=tmp_path)
    assert found.metric == pytest.approx(expected.metric) and found.samples == 60
