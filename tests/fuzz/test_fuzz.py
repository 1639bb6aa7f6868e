"""A short, seeded run of the fuzzer; and that it finds what is broken on purpose."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from repeated import first_alone

from fuzz import report
from fuzz.arrays import indexing
from fuzz.compare import DIFFER, EQUAL, REFUSED
from fuzz.excused import RULES
from fuzz.explore import explore, smallest
from fuzz.judge import Judge, Verdict, beside_mxnet, in_all_ways
from fuzz.nets import nets
from fuzz.operators import calls
from fuzz.oracle import ABSENT, PYTHON, ROOT, MXNet
from fuzz.program import call, literal, path, run, source
from fuzz.recording import program
from fuzz.units import UNITS
from layers.mxnet._table import registry

ROUNDS = 1  # about two minutes

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def mxnet():
    if not PYTHON.exists():
        pytest.skip(ABSENT)
    with MXNet() as started:
        yield started


@pytest.mark.parametrize(
    "units",
    [
        pytest.param([*UNITS], id="mxnet"),
        pytest.param(["nets"], id="nets", marks=pytest.mark.slow),
    ],
)
def test_engines_agree(units):
    """A process of its own, since what hypothesis draws depends on the modules that are loaded."""
    if units != ["nets"] and not PYTHON.exists():
        pytest.skip(ABSENT)
    command = [sys.executable, "-m", "fuzz", "--rounds", str(ROUNDS), "--units", *units]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'tests'}", "PYTHONHASHSEED": "0"}
    ran = subprocess.run(command, env=environment, cwd=ROOT, text=True, capture_output=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


# What is broken on purpose is found, as soon as its row is called some times

BROKEN = {
    "sum": lambda run: lambda x, *a, **k: run(x, *a, **k) * 1.001,
    "square": lambda run: lambda x: run(x) + (x - x.detach()),
    "exp": lambda run: lambda x: run(x).double(),
    "transpose": lambda run: lambda x, axes=(): run(x),
    "take": lambda run: lambda a, indices, axis=0, mode="clip": run(a, indices, axis),
    "relu": lambda run: (
        lambda x: run(x) if x.dim() > 1 else torch.relu_(x.double()).to(x.dtype)[1:]
    ),
}


@pytest.mark.parametrize("name", first_alone(BROKEN))
def test_a_broken_row_is_found(mx, mxnet, name, monkeypatch):
    row = registry.get(name)
    assert not bad(calls((name,)), Judge(beside_mxnet(mx, mxnet)))
    monkeypatch.setattr(row, "run", BROKEN[name](row.run))
    assert bad(calls((name,)), Judge(beside_mxnet(mx, mxnet)))


@pytest.mark.slow
def test_what_is_found_is_shown_by_a_small_program(mx, mxnet, monkeypatch):
    row = registry.get("sum")
    monkeypatch.setattr(row, "run", BROKEN["sum"](row.run))
    judge = Judge(beside_mxnet(mx, mxnet))
    group = bad(calls(("sum",)), judge)[0].group
    shown = source(smallest(calls(("sum",)), judge, 30, 0, group).program)
    assert len(shown.splitlines()) == 3
    assert len(shown) < 100


def bad(strategy, judge):
    """What counts against this engine, of some programs."""
    return [v for v in explore(strategy, judge, 10, 0) if v.bad]


def test_more_than_the_aims_allow_fails():
    def verdicts(differ, refused):
        outcomes = [DIFFER] * differ + [REFUSED] * refused
        outcomes += [EQUAL] * (1000 - len(outcomes))
        return [Verdict(program("", [], []), each, {}, {}) for each in outcomes]

    assert report.beyond_aims(verdicts(2, 6)) == ""
    assert "3.0 of 1000 programs: differ, at most 2" in report.beyond_aims(verdicts(3, 6))
    assert "7.0 of 1000 programs: refused here alone" in report.beyond_aims(verdicts(2, 7))


def test_a_net_that_is_otherwise_when_hybridized_is_found(mx, monkeypatch):
    hybridize = mx.gluon.nn.HybridSequential.hybridize

    def hybridize_with_one_more(net, *args, **kwargs):
        net.add(mx.gluon.nn.HybridLambda("sigmoid"))
        hybridize(net, *args, **kwargs)

    monkeypatch.setattr(mx.gluon.nn.HybridSequential, "hybridize", hybridize_with_one_more)
    found = explore(nets(), Judge(in_all_ways(mx)), 5, 0)
    assert {v.outcome for v in found} == {DIFFER}


def test_what_is_meant_is_in_the_docs():
    text = (ROOT / "docs/differences.md").read_text(encoding="utf-8")
    titles = {line.lstrip("# ") for line in text.splitlines() if line.startswith("### ")}
    assert {rule.docs for rule in RULES} - titles == {""}


# The border


def test_a_process_that_dies_is_replaced(mxnet):
    x = ["let", "x", literal([1, 2])]
    dies = program("", [["do", call("mx.test_utils.os._exit", 1)]], [])
    fine = program("", [x], [path("x")])
    assert mxnet.run(dies) == {"crash": "the process dies"}
    assert mxnet.run(fine) == {"shown": [["list", 1, 2]]}


def test_a_process_that_hangs_is_replaced(mxnet, monkeypatch):
    monkeypatch.setattr("fuzz.oracle.TIMEOUT", 0.2)
    hangs = program("", [["do", call("mx.test_utils.time.sleep", 60)]], [])
    assert mxnet.run(hangs) == {"crash": "it hangs"}
    assert mxnet.run(program("", [], [1])) == {"shown": [1]}


# What is printed is what was run


@pytest.mark.parametrize("strategy", [calls(), indexing(), UNITS["layers"][0]], ids=str)
def test_a_printed_program_is_the_program(mx, strategy):
    programs = []
    explore(strategy, lambda p: programs.append(p) or p, 30, 1)
    for each in programs:
        ran = run(mx, each)
        if "shown" in ran:
            assert str(execute(mx, source(each))) == str(ran["shown"])


def execute(mx, text):
    """What a printed program prints, as expressions."""
    printed = []
    names = {"mx": mx, "np": np, "inf": math.inf, "nan": math.nan}
    names["print"] = lambda value: printed.append(literal(value))
    exec(text, names)
    return printed
