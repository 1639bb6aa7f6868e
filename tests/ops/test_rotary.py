"""Rotary embedding: beside NumPy and the plain composition, its gradient, its memory, in graphs."""

import numpy as np
import pytest
from ways import each

from layers import RotaryBlock, engine
from layers.engine import autograd, nd
from layers.ops import rotary


def turned(x, offset=0, base=10000.0):
    """By complex numbers, in float64."""
    half = x.shape[-1] // 2
    angles = np.outer(offset + np.arange(x.shape[-2]), base ** (-np.arange(half) / half))
    z = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles)
    return np.concatenate([z.real, z.imag], axis=-1)


def plain(x, offset=0, base=10000.0):
    """The composition of built-in operators, in which autograd finds the gradient."""
    half = x.shape[-1] // 2
    angles = np.outer(offset + np.arange(x.shape[-2]), base ** (-np.arange(half) / half))
    cos, sin = (nd.array(f(angles), dtype=x.dtype) for f in (np.cos, np.sin))
    first, second = nd.split(x, num_outputs=2, axis=-1)
    return nd.concat(first * cos - second * sin, second * cos + first * sin, dim=-1)


def value(*shape, dtype="float32"):
    return nd.array(np.random.RandomState(3).randn(*shape), dtype=dtype)


def results(function, x, **attributes):
    x.attach_grad()
    with autograd.record():
        y = function(x, **attributes)
    dy = np.random.RandomState(7).randn(*y.shape)
    y.backward(nd.array(dy, dtype=x.dtype))
    return y.asnumpy(), x.grad.asnumpy()


@pytest.mark.parametrize("shape", [(5, 6), (3, 4, 2), (2, 3, 7, 10)])
@pytest.mark.parametrize("attributes", [{}, {"offset": 100000}, {"offset": 3, "base": 50.0}])
@pytest.mark.parametrize("dtype, atol", [("float32", 1e-5), ("float64", 1e-10), ("float16", 4e-3)])
def test_beside_numpy(shape, attributes, dtype, atol):
    x = value(*shape, dtype=dtype)
    y, dx = results(rotary, x, **attributes)
    assert y.dtype == dx.dtype == np.dtype(dtype)
    np.testing.assert_allclose(y, turned(x.asnumpy().astype("float64"), **attributes), atol=atol)
    back = rotary(nd.array(y, dtype=dtype), **attributes)
    assert back.shape == shape
    norm = np.linalg.norm(y.astype("float64")), np.linalg.norm(x.asnumpy().astype("float64"))
    np.testing.assert_allclose(*norm, rtol=1e-3 if dtype == "float16" else 1e-5)


def test_beside_the_composition():
    x, same = value(5, 6), value(5, 6)
    for a, b in zip(results(rotary, x, offset=2), results(plain, same, offset=2)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_large_positions_are_exact():
    """With angles in float32 they would not be, as the operator's docstring says."""
    x = value(4, 8, 512, 64)
    places = nd.arange(100000, 100512).reshape((-1, 1))
    angles = places * (10000.0 ** (nd.arange(32) / -32)).reshape((1, -1))
    cos, sin = (f(angles).reshape((1, 1, 512, 32)) for f in (nd.cos, nd.sin))
    first, second = nd.split(x, num_outputs=2, axis=-1)
    rough = nd.concat(first * cos - second * sin, second * cos + first * sin, dim=-1)
    expected = turned(x.asnumpy().astype("float64"), offset=100000)
    ours, theirs = (np.abs(y.asnumpy() - expected).max() for y in (rotary(x, offset=100000), rough))
    assert ours < 1e-6 and theirs > 5e-3


def test_products_depend_on_distance():
    q, k = value(1, 8), value(1, 8) * 2

    def product(p, r):
        return float((rotary(q, offset=p) * rotary(k, offset=r)).sum().asscalar())

    np.testing.assert_allclose(product(3, 7), product(103, 107), rtol=1e-4)
    assert abs(product(3, 7) - product(3, 8)) > 1e-3


def test_extreme_values_give_no_nan():
    for dtype, large in (("float32", 1e38), ("float16", 3e4)):
        x = nd.full((3, 4), large, dtype=dtype)
        assert all(np.isfinite(a).all() for a in results(rotary, x, offset=1))


@pytest.mark.engine("torch")
def test_nothing_is_kept():
    import torch

    kept = []
    x = value(3, 4)
    x.attach_grad()
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t)
    with hooks, autograd.record():
        rotary(x)
    assert kept == []


@pytest.mark.parametrize("options", each())
def test_a_block(options, caplog):
    caplog.set_level("INFO", "layers")
    block = RotaryBlock(offset=4, base=100)
    if options is not None:
        block.hybridize(**options)
    for shape in ((2, 3, 4), (2, 3, 4), (2, 5, 4)):
        found = results(block, value(*shape))
        expected = results(rotary, value(*shape), offset=4, base=100.0)
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    warned = [r for r in caplog.records if r.name.startswith("layers") and r.levelno > 20]
    assert not (engine.compiles() and warned)


def test_repr():
    assert repr(RotaryBlock(offset=3)) == "RotaryBlock(offset=3, base=10000.0)"


@pytest.mark.engine("torch")  # MXNet tells of it at a later call
@pytest.mark.parametrize("shape", [(3, 5), (4,)])
def test_sizes_that_cannot_be(shape):
    with pytest.raises(ValueError, match=r"x is \([354, ]*\)\n  expected x \(..., positions, size"):
        rotary(nd.ones(shape))
