"""Activations and gated units beside their plain compositions of built-in operators."""

from math import pi, sqrt

import numpy as np
import pytest

from layers import kernels, ops
from layers.engine import autograd, gluon, nd

X = np.random.RandomState(0).randn(3, 1, 7) * 3
EXTREMES = [-3e38, -60000.0, -300.0, -88.0, -20.0, -3.0, 0.0, 3.0, 20.0, 88.0, 300.0, 60000.0, 3e38]


def softrelu(x):
    return nd.Activation(x, act_type="softrelu")


def gelu_tanh(x):
    return 0.5 * x * (1 + nd.tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)))


PLAIN = {  # the operator, its attributes, and the same of built-in operators
    "gelu_tanh": ("gelu_tanh", {}, gelu_tanh),
    "hard_swish": ("hard_swish", {}, lambda x: x * nd.clip(x + 3, a_min=0, a_max=6) / 6),
    "softplus": ("softplus", {}, softrelu),
    "swish": ("swish", {}, lambda x: x * nd.sigmoid(x)),
    "swish, beta=1.5": ("swish", {"beta": 1.5}, lambda x: x * nd.sigmoid(1.5 * x)),
    "swiglu": ("swiglu", {}, lambda x, v: x * nd.sigmoid(x) * v),
    "geglu_tanh": ("geglu_tanh", {}, lambda x, v: gelu_tanh(x) * v),
}
CASES = pytest.mark.parametrize("case", PLAIN.values(), ids=PLAIN)
TOLERANCES = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-9}
FLOAT16 = pytest.param("float16", marks=pytest.mark.engine("torch"))  # not on MXNet's CPU


def values_and_gradients(function, *given, dtype="float32", ones=False):
    arrays = [nd.array(x, dtype=dtype) for x in given]
    for a in arrays:
        a.attach_grad()
    with autograd.record():
        y = function(*arrays)
    dy = np.ones(y.shape) if ones else np.linspace(-1, 2, y.size).reshape(y.shape)
    y.backward(nd.array(dy, dtype=dtype))
    return [y.asnumpy(), *(a.grad.asnumpy() for a in arrays)]


def inputs(plain, x):
    return [x, np.cos(x)][: plain.__code__.co_argcount]


@CASES
@pytest.mark.parametrize("dtype", [FLOAT16, "float32", "float64"])
def test_beside_the_plain_composition(case, dtype):
    name, attributes, plain = case
    given = inputs(plain, X)
    found = values_and_gradients(
        lambda *x: getattr(ops, name)(*x, **attributes), *given, dtype=dtype
    )
    expected = values_and_gradients(plain, *given, dtype=dtype)
    for a, b in zip(found, expected):
        assert a.dtype == dtype
        np.testing.assert_allclose(a, b, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])


@pytest.mark.engine("torch")  # where a kernel is in the place of the formula
def test_the_formula_of_swiglu():
    with kernels(False):
        found = values_and_gradients(ops.swiglu, X, X[::-1])
    expected = values_and_gradients(PLAIN["swiglu"][2], X, X[::-1])
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("on", [True, False])
def test_the_slope_of_hard_swish_at_infinity_and_nan(on):
    with kernels(on):
        _, slope = values_and_gradients(ops.hard_swish, [np.inf, -np.inf, np.nan], ones=True)
    np.testing.assert_equal(slope, [1, 0, np.nan])


@CASES
@pytest.mark.parametrize("dtype", [FLOAT16, "float32", "float64"])
def test_extreme_values(case, dtype):
    """No NaN; the slope is 0 or 1 where the function is flat or straight."""
    name, attributes, plain = case
    x = np.array([v for v in EXTREMES if abs(v) < 1e38 or dtype != "float16"])
    x = (
        x[np.abs(x) < np.finfo(dtype).max / 2] if "beta" in attributes else x
    )  # 1.5 x is still finite
    given = [x, np.full_like(x, 0.5)][: plain.__code__.co_argcount]
    operator = getattr(ops, name)
    y, slope, *_ = values_and_gradients(
        lambda *a: operator(*a, **attributes), *given, dtype=dtype, ones=True
    )
    assert np.isfinite(y).all() and np.isfinite(slope).all()
    flat, straight, value = x < -110, x > 80, 0.5 if len(given) > 1 else 1
    np.testing.assert_allclose(y[straight], value * x[straight], rtol=1e-3)
    np.testing.assert_allclose(slope[straight], value, rtol=1e-3)
    np.testing.assert_allclose(y[flat], 0, atol=1e-30)
    np.testing.assert_allclose(slope[flat], 0, atol=1e-30)


@pytest.mark.engine("torch")  # MXNet's softrelu is 0 there
def test_the_slope_of_softplus_is_exact_where_it_is_small():
    y, dx = values_and_gradients(ops.softplus, np.array([-30.0, -60.0]))
    np.testing.assert_allclose(dx, [-1 * np.exp(-30.0), 2 * np.exp(-60.0)], rtol=1e-5)


class Wrapped(gluon.HybridBlock):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def hybrid_forward(self, F, *x):
        return self.function(*x)


@CASES
@pytest.mark.parametrize("static", [False, True])
def test_hybridized(case, static):
    name, attributes, plain = case
    block = Wrapped(lambda *x: getattr(ops, name)(*x, **attributes))
    given = inputs(plain, X)
    eager = values_and_gradients(block, *given)
    block.hybridize(static_alloc=static, static_shape=static)
    for _ in range(3):
        for a, b in zip(values_and_gradients(block, *given), eager):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.engine("torch")  # MXNet has no second derivative of custom operators
@CASES
def test_second_derivative(case):
    name, attributes, plain = case

    def second(function):
        x = nd.array(X, dtype="float64")
        x.attach_grad()
        rest = [nd.array(v, dtype="float64") for v in inputs(plain, X)[1:]]
        with autograd.record():
            (first,) = autograd.grad(function(x, *rest), [x], create_graph=True)
        first.backward()
        return x.grad.asnumpy()

    found = second(lambda *x: getattr(ops, name)(*x, **attributes))
    np.testing.assert_allclose(found, second(plain), rtol=1e-8, atol=1e-9)


@pytest.mark.engine("torch")
@pytest.mark.slow
def test_compiled_once():
    block = Wrapped(lambda gate, value: ops.swiglu(ops.swish(gate), ops.gelu_tanh(value)))
    given = [X, np.cos(X)]
    eager = values_and_gradients(block, *given)
    block.hybridize(backend="inductor")
    for _ in range(2):
        for a, b in zip(values_and_gradients(block, *given), eager):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
