"""Kernels: faster code for an operator's formula, which computes what the formula does."""

import os
from pathlib import Path

import forks
import numpy as np
import pytest

from layers import SwishBlock, engine, kernels, ops
from layers.engine import autograd, nd

pytestmark = pytest.mark.engine("torch")  # Apache MXNet has no kernels

RANDOM = np.random.RandomState(0)
X, Z, IMAGES = RANDOM.randn(6, 7), RANDOM.randn(6, 7), RANDOM.randn(3, 4, 5)
ROW, CHANNELS = RANDOM.randn(7), RANDOM.randn(4)
HEADS = RANDOM.randn(3, 2, 3, 5, 4)
TABLE, IDS = RANDOM.randn(9, 4), np.array([[0, 1, 2], [3, 3, 8]])

# By operator: the inputs that have a gradient, the others, and the attributes.
CASES = {
    "embedding_bag": [
        ([TABLE], [IDS], {}),
        ([TABLE], [IDS], {"mode": "mean"}),
        ([TABLE], [IDS], {"mode": "mean", "padding": 3}),
    ],
    "focal": [([X], [X > Z], {}), ([X], [X > Z], {"gamma": 0.5, "alpha": 0.7})],
    "geglu_tanh": [([X, Z], [], {})],
    "gelu_tanh": [([X], [], {})],
    "group_norm": [([IMAGES, CHANNELS, CHANNELS + 1], [], {"groups": 2})],
    "hard_swish": [([X * 3], [], {})],
    "layer_norm": [([X, ROW, ROW + 1], [], {}), ([X, ROW, ROW + 1], [], {"eps": 0.1})],
    "linear_cross_entropy": [
        ([X, Z[:5]], [[0, 3, 4, 1, 2, 2]], {}),
        ([X, Z[:5]], [[0, 3, 4, 1, 2, 2]], {"block": 8, "smoothing": 0.2, "z_loss": 0.1}),
        ([X, Z[:5]], [[0, 3, 4, 1, 2, 2]], {"block": 8, "ignore_label": 2}),
    ],
    "rms_norm": [([X, ROW], [], {})],
    "scaled_dot_product_attention": [
        ([*HEADS], [], {}),
        ([*HEADS], [], {"causal": True, "scale": 0.3}),
        ([*HEADS], [np.array([2, 5])], {}),
    ],
    "sigmoid_cross_entropy": [([X, Z], [], {})],
    "softmax_cross_entropy": [([X], [[0, 3, 6, 1, 2, 2]], {})],
    "swiglu": [([X, Z], [], {})],
    "swish": [([X], [], {})],
}
TOLERANCES = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
# Inputs that the operator refuses, or computes by its formula alone.
REFUSED = {
    "embedding_bag": [(TABLE, [[0, 9]]), (TABLE, [[0.5, 1]]), (TABLE, [0, 1])],
    "focal": [(X, X[:2])],
    "geglu_tanh": [(X, X[:2])],
    "group_norm": [(IMAGES, CHANNELS[:3], CHANNELS), (X[0], ROW, ROW)],
    "layer_norm": [(X, ROW[:3], ROW)],
    "linear_cross_entropy": [(X, Z, [0, 6, 1, 1, 1, 1]), (X, Z, [0, 1]), (X, Z[:, :3], [0] * 6)],
    "rms_norm": [(X, ROW[:3])],
    "scaled_dot_product_attention": [(HEADS[0], HEADS[1], HEADS[2][:, :1])],
    "sigmoid_cross_entropy": [(X, X[:2])],
    "softmax_cross_entropy": [(X, [0, 7, 1, 1, 1, 1]), (X, [0.5] * 6), (X, [0, 1])],
    "swiglu": [(X, X[:2])],
}


def rows():
    return [(name, *case) for name, cases in CASES.items() for case in cases]


def shown(value):
    return value if isinstance(value, (str, dict)) else ""


def values_and_gradients(name, variables, others, attributes, dtype):
    arrays = [nd.array(v, dtype=dtype) for v in variables]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        y = getattr(ops, name)(*arrays, *map(nd.array, others), **attributes)
    y.backward(nd.array(np.random.RandomState(1).randn(*y.shape), dtype=dtype))
    return [a.astype("float64").asnumpy() for a in (y, *(a.grad for a in arrays))]


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("name", "variables", "others", "attributes"), rows(), ids=shown)
def test_a_kernel_computes_what_the_formula_does(name, variables, others, attributes, dtype):
    found = values_and_gradients(name, variables, others, attributes, dtype)
    with kernels(False):
        expected = values_and_gradients(name, variables, others, attributes, dtype)
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype] * 4)


@pytest.mark.parametrize(("name", "variables", "others", "attributes"), rows(), ids=shown)
def test_a_kernel_is_differentiated_as_the_formula_is(name, variables, others, attributes):
    def second():
        arrays = [nd.array(v, dtype="float64") for v in variables]
        for array in arrays:
            array.attach_grad()
        try:
            with autograd.record():
                y = getattr(ops, name)(*arrays, *map(nd.array, others), **attributes)
                (dx,) = autograd.grad((y * y).sum(), arrays[:1], create_graph=True)
                value = (dx * dx).sum()
            value.backward()
        except engine.mx.MXNetError as error:
            return str(error)
        return [a.grad.asnumpy() for a in arrays]

    found = second()
    with kernels(False):
        expected = second()
    if isinstance(expected, str):
        assert found == expected
    else:
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "given"), [(n, given) for n, rows in REFUSED.items() for given in rows], ids=shown
)
def test_with_and_without_a_kernel_the_errors_are_the_same(name, given):
    told = []
    for on in (True, False):
        with kernels(on), pytest.raises(engine.mx.MXNetError) as error:
            getattr(ops, name)(*map(nd.array, given))
        told.append((type(error.value), str(error.value)))
    assert told[0] == told[1]


def test_each_kernel_is_listed_and_has_a_case():
    from layers.mxnet import _kernels

    files = {p.stem for p in Path(_kernels.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == {*_kernels.NAMES} == {*CASES}
    assert all(_kernels.find(getattr(ops, name)) for name in files)


def test_kernels_are_switched_off_inside_the_context(monkeypatch):
    from layers.mxnet import _kernels

    seen = []
    kernel = _kernels.find(ops.swish)
    monkeypatch.setattr(kernel, "fits", lambda *tensors, **attributes: seen.append(1))
    with kernels(False):
        ops.swish(nd.array(X))
    assert not seen
    ops.swish(nd.array(X))
    assert seen


@pytest.mark.parametrize("options", [{}, {"static_alloc": True, "static_shape": True}], ids=str)
def test_graphs_follow_the_switch(options, monkeypatch):
    forward, seen = ops.swish.forward, []
    monkeypatch.setattr(ops.swish, "forward", lambda x, beta: seen.append(1) or forward(x))
    net = SwishBlock()
    net.hybridize(**options)
    for _ in range(3):
        net(nd.array(X))
    assert not seen
    with kernels(False):
        net(nd.array(X))
    assert seen


@pytest.mark.parametrize("value, on", [("0", "False"), ("1", "True")])
def test_the_environment_sets_the_switch(value, on):
    code = "from layers.mxnet import _kernels; print(_kernels.are_on())"
    done = forks.run(["-c", code], env=os.environ | {"LAYERS_KERNELS": value})
    assert done.stdout.strip() == on, done.stderr


def test_an_operator_of_the_same_name_has_no_kernel():
    @ops.operator(name="layers.swish_of_ones_own")
    class swish:
        def forward(x):
            return x * 3

        def dx(dy):
            return dy * 3

    assert swish(nd.array([2.0])).asscalar() == 6


def test_dense_relu_and_sigmoid_run_their_own_gradients(phases):
    x, w, b = nd.array(X), nd.array(RANDOM.randn(3, 7)), nd.zeros((3,))
    w.attach_grad()
    with autograd.record():
        y = ops.sigmoid(ops.relu(ops.dense(x, w, b)))
    y.backward()
    assert phases == ["forward"] * 3 + ["backward"] * 3
