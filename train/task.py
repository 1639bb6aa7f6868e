"""What is learned: one of several classes, or a number; and what its results are called."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Task"]


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
        Of the numbers to learn from.
    """

    classes: tuple[str, ...] = ()
    mean: float = 0.0
    std: float = 1.0

    @property
    def name(self) -> str:
        return "classification" if self.classes else "regression"

    @property
    def outputs(self) -> int:
        """Units of the last layer."""
        return len(self.classes) or 1

    @property
    def guessing(self) -> float:
        """The loss of a network that has learned nothing."""
        return math.log(len(self.classes)) if self.classes else 1.0

    @property
    def loss(self) -> str:
        """The loss and its unit."""
        return "cross entropy, nat per sample" if self.classes else "squared error / variance"

    @property
    def metric(self) -> str:
        """What is measured beside the loss: the accuracy, or the mean absolute error."""
        return "accuracy" if self.classes else "mae"

    @property
    def measured(self) -> str:
        """The metric in words, and its unit."""
        return "share of right answers" if self.classes else "mean absolute error"

    def quality(self, metric: float) -> float:
        """The metric, so that more is better."""
        return metric if self.classes else -metric

    def show(self, metric: float) -> str:
        return f"{metric:.2%}" if self.classes else f"{metric:.4g}"
