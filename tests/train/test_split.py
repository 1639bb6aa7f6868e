"""Which samples are held out: --holdout and --seed."""

import json

import numpy as np
import pandas as pd
import pytest

from train import Refused
from train.__main__ import main
from train.command_line import parse
from train.data import Reading, load
from train.data.samples import Split
from train.report.read import read_runs

RNG = np.random.default_rng(9)
N = 120


@pytest.fixture
def table(tmp_path):
    """A CSV of 120 rows; `row` says which one it is."""
    days = pd.date_range("2024-01-01", periods=40).repeat(3)
    frame = pd.DataFrame(
        {
            "row": np.arange(N) + 0.5,
            "user": [f"u{i % 15}" for i in range(N)],
            "day": days[::-1].strftime("%d.%m.%Y"),
            "y": np.where(np.arange(N) % 4 == 0, "rare", "often"),
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    return str(tmp_path / "t.csv")


def rows(data):
    """The rows to learn from, and those held out."""
    place = data.columns.index("row")
    return [set((x[:, place] - 0.5).astype(int)) for x in (data.x, data.held_out_x)]


def split(name, holdout=None, seed=0, **how):
    return load(name, how=Reading(split=Split(holdout, seed), **how))


def test_a_share_of_each_class_by_the_seed(table):
    learned, kept = rows(split(table))
    assert len(learned) == 96 and len(kept) == 24 and not learned & kept
    assert rows(split(table)) == [learned, kept] != rows(split(table, seed=1))
    data = split(table, "0.1")
    assert len(data.held_out_x) == 12 and data.held_out_y.sum() == 3
    numbers = split(table, "0.5", regression=True, target="row", ignore=("y",))
    assert len(numbers.held_out_y) == 60


def test_folds_cover_all_samples_once(table):
    for how in ({}, {"regression": True, "target": "row", "ignore": ("y",)}):
        parts = [split(table, f"{i}/5", 3, **how) for i in range(1, 6)]
        assert [len(part.held_out_x) for part in parts] == [24] * 5
    kept = [rows(split(table, f"{i}/5"))[1] for i in range(1, 6)]
    assert set.union(*kept) == set(range(N))


@pytest.mark.parametrize(
    "holdout, count", [("group:user", 3), ("2/5,group:user", 3), (".4,group:user", 6)]
)
def test_whole_groups_are_held_out(table, holdout, count):
    data = split(table, holdout)
    assert data.columns == ("row", "day") or "user" not in data.columns
    learned, kept = rows(data)
    users = {i % 15 for i in kept}
    assert len(users) == count and not users & {i % 15 for i in learned}
    assert len(learned | kept) == N
    assert any(f"{count} of 15 values are held out: u" in note for note in data.notes)
    other = rows(split(table, holdout, 1))
    assert other != [learned, kept]


def test_the_last_in_time_are_held_out(table):
    """The first rows are the last days; a day is on one side."""
    learned, kept = rows(split(table, "time:day"))
    assert kept == set(range(24)) and learned == set(range(24, N))
    assert rows(split(table, "0.33,time:day", ignore=("day",)))[1] == set(range(39))
    parts = [rows(split(table, f"{i}/3,time:day")) for i in (1, 2, 3)]
    assert [len(kept) for _, kept in parts] == [30, 30, 30]
    assert all(min(learned) > max(kept) for learned, kept in parts)
    assert rows(split(table, "time:row"))[1] == set(range(96, N))


def test_a_class_that_is_only_held_out_is_told(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "a,t,y\n" + "\n".join(f"{i % 7},{i},{'new' if i > 17 else i % 2}" for i in range(20))
    )
    assert (
        "classes that are only held out, and not learned: new" in split(str(path), "time:t").notes
    )


@pytest.mark.parametrize(
    "holdout, how, reason",
    [
        ("group:nobody", {}, "it has no column nobody; it has row, user, day, y"),
        ("group:y", {}, "--holdout y: it is of --target"),
        ("group:user", {"features": ("user",)}, "--holdout user: it is of --features"),
        ("time:user", {}, "line 2, column user is u0; expected numbers or dates"),
        ("16/16,group:user", {}, "--holdout group:user: it has 15 different values; expected 16"),
        ("121/121", {}, "there are 120 samples; expected 5 or more, and one for each fold"),
        ("1/100", {}, "--holdout 1/100: n_splits=100 cannot be greater than the number of members"),
        (".999", {}, "--holdout .999: The train_size"),
    ],
)
def test_what_cannot_be_held_out(table, holdout, how, reason):
    with pytest.raises(Refused) as refused:
        split(table, holdout, **how)
    assert reason in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "value", ["0", "0.0", "1", "1.5", "half", "0/5", "6/5", "1/1", "group:", "time", "more.csv", ""]
)
def test_what_holdout_may_not_be(value):
    with pytest.raises(Refused, match="--holdout: expected a share such as 0.2, .*--validation"):
        parse(["--holdout", value])


def test_other_held_out_samples(table, tmp_path):
    with pytest.raises(Refused, match="--holdout: --validation names the held-out samples"):
        parse(["--holdout", "0.1", "--validation", "more.csv"])
    x, y = np.eye(8), np.arange(8) % 2
    np.savez(tmp_path / "d.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    with pytest.raises(Refused, match="it has held-out samples of its own; expected no --holdout"):
        split(str(tmp_path / "d.npz"), "0.1")
    with pytest.raises(Refused, match="it has no columns; expected no --holdout of a column"):
        split("digits", "time:day")


@pytest.mark.parametrize("holdout", [None, "0.3", "2/5", "group:user", "time:day"])
def test_a_report_finds_the_same_samples(table, tmp_path, holdout):
    out = tmp_path / "out"
    argv = ["--data", table, "--seed", "5", "--epochs", "1", "--hidden", "4", "--out", str(out)]
    assert main(argv + (["--holdout", holdout] if holdout else [])) == 0
    config = json.loads((out / "config.json").read_text())
    assert config["data"]["split"] == {"holdout": holdout, "seed": 5}
    [run] = read_runs([out])
    expected = split(table, holdout, 5)
    np.testing.assert_array_equal(run.measured.x, expected.held_out_x)
    again = ["--config", str(out / "config.json"), "--out", str(tmp_path / "again")]
    assert main(again) == 0
    name = "model.params"
    assert (out / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_a_run_of_before_held_out_the_same_for_every_seed(table, tmp_path):
    out = tmp_path / "out"
    assert main(["--data", table, "--epochs", "1", "--hidden", "4", "--out", str(out)]) == 0
    config = json.loads((out / "config.json").read_text())
    del config["data"]["split"]
    config["options"]["seed"] = 7
    (out / "config.json").write_text(json.dumps(config))
    [run] = read_runs([out])
    assert run.measured is not None
