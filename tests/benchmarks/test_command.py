"""The command, on its quick setting: that it runs and what it writes, never how fast it is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import main, without
from benchmarks.contest import Contest
from benchmarks.models import GLUONCV

ROOT = Path(__file__).resolve().parents[2]
ROW = {"seconds", "median", "steady", "ratio", "ratio_low", "ratio_high"}

pytestmark = pytest.mark.engine("torch")


def run(*options):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--threads", "1", *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp("benchmarks") / "new" / "result.json"
    done = run("--only", "operators", "--device", "cpu", "--out", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads(out.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_file_has_what_is_documented(result):
    _, written = result
    assert set(written) == {"date", "machine", "settings", "left_out", "suites", "targets"}
    assert set(written["suites"]) == {"operators"}
    for rows in written["suites"]["operators"].values():
        reference, *_ = rows.values()
        assert all(set(row) == ROW for row in rows.values())
        assert all(0 < row["seconds"] <= row["median"] for row in rows.values())
        assert all(row["ratio_low"] <= row["ratio_high"] for row in rows.values())
        assert reference["ratio"] == 1
        assert {"torch.autograd.Function", "layers, @operator"} <= set(rows)


@pytest.mark.slow
def test_file_tells_the_machine_without_its_name(result):
    _, written = result
    machine = written["machine"]
    assert machine["label"].startswith("cpu-")
    assert {"python", "numpy", "torch"} <= set(machine["versions"])
    assert machine["threads"] == 1
    assert machine["gemm"]["rule"] in ("auto", "mkl", "onednn")
    assert str(ROOT) not in json.dumps(written)


@pytest.mark.slow
def test_targets_stand_beside_what_was_measured(result):
    _, written = result
    assert written["targets"]
    for target in written["targets"]:
        assert target["ratio"] is not None or target["met"] is None
        if target["met"] is not None:
            assert target["met"] == (target["ratio"] <= target["limit"])


@pytest.mark.slow
def test_table_names_every_contestant(result):
    printed, written = result
    for rows in written["suites"]["operators"].values():
        assert all(name in printed for name in rows)


@pytest.mark.slow
def test_who_is_missing_is_told_in_one_line(result):
    printed, written = result
    names = {name for rows in written["suites"]["operators"].values() for name in rows}
    has_mxnet = "MXNet, CustomOp in nd" in names
    assert has_mxnet == (not written["left_out"])
    assert all(line in printed.splitlines() for line in written["left_out"])


@pytest.mark.slow
def test_training_steps_of_all_contestants_agree():
    """Without that they would not be timed: the command ends with an error."""
    done = run("--only", "steps", "--device", "cpu")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_what_is_for_a_gpu_is_left_out_without_one():
    done = run("--only", "bfloat16", "--device", "cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "left out, bfloat16: for a gpu only" in done.stdout.splitlines()


def test_unknown_interpreter_is_refused():
    done = run("--jax", "no-such-python")
    assert done.returncode == 2
    assert "no-such-python" in done.stderr


@pytest.mark.slow
def test_several_suites_are_chosen(monkeypatch, tmp_path):
    """They run in the order of all."""
    asked = []
    monkeypatch.setattr(Contest, "run", lambda contest, suite: asked.append(suite.name))
    assert main(["--only", "int8", "calls", "--device", "cpu", "--out", str(tmp_path / "a")]) == 0
    assert asked == ["calls", "int8"]


def test_unknown_suite_is_refused():
    done = run("--only", "nothing")
    assert done.returncode == 2
    assert "nothing" in done.stderr


def test_contestants_are_left_out_by_a_part_of_their_names():
    suite = without("compile", GLUONCV)
    names = [c.name for c in GLUONCV.contestants if "compile" not in c.name]
    assert [c.name for c in suite.contestants] == names != [c.name for c in GLUONCV.contestants]
    assert without(names[0], GLUONCV).reference == GLUONCV.reference
