"""A loss of each kind of model in training mode, as GluonCV's own training scripts compute it."""

import numpy as np

__all__ = ["LOSSES"]


def flat(outputs):
    """The arrays of nested lists, tuples and dictionaries, in order."""
    if isinstance(outputs, dict):
        outputs = outputs.values()
    if isinstance(outputs, (list, tuple)) or not hasattr(outputs, "asnumpy"):
        return [array for each in outputs for array in flat(each)]
    return [outputs]


def box_of(mx, x):
    """One box in the picture, and its class."""
    height, width = x.shape[2:]
    box = [width * 0.2, height * 0.2, width * 0.7, height * 0.8]
    return mx.nd.array([[box]]), mx.nd.zeros((1, 1, 1))


def classifier(mx, gluoncv, net, x):
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    return sum(loss(y.reshape((1, -1)), mx.nd.ones((1,))).sum() for y in flat(net(x)))


def segmenter(mx, gluoncv, net, x):
    loss = gluoncv.loss.MixSoftmaxCrossEntropyLoss(aux=False)
    return sum(loss(y, mx.nd.ones((1, *y.shape[2:]))).sum() for y in flat(net(x)) if y.shape[1] > 1)


def ssd(mx, gluoncv, net, x):
    from gluoncv.model_zoo.ssd.target import SSDTargetGenerator

    classes, boxes, anchors = net(x)
    with mx.autograd.pause():
        box, identity = box_of(mx, x)
        make = SSDTargetGenerator(negative_mining_ratio=-1)
        targets = make(anchors, None, box / x.shape[2], identity)
    total, _, _ = gluoncv.loss.SSDMultiBoxLoss()(classes, boxes, *targets[:2])
    return total[0].sum()


def yolo(mx, gluoncv, net, x):
    from gluoncv.model_zoo.yolo.yolo_target import YOLOV3PrefetchTargetGenerator

    box, identity = box_of(mx, x)
    with mx.autograd.pause(train_mode=True):
        _, anchors, offsets, maps, *_ = net(x)
        make = YOLOV3PrefetchTargetGenerator(num_class=len(net.classes))
        targets = make(x, maps, anchors, offsets, box, identity, None)
    return sum(each.sum() for each in net(x, box, *targets))


def rcnn(mx, gluoncv, net, x):
    box, identity = box_of(mx, x)
    outputs = net(x, box, identity)
    scores, boxes = outputs[:2]
    classes, targets, masks = outputs[-4:-1]  # the last says which proposals have targets
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss(axis=-1)(scores, classes).sum()
    return loss + (mx.nd.smooth_l1(boxes - targets, scalar=1) * masks).sum()


def center_net(mx, gluoncv, net, x):
    from gluoncv.model_zoo.center_net.target_generator import CenterNetTargetGenerator

    heat, size, offset = net(x)
    with mx.autograd.pause():
        make = CenterNetTargetGenerator(heat.shape[1], heat.shape[3], heat.shape[2])
        box, identity = box_of(mx, x)
        targets = [
            each.expand_dims(0) for each in make(box[0].asnumpy() / 4, identity[0].asnumpy())
        ]
    loss = gluoncv.loss.HeatmapFocalLoss(from_logits=True)(heat, targets[0])
    l1 = gluoncv.loss.MaskedL1Loss()
    return loss.sum() + l1(size, *targets[1:3]).sum() * 0.1 + l1(offset, *targets[3:5]).sum()


def squares(mx, gluoncv, net, *inputs):
    """Of what has no labels but arrays, such as heat maps."""
    return sum((y**2).mean() for y in flat(net(*inputs)))


LOSSES = {
    "center_net": center_net,
    "classifier": classifier,
    "rcnn": rcnn,
    "segmenter": segmenter,
    "ssd": ssd,
    "yolo": yolo,
    "depth": squares,
    "pose": squares,
    "pose of a camera": squares,
    "tracker": squares,
}


def step(mx, gluoncv, kind, net, inputs):
    """The loss of one step in training mode, and how many parameters got a gradient."""
    with mx.autograd.record():
        loss = LOSSES[kind](mx, gluoncv, net, *inputs)
    loss.backward()
    value = float(loss.asscalar())
    if not np.isfinite(value):
        raise ValueError(f"the loss is {value}")
    parameters = [p for p in net.collect_params().values() if p.grad_req != "null"]
    reached = sum(bool(p.grad().abs().max().asscalar() > 0) for p in parameters if p._grad)
    if not reached:
        raise ValueError("no parameter has a gradient other than 0")
    return value, reached
