"""Losses and their gradients, held to MXNet's."""

import numpy as np
import pytest
from recorded import Recorded

from layers.engine import autograd, gluon, nd

TOLERANCE = 1e-5, 4e-6  # relative, absolute: as exact as MXNet's log_softmax

random = np.random.RandomState(0)
REAL = random.randn(4, 3)
OTHER = random.randn(4, 3)
SHARE = random.rand(4, 3)
SIGNS = np.array([[1, -1, 1]] * 4) * np.array([[1], [1], [-1], [-1]])
COUNTS = np.array([[1, 2, 0], [3, 1, 5], [0, 0, 7], [2, 9, 4]])
CLASSES = np.array([0, 2, 1, 1])
IMAGES = random.randn(2, 3, 4)
PIXELS = np.array([[0, 1, 2, 2], [1, 0, 0, 2]])
EACH = np.array([[1.0], [2.0], [0.0], [0.5]])
STEPS = random.randn(2, 5, 4)
WORDS = np.array([[0, 2, -1], [1, 1, 0]])
LENGTHS = [np.array([4, 5]), np.array([2, 1])]
LOG = np.log(SHARE / SHARE.sum(1, keepdims=True))

# id: loss, its arguments, its inputs; the gradient is that of the first.
CASES = {
    "l2": ("L2Loss", {}, [REAL, OTHER]),
    "l2,weight": ("L2Loss", {"weight": 5}, [REAL, OTHER]),
    "l2,sample_weight": ("L2Loss", {}, [REAL, OTHER, EACH]),
    "l2,batch_axis": ("L2Loss", {"batch_axis": 1}, [REAL, OTHER]),
    "l2,vector": ("L2Loss", {}, [REAL[:, 0], OTHER[:, 0]]),
    "l2,column": ("L2Loss", {}, [REAL[:, :1], OTHER[:, 0]]),
    "l1": ("L1Loss", {"weight": 0.5}, [REAL, OTHER]),
    "l1,sample_weight": ("L1Loss", {}, [REAL, OTHER, EACH]),
    "l1,vector": ("L1Loss", {}, [REAL[:, 0], OTHER[:, 0], EACH[:, 0]]),
    "sigmoid": ("SigmoidBCELoss", {}, [REAL, SHARE]),
    "sigmoid,large": ("SigmoidBCELoss", {}, [REAL * 100, SHARE]),
    "sigmoid,vector": ("SigmoidBCELoss", {}, [REAL[:, 0], SHARE[:, 0]]),
    "sigmoid,pos_weight": ("SigmoidBCELoss", {}, [REAL, SHARE, EACH, SHARE + 1]),
    "sigmoid,from_sigmoid": ("SigmoidBCELoss", {"from_sigmoid": True}, [SHARE, SHARE[::-1]]),
    "sigmoid,from_sigmoid,pos_weight": (
        "SigmoidBCELoss",
        {"from_sigmoid": True},
        [SHARE, SHARE[::-1], EACH, EACH + 1],
    ),
    "softmax": ("SoftmaxCELoss", {}, [REAL, CLASSES]),
    "softmax,large": ("SoftmaxCELoss", {}, [REAL * 100, CLASSES]),
    "softmax,weights": ("SoftmaxCELoss", {"weight": 3.0}, [REAL, CLASSES, EACH]),
    "softmax,dense": ("SoftmaxCELoss", {"sparse_label": False}, [REAL, SHARE]),
    "softmax,logits": ("SoftmaxCELoss", {"from_logits": True}, [LOG, CLASSES]),
    "softmax,axis": ("SoftmaxCELoss", {"axis": 1}, [IMAGES, PIXELS]),
    "softmax,out of range": ("SoftmaxCELoss", {}, [REAL, CLASSES * 2 - 1]),
    "kl": ("KLDivLoss", {}, [LOG, SHARE]),
    "kl,from scores": ("KLDivLoss", {"from_logits": False}, [REAL, SHARE]),
    "kl,axis": ("KLDivLoss", {"from_logits": False, "axis": 0}, [REAL, SHARE, EACH]),
    "huber": ("HuberLoss", {}, [REAL * 2, OTHER]),
    "huber,vector": ("HuberLoss", {}, [REAL[:, 0] * 2, OTHER[:, 0]]),
    "huber,rho": ("HuberLoss", {"rho": 0.3}, [REAL, OTHER, EACH]),
    "hinge": ("HingeLoss", {}, [REAL, SIGNS]),
    "hinge,vector": ("HingeLoss", {}, [REAL[:, 0], SIGNS[:, 0]]),
    "hinge,margin": ("HingeLoss", {"margin": 0.3}, [REAL, SIGNS, EACH]),
    "squared hinge": ("SquaredHingeLoss", {"margin": 2, "weight": 2}, [REAL, SIGNS]),
    "logistic": ("LogisticLoss", {}, [REAL, SIGNS]),
    "logistic,vector": ("LogisticLoss", {}, [REAL[:, 0], SIGNS[:, 0]]),
    "logistic,binary": ("LogisticLoss", {"label_format": "binary"}, [REAL, SIGNS > 0, EACH]),
    "triplet": ("TripletLoss", {}, [REAL, OTHER, SHARE]),
    "triplet,vector": ("TripletLoss", {}, [REAL[:, 0], OTHER[:, 0], SHARE[:, 0]]),
    "triplet,margin": ("TripletLoss", {"margin": 4, "weight": 2}, [REAL, SHARE, OTHER]),
    "poisson": ("PoissonNLLLoss", {}, [REAL, COUNTS]),
    "poisson,means": ("PoissonNLLLoss", {"from_logits": False}, [SHARE, COUNTS, EACH]),
    "ctc": ("CTCLoss", {}, [STEPS, WORDS]),
    "ctc,layouts": (
        "CTCLoss",
        {"layout": "TNC", "label_layout": "TN"},
        [STEPS.swapaxes(0, 1), WORDS.T],
    ),
    "ctc,lengths": ("CTCLoss", {"weight": 2.0}, [STEPS, abs(WORDS), *LENGTHS]),
    "ctc,sample_weight": ("CTCLoss", {}, [STEPS, abs(WORDS), *LENGTHS, EACH[:2, 0]]),
    "sdml": ("SDMLLoss", {}, [REAL / 4, OTHER / 4]),
    "sdml,smoothing": ("SDMLLoss", {"smoothing_parameter": 0.1}, [SHARE, REAL / 4]),
    "cosine": ("CosineEmbeddingLoss", {}, [REAL, OTHER, SIGNS[:, 0]]),
    "cosine,margin": (
        "CosineEmbeddingLoss",
        {"margin": -0.2, "weight": 2},
        [REAL, OTHER, SIGNS[:, :1], EACH],
    ),
    "cosine,neither": ("CosineEmbeddingLoss", {}, [REAL, OTHER, CLASSES]),
}


@pytest.fixture(scope="module")
def recorded(pytestconfig):
    values = Recorded("gluon_loss", pytestconfig.getoption("--record"))
    yield values
    values.write()


def value_and_gradient(loss, inputs):
    arrays = [nd.array(np.ascontiguousarray(value)) for value in inputs]
    arrays[0].attach_grad()
    with autograd.record():
        y = loss(*arrays)
    y.backward(nd.array(np.arange(1, y.size + 1).reshape(y.shape)))
    return [y.asnumpy(), arrays[0].grad.asnumpy()]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("hybrid", [False, True], ids=["eager", "hybridized"])
def test_loss(recorded, case, hybrid, engine):
    name, settings, inputs = CASES[case]
    if hybrid and name == "SDMLLoss" and engine == "mxnet":
        pytest.skip("MXNet's asks for the shape of its input, which a Symbol has not")
    loss = getattr(gluon.loss, name)(**settings)
    if hybrid:
        loss.hybridize()
    recorded.check(case, value_and_gradient(loss, inputs), *TOLERANCE)


@pytest.mark.engine("torch")
def test_poisson_with_the_constant():
    """MXNet writes in place into what is recorded, and has NaN for counts of 0."""
    constant = np.array([0, 0, 2 * np.log(2) - 2 + 0.5 * np.log(4 * np.pi)])
    counts = np.array([[0.0, 1.0, 2.0]])
    loss = gluon.loss.PoissonNLLLoss(compute_full=True)
    value, gradient = value_and_gradient(loss, [np.zeros((1, 3)), counts])
    assert value == pytest.approx((1 + constant).mean(), rel=1e-6)
    np.testing.assert_allclose(gradient, (1 - counts) / 3, rtol=1e-6)


def test_repr_and_names():
    assert repr(gluon.loss.L2Loss()) == "L2Loss(batch_axis=0, w=1.0)"
    assert repr(gluon.loss.SoftmaxCELoss(weight=3)) == "SoftmaxCrossEntropyLoss(batch_axis=0, w=3)"
    assert gluon.loss.SoftmaxCELoss is gluon.loss.SoftmaxCrossEntropyLoss
    assert gluon.loss.SigmoidBCELoss is gluon.loss.SigmoidBinaryCrossEntropyLoss


def test_a_loss_of_ones_own():
    class Mine(gluon.loss.Loss):
        def __init__(self, weight=None, batch_axis=0, **kwargs):
            super().__init__(weight, batch_axis, **kwargs)

        def hybrid_forward(self, F, pred, label):
            loss = gluon.loss._apply_weighting(F, F.abs(pred - label), self._weight, None)
            return F.mean(loss, axis=self._batch_axis, exclude=True)

    assert Mine(weight=2)(nd.ones((2, 3)), nd.zeros((2, 3))).asnumpy().tolist() == [2, 2]


def test_refused():
    with pytest.raises(AssertionError, match="(?s)'NTC'.*'TNC'"):
        gluon.loss.CTCLoss(layout="CNT")
    with pytest.raises(AssertionError, match="(?s)'NT'.*'TN'"):
        gluon.loss.CTCLoss(label_layout="NTC")
    with pytest.raises(ValueError, match="label_format"):
        gluon.loss.LogisticLoss(label_format="x")


@pytest.mark.engine("torch")
def test_a_weight_that_is_no_number():
    with pytest.raises(TypeError, match="weight"):
        gluon.loss.L1Loss(weight="a")(nd.ones((2, 3)), nd.ones((2, 3)))
