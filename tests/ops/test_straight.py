"""Operators whose gradients are not the derivative, beside compositions of built-in operators."""

import numpy as np
import pytest
from ways import each

from layers import (
    GradientClipBlock,
    GradientReversalBlock,
    GradientScaleBlock,
    StraightRoundBlock,
    StraightSignBlock,
    ops,
)
from layers.engine import autograd, gluon, nd

SHAPES = [(4, 3), (3, 1, 5)]
NEAR = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-12}


def values(shape, dtype="float32", seed=0):
    return nd.array(np.random.RandomState(seed).uniform(-2, 2, shape), dtype=dtype)


def outcome(function, x, dy):
    """The output and the gradient of x."""
    x = x.copy()
    x.attach_grad()
    with autograd.record():
        y = function(x)
    y.backward(dy)
    return y.asnumpy(), x.grad.asnumpy()


def reversed_by_hand(x):
    return nd.BlockGrad(1.5 * x) - 0.5 * x


def scaled_by_hand(x):
    return nd.BlockGrad(0.75 * x) + 0.25 * x


def rounded_by_hand(x):
    return x + nd.BlockGrad(nd.round(x) - x)


def signed_by_hand(x):
    within = nd.clip(x, a_min=-1, a_max=1)
    return within + nd.BlockGrad(2 * (x >= 0) - 1 - within)


PAIRS = {
    "reversal": (lambda x: ops.gradient_reversal(x, factor=0.5), reversed_by_hand),
    "scale": (lambda x: ops.gradient_scale(x, factor=0.25), scaled_by_hand),
    "round": (ops.straight_round, rounded_by_hand),
    "sign": (ops.straight_sign, signed_by_hand),
}


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("function, by_hand", PAIRS.values(), ids=PAIRS)
def test_as_composed_of_built_in_operators(function, by_hand, shape, dtype):
    x, dy = values(shape, dtype), values(shape, dtype, seed=1)
    for a, b in zip(outcome(function, x, dy), outcome(by_hand, x, dy)):
        assert a.dtype == np.dtype(dtype)
        np.testing.assert_allclose(a, b, rtol=0, atol=NEAR[dtype])


@pytest.mark.parametrize("op, sign", [(ops.gradient_reversal, -1), (ops.gradient_scale, 1)])
def test_the_scale_may_be_an_array(op, sign):
    x, scale = values((4, 3)), nd.array([0.25])
    y, dx = outcome(lambda x: op(x, scale, factor=2.0), x, nd.ones((4, 3)))
    np.testing.assert_array_equal(y, x.asnumpy())
    assert (dx == sign * 0.5).all()


def clipped(dy, **bounds):
    dy = nd.array(dy) if isinstance(dy, list) else dy
    return outcome(lambda x: ops.gradient_clip(x, **bounds), nd.ones(dy.shape, dtype=dy.dtype), dy)[
        1
    ]


def test_clipping():
    dy = [3.0, -4.0, 0.5]
    np.testing.assert_array_equal(clipped(dy), dy)
    np.testing.assert_array_equal(clipped(dy, value=1), [1, -1, 0.5])
    np.testing.assert_array_equal(clipped(dy, norm=10), dy)
    np.testing.assert_allclose(clipped(dy[:2], norm=1), [0.6, -0.8], rtol=1e-6)
    np.testing.assert_allclose(clipped([3.0, 4.0], value=3, norm=1), [0.5**0.5] * 2, rtol=1e-6)
    assert clipped([0.0, 0.0], norm=1).tolist() == [0, 0]


@pytest.mark.parametrize("size", [1e-25, 1.0, 1e30])
def test_the_norm_of_gradients_whose_squares_are_out_of_range(size):
    found = clipped([3 * size, -4 * size], norm=size)
    np.testing.assert_allclose(found, [0.6 * size, -0.8 * size], rtol=1e-6)


def test_the_norm_of_many_elements_of_16_bits():
    dy = nd.full((300, 300), 2.0, dtype="float16")  # whose sum of squares is 360000
    found = clipped(dy, norm=6.0)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, np.full((300, 300), 0.02), rtol=2e-3)


def test_at_extreme_values():
    x = nd.array([-3e38, -0.5, 0.5, 3e38, 0.0])
    assert ops.straight_round(x).asnumpy()[1:3].tolist() == [-1, 1]
    y, dx = outcome(ops.straight_sign, x, nd.ones((5,)))
    assert y.tolist() == [-1, -1, 1, 1, 1] and dx.tolist() == [0, 1, 1, 0, 1]


@pytest.mark.parametrize("bounds", [{"value": 0}, {"norm": -1.0}, {"norm": float("nan")}])
def test_limits_that_cannot_be(bounds):
    with pytest.raises(ValueError, match="is (0|-1.0|nan)\n  expected a number above 0"):
        GradientClipBlock(**bounds)


@pytest.mark.engine("torch")  # MXNet raises its own error, later
def test_limits_of_the_operator():
    with pytest.raises(ValueError, match="layers.gradient_clip': norm is 0.0\n  expected"):
        ops.gradient_clip(nd.ones((2,)), norm=0)


@pytest.mark.parametrize("options", each("eager"))
def test_blocks_in_a_graph(options, caplog):
    net = gluon.nn.HybridSequential()
    net.add(
        GradientScaleBlock(scale=0.5), StraightRoundBlock(), GradientClipBlock(value=0.75, norm=9)
    )
    net.add(StraightSignBlock(), GradientReversalBlock(scale=2.0))
    net.initialize()
    x, dy = nd.array([[-0.4, 0.6, 1.8]]), nd.array([[0.25, 1.0, 1.0]])
    expected = [[1, 1, 1]], [[-0.25, -0.375, 0]]  # round gives -0, 1, 2
    for call, a in zip(expected, outcome(net, x, dy)):
        np.testing.assert_allclose(a, call, rtol=1e-6)
    net.hybridize(**options)
    for _ in range(3):
        for call, a in zip(expected, outcome(net, x, dy)):
            np.testing.assert_allclose(a, call, rtol=1e-6)
    net[4].scale.set_data(nd.array([0.5]))  # which the graph sees
    np.testing.assert_allclose(outcome(net, x, dy)[1], [[-0.0625, -0.25, 0]], rtol=1e-6)
    assert "is not compiled" not in caplog.text


def test_repr():
    assert repr(GradientReversalBlock()) == "GradientReversalBlock()"
    assert repr(GradientClipBlock(norm=1)) == "GradientClipBlock(value=inf, norm=1)"
