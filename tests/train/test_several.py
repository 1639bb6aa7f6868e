"""--folds and --repeat: runs below a run, and the mean of what they give."""

import json
import shutil

import numpy as np
import pytest

from train import Refused, module
from train.__main__ import main
from train.command_line import parse
from train.several import runs_of

SHORT = ["--epochs", "2", "--hidden", "4"]


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(2)
    y = np.arange(60) % 2
    np.savez(tmp_path / "d.npz", x=y[:, None] + rng.normal(size=(60, 3)), y=y)
    return ["--data", str(tmp_path / "d.npz"), *SHORT]


def config(folder):
    return json.loads((folder / "config.json").read_text())


@pytest.mark.parametrize("main", [main, module.main])
def test_folds(data, tmp_path, capsys, main):
    out, plain = tmp_path / "out", tmp_path / "plain"
    assert main([*data, "--folds", "3", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    runs = config(out)["runs"]
    assert runs["folders"] == ["fold-1", "fold-2", "fold-3"]
    each = [config(out / name) for name in runs["folders"]]
    assert [one["options"]["holdout"] for one in each] == ["1/3", "2/3", "3/3"]
    assert [one["options"]["folds"] for one in each] == [None] * 3
    assert [one["data"]["held_out"] for one in each] == [20] * 3
    accuracy = [one["result"]["held_out_accuracy"] for one in each]
    assert runs["held_out"]["accuracy"] == accuracy
    assert runs["held_out"]["log_loss"] == pytest.approx(runs["held_out"]["loss"], rel=1e-4)
    [line] = [line for line in said.splitlines() if line.startswith("accuracy")][-1:]
    assert line.split()[1:3] == [f"{np.mean(accuracy):.2%}", f"{np.std(accuracy):.2%}"]
    assert main([*data, "--out", str(plain)]) == 0
    assert (out / "history.csv").read_bytes() == (plain / "history.csv").read_bytes()
    again = tmp_path / "again"
    assert main(["--config", str(out / "fold-2" / "config.json"), "--out", str(again)]) == 0
    assert (again / "history.csv").read_bytes() == (out / "fold-2/history.csv").read_bytes()


def test_other_seeds(data, tmp_path):
    out = tmp_path / "out"
    assert main([*data, "--seed", "4", "--repeat", "3", "--out", str(out)]) == 0
    runs = config(out)["runs"]
    assert runs["folders"] == [".", "seed-5", "seed-6"]
    assert [config(out / name)["options"]["seed"] for name in runs["folders"]] == [4, 5, 6]
    assert len({*runs["held_out"]["loss"]}) == 3


def test_what_has_not_ended_goes_on(data, tmp_path, capsys):
    out = tmp_path / "out"
    assert main([*data, "--folds", "2", "--out", str(out)]) == 0
    expected = config(out)["runs"]
    shutil.rmtree(out / "fold-2")
    assert main([*data, "--folds", "2", "--resume", "--out", str(out)]) == 0
    assert config(out)["runs"] == expected
    assert main([*data, "--folds", "2", "--out", str(out)]) == 2
    assert "it holds another run" in capsys.readouterr().err


def test_runs_have_folders_of_their_own(tmp_path):
    line = "--data t.csv --folds 2 --repeat 2 --out o --tensorboard tb --holdout 0.1,group:a"
    runs = runs_of(parse(line.split()))
    assert [(str(r.out), r.seed, r.holdout, str(r.tensorboard)) for r in runs] == [
        ("o", 0, "0.1,group:a", "tb"),
        ("o/seed-0-fold-1", 0, "1/2,group:a", "tb/seed-0-fold-1"),
        ("o/seed-0-fold-2", 0, "2/2,group:a", "tb/seed-0-fold-2"),
        ("o/seed-1-fold-1", 1, "1/2,group:a", "tb/seed-1-fold-1"),
        ("o/seed-1-fold-2", 1, "2/2,group:a", "tb/seed-1-fold-2"),
    ]
    assert len(runs_of(parse(["--out", "o"]))) == 1


@pytest.mark.parametrize(
    "argv, reason",
    [
        ("--folds 1", "--folds: expected a whole number from 2"),
        ("--folds 3 --validation v.csv", "--folds: --validation says what is held out"),
        ("--folds 3 --holdout 1/3", "--folds: --holdout 1/3 says what is held out"),
        ("--repeat 3 --kvstore dist_sync", "--repeat: trains in one process; expected no --kvst"),
    ],
)
def test_what_does_not_go_together(argv, reason):
    with pytest.raises(Refused, match=reason):
        parse(argv.split())


def test_data_with_held_out_samples_has_no_folds(tmp_path, capsys):
    x, y = np.eye(8), np.arange(8) % 2
    np.savez(tmp_path / "d.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    argv = ["--data", str(tmp_path / "d.npz"), "--folds", "2", "--out", str(tmp_path / "out")]
    assert main(argv) == 2
    assert "--folds: the data says what is held out; expected no --folds" in capsys.readouterr().err
