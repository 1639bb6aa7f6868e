"""Kernels: faster code for an operator's formula, which computes what the formula does."""

import os
import re
from importlib import import_module
from pathlib import Path

import forks
import numpy as np
import pytest

from layers import SwishBlock, engine, kernels, ops
from layers.check import check_operator
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
    "group_norm": [([IMAGES, CHANNELS, CHANNELS + 1], [], {"num_groups": 2})],
    "hard_swish": [([X * 3], [], {})],
    "layer_norm": [([X, ROW, ROW + 1], [], {}), ([X, ROW, ROW + 1], [], {"epsilon": 0.1})],
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


def rows():
    return [(name, *case) for name, cases in CASES.items() for case in cases]


def shown(value):
    return value if isinstance(value, (str, dict)) else ""


@pytest.mark.parametrize(("name", "variables", "others", "attributes"), rows(), ids=shown)
def test_the_checker_holds_a_kernel_to_its_formula(name, variables, others, attributes):
    given = [np.asarray(v) for v in (*variables, *others)]
    report = check_operator(getattr(ops, name), *given, compiled=False, **attributes)
    found = report.raise_on_failure()["kernel = formula"]
    assert found.status == "passed" and "in float32" in found.text


@pytest.fixture
def replaced(monkeypatch):
    """A function that puts other parts into the kernel of an operator."""

    from layers.mxnet import _kernels

    def replace(operator, **parts):
        right = import_module(f"layers.mxnet._kernels.{operator.__name__}")
        code = vars(getattr(right, operator.__name__)) | parts
        wrong = _kernels.Kernel(type("wrong", (), code), operator)
        monkeypatch.setattr(_kernels, "_of", lambda _: wrong)
        monkeypatch.setitem(vars(operator), "_adapter", engine.adapter()(operator))

    return replace


def only_in(dtype, wrong):
    """The kernel of swish, wrong in one dtype."""
    return lambda x, *, beta: (wrong if str(x.dtype).endswith(dtype) else 1) * x * x.sigmoid()


@pytest.mark.parametrize(
    "parts, told",
    [
        ({"forward": only_in("float64", 1.001)}, "in float64, y of the kernel is .*, not "),
        ({"forward": only_in("bfloat16", 1.5)}, "in bfloat16, y of the kernel is .*, not "),
        ({"dx": lambda dy, x: dy}, "in float64, the gradient of x of the kernel is .*, not "),
        ({"fits": lambda x, beta: x.is_floating_point()}, "beta=-1.0: y of the kernel is "),
        (
            {"forward": lambda x, *, beta: (x * x.sigmoid()).nan_to_num()},
            "x with nan: y of the kernel is 0 at .0, 0., not nan",
        ),
    ],
)
def test_the_checker_finds_a_kernel_that_computes_something_else(parts, told, replaced):
    replaced(ops.swish, **parts)
    report = check_operator(ops.swish, (3, 4), compiled=False)
    found = report["kernel = formula"]
    assert found.status == "failed" and re.match(told, found.text), found


def test_the_checker_finds_a_kernel_that_refuses_something_else(replaced):
    right = import_module("layers.mxnet._kernels.swiglu").swiglu
    replaced(ops.swiglu, fits=lambda gate, value: right.fits(value, value))
    found = check_operator(ops.swiglu, (3, 4), (3, 4), compiled=False)["kernel = formula"]
    assert found.status == "failed"
    assert re.match(r"gate \(1, 3, 4\): the kernel raises \w+Error: .*\n", found.text), found
    assert "\nthe formula raises ArgumentError: operator 'layers.swiglu': gate is " in found.text


def test_the_checker_says_where_the_formula_computes():
    found = check_operator(ops.swish, (3, 4), beta=2.0, compiled=False)["kernel = formula"]
    assert (found.status, found.text) == ("not checked", "for these inputs the formula computes")


def test_the_checker_has_no_such_line_for_an_operator_without_a_kernel():
    report = check_operator(ops.relu, (3, 4), compiled=False)
    assert "kernel = formula" not in [c.name for c in report]


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


@pytest.mark.parametrize("value, on", [("0", "False"), ("1", "True"), ("false", "False")])
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


@pytest.mark.parametrize("on", [None, 1, "no"])
def test_the_switch_takes_true_or_false(on):
    with pytest.raises(TypeError, match="expected True or False"), kernels(on):
        pass
