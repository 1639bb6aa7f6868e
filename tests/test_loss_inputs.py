"""What the blocks of losses take: weights of samples, labels, inputs by name; what they refuse."""

import re

import numpy as np
import pytest

import layers
from layers import engine
from layers.engine import autograd, gluon, nd

X = np.random.RandomState(0).randn(4, 4, 4)  # of one size, so that a wrong axis fits too
FACTORS = np.array([0.0, 1, 2, 3])
CLASSES = np.array([0.0, 2, 1, 3])


def linear():
    loss = layers.LinearCrossEntropyLoss(4, 4)
    loss.initialize()
    return loss


# The loss, its inputs, and the shape of what a weight is multiplied with.
LOSSES = {
    "SoftmaxLoss": (layers.SoftmaxLoss, (X[0], CLASSES), (4,)),
    "SoftmaxLoss, more axes": (layers.SoftmaxLoss, (X, np.tile(CLASSES, (4, 1))), (4, 4)),
    "SoftmaxLoss of probabilities": (
        lambda: layers.SoftmaxLoss(sparse_label=False),
        (X, np.abs(X)),
        (4, 4),
    ),
    "LinearCrossEntropyLoss": (linear, (X[0], CLASSES), (4,)),
    "LinearCrossEntropyLoss, more axes": (linear, (X, np.tile(CLASSES, (4, 1))), (4, 4)),
    "SigmoidLoss": (layers.SigmoidLoss, (X[0], X[1] > 0), (4, 4)),
    "FocalLoss": (layers.FocalLoss, (X, X > 0), (4, 4, 4)),
    "HuberLoss": (layers.HuberLoss, (X[0], X[1]), (4, 4)),
    "ContrastiveLoss": (layers.ContrastiveLoss, (X[0], X[1], CLASSES > 1), (4,)),
    "TripletLoss": (layers.TripletLoss, (X[0], X[1], X[2]), (4,)),
    "InfoNCELoss": (layers.InfoNCELoss, (X[0], X[1]), (4,)),
    "CTCLoss": (layers.CTCLoss, (X, np.array([[0.0, 1], [2, -1], [1, 1], [1, 0]])), (4,)),
}


class Around(gluon.HybridBlock):
    """A net around a loss, in whose graph the loss sees no arrays."""

    def __init__(self, loss):
        super().__init__()
        self.loss = loss

    def hybrid_forward(self, F, *inputs):
        return self.loss(*inputs)


WAYS = {
    "eager": lambda loss: loss,
    "hybridized": lambda loss: loss.hybridize() or loss,
    "in a graph": lambda loss: WAYS["hybridized"](Around(loss)),
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def call(loss, way, inputs, sample_weight):
    if isinstance(loss, layers.CTCLoss):
        inputs = (*inputs, np.full(4, 4), np.array([2, 1, 2, 2]))
    return way(loss)(*map(nd.array, inputs), nd.array(sample_weight)).asnumpy()


@ways
@pytest.mark.parametrize("name", LOSSES)
def test_weights_of_samples(name, way):
    make, inputs, shape = LOSSES[name]
    loss = make()
    one = call(loss, way, inputs, np.ones(4))
    assert one.shape == way(make())(*map(nd.array, inputs)).shape
    expected = one * FACTORS.reshape((4,) + (1,) * (one.ndim - 1))
    for axes in range(1, 4):
        found = call(loss, way, inputs, FACTORS.reshape((4,) + (1,) * (axes - 1)))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@ways
@pytest.mark.parametrize("name", [n for n, (_, _, shape) in LOSSES.items() if len(shape) > 1])
def test_weights_of_elements(name, way):
    make, inputs, shape = LOSSES[name]
    loss = make()
    one = call(loss, way, inputs, np.ones(4))
    for i in range(len(shape)):
        factors = np.ones(shape)
        factors[:, : i + 1] = 2
        factors[2] = 0
        found = call(loss, way, inputs, factors)
        assert found.shape == one.shape and (found[2] == 0).all()
        assert (found[:2] < 2 * one[:2] + 1e-6).all() and (found[:2] > one[:2] - 1e-6).all()
    single = np.ones(shape[:1] + (1,) * (len(shape) - 2) + shape[-1:])  # a mask of the last axis
    single[1] = 0
    assert (call(loss, way, inputs, single)[1] == 0).all()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("shape", [(3,), (4, 3), (4, 2), (1, 3), (4, 4, 4, 2), (2, 1)])
def test_weights_of_another_shape_are_refused(name, shape):
    make, inputs, of = LOSSES[name]
    loss = make()
    told = f"Loss: sample_weight is {shape} for losses {of}\n  expected (4,), a factor for each"
    for hybridize in (False, True):
        loss.hybridize(hybridize)
        with pytest.raises(ValueError, match=re.escape(told)):
            call(loss, WAYS["eager"], inputs, np.ones(shape))


def test_weights_of_samples_on_another_axis():
    x, t = nd.array(X[0]), nd.array(X[1])
    loss, other = layers.HuberLoss(), layers.HuberLoss(batch_axis=1)
    found = other(x, t, nd.array(FACTORS).reshape((1, 4)))
    expected = loss(x.T, t.T, nd.array(FACTORS))
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5)
    with pytest.raises(
        ValueError, match=r"\(4,\) for losses \(4, 4\)\n  expected \(1, 4\), a factor"
    ):
        other(x, t, nd.array(FACTORS))


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(
    "label, told", [(4, "4"), (-1, "-1"), (1.5, r"1\.5"), (np.nan, "nan"), (np.inf, "inf")]
)
def test_labels_that_are_no_class(label, told, dtype, hybridize):
    dtype = dtype if label in (4, -1) else "float32"
    labels = nd.array([0, label, 1, 3], dtype=dtype)
    for make in (layers.SoftmaxLoss, linear):
        loss = make()
        loss.hybridize(hybridize)
        who = type(loss).__name__
        if make is layers.SoftmaxLoss and engine.compiles() and not hybridize:
            who = r"operator 'layers\.softmax_cross_entropy'"
        expected = r"expected one of the 4 classes, whole .* 0 to 3"
        with pytest.raises(IndexError, match=rf"{who}: label has {told}.*\n  {expected}"):
            loss(nd.array(X[0]), labels)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("flags", [None, {}, {"static_alloc": True, "static_shape": True}], ids=str)
def test_labels_that_are_no_class_in_a_larger_graph(flags):
    class Both(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.net, self.loss = gluon.nn.Dense(4, in_units=4), layers.SoftmaxLoss()

        def hybrid_forward(self, F, x, label):
            return self.loss(self.net(x), label)

    both, good, bad = Both(), nd.array([0, 3, 1, 3]), nd.array([0, 4, 1, 3])
    both.initialize()
    if flags is not None:
        both.hybridize(**flags)
    for labels in (bad, good, good, bad):
        if labels is good:
            assert both(nd.array(X[0]), labels).shape == (4,)
            continue
        with pytest.raises(IndexError, match=r"label has 4\n|Target 4 is out of bounds"):
            both(nd.array(X[0]), labels)


def test_the_label_that_is_ignored_is_no_mistake():
    for ignored in (-1, 255):
        loss = layers.SoftmaxLoss(ignore_label=ignored)
        found = loss(nd.array(X[0]), nd.array([0, ignored, 1, 3])).asnumpy()
        assert found[1] == 0 and found[[0, 2, 3]].all()
        with pytest.raises(IndexError, match=f"has -2.*\n.* 0 to 3, or ignore_label {ignored}"):
            loss(nd.array(X[0]), nd.array([0, ignored, -2, 3]))


def test_a_label_of_one_column():
    loss = layers.SoftmaxLoss(ignore_label=1)
    found = loss(nd.array(X[0]), nd.array(CLASSES).reshape((4, 1))).asnumpy()
    np.testing.assert_array_equal(found, loss(nd.array(X[0]), nd.array(CLASSES)).asnumpy())
    pairs = layers.ContrastiveLoss()
    given = nd.array(X[0]), nd.array(X[1]), nd.array([0.0, 1, 1, 0])
    found = pairs(*given[:2], given[2].reshape((4, 1))).asnumpy()
    np.testing.assert_array_equal(found, pairs(*given).asnumpy())


@pytest.mark.parametrize("loss", [layers.SigmoidLoss, layers.FocalLoss, layers.HuberLoss])
@ways
def test_a_label_with_sizes_of_one(loss, way):
    x, t = nd.array(X[0]), nd.array(X[1] > 0)
    expected = way(loss())(x, t).asnumpy()
    for shapes in [((4, 1, 4), (4, 4)), ((4, 4), (4, 1, 4))]:
        found = way(loss())(x.reshape(shapes[0]), t.reshape(shapes[1])).asnumpy()
        np.testing.assert_array_equal(found, expected)
    column = way(loss())(x[:, :1], t[:, 0]).asnumpy()
    np.testing.assert_array_equal(column, way(loss())(x[:, 0], t[:, :1]).asnumpy())


@pytest.mark.parametrize("loss", [layers.SigmoidLoss, layers.FocalLoss, layers.HuberLoss])
@pytest.mark.parametrize("shape", [(3, 4), (4,), (12,), (1, 4, 3), (4, 4)])
def test_a_label_of_another_shape(loss, shape):
    x = nd.array(X[0, :, :3])
    with pytest.raises(ValueError, match=r"Loss: x is \(4, 3\), label is .*\n  expected a label"):
        loss()(x, nd.ones(shape))


@pytest.mark.engine("torch")  # MXNet raises it, too, at a later call
@pytest.mark.parametrize("loss", [layers.SigmoidLoss, layers.FocalLoss, layers.HuberLoss])
def test_a_transposed_label_in_a_graph(loss):
    net = WAYS["in a graph"](loss())
    with pytest.raises(ValueError, match=r"\(4, 3\)"):
        net(nd.array(X[0, :, :3]), nd.ones((3, 4))).wait_to_read()


@pytest.mark.parametrize(
    "loss, shapes, told",
    [
        (layers.SoftmaxLoss, [(4, 3), (3,)], r"x is \(4, 3\), label is \(3,\)\n.*a label \(4,\)"),
        (layers.SoftmaxLoss, [(4,), (1,)], r"x is \(4,\)\n  expected scores \(n, m\)"),
        (
            lambda: layers.SoftmaxLoss(sparse_label=False),
            [(4, 3), (4,)],
            r"label is \(4,\)\n  expected a label \(4, 3\)",
        ),
        (linear, [(2, 4), (2, 1)], r"LinearCrossEntropyLoss: x is \(2, 4\), label is \(2, 1\)"),
        (layers.ContrastiveLoss, [(4, 3), (4, 3), (3,)], r"label is \(3,\)\n.* a label \(4,\)"),
        (layers.ContrastiveLoss, [(4, 3), (4, 1), (4,)], r"z is \(4, 1\)\n  expected x, z \(n, k"),
        (layers.TripletLoss, [(4, 3), (4, 3), (1, 3)], r"far is \(1, 3\)\n  expected x, near, far"),
        (layers.TripletLoss, [(4,), (4,), (4,)], r"x is \(4,\).*\n  expected x, near, far \(n, k"),
        (layers.InfoNCELoss, [(4, 3), (5, 3)], r"x is \(4, 3\), z is \(5, 3\)"),
    ],
)
def test_shapes_that_do_not_fit(loss, shapes, told):
    with pytest.raises(ValueError, match=told):
        loss()(*map(nd.zeros, shapes))


# Inputs by name


def test_inputs_by_name():
    x, label, factors = nd.array(X[0]), nd.array(CLASSES), nd.array(FACTORS)
    for hybridize in (False, True):
        loss = layers.SoftmaxLoss()
        loss.hybridize(hybridize)
        expected = loss(x, label, factors).asnumpy()
        for found in (
            loss(x, label, sample_weight=factors),
            loss(sample_weight=factors, label=label, x=x),
        ):
            np.testing.assert_array_equal(found.asnumpy(), expected)
        loss.hybridize(hybridize)  # MXNet's graphs have as many inputs as in their first call
        assert loss(x, label=label, sample_weight=None).shape == (4,)


def test_weights_by_name_after_lengths_that_are_left_out():
    inputs = [nd.array(v) for v in LOSSES["CTCLoss"][1]]
    for hybridize in (False, True):
        loss = layers.CTCLoss()
        loss.hybridize(hybridize)
        found = loss(*inputs, sample_weight=nd.array(FACTORS)).asnumpy()
        expected = layers.CTCLoss()(*inputs).asnumpy() * FACTORS
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "given, named, told",
    [
        (1, ["pred"], "no input 'pred'\n  expected x, label, sample_weight=None"),
        (2, ["label"], "label is given twice\n"),
        (1, ["sample_weight"], "label is missing\n"),
        (0, [], "x is missing\n"),
        (4, [], "it is given 4 inputs\n  expected x, label, sample_weight=None"),
    ],
)
def test_inputs_that_there_are_not(given, named, told):
    a = nd.ones((4, 4))
    with pytest.raises(TypeError, match=f"SoftmaxLoss: .*{told}"):
        layers.SoftmaxLoss()(*[a] * given, **dict.fromkeys(named, a))


def test_gradients_with_weights():
    x = nd.array(X)
    x.attach_grad()
    with autograd.record():
        loss = layers.SoftmaxLoss()(x, nd.array(np.tile(CLASSES, (4, 1))), nd.array(FACTORS))
    loss.backward()
    assert not x.grad[0].asnumpy().any() and x.grad[1:].asnumpy().all()


# What is told of labels, and of what is no array


@ways
@pytest.mark.parametrize("loss", [layers.SigmoidLoss, layers.FocalLoss])
def test_labels_of_any_dtype(loss, way):
    label, found = (X[1] > 0)[:, :3], []
    for dtype in ("float32", "bool", "int32", "uint8", "float64"):
        x = nd.array(X[0, :, :3], dtype="float32")
        x.attach_grad()
        with autograd.record():
            y = way(loss())(x, nd.array(label, dtype=dtype))
        y.backward()
        assert y.dtype == np.float32
        found.append((y.asnumpy(), x.grad.asnumpy()))
    for y, gradient in found[1:]:
        np.testing.assert_allclose(y, found[0][0], rtol=1e-6)
        np.testing.assert_allclose(gradient, found[0][1], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16"])  # PyTorch's function, and the formula
def test_the_gradient_of_a_label_has_its_dtype(dtype):
    x, t = nd.array(X[0], dtype=dtype), nd.array(X[1] > 0, dtype="float64")
    t.attach_grad()
    with autograd.record():
        y = layers.SigmoidLoss()(x, t)
    y.backward()
    assert t.grad.dtype == np.float64
    np.testing.assert_allclose(t.grad.asnumpy(), -X[0] / 4, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "loss, shape, told",
    [
        (layers.SigmoidLoss, (4,), "(4, 3), a number .*; nd.one_hot(label, 3) makes it of class"),
        (layers.FocalLoss, (4,), "(4, 3), a number .*; nd.one_hot(label, 3) makes it of class"),
        (layers.FocalLoss, (4, 1), "(4, 3), a number .*; nd.one_hot(label, 3) makes it of class"),
        (layers.FocalLoss, (3, 4), "(4, 3), a number from 0 to 1 for each score$"),
        (layers.HuberLoss, (4,), "(4, 3)$"),
        (layers.SoftmaxLoss, (4, 3), "(4,), class numbers; probabilities are for sparse_label=F"),
        (layers.SoftmaxLoss, (3,), "(4,), class numbers$"),
        (
            lambda: layers.SoftmaxLoss(sparse_label=False),
            (4,),
            "(4, 3), probabilities; class numbers are for sparse_label=True",
        ),
    ],
)
def test_what_a_loss_wants_of_a_label(loss, shape, told):
    told = told.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ValueError, match=rf"label is .*\n  expected a label {told}"):
        loss()(nd.zeros((4, 3)), nd.zeros(shape))
    hot = nd.one_hot(nd.array([0, 2, 1, 1]), 3)
    assert layers.FocalLoss()(nd.zeros((4, 3)), hot).shape == (4,)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize(
    "make, told",
    [
        (lambda x: (x, x), r"a tuple of NDArray \(4, 3\), NDArray \(4, 3\)\n  .*network's outputs"),
        (lambda x: [x], r"a list of NDArray \(4, 3\)\n  expected an array: one of a network's out"),
        (lambda x: x.asnumpy(), r"ndarray \(4, 3\)\n  expected an NDArray; nd.array"),
        (lambda x: 3.0, r"3.0 \(float\)\n  expected an NDArray"),
    ],
    ids=["two outputs", "a list", "NumPy", "a number"],
)
def test_scores_that_are_no_array(make, told, hybridize):
    """The message has types and shapes, and not the elements."""
    for loss in (layers.SoftmaxLoss(), layers.SigmoidLoss(), layers.HuberLoss()):
        loss.hybridize(hybridize)
        with pytest.raises(TypeError, match=f"{type(loss).__name__}: x is {told}"):
            loss(make(nd.ones((4, 3))), nd.zeros((4,)))


@pytest.mark.engine("torch")  # MXNet's custom operators take no sparse arrays
@pytest.mark.parametrize("stype", ["csr", "row_sparse"])
@pytest.mark.parametrize("hybridize", [False, True])
def test_sparse_scores(stype, hybridize):
    loss, found = layers.SoftmaxLoss(), []
    loss.hybridize(hybridize)
    for stored in ("default", stype):
        x = nd.array(X[0] * (X[1] > 0)).tostype(stored)
        x.attach_grad()
        with autograd.record():
            y = loss(x, nd.array(CLASSES))
        y.backward()
        found.append((y.asnumpy(), x.grad.asnumpy()))
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-6)
