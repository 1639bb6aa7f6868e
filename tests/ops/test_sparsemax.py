"""Sparsemax: beside NumPy and the plain composition, at extremes, its memory, in graphs."""

import numpy as np
import pytest
from ways import each

from layers import SparsemaxBlock, engine
from layers.engine import autograd, nd
from layers.ops import sparsemax


def expected(x):
    """The projection on the simplex and its gradient for dy, by the paper's algorithm 1."""
    x = x.astype("float64")
    z = -np.sort(-x, axis=-1)
    places = np.arange(1, x.shape[-1] + 1)
    sums = z.cumsum(axis=-1)
    count = (1 + places * z > sums).sum(axis=-1, keepdims=True)
    tau = (np.take_along_axis(sums, count - 1, axis=-1) - 1) / count
    y, dy = np.maximum(x - tau, 0), head(x.shape)
    support = y > 0
    mean = (dy * support).sum(axis=-1, keepdims=True) / support.sum(axis=-1, keepdims=True)
    return y, support * (dy - mean)


def head(shape):
    return np.random.RandomState(7).randn(*shape)


def value(*shape, scale=1.0):
    return scale * np.random.RandomState(3).randn(*shape)


def results(function, x):
    x.attach_grad()
    with autograd.record():
        y = function(x)
    y.backward(nd.array(head(y.shape), dtype=x.dtype))
    return y.asnumpy(), x.grad.asnumpy()


@pytest.mark.parametrize("shape", [(4, 7), (2, 3, 1, 16), (3, 1), (2, 2), (1, 1000)])
@pytest.mark.parametrize("scale", [0.01, 1, 30])
@pytest.mark.parametrize("dtype, atol", [("float32", 2e-6), ("float64", 1e-12)])
def test_beside_numpy(shape, scale, dtype, atol):
    x = nd.array(value(*shape, scale=scale), dtype=dtype)
    y, dx = results(sparsemax, x)
    assert y.dtype == dx.dtype == np.dtype(dtype)
    for a, b in zip((y, dx), expected(x.asnumpy())):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=atol)
    np.testing.assert_allclose(y.sum(axis=-1), np.ones(shape[:-1]), rtol=1e-4)


def test_float16_is_rounded_once():
    x = nd.array(value(4, 3000, scale=0.001), dtype="float16")  # sums of 3000 are float32
    y, dx = results(sparsemax, x)
    assert y.dtype == dx.dtype == np.float16
    np.testing.assert_allclose(y, expected(x.asnumpy())[0], rtol=1e-3, atol=1e-7)


def test_ties_and_extremes():
    rows = [[2.0, 2.0, 2.0], [1.0, 1.0, 0.0], [3e38, -3e38, 0.0], [-1e30, -1e30, -3e38], [0, 0, 0]]
    y, dx = results(sparsemax, nd.array(rows))
    third = 1 / 3
    wanted = [[third] * 3, [0.5, 0.5, 0], [1, 0, 0], [0.5, 0.5, 0], [third] * 3]
    np.testing.assert_allclose(y, wanted, rtol=1e-6)
    assert np.isfinite(dx).all() and np.abs(dx.sum(axis=1)).max() < 1e-6


@pytest.mark.engine("torch")
def test_only_y_is_kept():
    import torch

    kept = []
    x = nd.array(value(3, 4))
    x.attach_grad()
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t)
    with hooks, autograd.record():
        y = sparsemax(x)
    assert [tuple(t.shape) for t in kept] == [(3, 4)]
    np.testing.assert_array_equal(kept[0].detach().numpy(), y.asnumpy())


@pytest.mark.parametrize("options", each())
def test_a_block(options, caplog):
    caplog.set_level("INFO", "layers")
    block = SparsemaxBlock()
    if options is not None:
        block.hybridize(**options)
    for shape in ((2, 3, 5), (2, 3, 5), (4, 3, 5)):
        x = nd.array(value(*shape))
        for a, b in zip(results(block, x), expected(x.asnumpy())):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    warned = [r for r in caplog.records if r.name.startswith("layers") and r.levelno > 20]
    assert not (engine.compiles() and warned)
