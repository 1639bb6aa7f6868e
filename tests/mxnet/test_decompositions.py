"""Compiled code calls PyTorch's kernels where they are faster than inductor's own code."""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module

import numpy as np
import pytest

from layers import ops
from layers.engine import autograd, gluon, nd

pytestmark = pytest.mark.engine("torch")

if os.environ["LAYERS_ENGINE"] == "torch":
    torch = import_module("torch")
    inductor = import_module("layers.mxnet._graph.inductor")

FORWARD, BACKWARD = "aten::native_layer_norm", "aten::native_layer_norm_backward"
FORMULAS = {
    "nd.LayerNorm": lambda F, x, gamma, beta: F.LayerNorm(x, gamma, beta),
    "layers.layer_norm": lambda F, x, gamma, beta: ops.layer_norm(x, gamma, beta),
    "layers.rms_norm": lambda F, x, gamma, beta: F.broadcast_add(ops.rms_norm(x, gamma), beta),
}


def inputs(rows, columns):
    random = np.random.RandomState(3)
    arrays = [nd.array(random.randn(*shape)) for shape in ((rows, columns), (columns,), (columns,))]
    for array in arrays:
        array.attach_grad()
    return arrays


def step(run, arrays):
    """The output and the gradients, and what PyTorch has called for them."""
    with torch.profiler.profile() as profile:
        with autograd.record():
            y = run(*arrays)
        y.backward(nd.cos(y))
    found = [a.asnumpy() for a in (y, *(a.grad for a in arrays))]
    return found, {event.name for event in profile.events()}


@pytest.mark.parametrize(
    "formula, shape, kernels",
    [
        pytest.param("nd.LayerNorm", (2048, 640), {FORWARD, BACKWARD}, marks=pytest.mark.slow),
        pytest.param("nd.LayerNorm", (16384, 64), {BACKWARD}, marks=pytest.mark.slow),
        pytest.param("nd.LayerNorm", (64, 640), set(), marks=pytest.mark.slow),
        ("layers.layer_norm", (2048, 640), {FORWARD, BACKWARD}),
        pytest.param("layers.rms_norm", (2048, 640), {BACKWARD}, marks=pytest.mark.slow),
    ],
)
def test_a_large_norm_is_that_of_pytorch(formula, shape, kernels):
    net = gluon.nn.HybridLambda(FORMULAS[formula])
    net.hybridize(backend="inductor")
    arrays = inputs(*shape)
    step(net, arrays)
    found, called = step(net, arrays)
    expected, _ = step(partial(FORMULAS[formula], nd), arrays)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * np.abs(b).max())
    assert called & {FORWARD, BACKWARD} == kernels


def test_inductor_decides_alone_where_it_has_no_such_table(monkeypatch):
    from torch._inductor import lowering

    monkeypatch.delattr(lowering, "make_fallback")
    inductor._call_kernels.cache_clear()
    try:
        assert inductor.decompositions({}) is None
    finally:
        inductor._call_kernels.cache_clear()


def test_what_users_compile_themselves_is_left_to_inductor():
    from torch._inductor.decomposition import select_decomp_table

    before = dict(select_decomp_table())
    ours = inductor.decompositions({"fallback_random": True})
    assert ours[inductor.LAYER_NORM] is not before[inductor.LAYER_NORM]
    assert dict(select_decomp_table()) == before
