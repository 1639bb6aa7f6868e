"""``python -m train.sweep``: trials over varied settings, which go on where they ended."""

import json

import numpy as np
import pytest

from train import Refused, report
from train.report.page import environment
from train.report.sweeps import SweepReport
from train.settings import joined
from train.sweep import main
from train.varied import Varied, best_of, state_of, varied_of

VARY = ["lr=log(1e-3,1)", "hidden=4|6,6"]


@pytest.fixture
def sweep(tmp_path, capsys, monkeypatch):
    """Call the program in a folder with a table; its status and what it said."""
    pytest.importorskip("optuna", reason="optuna is not installed")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    np.savez("a.npz", x=x, y=(x.sum(axis=1) > 0).astype(int))
    (tmp_path / "a.json").write_text(json.dumps({"data": "a.npz", "epochs": 2, "hidden": 3}))

    def call(*argv):
        capsys.readouterr()
        status = main([*map(str, argv)])
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


@pytest.mark.parametrize(
    "given, expected",
    [
        ("lr=log(1e-4,1e-1)", Varied("lr", 1e-4, 1e-1, True)),
        ("batch-size = uniform(8, 64)", Varied("batch_size", 8, 64)),
        ("hidden=64|128,64", Varied("hidden", texts=("64", "128,64"))),
        ("residual=true|false", Varied("residual", texts=("true", "false"))),
    ],
)
def test_what_is_varied(given, expected):
    assert varied_of(given) == expected


def test_values_become_settings():
    assert varied_of("hidden=64|128,64").setting("128,64") == [128, 64]
    assert varied_of("residual=true|false").setting("false") is False
    assert varied_of("optimizer-option=beta1=0.8|beta1=0.9").setting("beta1=0.8") == {"beta1": 0.8}
    assert varied_of("batch_size=uniform(8,64)").setting(9) == 9


@pytest.mark.parametrize(
    "given, told",
    [
        ("rate=1|2", "expected one of features, "),
        ("data=a.csv|b.csv", "expected one of features, "),  # results could not be compared
        ("lr=log(0,1)", "expected a number above 0, such as 0.01, not '0'"),
        ("lr=log(1,0.1)", "expected a less and a greater number"),
        ("hidden=log(8,64)", "expected a less and a greater number"),
        ("weight_decay=log(0,1)", "expected numbers above 0, of which there are logarithms"),
        ("lr=0.1", "expected two values or more, or log(A,B), or uniform(A,B)"),
        ("lr=0.1|0.1", "expected two values or more"),
        ("residual=true|maybe", "expected two values or more"),
        ("net=mlp|magic", "expected mlp, mixer, vit"),
    ],
)
def test_what_cannot_be_varied(given, told):
    with pytest.raises(Refused) as refused:
        varied_of(given)
    assert str(refused.value).startswith(f"--vary {given}: ") and told in str(refused.value)


@pytest.mark.slow_on("mxnet")
def test_a_sweep_goes_on_as_if_it_had_never_ended(sweep, tmp_path):
    status, out, err = sweep("a.json", "--vary", *VARY, "--trials", "4", "--out", "whole")
    assert (status, err) == (0, "") and out.count("\n") == 5
    assert out.startswith("trial 1/4: lr ") and "the best is whole/trial-00" in out
    assert sweep("a.json", "--vary", *VARY, "--trials", "3", "--out", "part")[0] == 0
    state = json.loads((tmp_path / "part/sweep.json").read_text())
    state["trials"][2] |= {"state": "running", "so_far": [], "quality": None}  # it was killed
    (tmp_path / "part/sweep.json").write_text(json.dumps(state))
    status, out, err = sweep("--resume", "--out", "part", "--trials", "4")
    assert (status, err) == (0, "") and out.startswith("trial 3/4: lr ")
    whole, part = (state_of(tmp_path / name / "sweep.json") for name in ("whole", "part"))
    for each in (*whole["trials"], *part["trials"]):
        del each["seconds"]
    assert whole == part
    best = best_of(whole)
    config = json.loads((tmp_path / f"whole/trial-{best['number']:03}/config.json").read_text())
    assert config["options"]["lr"] == best["values"]["lr"]
    assert joined(config["options"]["hidden"]) == best["values"]["hidden"]
    assert config["result"]["held_out_accuracy"] == best["metric"] == best["quality"]


@pytest.mark.slow_on("mxnet")
def test_what_a_sweep_refuses(sweep, tmp_path):
    def refused(*argv):
        status, out, err = sweep(*argv)
        assert status == 2 and out == "" and err.count("\n") == 1
        return err

    assert "expected --vary, such as" in refused("a.json")
    assert "--resume: expected --out too" in refused("--resume")
    told = refused("a.json", "--vary", "net=conv|vit", "--trials", "1", "--out", "a")
    assert told.startswith("train.sweep: trial 1, net ") and "--hidden: the net " in told
    (tmp_path / "b").mkdir()
    (tmp_path / "b/sweep.json").write_text("{}")
    assert "b/sweep.json is of no sweep: 'vary'" in refused("--resume", "--out", "b")
    assert "it holds a sweep; expected --resume" in refused("--vary", *VARY, "--out", "b")
    (tmp_path / "c.json").write_text('{"net": "own.py:build"}')
    assert "a Python file that would be run" in refused("c.json", "--vary", *VARY)


def test_trials_that_are_worse_end_early(sweep, tmp_path):
    """At rates of 1e-9 nothing is learned: after five whole trials they end in the first epoch."""
    argv = ["a.json", "--vary", "lr=0.1|1e-9", "--sampler", "random", "--trials", "10"]
    assert sweep(*argv, "--out", "a")[0] == 0
    trials = state_of(tmp_path / "a/sweep.json")["trials"]
    assert {each["state"] for each in trials[:5]} == {"done"}
    ended = [each for each in trials if each["state"] == "pruned"]
    assert ended and {each["values"]["lr"] for each in ended} == {"1e-9"}
    assert all(len(each["so_far"]) == 1 for each in ended)


@pytest.mark.slow_on("mxnet")
def test_the_report_of_a_sweep(sweep, tmp_path, capsys):
    assert sweep("a.json", "--vary", *VARY, "--trials", "2", "--out", "a<b")[0] == 0
    assert report.main(["a<b", "--out", "a.html"]) == 0
    text = (tmp_path / "a.html").read_text()
    assert "Trials of a&lt;b" in text and text.count('aria-label="metric over') == 3
    assert "Confusions" in text  # of the best run
    capsys.readouterr()
    state = json.loads((tmp_path / "a<b/sweep.json").read_text())
    state["trials"][0]["values"]["hidden"] = "<script>"
    (tmp_path / "a<b/sweep.json").write_text(json.dumps(state))
    assert report.main(["a<b", "--out", "a.html"]) == 2
    assert "is of no sweep: " in capsys.readouterr().err
    state["vary"] = ["other"]
    (tmp_path / "a<b/sweep.json").write_text(json.dumps(state))
    assert report.main(["a<b", "--out", "a.html"]) == 2


def test_a_trial_without_a_result_stands_last_in_the_table():
    trial = {"number": 1, "values": {"lr": 0.1}, "state": "diverged", "quality": None,
             "metric": None, "shown": "", "so_far": [], "seconds": 1.0}  # fmt: skip
    good = trial | {"number": 2, "state": "done", "quality": -3.0, "metric": 3.0, "so_far": [1.0]}
    found = SweepReport(None, [varied_of("lr=log(1e-3,1)")], [trial, good], good)
    assert [row[0] for row in found.rows] == [2, 1]
    assert environment().get_template("sweep.html")
