"""Metrics: numbers that say how good predictions are, gathered over batches."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from ._metric import (
    Built,
    CompositeEvalMetric,
    CustomMetric,
    EvalMetric,
    alias,
    check_label_shapes,
    create,
    np,
    register,
    tensor_of,
)
from .base import ArgumentError, ShapeError

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "RMSE",
    "Accuracy",
    "Caffe",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "Loss",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]


@alias("acc")
@register
class Accuracy(Built):
    """The share of predictions that are right.

    Labels are numbers of classes; predictions are scores along `axis`, or classes in the shape of
    the labels. On a GPU nothing waits until the value is asked for.
    """

    def __init__(self, axis=1, name="accuracy", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def _batch(self, label, pred) -> None:
        if pred.shape != label.shape:
            pred = pred.argmax(self.axis)
        if pred.numel() != label.numel():
            raise ShapeError(
                f"{self.name}: labels are {tuple(label.shape)}, predictions "
                f"{tuple(pred.shape)} without the axis of classes\n  expected as many"
            )
        right = pred.to(torch.int32).flatten() == label.to(torch.int32).flatten()
        self._add(right.sum(), right.numel())


@alias("top_k_accuracy", "top_k_acc")
@register
class TopKAccuracy(Built):
    """The share of labels among the `top_k` highest scores of their rows, (n, classes).

    Raises
    ------
    ArgumentError
        `top_k` is below 2.
    """

    def __init__(self, top_k=1, name="top_k_accuracy", output_names=None, label_names=None):
        if top_k <= 1:
            raise ArgumentError(f"top_k is {top_k}\n  expected 2 or more; Accuracy is that of 1")
        super().__init__(f"{name}_{top_k}", output_names, label_names, top_k=top_k)
        self.top_k = top_k

    def _batch(self, label, pred) -> None:
        if pred.dim() != 2:
            raise ShapeError(
                f"{self.name}: predictions are {tuple(pred.shape)}\n  expected (n, classes)"
            )
        label = label.to(torch.int64).flatten()
        found = pred.topk(min(self.top_k, pred.shape[1]), 1).indices
        if len(found) != len(label):
            raise ShapeError(
                f"{self.name}: {len(label)} labels, {len(found)} predictions\n  expected as many"
            )
        self._add((found == label[:, None]).sum(), len(label))


class _BinaryCounts:
    """How often a binary prediction and its label were what."""

    def __init__(self):
        self.hits = self.misses = self.alarms = self.passes = 0

    def __iadd__(self, other: _BinaryCounts) -> _BinaryCounts:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self

    @property
    def total(self) -> int:
        return self.hits + self.misses + self.alarms + self.passes

    def f1(self) -> float:
        wrong = self.misses + self.alarms
        return 2 * self.hits / (2 * self.hits + wrong) if self.hits else 0.0

    def matthews(self) -> float:
        sums = (
            self.hits + self.alarms,
            self.hits + self.misses,
            self.passes + self.alarms,
            self.passes + self.misses,
        )
        if not self.total:
            return 0.0
        divisor = math.sqrt(math.prod(s for s in sums if s))
        return (self.hits * self.passes - self.alarms * self.misses) / divisor


class _Binary(Built):
    """A score of binary predictions, (n, 2) or (n, 1), and labels 0 and 1.

    `average` is the mean over updates, 'macro', or that of all samples, 'micro'.
    """

    score: Callable[[_BinaryCounts], float]

    def __init__(self, name, output_names=None, label_names=None, average="macro"):
        self.average = average
        super().__init__(name, output_names, label_names)

    def update(self, labels, preds) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        batch = _BinaryCounts()  # of all arrays: several devices share one batch
        for label, pred in zip(labels, preds):
            batch += self._count(tensor_of(label), tensor_of(pred))
        if self.average == "macro":
            self._add(self.score(batch), 1)
            return
        for counts in (self._counts, self._global_counts):
            counts += batch
        self.num_inst, self.global_num_inst = self._counts.total, self._global_counts.total
        self.sum_metric = self.score(self._counts) * self.num_inst
        self.global_sum_metric = self.score(self._global_counts) * self.global_num_inst

    def _count(self, label: torch.Tensor, pred: torch.Tensor) -> _BinaryCounts:
        if pred.dim() != 2:
            raise ShapeError(f"{self.name}: predictions are {tuple(pred.shape)}\n  expected (n, 2)")
        found, label = pred.argmax(1), label.to(pred.device, torch.int64).flatten()
        if len(found) != len(label):
            raise ShapeError(
                f"{self.name}: {len(label)} labels, {len(found)} predictions\n  expected as many"
            )
        cells = torch.bincount((2 * label + found).clamp(0, 4), minlength=5).tolist()
        if cells[4] or (label < 0).any() or (found > 1).any():
            raise ArgumentError(f"{self.name}: more than two classes\n  expected classes 0 and 1")
        counts = _BinaryCounts()
        counts.passes, counts.alarms, counts.misses, counts.hits, _ = cells
        return counts

    def reset(self) -> None:
        super().reset()
        self._counts, self._global_counts = _BinaryCounts(), _BinaryCounts()

    def reset_local(self) -> None:
        super().reset_local()
        self._counts = _BinaryCounts()


@register
class F1(_Binary):
    """The harmonic mean of precision and recall of class 1."""

    score = staticmethod(_BinaryCounts.f1)

    def __init__(self, name="f1", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)


@register
class MCC(_Binary):
    """Matthews' correlation coefficient of two classes, from -1 to 1."""

    score = staticmethod(_BinaryCounts.matthews)

    def __init__(self, name="mcc", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)


class _Error(Built):
    """The mean over batches of an error of numbers; labels of shape (n,) are (n, 1)."""

    _error: Callable[[torch.Tensor], torch.Tensor]

    def _batch(self, label, pred) -> None:
        label, pred = (a[:, None] if a.dim() == 1 else a for a in (label, pred))
        self._add(self._error(label - pred), 1)


@register
class MAE(_Error):
    """The mean absolute error."""

    def __init__(self, name="mae", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _error(self, difference):
        return difference.abs().mean()


@register
class MSE(_Error):
    """The mean squared error."""

    def __init__(self, name="mse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _error(self, difference):
        return difference.square().mean()


@register
class RMSE(_Error):
    """The root of the mean squared error."""

    def __init__(self, name="rmse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _error(self, difference):
        return difference.square().mean().sqrt()


class _LogLikelihood(Built):
    """The mean of -log(p + eps), for the probability p that is given to the label."""

    def __init__(self, eps, name, output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def _batch(self, label, pred) -> None:
        label = label.to(torch.int64).flatten()
        if len(label) != len(pred):
            raise ShapeError(
                f"{self.name}: {len(label)} labels, {len(pred)} predictions\n  expected as many"
            )
        likelihood = pred.gather(1, label[:, None])
        self._add(-(likelihood + self.eps).log().sum(), len(label))


@alias("ce")
@register
class CrossEntropy(_LogLikelihood):
    """The cross entropy, -log(p + eps) for the probability p of the label's class."""

    def __init__(self, eps=1e-12, name="cross-entropy", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


@alias("nll_loss")
@register
class NegativeLogLikelihood(_LogLikelihood):
    """The negative log likelihood: the same as `CrossEntropy`."""

    def __init__(self, eps=1e-12, name="nll-loss", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


@register
class Perplexity(Built):
    """exp of the mean of -log p, for the probability p of the label's class along `axis`.

    Labels equal to `ignore_label` do not count.
    """

    def __init__(
        self, ignore_label, axis=-1, name="perplexity", output_names=None, label_names=None
    ):
        super().__init__(name, output_names, label_names, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = axis

    def _batch(self, label, pred) -> None:
        classes = pred.shape[self.axis]
        label = label.to(torch.int64).flatten()
        if label.numel() * classes != pred.numel():
            raise ShapeError(
                f"{self.name}: {label.numel()} labels for predictions {tuple(pred.shape)}\n"
                f"  expected {pred.numel() // classes}"
            )
        rows = pred.movedim(self.axis, -1).reshape(-1, classes)
        p = rows.gather(1, label.clamp(0, classes - 1)[:, None])[:, 0]
        count = len(label)
        if self.ignore_label is not None:
            ignored = label == self.ignore_label
            p, count = p.masked_fill(ignored, 1.0), count - int(ignored.sum())
        self._add(-p.clamp(min=1e-10).log().sum(), count)

    def _result(self, total, count):
        return math.exp(total / count)


@alias("pearsonr")
@register
class PearsonCorrelation(Built):
    """Pearson's correlation of labels and predictions of one shape: the mean over batches.

    With ``average='micro'`` that of all samples.
    """

    def __init__(self, name="pearsonr", output_names=None, label_names=None, average="macro"):
        self.average = average
        super().__init__(name, output_names, label_names)

    def reset(self) -> None:
        super().reset()
        self._moments = torch.zeros(6, dtype=torch.float64)

    def reset_local(self) -> None:
        super().reset_local()
        self._moments = torch.zeros(6, dtype=torch.float64)

    def _batch(self, label, pred) -> None:
        check_label_shapes(label, pred, shape=True)
        a, b = label.double(), pred.double()
        moments = torch.stack(
            [torch.ones_like(a).sum(), *(x.sum() for x in (a, b, a * a, b * b, a * b))]
        ).cpu()
        if self.average == "micro":
            moments = self._moments = self._moments + moments
            self.sum_metric = self.global_sum_metric = 0.0
            self.num_inst = self.global_num_inst = 0
        n, a, b, aa, bb, ab = moments.tolist()
        spread = math.sqrt((n * aa - a * a) * (n * bb - b * b))
        self._add((n * ab - a * b) / spread if spread else float("nan"), 1)


@register
class Loss(Built):
    """The mean of losses, of each element of the predictions."""

    def __init__(self, name="loss", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def update(self, labels, preds) -> None:
        for pred in preds if isinstance(preds, (list, tuple)) else [preds]:
            pred = tensor_of(pred)
            self._add(pred.sum(), pred.numel())


@register
class Torch(Loss):
    """`Loss` under another name."""

    def __init__(self, name="torch", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """`Loss` under another name."""

    def __init__(self, name="caffe", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)
