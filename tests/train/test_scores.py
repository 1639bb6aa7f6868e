"""Metrics of scikit-learn: by `--metric`, by `fit(metric=)`, and beside a guess."""

import csv
import json

import numpy as np
import pytest
from sklearn import metrics

from layers.engine import gluon, nd
from train import Refused, fit, module
from train.__main__ import main
from train.metrics import chosen
from train.scores import ROWS, compared

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
P = RNG.dirichlet(np.ones(3), 60)
SAID = P.argmax(axis=1)
TWO, P2 = (np.arange(60) % 5 == 4).astype(int), RNG.dirichlet(np.ones(2), 60)
NUMBERS, VALUES = RNG.normal(size=60), RNG.normal(size=(60, 1))
SHORT = ["--hidden", "8", "--epochs", "4", "--lr", "0.02"]


@pytest.mark.parametrize(
    "name, y, outputs, expected",
    [
        ("accuracy", Y, P, (SAID == Y).mean()),
        ("balanced_accuracy", Y, P, metrics.balanced_accuracy_score(Y, SAID)),
        ("f1", Y, P, metrics.f1_score(Y, SAID, average="macro")),
        ("f1_macro", Y, P, metrics.f1_score(Y, SAID, average="macro")),
        ("roc_auc", Y, P, metrics.roc_auc_score(Y, P, multi_class="ovr")),
        ("log_loss", Y, P, metrics.log_loss(Y, P)),
        ("f1", TWO, P2, metrics.f1_score(TWO, P2.argmax(axis=1))),
        ("f1_rarer", TWO, P2, metrics.f1_score(TWO, P2.argmax(axis=1))),
        ("f1_rarer", 1 - TWO, P2[:, ::-1], metrics.f1_score(TWO, P2.argmax(axis=1))),
        ("roc_auc", TWO, P2, metrics.roc_auc_score(TWO, P2[:, 1])),
        ("r2", NUMBERS, VALUES, metrics.r2_score(NUMBERS, VALUES)),
        ("mae", NUMBERS, VALUES, abs(NUMBERS - VALUES[:, 0]).mean()),
        ("rmse", NUMBERS, VALUES, ((NUMBERS - VALUES[:, 0]) ** 2).mean() ** 0.5),
        ("median_absolute_error", NUMBERS, VALUES, np.median(abs(NUMBERS - VALUES[:, 0]))),
    ],
)
def test_values_are_those_of_scikit_learn(name, y, outputs, expected):
    assert ROWS[name].value(y.astype("float32"), outputs) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_less_than_all_classes_is_no_error(row):
    """A batch may have one class, or one sample; where there is no value it is NaN."""
    y, outputs = (Y[:1], P[:1]) if row.of_classes else (NUMBERS[:1], VALUES[:1])
    value = row.value(y, outputs)
    assert np.isnan(value) == (row.name in ("roc_auc", "r2"))
    assert row.quality(np.nan) == -np.inf


def test_of_errors_less_is_better():
    less = {row.name for row in ROWS.values() if row.quality(2.0) < row.quality(1.0)}
    assert less == {"log_loss", "mae", "rmse", "median_absolute_error"}
    assert chosen("log_loss")[0].quality(1.0) > chosen("log_loss")[0].quality(2.0)


def test_beside_a_guess():
    rows = {row.title: row for row in compared(TWO, P2, np.array([0.7, 0.3]))}
    assert rows["accuracy"].baseline == "80.00%" and rows["ROC-AUC"].baseline == "0.5000"
    assert rows["balanced accuracy"].baseline == "50.00%"
    assert rows["F1 of the rarer class"].baseline == "0.0000"
    guess = metrics.log_loss(TWO, np.tile([0.7, 0.3], (60, 1)))
    assert rows["log loss"].baseline == f"{guess:.4f}"
    rows = {row.title: row for row in compared(NUMBERS, VALUES, np.array([NUMBERS.mean()]))}
    assert rows["R²"].baseline == "0.0000"
    assert rows["root mean square error"].baseline == f"{NUMBERS.std():.4g}"
    assert "F1 of the rarer class" not in {row.title for row in compared(Y, P, np.ones(3) / 3)}


def test_fit_has_the_average_of_classes():
    """Of three classes too, of which `mx.metric` has no F1."""
    x = np.eye(3)[Y] + RNG.normal(size=(60, 3))
    net, loss = gluon.nn.Dense(3), gluon.loss.SoftmaxCrossEntropyLoss()
    [epoch] = fit(net, (x, Y), loss, validation=(x, Y), metric="f1")
    said = net(nd.array(x)).asnumpy().argmax(axis=1)
    assert epoch.held_out_metric == pytest.approx(metrics.f1_score(Y, said, average="macro"))
    [epoch] = fit(net, (x, Y), loss, validation=(x, Y), metric=["roc_auc", "accuracy"])
    assert 0 < epoch.held_out_metric <= 1 and 0 < epoch.more["accuracy"] <= 1
    with pytest.raises(Refused, match="metric: two are called 'f1'"):
        fit(net, (x, Y), loss, validation=(x, Y), metric=["f1", "F1"])


@pytest.fixture
def data(tmp_path):
    x = RNG.normal(size=(200, 2))
    y = x.sum(axis=1) + RNG.normal(size=200) / 2
    np.savez(tmp_path / "numbers.npz", x=x, y=y)
    np.savez(tmp_path / "rare.npz", x=x, y=(y > 1).astype(int))
    return tmp_path


def history(folder):
    with (folder / "history.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("program", [main, module.main], ids=["train", "train.module"])
@pytest.mark.parametrize(
    "name, metric",
    [("rare", "f1"), ("rare", "log_loss"), ("rare", "accuracy"), ("numbers", "rmse")],
)
def test_the_metric_tells_which_epoch_is_best(program, name, metric, data, capsys):
    argv = ["--data", str(data / f"{name}.npz"), "--metric", metric, "--out", str(data / "run")]
    argv += ["--task", "regression"] if name == "numbers" else []
    assert program([*SHORT, *argv]) in (0, 3)
    said = capsys.readouterr().out
    config = json.loads((data / "run/config.json").read_text())
    row, column = ROWS[metric], f"held_out_{metric}"
    qualities = {int(e["epoch"]): row.quality(float(e[column])) for e in history(data / "run")}
    best = config["result"]["epoch"]
    assert qualities[best] == max(qualities.values()) and config["metric"] == metric
    assert f"held-out {metric}" in said and "held out  " in said
    shown = row.show(config["result"][column])
    assert [line for line in said.splitlines() if line.startswith(row.title)] or metric == "f1"
    assert f" {shown}" in said


def test_what_a_guess_would_have(data, capsys):
    """An accuracy that is worth nothing does not look like a success."""
    main([*SHORT, "--data", str(data / "rare.npz"), "--out", str(data / "run")])
    lines = capsys.readouterr().out.splitlines()
    [head] = (line for line in lines if line.startswith("held out  "))
    assert head.split(maxsplit=3)[2:] == ["value", "most frequent class"]
    [line] = (line for line in lines if line.startswith("accuracy "))
    with np.load(data / "rare.npz") as arrays:
        rare = arrays["y"].mean()
    assert float(line.split()[-1].rstrip("%")) / 100 == pytest.approx(1 - rare, abs=0.03)


@pytest.mark.parametrize(
    "argv, reason",
    [
        (["--metric", "r2"], "--metric r2: what is learned is 10 classes; expected accuracy, "),
        (["--metric", "f1_rarer"], "--metric f1_rarer: what is learned is 10 classes; expected "),
        (["--metric", "f2"], "--metric: expected one of accuracy, "),
    ],
)
def test_metrics_of_something_else_are_refused(argv, reason, tmp_path, capsys):
    assert main([*argv, "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err.startswith(f"train: {reason}")
