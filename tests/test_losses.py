"""The blocks of losses: eager, hybridized, recorded, with weights, on both engines."""

import numpy as np
import pytest

import layers
from layers.engine import autograd, gluon, mx, nd

X, Z, V = (np.random.RandomState(i).randn(4, 5).astype("float32") for i in range(3))
LABEL, WEIGHT = np.array([0.0, 2, 1, 4]), np.array([0.0, 1, 2, 3])
YES = (Z > 0).astype("float32")
PAIRS = np.array([1.0, 0, 0, 1])
SEQUENCES = np.array([[0.0, 1], [2, -1], [3, 3], [1, 0]])
TIME = np.random.RandomState(5).randn(4, 6, 5)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def info_nce(x, z, temperature=0.07):
    x, z = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, z))
    return -np.log(np.diag(softmax(x @ z.T / temperature)))


def huber(x, label, rho):
    e = np.abs(x - label)
    return np.where(e <= rho, e * e / (2 * rho), e - rho / 2).mean(axis=1)


def binary(x, t):
    return (np.log(1 + np.exp(x)) - t * x).mean(axis=1)


def pairs(x, z, t):
    d = np.sqrt(((x - z) ** 2).sum(axis=1))
    return 0.5 * (t * d**2 + (1 - t) * np.maximum(0, 3 - d) ** 2)


def triplets(x, near, far):
    return np.maximum(0, ((x - near) ** 2 - (x - far) ** 2).sum(axis=1) + 1)


CASES = {
    "SoftmaxLoss": (
        layers.SoftmaxLoss,
        (X, LABEL),
        -np.log(softmax(X)[range(4), LABEL.astype(int)]),
    ),
    "SoftmaxLoss, ignoring, smoothing": (
        lambda: layers.SoftmaxLoss(ignore_label=2, smoothing=0.5),
        (X, LABEL),
        -(np.log(softmax(X)) * (0.5 * np.eye(5)[LABEL.astype(int)] + 0.1)).sum(axis=1)
        * (LABEL != 2),
    ),
    "SoftmaxLoss, z": (
        lambda: layers.SoftmaxLoss(z_loss=0.5),
        (X, LABEL),
        -np.log(softmax(X)[range(4), LABEL.astype(int)]) + 0.5 * np.log(np.exp(X).sum(axis=1)) ** 2,
    ),
    "SoftmaxLoss of probabilities": (
        lambda: layers.SoftmaxLoss(sparse_label=False, smoothing=0.5),
        (X, softmax(Z)),
        -(np.log(softmax(X)) * (softmax(Z) + 0.2) / 2).sum(axis=1),
    ),
    "SigmoidLoss": (layers.SigmoidLoss, (X, YES), binary(X, YES)),
    "FocalLoss": (lambda: layers.FocalLoss(gamma=0, alpha=0.5), (X, YES), binary(X, YES) / 2),
    "HuberLoss": (lambda: layers.HuberLoss(rho=0.5), (X, Z), huber(X, Z, 0.5)),
    "ContrastiveLoss": (
        lambda: layers.ContrastiveLoss(margin=3),
        (X, Z, PAIRS),
        pairs(X, Z, PAIRS),
    ),
    "TripletLoss": (layers.TripletLoss, (X, Z, V), triplets(X, Z, V)),
    "InfoNCELoss": (layers.InfoNCELoss, (X, Z), info_nce(X, Z)),
    "InfoNCELoss, symmetric": (
        lambda: layers.InfoNCELoss(temperature=0.5, symmetric=True),
        (X, Z),
        (info_nce(X, Z, 0.5) + info_nce(Z, X, 0.5)) / 2,
    ),
    "InfoNCELoss, not normalized": (
        lambda: layers.InfoNCELoss(temperature=1.0, normalize=False),
        (X, Z),
        -np.log(np.diag(softmax(X @ Z.T))),
    ),
    "CTCLoss": (layers.CTCLoss, (TIME, SEQUENCES), None),
}
HOW = {"eager": None, "plain": {}, "recorded": {"static_alloc": True, "static_shape": True}}


def run(block, values):
    """The loss and the gradient of the first input."""
    arrays = [nd.array(v) for v in values]
    arrays[0].attach_grad()
    with autograd.record():
        y = block(*arrays)
    y.backward()
    return y.asnumpy(), arrays[0].grad.asnumpy()


@pytest.mark.parametrize("name", CASES)
def test_the_formula(name):
    make, values, expected = CASES[name]
    found = []
    for way in HOW.values():
        block = make()
        if way is not None:
            block.hybridize(**way)
        for _ in range(3):
            found.append(run(block, values))
    if expected is not None:
        np.testing.assert_allclose(found[0][0], expected, rtol=1e-4, atol=1e-5)
    assert found[0][0].shape == (4,) and found[0][1].any()
    for y, dx in found[1:]:
        np.testing.assert_allclose(y, found[0][0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(dx, found[0][1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", [n for n in CASES if "CTC" not in n])
def test_weights(name):
    make, values, _ = CASES[name]
    block = make()
    y = block(*map(nd.array, values)).asnumpy()
    if isinstance(block, (layers.SigmoidLoss, layers.FocalLoss, layers.HuberLoss)):
        per_sample = WEIGHT[:, None]
    else:
        per_sample = WEIGHT
    weighted = block(*map(nd.array, values), nd.array(per_sample)).asnumpy()
    np.testing.assert_allclose(weighted, y * WEIGHT, rtol=1e-5, atol=1e-6)


def test_equal_pairs_have_the_gradient_0():
    y, dx = run(lambda x: layers.ContrastiveLoss()(x, x.copy(), nd.zeros((4,))), (X,))
    np.testing.assert_allclose(y, 0.5, rtol=1e-5)
    assert not dx.any()


def test_ctc_is_gluons():
    values = nd.array(TIME), nd.array(SEQUENCES)
    expected = gluon.loss.CTCLoss()(*values).asnumpy()
    np.testing.assert_array_equal(layers.CTCLoss()(*values).asnumpy(), expected)
    lengths = nd.array([6, 4, 5, 3]), nd.array([2, 1, 2, 1])
    expected = gluon.loss.CTCLoss()(*values, *lengths).asnumpy()
    np.testing.assert_array_equal(layers.CTCLoss()(*values, *lengths).asnumpy(), expected)
    turned = nd.array(np.swapaxes(TIME, 0, 1)), nd.array(SEQUENCES.T)
    found = layers.CTCLoss(layout="TNC", label_layout="TN", weight=2.0)(*turned, *lengths).asnumpy()
    np.testing.assert_allclose(found, 2 * expected, rtol=1e-6)
    # With blank first every class is one more, and so is what stands behind the end.
    moved = nd.array(np.roll(TIME, 1, axis=2)), nd.array(SEQUENCES + 1)
    found = layers.CTCLoss(blank="first")(*moved).asnumpy()
    np.testing.assert_allclose(found, layers.CTCLoss()(*values).asnumpy(), rtol=1e-6)


def linear(channels=7, **options):
    loss = layers.LinearCrossEntropyLoss(0, channels, **options)
    mx.random.seed(3)
    loss.initialize(mx.init.Xavier())
    return loss


@pytest.mark.parametrize("bias", [True, False])
def test_the_last_layer_and_the_loss_in_one(bias):
    options = {"ignore_label": 2, "smoothing": 0.1, "z_loss": 0.01}
    found = []
    for way in HOW.values():
        loss = linear(bias=bias, **options)
        if way is not None:
            loss.hybridize(**way)
        for _ in range(3):
            y, dx = run(loss, (X, LABEL, WEIGHT))
        found.append([y, dx, *(p.grad().asnumpy() for p in loss.collect_params().values())])
    loss = linear(bias=bias)
    loss(nd.array(X), nd.array(LABEL))
    dense, plain = layers.DenseBlock(0, 7, bias, params=loss.params), layers.SoftmaxLoss(**options)
    y, dx = run(lambda x, *others: plain(dense(x), *others), (X, LABEL, WEIGHT))
    found.append([y, dx, *(p.grad().asnumpy() for p in loss.collect_params().values())])
    assert len(found[0]) == 3 + bias and repr(loss) == "LinearCrossEntropyLoss(5 -> 7)"
    for other in found[1:]:
        for a, b in zip(other, found[0]):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_it_learns():
    net = layers.DenseBlock(5, 8, activation="relu")
    loss = linear(5)
    mx.random.seed(0)
    net.initialize(mx.init.Xavier())
    params = {**net.collect_params(), **loss.collect_params()}
    trainer = gluon.Trainer(params, "adam", {"learning_rate": 0.05})
    losses = []
    for _ in range(60):
        with autograd.record():
            y = loss(net(nd.array(X)), nd.array(LABEL))
        y.backward()
        trainer.step(4)
        losses.append(float(y.mean().asscalar()))
    assert losses[-1] < 0.1 * losses[0]


def test_more_axes():
    x, label = nd.array(TIME), nd.array(np.arange(24).reshape(4, 6) % 5)
    assert layers.SoftmaxLoss(ignore_label=-1)(x, label).shape == (4, 6)
    assert linear()(x, label).shape == (4, 6)
    assert layers.SigmoidLoss()(x, x > 0).shape == (4,)


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: layers.SoftmaxLoss(smoothing=2), "SoftmaxLoss: smoothing is 2"),
        (lambda: layers.SoftmaxLoss(sparse_label=False, ignore_label=-1), "expected None"),
        (lambda: layers.LinearCrossEntropyLoss(3, 5, smoothing=-1), "smoothing is -1"),
        (lambda: layers.SoftmaxLoss(smoothing="a"), "smoothing is 'a'\n  expected a number from 0"),
        (lambda: layers.SoftmaxLoss(z_loss=-1), "z_loss is -1"),
        (lambda: layers.FocalLoss(gamma=-1), "FocalLoss: gamma is -1\n  expected a number from 0"),
        (lambda: layers.FocalLoss(alpha=2), "alpha is 2\n  expected a number from 0 to 1"),
        (lambda: layers.ContrastiveLoss(margin=-1), "ContrastiveLoss: margin is -1"),
        (lambda: layers.TripletLoss(margin=None), "TripletLoss: margin is None"),
        (lambda: layers.HuberLoss(rho=0), "rho is 0"),
        (lambda: layers.InfoNCELoss(temperature=0), "temperature is 0"),
        (lambda: layers.CTCLoss(blank="none"), "blank is 'none'"),
    ],
)
def test_mistakes_are_told_where_a_loss_is_made(make, told):
    with pytest.raises(ValueError, match=told):
        make()
