"""Each layer around a custom operator computes the same, however its net is hybridized."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fuzz import judge
from fuzz.compare import EQUAL
from fuzz.nets import trained
from fuzz.own import CHOICES, STEPS
from fuzz.program import array, call
from fuzz.report import difference

pytestmark = pytest.mark.filterwarnings("ignore")

PLAIN = ["a number", "a branch"]  # values that Python reads cannot be recorded


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    """Compiling takes seconds: the random nets do it."""
    ways = {way: flags for way, flags in judge.WAYS.items() if way != "compiled"}
    monkeypatch.setattr(judge, "WAYS", ways)


def verdict(mx, name, **options):
    random = np.random.RandomState(0)
    xs = [array(random.standard_normal((2, 3)).astype("float32")) for _ in range(3)]
    return judge.in_all_ways(mx)(trained([call("own", name, **options)], xs))


@pytest.mark.parametrize("name", [name for name in CHOICES if name != "steps"])
def test_layers(mx, name):
    for chosen in itertools.product(*CHOICES[name].values()):
        found = verdict(mx, name, **dict(zip(CHOICES[name], chosen)))
        assert found.outcome == EQUAL, difference(found)


@pytest.mark.parametrize("step", STEPS)
def test_steps(mx, step, caplog):
    """What is pure, and in nd, is recorded."""
    for back in ("identity", step):
        found = verdict(mx, "steps", first=step, then="identity", back=back)
        assert found.outcome == EQUAL, difference(found)
    refused = [r.message for r in caplog.records if "is not recorded" in r.getMessage()]
    assert bool(refused) == (step in PLAIN), refused


def test_an_operator_that_says_wrongly_that_it_is_pure_is_found(mx, caplog):
    """By the graph itself, which compares two calls: it runs as it is."""
    assert verdict(mx, "counted", pure=True).outcome == EQUAL
    assert "done again, its calls give other values" in caplog.text
