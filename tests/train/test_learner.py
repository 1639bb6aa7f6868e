"""A step of one's own, and how far it is from the program to the step."""

import traceback

import numpy as np
import pytest

from layers.engine import gluon, nd
from train import Refused, fit
from train.__main__ import main
from train.learner import Learner

RNG = np.random.default_rng(4)
Y = np.arange(60) % 3
X = (np.eye(3, 4)[Y] * 3 + RNG.normal(size=(60, 4))).astype("float32")
ENTROPY = gluon.loss.SoftmaxCrossEntropyLoss()
HOW = {"optimizer": "sgd", "learning_rate": 0.1, "optimizer_params": {"momentum": 0.0}}


class Zero(Learner):
    """Learns nothing from half of the features; held-out samples are measured with all."""

    def losses(self, x, y):
        return self.measure(self.forward(x * nd.array([1, 1, 0, 0], ctx=x.context)), y)


def dense():
    net = gluon.nn.Dense(3)
    net.initialize(force_reinit=True)
    net(nd.array(X))
    net.weight.set_data(nd.zeros((3, 4)))
    return net


def test_losses_of_its_own():
    net, plain = dense(), dense()
    [epoch] = fit(net, (X, Y), ENTROPY, validation=(X, Y), learner=Zero, **HOW)
    weight = net.weight.data().asnumpy()
    assert (weight[:, 2:] == 0).all() and (weight[:, :2] != 0).all()
    [other] = fit(plain, (X * [1, 1, 0, 0], Y), ENTROPY, validation=(X, Y), **HOW)
    np.testing.assert_array_equal(weight, plain.weight.data().asnumpy())
    assert epoch.held_out_loss == other.held_out_loss


def test_a_step_of_its_own():
    """It skips every second batch."""

    class Skipping(Learner):
        def learn(self, x, y, meter, weights=None):
            if meter.samples + 8 * len(meter.pending) in (8, 24, 40):
                self.evaluate(x, y, meter)
            else:
                super().learn(x, y, meter)

    net = dense()
    [epoch] = fit(net, (X, Y), ENTROPY, batch_size=10, learner=Skipping, **HOW)
    assert epoch.samples == 60 and net.weight.data().asnumpy().any()


@pytest.mark.engine("torch")
def test_a_compiled_step_has_no_place_for_other_losses():
    with pytest.raises(Refused, match="^learner: Zero has losses of its own, which hybridize='st"):
        fit(dense(), (X, Y), ENTROPY, hybridize="step", learner=Zero)


@pytest.mark.parametrize("learner", [3, dict, Zero])
def test_only_a_learner_is_one(learner):
    if learner is Zero:
        learner = Zero.__new__(Zero)
    with pytest.raises(Refused, match="^learner: expected Learner or a subclass of it, not "):
        fit(dense(), (X, Y), ENTROPY, learner=learner)


def test_a_reader_goes_through_five_functions_to_the_step(tmp_path, monkeypatch):
    names = []

    def learn(self, *arguments):
        names.extend(frame.name for frame in traceback.extract_stack())
        raise Refused("seen")

    monkeypatch.setattr(Learner, "learn", learn)
    assert main(["--epochs", "1", "--out", str(tmp_path / "out")]) == 2
    assert names[names.index("main") :] == ["main", "run", "train", "one_epoch", "learn"]
