"""gluoncv.loss: the losses and their gradients, as they are and hybridized.

GluonCV's losses of segmentation ask a Symbol for its dtype: they cannot be hybridized.
"""

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")  # GluonCV's own, of Python and NumPy


def real(draw, *shape):
    return draw.standard_normal(shape).astype("float32")


def labels(draw, below, *shape, least=0):
    return draw.randint(least, below, shape).astype("float32")


@pytest.mark.parametrize("options", [{}, {"from_logits": True}, {"size_average": False}])
def test_focal(gluoncv, run, draw, held, options):
    loss = gluoncv.loss.FocalLoss(num_class=5, **options)
    scores = draw.uniform(0.05, 0.95, (2, 7, 5)).astype("float32")
    held(run(loss, scores, labels(draw, 5, 2, 7)))


def test_focal_of_weighted_probabilities(gluoncv, run, draw, held):
    loss = gluoncv.loss.FocalLoss(sparse_label=False, weight=0.5)
    held(run(loss, real(draw, 3, 4), labels(draw, 2, 3, 4), draw.rand(3, 1).astype("float32")))


def test_focal_needs_the_number_of_classes(gluoncv):
    with pytest.raises(ValueError, match="Number of class"):
        gluoncv.loss.FocalLoss()


@pytest.mark.parametrize("positives", [True, False])
@pytest.mark.parametrize("least", [0, 4])
def test_ssd_multibox(mx, gluoncv, draw, held, positives, least):
    loss = gluoncv.loss.SSDMultiBoxLoss(rho=0.7, lambd=2.0, min_hard_negatives=least)
    scores, boxes = mx.nd.array(real(draw, 2, 20, 4)), mx.nd.array(real(draw, 2, 20, 4))
    classes = labels(draw, 4, 2, 20) * (draw.rand(2, 20) < 0.2) * positives
    for x in (scores, boxes):
        x.attach_grad()
    with mx.autograd.record():
        found = loss(scores, boxes, mx.nd.array(classes), mx.nd.array(real(draw, 2, 20, 4)))
    mx.autograd.backward(found[0])
    held(found, scores.grad, boxes.grad)


def test_yolo3(gluoncv, run, draw, held):
    n, classes = 9, 3
    predicted = real(draw, 2, n, 1), real(draw, 2, n, 2), real(draw, 2, n, 2), real(draw, 2, n, 3)
    objects = draw.choice([-1, 0, 0.5, 1], (2, n, 1)).astype("float32")
    target = draw.rand(2, n, 2), real(draw, 2, n, 2), draw.rand(2, n, 2), draw.rand(2, n, classes)
    mask = labels(draw, 2, 2, n, classes)
    targets = [np.asarray(t, "float32") for t in (objects, *target, mask)]
    held(run(gluoncv.loss.YOLOV3Loss(), *predicted, *targets, gradients=4))


@pytest.mark.parametrize("aux", [True, False])
def test_mix_softmax_cross_entropy(gluoncv, run, draw, held, aux):
    loss = gluoncv.loss.MixSoftmaxCrossEntropyLoss(aux=aux, aux_weight=0.3)
    scores = [real(draw, 2, 4, 5, 6) for _ in range(1 + aux)]
    held(run(loss, *scores, labels(draw, 4, 2, 5, 6, least=-1), gradients=1 + aux, hybrid=False))


def test_softmax_cross_entropy(gluoncv, run, draw, held):
    loss = gluoncv.loss.SoftmaxCrossEntropyLoss(size_average=False, ignore_label=2)
    held(run(loss, real(draw, 2, 4, 5, 6), labels(draw, 4, 2, 5, 6), hybrid=False))


def test_segmentation_of_three(gluoncv, run, draw, held):
    scores = [real(draw, 2, 4, 5, 6) for _ in range(3)]
    loss = gluoncv.loss.SegmentationMultiLosses()
    held(run(loss, *scores, labels(draw, 4, 2, 5, 6, least=-1), gradients=3, hybrid=False))


def test_icnet(gluoncv, run, draw, held):
    loss = gluoncv.loss.ICNetLoss(crop_size=12)
    scores = [real(draw, 2, 4, size, size) for size in (12, 6, 4, 3)]
    held(run(loss, *scores, labels(draw, 4, 2, 12, 12, least=-1), gradients=4, hybrid=False))


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("hard", [0, 0.4, 1])
def test_distillation(gluoncv, run, draw, held, sparse, hard):
    kind = gluoncv.loss.DistillationSoftmaxCrossEntropyLoss
    loss = kind(temperature=3, hard_weight=hard, sparse_label=sparse)
    teacher = draw.dirichlet(np.ones(5), 4).astype("float32")
    label = labels(draw, 5, 4) if sparse else teacher[::-1].copy()
    held(run(loss, real(draw, 4, 5), label, teacher))


@pytest.mark.parametrize("logits", [True, False])
def test_heatmap_focal(gluoncv, run, draw, held, logits):
    loss = gluoncv.loss.HeatmapFocalLoss(from_logits=logits)
    heat = draw.uniform(0.05, 0.95, (2, 3, 6, 6)).astype("float32")
    target = np.where(draw.rand(2, 3, 6, 6) < 0.1, 1, draw.rand(2, 3, 6, 6)).astype("float32")
    held(run(loss, heat, target))


def test_masked_l1(gluoncv, run, draw, held):
    given = real(draw, 2, 3, 4), real(draw, 2, 3, 4), labels(draw, 2, 2, 3, 4)
    held(run(gluoncv.loss.MaskedL1Loss(weight=0.1), *given))


def test_siam_rpn(gluoncv, run, draw, held):
    loss = gluoncv.loss.SiamRPNLoss(batch_size=2)
    places = 2 * 5 * 17 * 17
    scores, boxes = real(draw, 2, 10, 17, 17), real(draw, 2, 20, 17, 17)
    classes = labels(draw, 2, 2, 5, 17, 17)
    chosen = [np.sort(draw.choice(places, n, False)).astype("float32") for n in (16, 48)]
    targets = real(draw, 2, 4, 5, 17, 17), draw.rand(2, 5, 17, 17).astype("float32")
    held(run(loss, scores, boxes, classes, *chosen, *targets, gradients=2, hybrid=False))


def test_two_fail_on_mxnet_too(mx, gluoncv, draw):
    scores, classes = mx.nd.array(real(draw, 1, 4, 5, 6)), mx.nd.array(labels(draw, 4, 1, 5, 6))
    # Its operator was in no release of MXNet.
    with pytest.raises(AttributeError, match="SoftmaxOHEMOutput"):
        gluoncv.loss.MixSoftmaxCrossEntropyOHEMLoss()(scores, scores, classes)
    # The attributes that it asks for here are never set.
    with pytest.raises(AttributeError, match="_from_logits"):
        loss = gluoncv.loss.MixSoftmaxCrossEntropyLoss(mixup=True)
        loss(scores, scores, classes, classes, mx.nd.array([0.3]))
