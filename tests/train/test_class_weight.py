"""--class-weight and --weights: how much a sample counts in the program."""

import json

import numpy as np
import pandas as pd
import pytest

from train import Refused
from train.__main__ import main
from train.command_line import parse
from train.data import Reading, load
from train.from_config import batches_for

RNG = np.random.default_rng(8)
RARE = (np.arange(100) % 10 == 0).astype(int)


@pytest.fixture
def table(tmp_path):
    """A CSV of two classes, nine to one, and a column of weights."""
    frame = {"a": RNG.normal(size=100), "b": RARE + RNG.normal(size=100), "w": 1.0 + RARE}
    pd.DataFrame(frame | {"y": RARE}).to_csv(tmp_path / "t.csv", index=False)
    return str(tmp_path / "t.csv")


def batches(argv):
    options = parse(argv)
    how = Reading(weights=options.weights, ignore=options.ignore)
    return batches_for(load(options.data, how=how), options)


def test_balanced_classes_count_alike(table):
    learned, held_out = batches(["--data", table, "--class-weight", "balanced"])
    y, w = learned.y, learned.weights
    assert w[y == 1].sum() == pytest.approx(w[y == 0].sum()) and w.mean() == pytest.approx(1)
    assert held_out.weights is None


def test_a_column_of_weights_is_no_feature(table):
    data = load(table, how=Reading(weights="w"))
    assert data.columns == ("a", "b")
    learned, _ = batches(["--data", table, "--weights", "w"])
    expected = 1 + learned.y
    np.testing.assert_allclose(learned.weights, expected / expected.mean(), rtol=1e-6)
    both, _ = batches(["--data", table, "--weights", "w", "--class-weight", "balanced"])
    assert both.weights[both.y == 1].sum() == pytest.approx(2 * both.weights[both.y == 0].sum())


def test_an_array_of_weights(tmp_path):
    np.savez(tmp_path / "d.npz", x=RNG.normal(size=(20, 2)), y=np.arange(20) % 2, w=np.arange(20))
    name = str(tmp_path / "d.npz")
    learned, _ = batches(["--data", name, "--weights", "w"])
    assert learned.weights.shape == (16,) and learned.weights.max() > learned.weights.min()
    with pytest.raises(Refused, match="it has 'x', 'y', 'w'; expected x and y and v, or "):
        load(name, how=Reading(weights="v"))
    with pytest.raises(Refused, match="expected x_train and "):
        load(name, how=Reading(weights="x"))


def test_the_loss_has_them(table, tmp_path):
    """A class of weight 0 is not learned; its held-out samples count in what is measured."""
    frame = pd.read_csv(table)
    frame["w"] = 1.0 - frame.y
    frame.to_csv(table, index=False)
    out = tmp_path / "out"
    argv = ["--data", table, "--weights", "w", "--lr", "0.1", "--hidden", "4", "--out", str(out)]
    assert main([*argv, "--epochs", "9"]) == 0
    config = json.loads((out / "config.json").read_text())
    last = pd.read_csv(out / "history.csv").iloc[-1]
    assert config["options"]["weights"] == "w" and last.loss < 0.01
    assert last.held_out_accuracy == 0.9 and last.held_out_loss > 0.3


def test_a_rare_class_is_found(tmp_path):
    rare = np.arange(600) % 12 == 0
    name = str(tmp_path / "rare.csv")
    pd.DataFrame({"a": rare + RNG.normal(size=600), "y": rare * 1}).to_csv(name, index=False)

    def recall(*more):
        out = tmp_path / f"out{len(more)}"
        argv = ["--data", name, "--hidden", "4", "--epochs", "10", "--lr", "0.05"]
        assert main([*argv, *more, "--metric", "balanced_accuracy", "--out", str(out)]) == 0
        result = json.loads((out / "config.json").read_text())["result"]
        return result["held_out_balanced_accuracy"]

    assert recall("--class-weight", "balanced") > 0.6 > recall()


@pytest.mark.parametrize(
    "value, reason",
    [
        ("-1", "line 3, column w is -1; expected weights, numbers from 0, and some above it"),
        ("", "line 3, column w is missing; expected weights"),
        ("many", "line 3, column w is missing; expected weights"),
    ],
)
def test_wrong_weights(tmp_path, value, reason):
    path = tmp_path / "t.csv"
    path.write_text(
        "a,w,y\n" + "\n".join(f"{i},{value if i == 1 else i},{i % 2}" for i in range(9))
    )
    with pytest.raises(Refused, match=reason):
        load(str(path), how=Reading(weights="w"))


@pytest.mark.parametrize(
    "argv, reason",
    [
        ("--class-weight balanced --task regression", "--class-weight: numbers have no classes"),
        ("--class-weight balanced --augment mixup", "--augment mixup: mixes samples; expected no"),
        ("--weights w --augment cutmix", "mixes samples; expected no --weights"),
        ("--class-weight rare", "--class-weight: expected one of balanced, not 'rare'"),
    ],
)
def test_what_does_not_go_together(argv, reason):
    with pytest.raises(Refused, match=reason):
        parse(argv.split())


def test_what_has_no_weights(table):
    for how, reason in (
        ({"weights": "v"}, "it has no column v; it has a, b, w, y"),
        ({"weights": "y"}, "--weights y: it is of --target"),
        ({"weights": "w", "features": ("a", "w")}, "--weights w: it is of --features"),
    ):
        with pytest.raises(Refused, match=reason):
            load(table, how=Reading(**how))
    with pytest.raises(Refused, match="it has no columns; expected no --weights"):
        load("digits", how=Reading(weights="w"))
    for option in ("--class-weight balanced", "--weights w"):
        with pytest.raises(Refused, match="python -m train has --.*weight"):
            parse(option.split(), "train.module")
