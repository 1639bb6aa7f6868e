"""A loss that is not finite or explodes: where it began, and what is left."""

import json
import math

import numpy as np
import pytest

from layers.engine import gluon, nd
from train import Diverged, callbacks, fit
from train.__main__ import main
from train.saved import checkpoints
from train.trouble import updated

Y = np.arange(64) % 3
X = (np.eye(3, 4)[Y] * 3 + np.random.default_rng(4).normal(size=(64, 4))).astype("float32")
SOFTMAX = gluon.loss.SoftmaxCrossEntropyLoss()


class Bad(gluon.HybridBlock):
    """x, and its logarithm of 0 or an infinite gradient for a sample above a bound."""

    def __init__(self, bound, backward):
        super().__init__()
        self.bound, self.backward = bound, backward

    def hybrid_forward(self, F, x):
        big = F.max(x, axis=1, keepdims=True) > self.bound
        if self.backward:  # the gradient of a square root at 0
            return x + F.broadcast_mul(F.sqrt(x * 0), big)
        return F.broadcast_add(x, F.log(1 - big))


def net(bound, backward=False):
    block = gluon.nn.HybridSequential()
    block.add(Bad(bound, backward), gluon.nn.Dense(8, activation="tanh"), gluon.nn.Dense(3))
    inner = gluon.nn.HybridSequential()
    inner.add(gluon.nn.Dense(4), block)
    return inner


def failure(block, before=(), after=(), x=X, **how):
    how = {"epochs": 3, "batch_size": 8, "learning_rate": 0.001, "optimizer": "sgd"} | how
    how["optimizer_params"] = {"momentum": 0.0}
    with pytest.raises(Diverged) as diverged:
        fit(block, (x, Y), SOFTMAX, callbacks=[*before, callbacks.Guard(), *after], **how)
    return str(diverged.value)


@pytest.mark.parametrize("hybridize", ["none", "recorded"])
def test_the_first_layer_whose_output_goes_bad(hybridize):
    block = net(3)
    block.initialize()
    bound = float(np.sort(block[0](nd.array(X)).asnumpy().max(axis=1))[-2])
    block[1][0].bound = bound
    line = failure(block, hybridize=hybridize)
    assert line.startswith("epoch 1, step ") and ": the loss is " in line
    step = line.split(",")[1].split(":")[0]
    assert line.endswith(f"; in{step} the output of layer 1.0 (Bad) is the first that is inf")


def test_the_first_gradient_that_goes_bad():
    line = failure(net(-1e9, backward=True))
    assert line.endswith("; in step 1 the gradient of 0.bias is the first that is not finite")


def test_an_update_that_goes_bad():
    line = failure(net(1e9), x=1000 * X, learning_rate=3e38)
    assert "in step 1 the update makes 0.weight infinite or NaN; outputs and gradients are" in line


def test_the_loss_itself():
    class Loss(gluon.HybridBlock):
        def hybrid_forward(self, F, outputs, y):
            return F.log(F.mean(outputs, axis=1) * 0)

    with pytest.raises(Diverged, match="in step 1 the loss itself is not finite"):
        fit(net(1e9), (X, Y), Loss(), callbacks=[callbacks.Guard()])


class Faster(callbacks.Callback):
    def after_epoch(self, run, epoch):
        run.learner.trainer.set_learning_rate(1e4)


def linear():
    block = gluon.nn.HybridSequential()
    block.add(gluon.nn.Dense(3))
    return block


def test_a_loss_that_explodes(tmp_path):
    """The last checkpoint is from before."""

    line = failure(linear(), [Faster()], [callbacks.Checkpoint(tmp_path)], learning_rate=0.01)
    assert line.startswith("epoch 2: the loss has grown to ")
    assert "; at its end layer 0 (Dense) has the largest outputs, up to " in line
    assert [path.name for path in checkpoints(tmp_path)] == ["epoch-0001"]


def test_a_resumed_training_explodes_too(tmp_path):
    how = {"batch_size": 8, "optimizer": "sgd", "learning_rate": 0.01}
    how["optimizer_params"] = {"momentum": 0.0}
    fit(linear(), (X, Y), SOFTMAX, epochs=1, **how,
        callbacks=[callbacks.Guard(), callbacks.Checkpoint(tmp_path)])  # fmt: skip
    line = failure(linear(), [Faster()], resume=tmp_path, learning_rate=0.01)
    assert line.startswith("epoch 3: the loss has grown to ")


def test_a_guard_that_is_used_again(tmp_path):
    """It measures the loss before each training, and not before one that is resumed."""
    guard, how = callbacks.Guard(), {"batch_size": 8, "optimizer": "sgd", "learning_rate": 1e-12}
    fit(linear(), (X, Y), SOFTMAX, callbacks=[guard], **how)
    first = guard.start
    others = [guard, callbacks.Checkpoint(tmp_path)]
    fit(linear(), (1e5 * X, Y), SOFTMAX, callbacks=others, **how)
    second = guard.start
    assert second > 100 * first
    fit(linear(), (1e5 * X, Y), SOFTMAX, callbacks=others, resume=tmp_path, epochs=2, **how)
    assert guard.start == second


def test_a_training_with_a_guard_is_the_same():
    def losses(*others):
        how = {"epochs": 2, "batch_size": 8, "callbacks": others}
        return [epoch.loss for epoch in fit(net(1e9), (X, Y), SOFTMAX, **how)]

    assert losses(callbacks.Guard()) == losses()


class Jump(callbacks.Callback):
    """Another learning rate from an epoch on."""

    def __init__(self, rate, epoch):
        self.rate, self.epoch = rate, epoch

    def begin(self, run):
        self.after_epoch(run, None)

    def after_epoch(self, run, epoch):
        if run.epoch == self.epoch:
            run.learner.trainer.set_learning_rate(self.rate)


@pytest.mark.parametrize("rate, epoch, found", [
    (1e20, 1, ""),  # the layer depends on how the processor rounds
    (1e20, 2, ""),
    (3e38, 1, "in step 2 the output of layer 0 (Dense) is the first that is "),
    (1e4, 2, "at its end layer 0 (Dense) has the largest outputs"),
], ids=str)  # fmt: skip
def test_an_average_changes_nothing_of_it(rate, epoch, found):
    """The step and the layer are those of the weights, not of their mean."""
    lines = []
    for averages in ([], [callbacks.Average(0.9)]):
        block = net(math.inf)
        lines.append(failure(block, [*averages, Jump(rate, epoch)], x=100 * X))
        assert all(np.isfinite(p.data().asnumpy()).all() for p in block.collect_params().values())
    assert lines[0] == lines[1] and f"; {found}" in lines[0]


def test_the_program_stops(tmp_path, capsys):
    """As it says in --help, with status 3."""
    out = tmp_path / "out"
    argv = ["--hidden", "8", "--epochs", "3", "--out", str(out)]
    assert main([*argv, "--lr", "5000"]) == 3
    line = capsys.readouterr().err
    assert line.startswith("train: epoch 1: the loss has grown to ") and line.count("\n") == 1
    assert "layer 1." in line and "(DenseBlock) has the largest outputs" in line
    assert sorted(path.name for path in out.iterdir()) == ["config.json", "history.csv"]
    assert main(argv) == 0  # nothing was learned there, so it is not held


@pytest.mark.slow_on("mxnet")
def test_patience(tmp_path, capsys):
    argv = ["--hidden", "8", "--epochs", "60", "--lr", "0.05", "--patience", "3"]
    assert main([*argv, "--out", str(tmp_path)]) == 0
    result = json.loads((tmp_path / "config.json").read_text())["result"]
    assert result["epochs_done"] == result["epoch"] + 3 < 60
    assert "no epoch was better than " in capsys.readouterr().out


def test_what_cannot_be_looked_at_is_not_said():
    """The layers of a Module have no outputs to look at."""
    assert updated(None, None) == "the loss is the first that is not finite"
    assert "fc1_bias is the first parameter" in updated(None, "fc1_bias")
