"""Schedules of learning rates, held to MXNet's."""

import pytest
from recorded import Recorded

from layers.engine import mx

WARMUP = {"warmup_steps": 4, "warmup_begin_lr": 0.2}
CASES = {
    "factor": ("FactorScheduler", {"step": 2, "factor": 0.5, "stop_factor_lr": 0.2}),
    "factor,warmup": ("FactorScheduler", {"step": 2, "factor": 0.5, **WARMUP}),
    "factor,constant": (
        "FactorScheduler",
        {"step": 3, "factor": 0.5, "warmup_mode": "constant", **WARMUP},
    ),
    "multi": ("MultiFactorScheduler", {"step": [3, 5], "factor": 0.1}),
    "multi,warmup": ("MultiFactorScheduler", {"step": [3, 7], "factor": 0.1, **WARMUP}),
    "poly": ("PolyScheduler", {"max_update": 10}),
    "poly,warmup": ("PolyScheduler", {"max_update": 10, "pwr": 1, "final_lr": 0.1, **WARMUP}),
    "cosine": ("CosineScheduler", {"max_update": 10}),
    "cosine,warmup": ("CosineScheduler", {"max_update": 9, "final_lr": 0.1, **WARMUP}),
}


@pytest.fixture(scope="module")
def recorded(pytestconfig):
    values = Recorded("lr_scheduler", pytestconfig.getoption("--record"))
    yield values
    values.write()


@pytest.mark.parametrize("case", CASES)
def test_rates(recorded, case):
    name, settings = CASES[case]
    schedule = getattr(mx.lr_scheduler, name)(base_lr=1.0, **settings)
    recorded.check(case, [[schedule(i) for i in range(14)]], 1e-8)


def test_updates_may_be_skipped():
    assert mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=1.0)(9) == 0.0625
    assert mx.lr_scheduler.MultiFactorScheduler([3, 5], 0.5, base_lr=1.0)(9) == 0.25


def test_one_argument_is_the_base():
    """The arguments are MXNet's also by position."""
    assert mx.lr_scheduler.CosineScheduler(10, 1.0, 0.1, 3, 0.05, "constant")(1) == 0.05
    assert mx.lr_scheduler.FactorScheduler(10, 1, 1e-8, 1.0, 2, 0.5)(1) == 0.75


@pytest.mark.parametrize(
    "name, settings",
    [
        ("LRScheduler", {"base_lr": 0.1, "warmup_begin_lr": 0.5}),
        ("LRScheduler", {"warmup_steps": -3}),
        ("LRScheduler", {"warmup_mode": "x"}),
        ("FactorScheduler", {"step": 0}),
        ("FactorScheduler", {"step": 1, "factor": 2}),
        ("MultiFactorScheduler", {"step": [3, 3]}),
        ("MultiFactorScheduler", {"step": [0, 3]}),
        ("MultiFactorScheduler", {"step": [3], "factor": 2}),
        ("PolyScheduler", {"max_update": 0}),
        ("CosineScheduler", {"max_update": -1}),
    ],
)
def test_refused(name, settings):
    with pytest.raises(ValueError, match=r"\w"):
        getattr(mx.lr_scheduler, name)(**settings)


def test_base_is_not_callable():
    with pytest.raises(NotImplementedError):
        mx.lr_scheduler.LRScheduler()(1)
