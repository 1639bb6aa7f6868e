"""What is learned: classes, a number, or objects; and what its results are called."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Detection", "Task"]


@dataclass(frozen=True)
class Task:
    """The classes to tell apart; or, without classes, a number to predict.

    The loss of a class is the cross entropy; that of a number the squared error in units of the
    variance, ((value - target) / std)², so that the mean of a guess is 1.

    Attributes
    ----------
    classes : tuple of str
        Their names, in the order of the network's outputs.
    mean, std : float
        Of the numbers to learn from, as the network has them.
    unit : float
        That they have there; 1, unless they are outside the range of float32.
    """

    classes: tuple[str, ...] = ()
    mean: float = 0.0
    std: float = 1.0
    unit: float = 1.0

    @property
    def name(self) -> str:
        return "classification" if self.classes else "regression"

    @property
    def outputs(self) -> int:
        """Units of the last layer."""
        return len(self.classes) or 1

    def takes(self, shape: tuple[int, ...]) -> bool:
        """True if a network's output for one sample may have this shape."""
        return shape == (self.outputs,)

    @property
    def expected(self) -> str:
        """Return the expected shape of a network's output, for a message."""
        return f"(samples, {self.outputs})"

    @property
    def guessing(self) -> float:
        """Return the loss of a network that has learned nothing."""
        return math.log(len(self.classes)) if self.classes else 1.0

    @property
    def loss(self) -> str:
        """Return the loss and its unit."""
        return "cross entropy, nat per sample" if self.classes else "squared error / variance"

    @property
    def metric(self) -> str:
        """Return the name of the metric: the accuracy, or the mean absolute error."""
        return "accuracy" if self.classes else "mae"

    @property
    def metric_title(self) -> str:
        """Return the metric in words, and its unit."""
        return "share of right answers" if self.classes else "mean absolute error"

    def quality(self, metric: float) -> float:
        """Return the metric with the sign that makes more better."""
        return metric if self.classes else -metric

    def show(self, metric: float) -> str:
        return f"{metric:.2%}" if self.classes else f"{metric * self.unit:.4g}"

    def result(self, metric: float) -> str:
        """Return a sentence on the held-out samples, without a full stop."""
        if self.classes:
            return f"{self.show(metric)} of the held-out samples right"
        return f"mean absolute error {self.show(metric)} on the held-out samples"


class Detection(Task):
    """Objects of several classes, to be found in images with their boxes."""

    @property
    def name(self) -> str:
        return "detection"

    def takes(self, shape: tuple[int, ...]) -> bool:
        """True if a network's first output, the scores, may have this shape for one sample."""
        return len(shape) == 2 and shape[1] == self.outputs + 1

    @property
    def expected(self) -> str:
        return f"(samples, anchors, {self.outputs + 1}), then offsets and anchors"

    @property
    def guessing(self) -> float:
        """Return the loss of an anchor with an object and three without, at equal scores."""
        return 4 * math.log(self.outputs + 1)

    @property
    def loss(self) -> str:
        return "cross entropy and offsets of boxes, per matched anchor"

    @property
    def metric(self) -> str:
        return "map"

    @property
    def metric_title(self) -> str:
        return "mean average precision, boxes with an overlap of 0.5"

    def quality(self, metric: float) -> float:
        return -math.inf if math.isnan(metric) else metric

    def result(self, metric: float) -> str:
        return f"mean average precision {self.show(metric)} on the held-out images"
