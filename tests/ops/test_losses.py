"""The losses' operators, beside compositions of built-in ones under autograd, on both engines."""

import numpy as np
import pytest
from peak import peak_of
from repeated import as_slow

from layers import ops
from layers.check import check_operator
from layers.engine import autograd, gluon, mx, nd

LABEL = np.array([0, 2, 6, 4, 2])
X, W, B = (np.random.RandomState(i).randn(*s) for i, s in enumerate([(5, 3), (7, 3), (7,)]))
Z = np.random.RandomState(3).randn(5, 7)
YES = np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 1]])
TOLERANCE = {"float64": 1e-9, "float32": 1e-5, "float16": 1e-2}


def cross_entropy(x, label, ignore_label=None, smoothing=0.0, z_loss=0.0):
    log_p = nd.log_softmax(x)
    y = -(1 - smoothing) * nd.pick(log_p, label) - smoothing * nd.mean(log_p, axis=-1)
    y = y + z_loss * nd.square(nd.log(nd.sum(nd.exp(x), axis=-1)))
    return y if ignore_label is None else y * (label != ignore_label).astype(x.dtype)


def linear(x, w, label, b, **options):
    options.pop("block", None)
    s = nd.FullyConnected(x, w, b, num_hidden=w.shape[0], flatten=False)
    return cross_entropy(s, label, **options)


def info_nce(x, z, temperature, block=0):
    return cross_entropy(nd.dot(x, z, transpose_b=True) / temperature, nd.arange(len(x)))


def sigmoid(x, t):
    return nd.log(1 + nd.exp(x)) - x * t


def focal(x, t, gamma=2.0, alpha=0.25):
    p = nd.sigmoid(x)
    yes = alpha * (1 - p) ** gamma * nd.log(p)
    return -(t * yes + (1 - t) * (1 - alpha) * p**gamma * nd.log(1 - p))


def triplet(x, near, far, margin=1.0):
    distance = nd.sum(nd.square(x - near) - nd.square(x - far), axis=1)
    return nd.relu(distance + margin)


OPTIONS = [{}, {"ignore_label": 6}, {"smoothing": 0.2}, {"z_loss": 0.1}]
OPTIONS.append({name: value for more in OPTIONS for name, value in more.items()})
# Scores of four blocks are kept: there are 35.
BLOCKS = [{}, *({"block": size} for size in (1, 4, 8, 10))]
INPUTS = {  # those with a gradient are floats
    "softmax_cross_entropy": (Z, LABEL),
    "linear_cross_entropy": (X, W, LABEL, B),
    "info_nce": (X, X[::-1] * 0.5),
    "sigmoid_cross_entropy": (X, YES * 0.75),
    "focal": (X, YES),
    "triplet": (X, X[::-1] * 1.5, W[:5]),
}
CASES = [
    ("softmax_cross_entropy", cross_entropy, {}),
    *[("linear_cross_entropy", linear, o | b) for o in OPTIONS for b in BLOCKS],
    ("info_nce", info_nce, {"temperature": 0.5}),
    ("info_nce", info_nce, {"temperature": 2.0, "block": 6}),
    ("sigmoid_cross_entropy", sigmoid, {}),
    ("focal", focal, {}),
    ("focal", focal, {"gamma": 0.5, "alpha": 0.75}),
    ("triplet", triplet, {}),
]


def run(function, values, dtype, **options):
    """The output, and the gradients of the inputs that are floats."""
    arrays = [nd.array(v, dtype=dtype) for v in values]
    learned = [a for a, v in zip(arrays, values) if v.dtype.kind == "f"]
    for a in learned:
        a.attach_grad()
    with autograd.record():
        y = function(*arrays, **options)
    dy = np.random.RandomState(9).randn(*y.shape)
    y.backward(nd.array(dy, dtype=dtype))
    return [a.asnumpy() for a in (y, *(a.grad for a in learned))]


@pytest.mark.parametrize("name, plain, options", CASES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_it_is_the_composition(name, plain, options, dtype):
    found = run(getattr(ops, name), INPUTS[name], dtype, **options)
    expected = run(plain, INPUTS[name], dtype, **options)
    assert len(found) == len(expected) > 1
    for a, b in zip(found, expected):
        assert a.dtype == dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.engine("torch")  # MXNet multiplies no matrices of float16 on a CPU
@pytest.mark.parametrize("name, plain, options", CASES)
def test_float16(name, plain, options):
    found = run(getattr(ops, name), INPUTS[name], "float16", **options)
    values = [v.astype("float16").astype(v.dtype) for v in INPUTS[name]]
    expected = run(plain, values, "float64", **options)
    for a, b in zip(found, expected):
        assert a.dtype == "float16"
        np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-2)


ALONE = {}, OPTIONS[-1], OPTIONS[-1] | BLOCKS[2]  # of those of linear_cross_entropy
CHECKED = [
    as_slow(case) if case[0] == "linear_cross_entropy" and case[2] not in ALONE else case
    for case in CASES
]


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize("name, plain, options", CHECKED)
def test_it_passes_the_checker(name, plain, options):
    check_operator(getattr(ops, name), *INPUTS[name], compiled=False, **options).raise_on_failure()


def test_many_rows_and_classes():
    """More than one block of rows: whose gradients of w are summed."""
    random = np.random.RandomState(0)
    values = random.randn(5000, 3), random.randn(11, 3), random.randint(0, 11, 5000), np.zeros(11)
    found = run(ops.linear_cross_entropy, values, "float64", block=9000)
    for a, b in zip(found, run(linear, values, "float64")):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_more_axes():
    label = np.array([[0, 2], [6, 4]])
    x = X[:4].reshape(2, 2, 3)
    whole = run(ops.linear_cross_entropy, (x, W, label), "float64")
    rows = run(ops.linear_cross_entropy, (x.reshape(4, 3), W, label.ravel()), "float64")
    for a, b in zip(whole, rows):
        np.testing.assert_array_equal(a.ravel(), b.ravel())


@pytest.mark.parametrize("size", [1e-30, 100.0, 1e4, 1e18])
@pytest.mark.parametrize(
    "name, options",
    [
        ("softmax_cross_entropy", {}),
        ("linear_cross_entropy", {"smoothing": 0.1, "block": 10}),
        ("sigmoid_cross_entropy", {}),
        ("focal", {"gamma": 0.5}),
        ("triplet", {}),
    ],
)
def test_extreme_values(name, options, size):
    values = [v * size if v.dtype.kind == "f" else v for v in INPUTS[name]]
    if name == "sigmoid_cross_entropy":
        values[1] = INPUTS[name][1]
    if name == "linear_cross_entropy":
        values[1] = W
    for a in run(getattr(ops, name), values, "float32", **options):
        assert not np.isnan(a).any()


def test_triplet_is_more_exact_than_two_distances():
    values = np.random.RandomState(0).randn(3, 4096, 256)
    x, near, far = (nd.array(v) for v in values)
    two = nd.sum(nd.square(x - near), axis=1) - nd.sum(nd.square(x - far), axis=1)
    x64, near64, far64 = (a.asnumpy().astype("float64") for a in (x, near, far))
    expected = np.maximum((np.square(x64 - near64) - np.square(x64 - far64)).sum(axis=1) + 1, 0)
    ours, theirs = (
        np.abs(y.asnumpy() - expected).max() for y in (ops.triplet(x, near, far), nd.relu(two + 1))
    )
    assert 1.5 * ours < theirs < 2e-4


@pytest.mark.engine("torch")  # MXNet has their messages in errors of its own
@pytest.mark.parametrize("x", [(5, 3), (0, 3), (2, 2, 3)])
@pytest.mark.parametrize("options", [{}, {"smoothing": 0.1}, {"block": 2}], ids=str)
def test_labels_of_other_rows(x, options):
    with pytest.raises(ValueError) as caught:
        ops.linear_cross_entropy(nd.array(np.zeros(x)), nd.ones((7, 3)), nd.ones((4,)), **options)
    assert isinstance(caught.value, mx.base.MXNetError)
    assert str(caught.value) == (
        f"operator 'layers.linear_cross_entropy': x is {x}, label is (4,)\n"
        f"  expected a label {x[:-1]}"
    )


@pytest.mark.engine("torch")  # as above
def test_focal_of_integers():
    with pytest.raises(mx.base.MXNetError, match="int32\n  expected another dtype"):
        ops.focal(nd.ones((2, 3), dtype="int32"), nd.ones((2, 3)))


def test_focal_of_what_is_right():
    """Where 1 - p is 0, its power γ - 1 would be infinite."""
    y, dx = run(ops.focal, (np.array([200.0, -200.0]), np.array([1, 0])), "float32", gamma=0.5)
    assert not y.any() and not dx.any()


@pytest.mark.parametrize("ignored", [255, -1])
@pytest.mark.parametrize("options", [{}, {"block": 4}], ids=str)
def test_what_is_ignored_may_lie_outside(ignored, options):
    values = X[:3], W, np.array([0, ignored, 3]), B
    y, dx, *_ = run(ops.linear_cross_entropy, values, "float32", ignore_label=ignored, **options)
    assert y[1] == 0 and not dx[1].any() and y[0] > 0 and dx[2].any()


NO_CLASS = {"too large": 7.0, "negative": -1.0, "PyTorch's own": -100.0, "a fraction": 0.5}


class Calls(gluon.HybridBlock):
    """An operator in a graph, which is not the block's that looks at labels."""

    def __init__(self, operator, options):
        super().__init__()
        self.operator, self.options = operator, options

    def hybrid_forward(self, F, *inputs):
        return self.operator(*inputs, **self.options)


def calls(name, label, graph=None, dtype="float32", **options):
    """What a graph gives after it has been recorded, of three samples; or the operator itself."""
    call = Calls(getattr(ops, name), options)
    if graph is not None:
        call.hybridize(**graph)
    others = [a for a in INPUTS[name] if a is not LABEL and a is not INPUTS[name][0]]
    x, w = nd.array(INPUTS[name][0][:3]), [nd.array(a, dtype=dtype) for a in others[:1]]
    for y in [[0, 1, 2]] * 3 * (graph is not None) + [label]:
        found = call(x.astype(dtype), *w, nd.array(y))
    return found.asnumpy()


@pytest.mark.engine("torch")
@pytest.mark.parametrize("graph", [None, {}, {"static_alloc": True, "static_shape": True}], ids=str)
@pytest.mark.parametrize("label", NO_CLASS.values(), ids=NO_CLASS)
@pytest.mark.parametrize(
    "name, dtype, options",
    [
        ("softmax_cross_entropy", "float32", {}),
        ("softmax_cross_entropy", "float16", {}),
        ("linear_cross_entropy", "float32", {}),
        ("linear_cross_entropy", "float32", {"z_loss": 0.1}),
    ],
    ids=str,
)
def test_a_label_of_no_class_is_refused(name, dtype, options, label, graph):
    told = f"'layers.{name}': label has {label:g}\n  expected one of the 7 classes, .* from 0 to 6"
    repeated = "" if graph is None else "|index out of range|is out of bounds"  # PyTorch's words
    with pytest.raises(IndexError, match=told + repeated):
        calls(name, [0, label, 2], graph, dtype, **options)


@pytest.mark.engine("torch")
@pytest.mark.slow
def test_compiled_code_takes_the_nearest_class():
    for name in ("softmax_cross_entropy", "linear_cross_entropy"):
        graph = {"backend": "inductor"}
        found = calls(name, [0, 9, -3], graph)
        np.testing.assert_allclose(found, calls(name, [0, 6, 0]), rtol=1e-5)


@pytest.mark.engine("mxnet")  # which cannot raise an error inside of an operator
def test_mxnet_takes_the_nearest_class():
    for name in ("softmax_cross_entropy", "linear_cross_entropy"):
        np.testing.assert_array_equal(calls(name, [0, 9, -3]), calls(name, [0, 6, 0]))


def test_softmax_without_a_class_is_that_of_mxnet():
    for operator in (ops.softmax_output, nd.SoftmaxOutput):
        x = nd.array(Z[:3])
        x.attach_grad()
        with autograd.record():
            y = operator(x, nd.array([0, 9, -1]))
        y.backward()
        np.testing.assert_allclose(x.grad[1:].asnumpy(), y[1:].asnumpy(), rtol=1e-6)


@pytest.mark.engine("torch")  # MXNet has none of any operator
def test_a_second_derivative_is_refused():
    x, w, b = (nd.array(v) for v in (X, W, B))
    x.attach_grad()
    with autograd.record(), pytest.raises(RuntimeError, match="recorded"):
        y = ops.linear_cross_entropy(x, w, nd.array(LABEL), b, block=8)
        autograd.grad(y, x, create_graph=True, retain_graph=True)


def test_cross_entropies_of_one_array():
    x, label = nd.array(np.random.RandomState(0).randn(4, 3)), nd.array([0, 2, 2, 0])
    p = np.exp(x.asnumpy()) / np.exp(x.asnumpy()).sum(axis=1, keepdims=True)
    hot = np.eye(3)[[0, 2, 2, 0]]
    x.attach_grad()
    with autograd.record():
        y = ops.softmax_cross_entropy(x, label)
    y.backward(nd.array([1, 2, 3, 4]))
    np.testing.assert_allclose(y.asnumpy(), -np.log((p * hot).sum(axis=1)), rtol=1e-5)
    expected = (p - hot) * np.arange(1, 5)[:, None]
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-4, atol=1e-6)
    with autograd.record():
        y = ops.sigmoid_cross_entropy(x, nd.array(hot))
    y.backward()
    sigmoid = 1 / (1 + np.exp(-x.asnumpy()))
    np.testing.assert_allclose(x.grad.asnumpy(), sigmoid - hot, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16"])  # PyTorch's function, and the formula
@pytest.mark.parametrize("shape", [(4, 1), (2, 2), (2, 2, 1)], ids=str)
def test_labels_of_more_axes(shape, dtype):
    rows = shape[:-1] if shape[-1] == 1 else shape
    scores, label = nd.array(np.random.RandomState(0).randn(4, 3)), nd.array([0, 2, 2, 0])
    found = []
    for more, axes in ((label, (4,)), (label.reshape(shape), rows)):
        x = scores.reshape((*axes, 3)).astype(dtype)
        x.attach_grad()
        with autograd.record():
            y = ops.softmax_cross_entropy(x, more)
        assert y.shape == axes
        y.backward(nd.array([1, 2, 3, 4], dtype=dtype).reshape(axes))
        found.append((y.asnumpy().ravel(), x.grad.asnumpy().ravel()))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.engine("torch")  # MXNet raises it at a later call, in words of its own
def test_focal_of_two_shapes():
    with pytest.raises(ValueError, match=r"focal': x is \(4, 5\), t is \(4,\)\n  expected one sha"):
        ops.focal(nd.zeros((4, 5)), nd.zeros((4,)))


PEAK = """
def loss(n, k, m):
    x, w, label = nd.full((n, k), 0.1), nd.full((m, k), 0.1), nd.arange(n) % m
    return step([x, w], lambda: ops.linear_cross_entropy(x, w, label))


loss(64, 64, 32)
print(loss(8192, 64, 32000))
"""


@pytest.mark.engine("torch")
def test_the_peak_of_memory():
    """The gradients take 10 MB, the matrix of scores takes 1 GB."""
    found = peak_of(PEAK)
    assert found < 10 + 64, found
