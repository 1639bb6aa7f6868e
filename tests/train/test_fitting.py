"""`fit`: a net of one's own in the program's loop."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from layers import LinearCrossEntropyLoss, SoftmaxLoss, engine
from layers.engine import gluon, mx, nd
from train import Diverged, Refused, callbacks, fit
from train.metrics import chosen

RNG = np.random.default_rng(4)
Y = np.arange(60) % 3
X = (np.eye(3, 4)[Y] * 3 + RNG.normal(size=(60, 4))).astype("float32")
KINDS = np.array(["b", "a", "c"])[Y]
ENTROPY = gluon.loss.SoftmaxCrossEntropyLoss()


def net(dropout=0.0):
    """Its shapes are known at the first call."""
    block = gluon.nn.HybridSequential()
    block.add(gluon.nn.Dense(8, activation="relu"), gluon.nn.Dropout(dropout), gluon.nn.Dense(3))
    return block


def numbers(history):
    return [(e.loss, e.metric, e.held_out_loss, e.held_out_metric, e.samples) for e in history]


def test_it_learns():
    block = net()
    history = fit(
        block, (X, Y), ENTROPY, validation=(X[:9], Y[:9]), metric="accuracy", epochs=9,
        batch_size=8, learning_rate=0.05,
    )  # fmt: skip
    assert [epoch.epoch for epoch in history] == list(range(1, 10))
    assert history[-1].metric > 0.9 and history[-1].samples == 60
    right = block(nd.array(X[:9])).asnumpy().argmax(1) == Y[:9]
    assert history[-1].held_out_metric == pytest.approx(right.mean())


@pytest.mark.parametrize("ctx", [mx.cpu(), [mx.cpu(0), mx.cpu(1)]], ids=str)
def test_the_same_seed_gives_the_same_numbers(ctx):
    def run(seed):
        return numbers(fit(net(0.3), (X, Y), ENTROPY, epochs=2, batch_size=16, seed=seed, ctx=ctx))

    assert str(run(1)) == str(run(1)) != str(run(2))


def test_batches_of_a_data_loader():
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(X, Y.astype("float32")), 16, shuffle=True)
    first, again = (fit(net(), data, ENTROPY, epochs=2, optimizer="sgd") for _ in range(2))
    assert str(numbers(first)) == str(numbers(again)) and first[0].samples == 60
    assert np.isnan(first[0].held_out_loss)


@pytest.mark.slow_on("mxnet")
def test_a_number():
    x, y = X, X @ np.array([1, -2, 0.5, 0], "float32")
    history = fit(
        gluon.nn.Dense(1), (x, y), gluon.loss.L2Loss(), metric="mae", epochs=30, batch_size=8,
        optimizer=mx.optimizer.Adam(learning_rate=0.05),
    )  # fmt: skip
    assert history[-1].metric < 0.1 < history[0].metric


def test_a_metric_is_what_one_would_compute():
    block = gluon.nn.Dense(2)
    block.initialize()
    target = np.ones((60, 2), "float32")
    before = np.abs(block(nd.array(X)).asnumpy() - target).mean()
    history = fit(
        block, (X, target), gluon.loss.L2Loss(), validation=(X, target), metric="mae",
        optimizer="sgd", learning_rate=1e-12,
    )  # fmt: skip
    assert history[0].held_out_metric == pytest.approx(before, rel=1e-4)
    assert history[0].metric == pytest.approx(before, rel=1e-4)


@pytest.mark.parametrize("metric", ["accuracy", "mse"])
def test_outputs_that_are_no_scores_have_no_metric(metric):
    loss = LinearCrossEntropyLoss(3, 3)
    with pytest.raises(Refused, match="metric: expected None beside a LinearCrossEntropyLoss"):
        fit(net(), (X, Y), loss, metric=metric, validation=(X, Y))
    assert len(fit(net(), (X, Y), loss, epochs=2)) == 2


def test_metrics_of_mxnet_are_of_all_held_out_samples(tmp_path, capsys):
    """By name or as they are; the first tells which epoch is best."""
    block, y = gluon.nn.Dense(2), (Y == 1).astype("float32")
    metrics = [mx.metric.F1(), "mse", mx.metric.create("acc", name="right")]
    others = [callbacks.Logging(), callbacks.Checkpoint(tmp_path / "c", restore_best=True)]
    others.append(callbacks.History(tmp_path / "history.csv"))
    how = {"validation": (X[:25], y[:25]), "batch_size": 8, "learning_rate": 0.3}
    metrics[1] = mx.metric.CustomMetric(lambda y, x: ((x[:, 1] - y) ** 2).mean(), name="mse")
    history = fit(block, (X, y), ENTROPY, metric=metrics, epochs=6, callbacks=others, **how)
    outputs, best = block(nd.array(X[:25])).asnumpy(), max(e.held_out_metric for e in history)
    said, right = outputs.argmax(1) == 1, y[:25] == 1
    assert best == pytest.approx(2 * (said & right).sum() / (said.sum() + right.sum()))
    top = next(epoch for epoch in history if epoch.held_out_metric == best)
    mean = ((outputs[:, 1] - y[:25]) ** 2).mean()
    assert top.more == pytest.approx({"mse": mean, "right": (said == right).mean()})
    assert np.isnan(top.metric)
    line = capsys.readouterr().out.splitlines()[top.epoch - 1]
    assert f", held out f1 {best:.4g}, mse {mean:.4g}, right " in line
    names = (tmp_path / "history.csv").read_text().splitlines()[0]
    assert names == "epoch,loss,held_out_loss,held_out_f1,samples,held_out_mse,held_out_right"
    again = fit(block, (X, y), ENTROPY, metric=metrics, epochs=7, resume=tmp_path / "c", **how)
    assert str(again[:6]) == str(history)


def test_of_an_error_less_is_better():
    assert chosen("rmse")[0].quality(1.0) > chosen(mx.metric.RMSE())[0].quality(2.0)
    assert chosen("f1")[0].quality(float("nan")) < chosen("f1")[0].quality(-1.0)
    assert chosen("pearsonr")[0].quality(1.0) < chosen(["pearsonr", "mae"])[0].quality(2.0)


@pytest.mark.parametrize(
    "how, reason",
    [
        ({"metric": "f1"}, "metric: f1: expected validation, on which it is measured"),
        ({"metric": "f0"}, "metric: 'f0': "),
        ({"metric": 3}, "metric: expected a name or a metric, not 3"),
        ({"metric": ["mse", "mse"]}, "metric: two are called 'mse'; expected each once"),
        (
            {"metric": "r2", "validation": (X, Y)},
            "metric: r2: y is (60,), outputs are (60, 3); expected as many",
        ),
        ({"data": (X, Y[:-1])}, "data: x has 60 samples, y 59; expected as many, and some"),
        ({"data": (X[:0], Y[:0])}, "data: x has 0 samples"),
        ({"data": 3}, "data: int; expected (x, y), (x, y, weights of samples), or batches of"),
        ({"data": iter([])}, "data: an iterator ends after one epoch"),
        ({"data": [X]}, "data: a batch is ndarray; expected (x, y), "),
        ({"data": []}, "data: there is no batch"),
        ({"data": [(X, Y, Y, Y)]}, "data: a batch is tuple of 4; expected (x, y), "),
        ({"data": (X, KINDS)}, "data: y has values such as 'b'; expected numbers: of classes "),
        ({"data": (X, KINDS.tolist())}, "data: y has values such as 'b'; expected numbers: "),
        ({"data": [(X, KINDS)]}, "data: "),
        ({"data": ([[1, 2], [3]], [0, 1])}, "data: x "),
        (
            {"data": (np.where(X.max() > X, X, np.nan), Y)},
            f"data: x[{X.argmax() // 4}] has the value nan; 1 of 60 samples have one that is not "
            "finite; expected finite numbers",
        ),
        ({"validation": (X * np.float64(1e99), Y)}, "validation: x[0] has the value "),
        ({"data": (3, 4)}, "data: x is the number 3; expected an array of samples"),
        ({"validation": 3}, "validation: int; expected (x, y)"),
        ({"validation": (X, KINDS)}, "validation: y has values such as 'b'"),
        ({"validation": (X[:, :2], Y)}, "validation: "),
        (
            {"data": (X, np.eye(4)[Y])},
            "data: y is (n, 4), and SoftmaxCrossEntropyLoss takes class numbers (n,); expected y.",
        ),
        (
            {"data": (X, np.zeros((60, 2, 2)))},
            "data: y is (n, 2, 2), and SoftmaxCrossEntropyLoss takes class numbers (n,); ",
        ),
        (
            {"loss": gluon.loss.L2Loss(), "metric": "mae"},
            "loss: L2Loss and mae of outputs (60, 3), y (60,): ",
        ),
        ({"metric": "mae"}, "loss: SoftmaxCrossEntropyLoss and mae of outputs (60, 3), y (60,): "),
        ({"net": gluon.nn.HybridSequential()}, "net: "),
        (
            {"loss": gluon.loss.SoftmaxCrossEntropyLoss(batch_axis=1, axis=0, sparse_label=False)},
            "loss: of 60 samples SoftmaxCrossEntropyLoss gives (3,)",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else ", ".join(value),
)
def test_what_does_not_fit(how, reason):
    arguments = {"net": net(), "data": (X, Y), "loss": ENTROPY} | how
    if "SoftmaxCrossEntropyLoss gives" in reason:
        arguments["data"] = (X, np.eye(3)[Y])
    with pytest.raises(Refused) as refused:
        fit(**arguments)
    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize(
    "argument, value, reason",
    [
        ("net", "mlp", "net: expected a Block, not 'mlp'"),
        ("loss", np.square, "loss: expected a Block, not <ufunc 'square'>"),
        ("learning_rate", -1, "learning_rate: expected a number above 0, such as 0.01, not -1"),
        (
            "learning_rate",
            "fast",
            "learning_rate: expected a number above 0, such as 0.01, not 'fast'",
        ),
        ("clip", 0, "clip: expected a number above 0, such as 0.01, not 0"),
        ("clip", float("nan"), "clip: expected a number above 0, such as 0.01, not nan"),
        ("epochs", 0, "epochs: expected a whole number from 1, not 0"),
        ("epochs", 1.5, "epochs: expected a whole number from 1, not 1.5"),
        ("epochs", True, "epochs: expected a whole number from 1, not True"),
        ("batch_size", 0, "batch_size: expected a whole number from 1, not 0"),
        ("accumulate", 0, "accumulate: expected a whole number from 1, not 0"),
        ("callbacks", callbacks.Logging(), "callbacks: expected a list of Callback, not <"),
        ("optimizer", "adm", "optimizer: expected an Optimizer or one of adadelta, "),
        ("optimizer_params", {"beta": 1}, "optimizer_params: adam has no 'beta'; expected some "),
        ("optimizer_params", {"beta1": "a"}, "optimizer_params: beta1: expected a number, not 'a'"),
        ("optimizer_params", [1], "optimizer_params: expected settings by their names, not [1]"),
        ("ctx", "gpu", "ctx: expected a Context such as mx.gpu(0), or several, not 'gpu'"),
        ("ctx", [], "ctx: expected a Context such as mx.gpu(0), or several, not []"),
        ("ctx", mx.gpu(99), "ctx: "),
        ("ctx", [mx.cpu(0), mx.cpu(0)], "ctx: [cpu(0), cpu(0)]: expected each once"),
        ("seed", -1, "seed: expected a whole number from 0, not -1"),
        ("hybridize", ["step"], "hybridize: expected one of none, recorded"),
        ("seed", 1.5, "seed: expected a whole number from 0, not 1.5"),
        ("seed", True, "seed: expected a whole number from 0, not True"),
        ("kvstore", "dst", "kvstore: expected one of device, local, dist_sync, not 'dst'"),
        ("resume", 3, "resume: expected the path of a folder, not 3"),
        ("callbacks", [42], "callbacks[0]: expected a Callback, not 42"),
        (
            "callbacks",
            [callbacks.Logging(), callbacks.History],
            "callbacks[1]: expected a Callback, not the class History; make one: History(...)",
        ),
    ],
)
def test_what_an_argument_cannot_be(argument, value, reason):
    with pytest.raises(Refused) as refused:
        fit(**{"net": net(), "data": (X, Y), "loss": ENTROPY, argument: value})
    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize(
    "name, method, reason",
    [
        (
            "after_epoch",
            lambda self, run: None,
            "Mine.after_epoch: too many positional arguments; expected the method "
            "after_epoch(self, run, epoch)",
        ),
        ("begin", None, "Mine.begin: None is not a callable object; expected the method begin(s"),
    ],
)
def test_a_callback_with_a_method_that_cannot_be_called(name, method, reason):
    mine = type("Mine", (callbacks.Callback,), {name: method})()
    with pytest.raises(TypeError) as refused:
        fit(net(), (X, Y), ENTROPY, callbacks=[callbacks.Logging(), mine])
    assert isinstance(refused.value, Refused)
    assert str(refused.value).startswith(f"callbacks[1]: {reason}")


def test_a_callback_with_methods_that_have_no_signature():
    mine = type("Mine", (callbacks.Callback,), {"begin": type, "after_epoch": slice})()
    assert len(fit(net(), (X, Y), ENTROPY, callbacks=[mine])) == 1


def test_an_error_of_a_callback_is_raised_as_it_is():
    class Mine(callbacks.Callback):
        def after_epoch(self, *arguments):
            return None + 1

    with pytest.raises(TypeError, match="unsupported operand") as raised:
        fit(net(), (X, Y), ENTROPY, callbacks=[Mine()])
    assert not isinstance(raised.value, Refused)


def test_a_history_makes_its_folder(tmp_path):
    path = tmp_path / "runs/1/history.csv"
    fit(net(), (X, Y), ENTROPY, callbacks=[callbacks.History(path)])
    assert len(path.read_text().splitlines()) == 2
    with pytest.raises(Refused, match="1 cannot be written: .* directory"):
        fit(net(), (X, Y), ENTROPY, callbacks=[callbacks.History(path.parent)])
    assert [each.name for each in path.parent.parent.iterdir()] == ["1"]
    with pytest.raises(Refused, match="cannot be written: "):
        fit(net(), (X, Y), ENTROPY, callbacks=[callbacks.History(path / "history.csv")])


@pytest.mark.engine("torch")
def test_a_step_is_compiled_of_hybrid_blocks():
    class Plain(gluon.Block):
        def forward(self, x):
            return x

    with pytest.raises(Refused, match="^net: expected a HybridBlock, which .* not a Plain$"):
        fit(Plain(), (X, Y), ENTROPY, hybridize="step")


def test_processes_draw_one_order_from_a_seed():
    with pytest.raises(Refused, match="^seed: expected a whole number from 0 with kvstore"):
        fit(net(), (X, Y), ENTROPY, seed=None, kvstore="dist_sync")


@pytest.mark.engine("torch")
def test_a_start_without_torchrun_keeps_the_options_of_torchrun():
    with pytest.raises(Refused, match="torchrun --nproc-per-node 2"):
        fit(net(), (X, Y), ENTROPY, kvstore="dist_sync")


def test_a_kvstore_of_one_process():
    found = [numbers(fit(net(), (X, Y), ENTROPY, kvstore=name)) for name in ("device", "local")]
    assert str(found[0]) == str(found[1])


def test_numbers_of_numpy_are_numbers():
    history = fit(net(), (X, Y), ENTROPY, epochs=np.int64(1), learning_rate=np.float32(0.1))
    assert len(history) == 1


@pytest.mark.parametrize(
    "y, validation, reason",
    [
        (
            Y + 7,
            None,
            "data: y[0] is the label 7, and the net has 3 outputs; expected labels of classes, "
            "whole numbers from 0 to 2",
        ),
        (Y - 1.0, None, "data: y[0] is the label -1, and"),
        (Y + (Y == 1) / 2, None, "data: y[1] is the label 1.5, and"),
        (np.where(Y == 2, np.nan, Y), None, "data: y[2] is the label nan, and"),
        (Y[:, None], (X, Y + 1), "validation: y[2] is the label 3, and the net has 3 outputs"),
    ],
)
@pytest.mark.parametrize("metric", [None, "accuracy"])
@pytest.mark.parametrize("loss", [ENTROPY, SoftmaxLoss()], ids=["gluon", "layers"])
def test_labels_that_the_net_has_no_output_for(y, validation, reason, metric, loss):
    with pytest.raises(Refused) as refused:
        fit(net(), (X, y), loss, validation=validation, metric=metric)
    assert str(refused.value).startswith(reason)


class WithoutMissing(gluon.loss.L2Loss):
    """Leaves out the targets that are NaN."""

    def hybrid_forward(self, F, outputs, y):
        there = F.reshape_like(y == y, outputs)
        y = F.where(there, F.reshape_like(y, outputs), F.zeros_like(outputs))
        return super().hybrid_forward(F, outputs * there, y)


class OfABatch(WithoutMissing):
    """Is NaN of a single sample."""

    def hybrid_forward(self, F, outputs, y):
        deviation = F.broadcast_sub(outputs, F.mean(outputs, axis=0, keepdims=True))
        variance = F.mean(deviation**2, axis=0)
        return F.broadcast_div(super().hybrid_forward(F, outputs, y), variance)


def test_targets_that_are_not_finite():
    """A loss may leave some out."""
    y = np.where(np.arange(60) % 20 == 7, np.nan, X.sum(axis=1))
    with pytest.raises(Diverged, match=r"; y\[7\] has the value nan; 3 of 60 samples have one"):
        fit(gluon.nn.Dense(1), (X, y), gluon.loss.L2Loss())
    assert np.isfinite(fit(gluon.nn.Dense(1), (X, y), WithoutMissing(), batch_size=2)[0].loss)
    y[12] = np.inf
    with pytest.raises(Diverged, match=r"; y\[7\] has the value nan; 4 of 60 samples have one"):
        fit(gluon.nn.Dense(1), (X, y), WithoutMissing())


def test_a_target_that_is_left_out_by_a_loss_of_a_batch():
    y = np.where(np.arange(60) == 59, np.nan, X.sum(axis=1))
    assert np.isfinite(fit(gluon.nn.Dense(1), (X, y), OfABatch(), batch_size=8)[0].loss)


@pytest.mark.parametrize(
    "loss, metric, taker",
    [
        (ENTROPY, None, "SoftmaxCrossEntropyLoss"),
        (SoftmaxLoss(), "accuracy", "SoftmaxLoss"),
        (SoftmaxLoss(sparse_label=False), "accuracy", "accuracy"),
    ],
)
def test_labels_that_are_one_hot(loss, metric, taker):
    y = np.eye(3)[Y.astype(int)]
    expected = "another metric, or a loss of class numbers and " * (taker == "accuracy")
    expected += "y.argmax(1), where y is one-hot"
    reason = f"y is (n, 3), and {taker} takes class numbers (n,); expected {expected}"
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(X, y), 10)
    for data in ((X, y), loader):
        with pytest.raises(Refused, match=re.escape(f"data: {reason}")):
            fit(net(), data, loss, metric=metric)
    assert fit(net(), (X, y), SoftmaxLoss(sparse_label=False))


def test_labels_of_steps_that_are_one_hot():
    x = np.repeat(X[:, None], 5, axis=1)
    reason = r"^data: y is \(n, 5, 3\), and SoftmaxCrossEntropyLoss takes class numbers \(n, 5\); "
    with pytest.raises(Refused, match=rf"{reason}expected y.argmax\(2\), where y is one-hot$"):
        fit(gluon.nn.Dense(3, flatten=False), (x, np.eye(3)[Y][:, None].repeat(5, 1)), ENTROPY)


def test_labels_of_a_data_loader_that_the_net_has_no_output_for():
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(X, Y + 4 * (np.arange(60) == 37)), 8)
    reason = r"data: batch 5, y\[5\] is the label 5, and the net has 3 outputs"
    with pytest.raises(Refused, match=reason):
        fit(net(), data, ENTROPY)
    with pytest.raises(Refused, match=reason.replace("data", "validation")):
        fit(net(), (X, Y), ENTROPY, validation=data)


def test_a_label_that_the_loss_ignores():
    y = np.where(Y == 2, -1, Y)
    assert len(fit(net(), (X, y), SoftmaxLoss(ignore_label=-1))) == 1


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
def test_labels_of_any_dtype(dtype):
    def data(dtype):
        y = (Y > 1).astype(dtype)
        return gluon.data.DataLoader(gluon.data.ArrayDataset(X, y), 16), (X, y)

    for given, expected in zip(data(dtype), data("float32")):
        for loss, metric, outputs in ((ENTROPY, "accuracy", 2), (gluon.loss.L2Loss(), "mae", 1)):
            found = [
                numbers(fit(gluon.nn.Dense(outputs), each, loss, metric=metric, validation=each))
                for each in (given, expected)
            ]
            assert found[0] == found[1]


def test_a_list_of_two_batches():
    history = fit(net(), [(X[:30], Y[:30]), (X[30:], Y[30:])], ENTROPY)
    assert history[0].samples == 60


@pytest.mark.parametrize("metric", ["ce", "nll_loss", mx.metric.Perplexity(ignore_label=None)])
def test_cross_entropy_of_scores_is_of_their_probabilities(metric):
    """As of probabilities, and log probabilities, that the net gives."""

    class Last(gluon.HybridBlock):
        def __init__(self, function):
            super().__init__()
            self.body, self.function = gluon.nn.Dense(3), function

        def hybrid_forward(self, F, x):
            scores = self.body(x)
            return getattr(F, self.function)(scores) if self.function else scores

    found = []
    for last, from_logits in ((None, False), ("log_softmax", True), ("softmax", False)):
        block = Last(last)
        block.initialize(mx.init.Constant(0.1))
        block.body.weight.set_data(nd.array(np.arange(12).reshape(3, 4) / 9))
        loss = gluon.loss.SoftmaxCrossEntropyLoss(from_logits=from_logits)
        how = {"optimizer": "sgd", "learning_rate": 1e-12, "metric": metric}
        [epoch] = fit(block, (X, Y), loss, validation=(X, Y), **how)
        found.append(epoch.held_out_metric)
        if last is None:
            per = isinstance(metric, mx.metric.Perplexity)
            expected = np.exp(epoch.held_out_loss) if per else epoch.held_out_loss
    assert found == pytest.approx([expected] * 3, rel=1e-4)


def test_early_stopping():
    with pytest.raises(Refused, match="patience: expected a whole number from 1, not 0"):
        callbacks.EarlyStopping(patience=0)
    patience = callbacks.EarlyStopping(patience=2)
    history = fit(
        net(), (X, Y), ENTROPY, validation=(X[:9], 2 - Y[:9]), epochs=40, learning_rate=0.05,
        batch_size=8, callbacks=[patience],
    )  # fmt: skip
    losses = [epoch.held_out_loss for epoch in history]
    assert len(history) == losses.index(min(losses)) + 3 < 40


def test_it_says_what_it_does(capsys):
    fit(net(), (X, Y), ENTROPY, metric="accuracy", epochs=2, callbacks=[callbacks.Logging()])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and lines[1].startswith("epoch 2/2: loss ") and "accuracy" in lines[1]


@pytest.mark.parametrize(
    "validation, metric, more",
    [(None, None, []), ((X, Y), None, []), ((X, Y), [None, "f1"], ["held_out_f1"])],
)
def test_without_a_metric_there_is_the_loss_alone(tmp_path, capsys, validation, metric, more):
    y, path = Y % 2, tmp_path / "history.csv"
    history = fit(
        gluon.nn.Dense(2), (X, y), ENTROPY, validation=validation and (X, y), metric=metric,
        callbacks=[callbacks.Logging(), callbacks.History(path)],
    )  # fmt: skip
    line = capsys.readouterr().out
    held_out = f", held out {history[0].held_out_loss:.4g}" if validation else ""
    assert line.startswith(f"epoch 1/1: loss {history[0].loss:.4f}{held_out}, ")
    assert "metric" not in line
    names = ["epoch", "loss", "held_out_loss", "samples", *more]
    head, row = path.read_text().splitlines()
    assert head.split(",") == names and len(row.split(",")) == len(names)


TWO = [mx.cpu(0), mx.cpu(1)]


def test_a_batch_that_has_not_a_sample_for_each_context():
    reason = "^data: a batch of 1 sample; expected one at least for each of 2 contexts$"
    for data in ((X[:1], Y[:1]), [(X[:8], Y[:8]), (X[:1], Y[:1])]):
        with pytest.raises(Refused, match=reason):
            fit(net(), data, ENTROPY, ctx=TWO)
    with pytest.raises(Refused, match="^data: a batch of 2 samples, learned in 2 parts; expected "):
        fit(net(), [(X[:2], Y[:2])], ENTROPY, ctx=TWO, accumulate=2)
    fit(net(), [(X[:3], Y[:3])], ENTROPY, ctx=TWO, accumulate=2, validation=(X[:1], Y[:1]))


def test_frozen_parameters_are_no_net_to_train():
    frozen = net()
    frozen.collect_params().setattr("grad_req", "null")
    with pytest.raises(Refused, match="^net: nothing is learned: all of its 4 parameters are fro"):
        fit(frozen, (X, Y), ENTROPY)


class Endless:
    """Batches without an end, as Keras' generators give them."""

    def __len__(self):
        return 5

    def __iter__(self):
        while True:
            yield X[:4], Y[:4]


def test_a_source_without_an_end_needs_the_steps_of_an_epoch():
    with pytest.raises(Refused, match="^data: it yields more batches than its len.., 5; expected "):
        fit(net(), Endless(), ENTROPY)
    history = fit(net(), Endless(), ENTROPY, epochs=2, steps_per_epoch=3)
    assert [epoch.samples for epoch in history] == [12, 12]


def test_an_epoch_of_arrays_may_end_early():
    schedule = callbacks.Schedule("cosine")
    history = fit(
        net(), (X, Y), ENTROPY, epochs=2, batch_size=2, steps_per_epoch=2, callbacks=[schedule]
    )
    assert [epoch.samples for epoch in history] == [4, 4]
    with pytest.raises(Refused, match="^steps_per_epoch: expected a whole number from 1, not 0"):
        fit(net(), (X, Y), ENTROPY, steps_per_epoch=0)


@pytest.mark.parametrize(
    "name, ours",
    [("on_epoch_end", "after_epoch"), ("epoch_begin", "before_epoch"), ("batch_end", "after_s")],
)
def test_the_callbacks_of_other_libraries_are_named(name, ours):
    theirs = type("Theirs", (callbacks.Callback,), {name: lambda self, *_: None})
    with pytest.raises(Refused, match=f"^callbacks.0.: Theirs.{name} would never .* name {ours}"):
        fit(net(), (X, Y), ENTROPY, callbacks=[theirs()])


def test_before_each_epoch(tmp_path):
    """Of a training that is resumed within an epoch, before the next step of it."""

    class Watching(callbacks.Callback):
        def __init__(self, stop_at=None):
            self.seen, self.stop_at = [], stop_at

        def before_epoch(self, run):
            self.seen.append((run.epoch, run.step, len(run.history)))

        def after_step(self, run):
            self.seen.append("step")
            run.stop = "enough" if (run.epoch, run.step) == self.stop_at else run.stop

    first, second = Watching((2, 1)), Watching()
    how = {"epochs": 3, "batch_size": 30}
    fit(net(), (X, Y), ENTROPY, callbacks=[first, callbacks.Checkpoint(tmp_path)], **how)
    assert first.seen == [(1, 0, 0), "step", "step", (2, 0, 1), "step"]
    fit(net(), (X, Y), ENTROPY, callbacks=[second], resume=tmp_path, **how)
    assert second.seen == [(2, 1, 1), "step", (3, 0, 2), "step", "step"]


def test_fit_needs_no_package_beside_the_engine():
    code = """
import sys
for name in ("tqdm", "sklearn", "pandas", "matplotlib", "jinja2", "yaml", "safetensors", "PIL"):
    sys.modules[name] = None
import numpy as np
from layers.engine import gluon
from train import Refused, callbacks, fit
data, loss = (np.ones((8, 3)), np.arange(8) % 2), gluon.loss.SoftmaxCELoss()
assert len(fit(gluon.nn.Dense(2), data, loss)) == 1
try:
    fit(gluon.nn.Dense(2), data, loss, callbacks=[callbacks.Logging()])
except Refused as error:
    assert str(error) == "Logging: tqdm is not installed: pip install tqdm"
else:
    raise AssertionError
"""
    environment = os.environ | {"LAYERS_ENGINE": engine.name()}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
