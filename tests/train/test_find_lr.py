"""``python -m train.find_lr``: the range test, its suggestion, and its files."""

import csv
import re

import numpy as np
import pytest

from train import Refused
from train.command_line import parse
from train.find_lr import main
from train.range_test import Found, smoothed

pytestmark = pytest.mark.slow_on("mxnet")


def test_the_digits(tmp_path, capsys, engine):
    """The suggestion is near the default of adam, which was found by trying."""
    assert main(["--engine", engine, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert 0.001 < float(re.search(r"\ntry --lr (\S+): ", said.out)[1]) < 0.02
    with (tmp_path / "find_lr.csv").open(newline="") as file:
        rows = [{name: float(text) for name, text in row.items()} for row in csv.DictReader(file)]
    rates = [row["learning_rate"] for row in rows]
    assert rates[0] == pytest.approx(1e-6) and len(rows) <= 150
    assert np.allclose(np.diff(np.log(rates)), np.log(1e7) / 149)
    assert rows[-1]["loss"] > min(row["smoothed"] for row in rows)
    assert (tmp_path / "find_lr.png").read_bytes()[:4] == b"\x89PNG"


def test_it_repeats_itself(tmp_path, capsys, engine):
    texts = []
    for name in ("a", "b"):
        argv = ["--net", "mlp", "--hidden", "8", "--steps", "30", "--engine", engine]
        assert (
            main([*argv, "--optimizer", "sgd", "--clip", "1", "--out", str(tmp_path / name)]) == 0
        )
        texts.append((tmp_path / name / "find_lr.csv").read_text())
    assert texts[0] == texts[1]


def test_the_folder_of_a_run_is_refused(tmp_path, capsys, engine):
    (tmp_path / "model.params").write_bytes(b"")
    assert main(["--engine", engine, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"train.find_lr: --out {tmp_path}: it holds a run: model.params; expected another folder\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["model.params"]


def test_a_loss_that_does_not_fall(tmp_path, capsys, engine):
    argv = ["--from", "1e-9", "--to", "1e-8", "--hidden", "8", "--steps", "20", "--engine", engine]
    assert main([*argv, "--out", str(tmp_path)]) == 3
    assert "no rate can be suggested: the loss falls by 0" in capsys.readouterr().out
    assert (tmp_path / "find_lr.png").exists()


@pytest.mark.parametrize(
    "argv, expected",
    [
        ("--from 1 --to 1", "--from 1: expected less than --to 1"),
        ("--lr 1", "unrecognized arguments: --lr 1"),
        (
            "--epochs 3",
            "unrecognized arguments: --epochs 3; python -m train has --epochs, and python -m "
            "train.find_lr has not",
        ),
        ("--patience 3 --lr=1", "; python -m train has --patience, --lr, and "),
        ("--schedule cosine", "unrecognized arguments: --schedule"),
        ("--steps 3", "--steps: expected a whole number from 10"),
        ("--net vit --hidden 3", "--hidden: the net vit has no such option"),
    ],
)
def test_what_it_refuses(argv, expected):
    with pytest.raises(Refused, match=expected):
        parse(argv.split(), "train.find_lr")


def curve(losses):
    rates = np.geomspace(1e-6, 1, len(losses))
    return Found(rates, losses, smoothed(np.log10(rates), losses))


def test_the_suggestion_is_where_the_loss_falls_most_steeply():
    x = np.linspace(-6, 0, 200)
    falling = 2.3 - 2 / (1 + np.exp(-4 * (x + 2.5)))
    exploding = np.where(x > -1, 10 * (x + 1), 0)
    assert curve(falling + exploding).suggestion == pytest.approx(10**-2.5, rel=0.1)
    assert curve(2.3 + exploding).suggestion is None
    at_the_end = np.where(x > -0.3, 2.3 + 10 * (x - 0.3), 2.3)  # falls at the highest rates alone
    found = curve(at_the_end)
    assert found.suggestion is None or found.suggestion <= found.rates[found.least] / 3


def test_smoothing_does_not_lag_behind():
    x = np.linspace(0, 6, 200)
    np.testing.assert_allclose(smoothed(x, 2 * x + 1)[40:-40], (2 * x + 1)[40:-40], atol=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_the_noise_of_batches_is_no_fall(seed):
    """Batches of 16 whose losses differ by a quarter, of a loss that falls little and late."""
    x = np.linspace(-6, 0.5, 140)
    noise = np.random.default_rng(seed).normal(size=140) / 4
    exploding = np.where(x > -1, 8 * (x + 1), 0)
    falling = 1.3 - 0.4 / (1 + np.exp(-4 * (x + 2.5))) + noise + exploding
    suggestion = Found(10**x, falling, smoothed(x, falling)).suggestion
    assert suggestion is None or 1e-4 < suggestion < 0.02
    flat = 1.3 + noise + exploding
    assert Found(10**x, flat, smoothed(x, flat)).suggestion is None


@pytest.mark.slow
def test_a_table_of_noisy_columns(tmp_path, capsys, engine):
    rng = np.random.default_rng(1)
    y = np.arange(240) % 3
    x = rng.normal(size=(3, 13))[y] / 4 + rng.normal(size=(240, 13))
    np.savez(tmp_path / "noisy.npz", x=x, y=y)
    argv = ["--data", str(tmp_path / "noisy.npz"), "--batch-size", "16", "--engine", engine]
    assert main([*argv, "--seed", "1", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert 1e-4 < float(re.search(r"\ntry --lr (\S+): ", said)[1]) < 0.02


def test_help(capsys):
    with pytest.raises(SystemExit):
        parse(["--help"], "train.find_lr")
    text = capsys.readouterr().out
    assert "python -m train.find_lr --optimizer sgd" in text and "exit status:" in text
    for option in ("--from", "--to", "--steps", "--net", "--data", "--clip", "--ctx", "--out"):
        assert option in text
    assert max(map(len, text.splitlines())) <= 100
