"""Trainings that end early, use a part of the data, or show where their time goes."""

import json
import re

import numpy as np
import pytest

from layers.engine import gluon
from train import Refused, callbacks, fit
from train.__main__ import main
from train.profile import PARTS, Profile, Profiled
from train.tensors import read_tensors

RNG = np.random.default_rng(4)
Y = np.arange(60) % 3
X = (np.eye(3, 4)[Y] * 3 + RNG.normal(size=(60, 4))).astype("float32")
ENTROPY = gluon.loss.SoftmaxCrossEntropyLoss()


@pytest.fixture
def start(tmp_path):
    np.savez(tmp_path / "data.npz", x=X, y=Y)

    def start(*argv, out="out"):
        given = ["--data", str(tmp_path / "data.npz"), "--batch-size", "8", "--hidden", "4"]
        return main([*given, "--out", str(tmp_path / out), *argv])

    return start


def weights(folder):
    return read_tensors(folder / "model.safetensors")


def test_steps_in_all_and_the_rest_after_it(start, tmp_path, capsys):
    """48 samples are six steps of an epoch; a resumed training counts those that are done."""
    assert start("--epochs", "2", out="whole") == 0
    assert start("--epochs", "9", "--max-steps", "8") == 0
    assert "ended within epoch 2: 8 steps are done\n" in capsys.readouterr().out
    assert start("--epochs", "9", "--max-steps", "12", "--resume") == 0
    assert "ended after epoch 2: 12 steps are done\n" in capsys.readouterr().out
    for name, array in weights(tmp_path / "whole").items():
        np.testing.assert_array_equal(array, weights(tmp_path / "out")[name])


def test_a_time(start, capsys):
    assert start("--epochs", "999999", "--max-time", "0.2s") == 0
    assert re.search(r"ended \w+ epoch \d+: 0.2 seconds are over\n", capsys.readouterr().out)


@pytest.mark.parametrize("limit", [{"steps": 0}, {"seconds": -1}, {"steps": 1.5}], ids=str)
def test_no_limit(limit):
    with pytest.raises(Refused, match=f"^{next(iter(limit))}: expected a "):
        callbacks.Limit(**limit)


def test_a_limit_is_for_each_training():
    limit = callbacks.Limit(steps=3)
    how = {"batch_size": 10, "callbacks": [limit]}
    found = [fit(gluon.nn.Dense(3), (X, Y), ENTROPY, **how) for _ in "ab"]
    assert [history[0].samples for history in found] == [30, 30]


def test_the_first_batches(start, tmp_path):
    assert start("--limit-batches", "1", "--epochs", "1") == 0
    data = json.loads((tmp_path / "out/config.json").read_text())["data"]
    assert (data["samples"], data["held_out"]) == (8, 8)


def test_batches_to_learn_by_heart(start, tmp_path):
    assert start("--overfit-batches", "2", "--epochs", "40", "--lr", "0.1") == 0
    result = json.loads((tmp_path / "out/config.json").read_text())["result"]
    assert result["samples"] == 16 and result["held_out_accuracy"] > 0.9


def test_a_run_that_leaves_nothing(start, tmp_path, capsys):
    assert start("--fast-dev-run", "--tensorboard", str(tmp_path / "none")) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["data.npz"]
    assert capsys.readouterr().out.endswith("--fast-dev-run: everything works; no file is kept\n")


@pytest.mark.parametrize(
    "argv, reason",
    [
        ("--max-time 3x", "--max-time: expected a time above 0, such as 90s, 15m or 2h, not '3x'"),
        ("--max-time 0", "--max-time: expected a time above 0, such as 90s, 15m or 2h, not '0'"),
        ("--max-steps 0", "--max-steps: expected a whole number from 1, not '0'"),
        ("--overfit-batches 1 --limit-batches 1", "--overfit-batches: expected no --limit-batches"),
        ("--profile --hybridize step", "--profile: a compiled step has no parts; expected another"),
    ],
)
def test_what_is_refused(start, capsys, argv, reason):
    assert start(*argv.split()) == 2
    assert capsys.readouterr().err.startswith(f"train: {reason}")


def test_where_the_time_goes(start, capsys):
    assert start("--profile", "--epochs", "2") == 0
    text = capsys.readouterr().out
    shares = dict(re.findall(r"^(\S.*?) +([\d.]+)% +[\d.]+$", text, re.MULTILINE))
    assert "time of 12 steps" in text and {*shares} == {*PARTS, "callbacks"}
    assert sum(map(float, shares.values())) == pytest.approx(100, abs=0.4)
    assert all(float(shares[name]) > 0 for name in ("forward", "backward", "update"))


def test_a_profiled_training_learns_the_same():
    found = []
    for how in ({}, {"learner": Profiled, "callbacks": [Profile()]}):
        net = gluon.nn.Dense(3)
        fit(net, (X, Y), ENTROPY, **how)
        found.append(net.weight.data().asnumpy())
    np.testing.assert_array_equal(*found)
