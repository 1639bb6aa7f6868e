"""The library's own operators: forward by formula, gradients against numeric ones in float64."""

import numpy as np
import pytest

from layers import kernels
from layers.engine import autograd, mx, nd
from layers.ops import dense, relu, sigmoid, softmax_cross_entropy, softmax_output

LABEL = np.array([0.0, 2, 1, 2])
random = np.random.RandomState(0)
X, W, B = random.randn(4, 3), random.randn(5, 3), random.randn(5)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def probabilities(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def cross_entropy(x):
    return -np.log(probabilities(x)[np.arange(4), LABEL.astype(int)])


CASES = {
    "dense": (lambda x, w, b: dense(x, w, b), lambda x, w, b: x @ w.T + b, (X, W, B)),
    "dense, constant bias": (
        lambda x, w: dense(x, w, bias=0.1),
        lambda x, w: x @ w.T + 0.1,
        (X, W),
    ),
    "dense, no bias": (lambda x, w: dense(x, w), lambda x, w: x @ w.T, (X, W)),
    "dense, on the last axis": (
        lambda x, w, b: dense(x, w, b),
        lambda x, w, b: x @ w.T + b,
        (random.randn(2, 1, 4, 3), W, B),
    ),
    "sigmoid": (sigmoid, logistic, (X,)),
    "relu": (relu, lambda x: np.maximum(x, 0), (X,)),
    "softmax_cross_entropy": (
        lambda x: softmax_cross_entropy(x, nd.array(LABEL, dtype="float64")),
        cross_entropy,
        (X,),
    ),
}


def arrays(values, dtype="float64"):
    made = [nd.array(v, dtype=dtype) for v in values]
    for a in made:
        a.attach_grad()
    return made


def numeric(function, values, i, dy, eps=1e-6):
    """Central differences of sum(dy * function(values)) in the i-th value."""
    gradient = np.zeros_like(values[i])
    for at in np.ndindex(*gradient.shape):
        ends = []
        for step in (eps, -eps):
            moved = [v.copy() for v in values]
            moved[i][at] += step
            ends.append((function(*moved) * dy).sum())
        gradient[at] = (ends[0] - ends[1]) / (2 * eps)
    return gradient


@pytest.mark.parametrize("name", CASES)
def test_forward_and_gradients(name):
    operator, formula, values = CASES[name]
    inputs = arrays(values)
    with autograd.record():
        y = operator(*inputs)
    np.testing.assert_allclose(y.asnumpy(), formula(*values), rtol=1e-12)
    dy = np.random.RandomState(1).randn(*y.shape)
    y.backward(nd.array(dy, dtype="float64"))
    for i, a in enumerate(inputs):
        np.testing.assert_allclose(a.grad.asnumpy(), numeric(formula, values, i, dy), atol=1e-7)


@pytest.mark.engine("torch")  # where kernels are in the place of the formulas
@pytest.mark.parametrize("name", CASES)
def test_the_formulas(name):
    with kernels(False):
        test_forward_and_gradients(name)


def test_the_slope_of_the_rectifier_at_0():
    (x,) = arrays([[-1.0, 0.0, 2.0]])
    with autograd.record():
        y = relu(x)
    y.backward(nd.array([5.0, 5.0, 5.0], dtype="float64"))
    assert x.grad.asnumpy().tolist() == [0, 0, 5]


def test_softmax_has_the_gradient_of_the_cross_entropy():
    (x,) = arrays([X])
    with autograd.record():
        y = softmax_output(x, nd.array(LABEL, dtype="float64"))
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), probabilities(X), rtol=1e-12)
    expected = numeric(cross_entropy, [X], 0, np.ones(4))
    np.testing.assert_allclose(x.grad.asnumpy(), expected, atol=1e-7)


FLOAT16 = pytest.param("float16", 1e-2, marks=pytest.mark.engine("torch"))  # not on MXNet's CPU


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-5), FLOAT16])
def test_dtypes(dtype, tolerance):
    x, w, b = arrays([X, W, B], dtype)
    with autograd.record():
        y = sigmoid(dense(x, w, b))
    y.backward()
    assert {str(np.dtype(a.dtype)) for a in (y, x.grad, w.grad, b.grad)} == {dtype}
    np.testing.assert_allclose(y.asnumpy(), logistic(X @ W.T + B), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("op_type", ["layers.dense", "layers.sigmoid", "layers.softmax_output"])
def test_by_name(op_type):
    extra = {
        "layers.dense": [nd.array(W), nd.array(B)],
        "layers.sigmoid": [],
        "layers.softmax_output": [nd.array(LABEL)],
    }[op_type]
    y = mx.nd.Custom(nd.array(X), *extra, op_type=op_type)
    direct = {
        "layers.dense": dense,
        "layers.sigmoid": sigmoid,
        "layers.softmax_output": softmax_output,
    }[op_type]
    np.testing.assert_allclose(y.asnumpy(), direct(nd.array(X), *extra).asnumpy(), rtol=1e-6)


def test_only_what_is_asked_for_is_computed():
    """The first layer's dx costs a third of its work, and nobody asks for it."""
    x, w = nd.array(X), nd.array(W)
    w.attach_grad()
    with autograd.record():
        y = dense(x, w)
    y.backward()
    assert x.grad is None
    np.testing.assert_allclose(w.grad.asnumpy(), np.tile(X.sum(0), (5, 1)), rtol=1e-5)
