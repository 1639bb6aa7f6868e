"""The contestants, in small: that they compute the same, and are compiled where they say so."""

import logging
from functools import partial
from importlib import import_module

import pytest

from benchmarks.__main__ import JAX
from benchmarks.contest import _Remote, agree
from benchmarks.suites import (
    BFLOAT16,
    COMPILED,
    INFERENCE,
    KERNELS,
    LIBRARIES,
    OPERATORS,
    OURS,
    PIPELINE,
    TRAINING,
)

pytestmark = pytest.mark.engine("torch")

FAST = "aot_eager"  # traced and differentiated as for inductor, but not turned into C++
MLP = {"sizes": (6, 5, 4, 3), "batch": 4, "activation": "sigmoid"}
SMALL = {
    OPERATORS.name: {"body": "sigmoid", "backward": True},
    KERNELS.name: {"body": "rows", "shape": (5, 4)},
    LIBRARIES.name: {"body": "sigmoid", "shape": (5, 4)},
    COMPILED.name: MLP,
    INFERENCE.name: {"size": 32, "batch": 2, "training": False},
    TRAINING.name: {"size": 32, "batch": 2, "training": True},
    BFLOAT16.name: {"size": 16, "backward": True},
    PIPELINE.name: {"count": 4, "batch": 2},
}


@pytest.fixture
def fast(monkeypatch):
    import torch

    from benchmarks.gluon import steps

    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=FAST))
    monkeypatch.setattr(steps, "compiled_step", partial(steps.compiled_step, backend=FAST))
    monkeypatch.setitem(steps.HYBRIDIZE, "compiled", {"backend": FAST})
    torch.compiler.reset()


def built(suite, contestant, **changes):
    module = import_module(f"benchmarks.{contestant.home}.{suite.module}")
    return module.build(contestant.variant, "cpu", **SMALL[suite.name] | changes)


HERE = [
    pytest.param(suite, contestant, id=f"{suite.name}, {contestant.name}")
    for suite in (OPERATORS, KERNELS, LIBRARIES, COMPILED, INFERENCE, TRAINING, BFLOAT16)
    for contestant in suite.contestants[1:]
    if contestant.process == OURS
]


@pytest.mark.parametrize("suite, contestant", HERE)
def test_all_compute_what_the_first_does(fast, suite, contestant):
    found, expected = (built(suite, c).check() for c in (contestant, suite.reference))
    tolerance = suite.tolerance if suite is BFLOAT16 else 1e-3  # this is not a GPU
    assert agree(found, expected, tolerance), (found, expected)


def test_bfloat16_forward_computes_the_product():
    reference, *others = (c for c in BFLOAT16.contestants if c.variant != "compiled")
    expected = built(BFLOAT16, reference, backward=False).check()
    for contestant in others:
        found = built(BFLOAT16, contestant, backward=False).check()
        assert agree(found, expected, BFLOAT16.tolerance), (contestant.name, found, expected)


@pytest.mark.parametrize("variant", ["ImageIter", "ImageRecordIter 1", "ImageRecordIter 2"])
def test_pipelines_give_the_same_images(monkeypatch, tmp_path, variant):
    pytest.importorskip("PIL", reason="images are read by Pillow")
    monkeypatch.setattr("benchmarks.records.FOLDER", tmp_path)
    [contestant] = [c for c in PIPELINE.contestants if (c.process, c.variant) == (OURS, variant)]
    found, expected = (built(PIPELINE, c).check() for c in (contestant, PIPELINE.reference))
    assert agree(found, expected, PIPELINE.tolerance), (found, expected)


@pytest.mark.parametrize("activation", ["relu", "sigmoid"])
def test_operators_in_numpy_are_compiled(fast, caplog, activation):
    """It is logged of each, and the compiler counts where it had to stop."""
    import torch

    caplog.set_level(logging.INFO, "layers.mxnet.hybridize")
    torch._dynamo.utils.counters.clear()
    contestant = next(c for c in COMPILED.contestants if c.variant == "numpy compiled")
    built(COMPILED, contestant, activation=activation).check()
    told = [r.getMessage() for r in caplog.records if r.name == "layers.mxnet.hybridize"]
    assert told and all(line.endswith("is compiled") for line in told), told
    assert not torch._dynamo.utils.counters["graph_break"]
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"]


@pytest.mark.skipif(not JAX.exists(), reason="JAX is in the environment of make bench")
@pytest.mark.parametrize("activation", ["relu", "sigmoid"])
def test_jax_computes_the_same(activation):
    expected = built(COMPILED, COMPILED.reference, activation=activation).check()
    worker = _Remote("jax", 1, JAX)
    try:
        case = MLP | {"activation": activation}
        found = worker.ask("build", "jax", "steps", "whole", "cpu", case)
        assert worker.ask("time", "jax", "whole", 2, 1) > 0
    finally:
        worker.stop()
    assert agree(found, expected, COMPILED.tolerance), (found, expected)
