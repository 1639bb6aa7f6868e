"""The contestants, in small: that they compute the same, and are compiled where they say so."""

import logging
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import pytest

from benchmarks.__main__ import PYTHONS
from benchmarks.contest import _Remote, agree
from benchmarks.graphs import GRAPHS
from benchmarks.suites import (
    BFLOAT16,
    BUCKETING,
    COMPILED,
    FIT,
    FORMULAS,
    INFERENCE,
    KERNELS,
    LIBRARIES,
    LSTM,
    OPERATORS,
    OPTIMIZERS,
    OURS,
    PIPELINE,
    SUITES,
    TRAINING,
    TRANSFORMER,
    ZOO_INFERENCE,
    ZOO_TRAINING,
)
from layers import ops
from train import gluoncv_package

pytestmark = pytest.mark.engine("torch")

FAST = "aot_eager"  # traced and differentiated as for inductor, but not turned into C++
MLP = {"sizes": (6, 5, 4, 3), "batch": 4, "activation": "sigmoid"}
SMALL = {
    OPERATORS.name: {"body": "sigmoid", "backward": True},
    KERNELS.name: {"body": "rows", "shape": (5, 4)},
    LIBRARIES.name: {"body": "sigmoid", "shape": (5, 4)},
    COMPILED.name: MLP,
    TRANSFORMER.name: {"batch": 2, "length": 5, "units": 8, "heads": 2},
    FIT.name: {"sizes": (6, 5, 4), "batch": 2, "steps": 3, "epochs": 2},
    INFERENCE.name: {"size": 32, "batch": 2, "training": False},
    TRAINING.name: {"size": 64, "batch": 4, "training": True},
    BFLOAT16.name: {"size": 16, "backward": True},
    PIPELINE.name: {"count": 4, "batch": 2},
    OPTIMIZERS.name: {"name": "rmsprop", "options": {}, "count": 9, "shape": (3, 2)},
    LSTM.name: {"steps": 3, "batch": 2, "size": 5, "layers": 2},
    GRAPHS.name: {"work": "bind and predict", "nodes": 60},
    BUCKETING.name: {"count": 60, "batch": 2, "size": 4, "layers": 1},
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
    pytest.param(
        suite,
        contestant,
        id=f"{suite.name}, {contestant.name}",
        marks=[pytest.mark.slow] * ("compile" in contestant.name or "eager" in contestant.name),
    )
    for suite in SUITES
    if suite.name in SMALL and suite is not PIPELINE and suite is not BUCKETING
    for contestant in suite.contestants[1:]
    if contestant.process == OURS
]


@pytest.mark.parametrize("suite, contestant", HERE)
def test_all_compute_what_the_first_does(fast, suite, contestant):
    found, expected = (built(suite, c).check() for c in (contestant, suite.reference))
    tolerance = suite.tolerance if suite is BFLOAT16 else 1e-3  # this is not a GPU
    assert agree(found, expected, tolerance), (found, expected)


SHAPES = {  # of small inputs
    "attention": (2, 2, 5, 4),
    "dense": (4, 3, 5),
    "embedding_bag": (7, 3, 4, 2),
    "group_norm": (2, 4, 3, 3),
    "linear_cross_entropy": (4, 3, 5),
    "multi_head_attention": (2, 3, 16),
    "remat": (4, 3, 2),
    "rotary": (2, 1, 3, 4),
}


@pytest.mark.parametrize("operator", sorted({c.arguments["operator"] for c in FORMULAS.cases}))
def test_operators_compute_the_same(operator):
    shape, found = SHAPES.get(operator, (4, 6)), []
    for c in FORMULAS.contestants:
        if c.process == OURS:
            try:
                module = import_module(f"benchmarks.{c.home}.formulas")
                found.append(module.build(c.variant, "cpu", operator, shape).check())
            except NotImplementedError as error:
                assert "PyTorch has no function" in str(error)
    assert all(agree(other, found[0], 1e-4) for other in found[1:]), found
    assert len(found) > 1


def test_each_operator_of_the_library_is_measured():
    names = {n for n in ops.__all__ if isinstance(getattr(ops, n), ops.Operator)}
    names -= {"row_numbers"}  # it looks at numbers, and computes nothing
    names = names - {"scaled_dot_product_attention", "softmax_output"} | {"attention", "softmax"}
    layers = {"gelu", "mish", "multi_head_attention", "remat"}  # without an operator of their name
    assert {c.arguments["operator"] for c in FORMULAS.cases} == names | layers


def test_bfloat16_forward_computes_the_product():
    reference, *others = (c for c in BFLOAT16.contestants if c.variant != "compiled")
    expected = built(BFLOAT16, reference, backward=False).check()
    for contestant in others:
        found = built(BFLOAT16, contestant, backward=False).check()
        assert agree(found, expected, BFLOAT16.tolerance), (contestant.name, found, expected)


IN_PIPELINE = [c for c in PIPELINE.contestants if c.process == OURS]


@pytest.mark.parametrize("contestant", IN_PIPELINE, ids=lambda c: c.name)
def test_pipelines_give_the_same_images(monkeypatch, tmp_path, contestant):
    """Those of torchvision where it is installed, else those of MXNet's ImageIter."""
    pytest.importorskip("PIL", reason="images are read by Pillow")
    has_torchvision = find_spec("torchvision") is not None
    if contestant.home == "pytorch" and not has_torchvision:
        pytest.skip("torchvision is in the environment of make bench")
    reference = next(c for c in IN_PIPELINE if has_torchvision or c.variant == "ImageIter")
    monkeypatch.setattr("benchmarks.records.FOLDER", tmp_path)
    found, expected = (built(PIPELINE, c).check() for c in (contestant, reference))
    assert agree(found, expected, PIPELINE.tolerance), (found, expected)


@pytest.mark.parametrize("suite", [ZOO_INFERENCE, ZOO_TRAINING], ids=lambda s: s.name)
@pytest.mark.parametrize("net", ["resnet50_v1", "mobilenet_v2_1_0"])
def test_nets_of_the_zoo_compute_what_torchvisions_do(suite, net):
    pytest.importorskip("torchvision", reason="it is in the environment of make bench")
    module, training = import_module("benchmarks.gluon.zoo"), suite is ZOO_TRAINING
    theirs = import_module("benchmarks.pytorch.zoo")
    sizes = {"net": net, "size": 64, "batch": 4, "training": training}
    found, expected = (m.build("eager", "cpu", **sizes).check() for m in (module, theirs))
    assert agree(found, expected, 1e-3 if not training else suite.tolerance), (found, expected)


@pytest.mark.skipif(not find_spec("gluoncv"), reason="GluonCV is not installed")
@pytest.mark.parametrize("training", [False, True], ids=["inference", "training"])
def test_models_of_gluoncv_compute_the_same(training):
    gluoncv_package.gluoncv()  # its first import changes Pillow, which is set back here
    module = import_module("benchmarks.gluon.gluoncv")
    given = {"net": "mobilenetv3_small", "size": 64, "batch": 2, "training": training}
    found, expected = (
        module.build(variant, "cpu", **given, options={}).check()
        for variant in ("eager", "recorded")
    )
    assert agree(found, expected, 1e-3), (found, expected)


def test_torchvision_has_a_model_of_gluoncv():
    pytest.importorskip("torchvision", reason="it is in the environment of make bench")
    gluoncv_package.gluoncv()
    given = {"net": "resnet50_v1b", "size": 64, "batch": 2, "training": False, "options": {}}
    found, expected = (
        import_module(f"benchmarks.{home}.gluoncv").build("eager", "cpu", **given).check()
        for home in ("gluon", "pytorch")
    )
    assert agree(found, expected, 1e-3), (found, expected)
    with pytest.raises(NotImplementedError, match="no net like GluonCV's deeplab"):
        import_module("benchmarks.pytorch.gluoncv").build(
            "eager", "cpu", **given | {"net": "deeplab"}
        )


@pytest.mark.slow
def test_a_first_epoch_of_buckets_is_made_anew():
    [ours] = [c for c in BUCKETING.contestants if c.process == OURS]
    first, again = (built(BUCKETING, ours, is_first=True) for _ in range(2))
    first.step()
    later = built(BUCKETING, ours, is_first=False).check()
    assert first.check() == again.check() == later[:1]
    assert later[1] != later[0]


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "suite, peer, variant",
    [
        (COMPILED, "jax", "whole"),
        (COMPILED, "keras", "train_on_batch"),
        (OPERATORS, "jax", "custom_vjp"),
        (OPERATORS, "keras", "custom_gradient"),
        (TRANSFORMER, "jax", "whole"),
        (TRANSFORMER, "keras", "train_on_batch"),
        (FIT, "keras", "bare"),
        (FIT, "keras", "fit"),
        (FIT, "lightning", "fit"),
    ],
    ids=lambda part: getattr(part, "name", part),
)
def test_peers_compute_the_same(suite, peer, variant):
    if not PYTHONS[peer].exists():
        pytest.skip(f"{peer} is in the environment of make bench")
    expected = built(suite, suite.reference).check()
    worker = _Remote(peer, 1, PYTHONS[peer])
    try:
        found = worker.ask("build", peer, suite.module, variant, "cpu", SMALL[suite.name])
        assert worker.ask("time", peer, variant, 2, 1) > 0
    finally:
        worker.stop()
    assert agree(found, expected, suite.tolerance), (found, expected)
