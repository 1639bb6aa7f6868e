"""Learning to detect objects: what a detector learns from, what it finds, and how good that is."""

from __future__ import annotations

from typing import Any

import numpy as np

from layers.engine import gluon, mx, nd

from . import Refused
from .config import RECORDED, Config
from .data import Data
from .data.images import image_shape
from .gluoncv_package import gluoncv
from .learner import Learner, learner_of
from .task import Task
from .workers import Workers

__all__ = ["Detections", "MeanAveragePrecision", "MultiBoxLoss", "detector_of"]

OVERLAP = 0.5  # of an anchor with an object's box, and of a detection with that of the truth
NEGATIVES = 3  # anchors of the background that are learned for each of an object
MOST = 100  # detections of an image
ONE_OBJECT = 0.45  # detections of one class that overlap more are one


def detector_of(data: Data, ctx: list, config: Config, workers: Workers) -> Learner:
    """Return the learner of a detector, whose net is as `layers.nets.ssd_lite`.

    The net gives scores, offsets and anchors; what is exported gives `Detections`.
    """
    metric = MeanAveragePrecision(data.task.classes, data.shape)
    learner = learner_of(data, ctx, config, workers, answers=Detections())
    learner.outputs, learner.metrics = "detections", [metric]
    check_outputs(config.net, learner.net, nd.array(data.x[:2], ctx=ctx[0]), data.task)
    return learner


def check_outputs(name: str, net: gluon.Block, x: Any, task: Task) -> None:
    """Refuse a net that does not give scores, offsets and anchors.

    Raises
    ------
    Refused
        The message has the shapes.
    """
    outputs = net(x)
    many = isinstance(outputs, list | tuple)
    shapes = [y.shape for y in (outputs if many else [outputs])]
    k = shapes[0][1] if len(shapes[0]) > 1 else 0
    if shapes != [(len(x), k, len(task.classes) + 1), (len(x), 4 * k), (1, k, 4)]:
        raise Refused(
            f"--net {name}: outputs are {', '.join(map(str, shapes))}; expected scores (samples, "
            f"anchors, {len(task.classes) + 1}), offsets (samples, 4 anchors) and anchors "
            "(1, anchors, 4)"
        )


class MultiBoxLoss(gluon.HybridBlock):
    """The loss of a single shot detector: of each image, divided by its matched anchors.

    The cross entropy of the anchors that are matched with an object, and of the hardest others,
    three for each; and the smooth L1 distance of the offsets of the matched ones.

    Inputs:
        - **outputs**: scores (n, k, classes + 1), offsets (n, 4 k) and anchors (1, k, 4)
        - **label**: (n, objects, 5), a class and its box, -1 behind the last object
    Outputs:
        - **loss**: (n,)

    W. Liu et al., SSD: Single shot multibox detector, ECCV 2016.
    """

    def hybridize(
        self, active: bool = True, backend: str | None = None, *args: Any, **options: Any
    ) -> None:
        """Compiled nets have a recorded loss: no compiler can trace how anchors are matched."""
        if backend:
            options |= RECORDED
        super().hybridize(active, None, *args, **options)

    def hybrid_forward(self, F, outputs, label):
        scores, offsets, anchors = outputs
        offset, counted, kind = F.contrib.MultiBoxTarget(
            anchors,
            label,
            F.BlockGrad(F.transpose(scores, axes=(0, 2, 1))),
            overlap_threshold=OVERLAP,
            negative_mining_ratio=NEGATIVES,
            negative_mining_thresh=OVERLAP,
        )
        entropy = -F.pick(F.log_softmax(scores, axis=-1), F.relu(kind), axis=-1) * (kind >= 0)
        distance = F.smooth_l1((offsets - offset) * counted, scalar=1.0)
        objects = F.maximum(F.sum(kind > 0, axis=1), 1)
        return (F.sum(entropy, axis=1) + F.sum(distance, axis=1)) / objects


class Detections(gluon.HybridBlock):
    """The objects that a detector finds: rows of class, probability and box, the best first.

    Inputs:
        - **scores**: (n, k, classes + 1)
        - **offsets**: (n, 4 k)
        - **anchors**: (1, k, 4)
    Outputs:
        - **detections**: (n, 100, 6), or fewer where k is less. The class is -1 where there is no
          object; a box has the left, upper, right and lower edge in parts of the image.
    """

    def hybrid_forward(self, F, scores, offsets, anchors):
        found = F.contrib.MultiBoxDetection(
            F.transpose(F.softmax(scores, axis=-1), axes=(0, 2, 1)),
            offsets,
            anchors,
            nms_threshold=ONE_OBJECT,
            nms_topk=MOST,
        )
        return F.slice(found, begin=(None, 0), end=(None, MOST))


class MeanAveragePrecision(mx.metric.EvalMetric):
    """Mean average precision at an intersection over union of 0.5, as GluonCV's VOCMApMetric.

    Parameters
    ----------
    classes : sequence of str
    shape : tuple of int
        Of an image: (h, w), (h, w, c) or (c, h, w).

    Raises
    ------
    Refused
        GluonCV cannot be imported.
    """

    def __init__(self, classes: Any, shape: tuple[int, ...]):
        kind = gluoncv().utils.metrics.voc_detection.VOCMApMetric
        self.inner = kind(iou_thresh=OVERLAP, class_names=list(classes))
        image: Any = image_shape(tuple(shape))
        _, height, width = image
        self.size = np.array([width, height, width, height], "float32")
        super().__init__("map")

    def reset(self) -> None:
        self.inner.reset()

    def update(self, labels: list, preds: list) -> None:
        """Add images: labels (n, objects, 5), and what `Detections` gives for them."""
        for label, found in zip(labels, preds):
            truth, said = self.pixels(label.asnumpy()[..., 1:]), found.asnumpy()
            boxes = self.pixels(said[..., 2:])
            self.inner.update(boxes, said[..., 0], said[..., 1], truth, label.asnumpy()[..., 0])

    def pixels(self, boxes: np.ndarray) -> np.ndarray:
        """Boxes by their first and last pixels, as the metric has them."""
        return boxes * self.size - np.array([0, 0, 1, 1], "float32")

    def by_class(self) -> dict[str, float]:
        """The average precision of each class; NaN of one that no image has."""
        names, values = self.inner.get()
        return dict(zip(names[:-1], map(float, values[:-1])))

    def get(self) -> tuple[str, float]:
        return self.name, float(self.inner.get()[1][-1])
