"""What is measured beside the loss: accuracy, absolute error, and metrics of all held-out samples.

Those are scikit-learn's by the names of `train.scores`, and all others of `mx.metric`.
"""

from __future__ import annotations

import math
import reprlib
from typing import Any

import numpy as np

from layers import SoftmaxLoss
from layers.engine import gluon, mx, nd

from . import Refused
from .scores import ROWS, Score
from .screen import one_line

__all__ = [
    "BUILT_IN",
    "Metric",
    "ScaledSquare",
    "Weighted",
    "WeightedLoss",
    "WithMetric",
    "axis_of_classes",
    "chosen",
    "expect_one_target",
    "cross_entropy",
    "ignored_label",
    "is_computed",
    "is_loss",
    "joined",
    "named",
    "probabilities",
    "values_of",
]

# Classes of mx.metric of which less is better.
OF_PROBABILITIES = ("Perplexity", "CrossEntropy", "NegativeLogLikelihood")
ERRORS = ("MAE", "MSE", "RMSE", "Loss", *OF_PROBABILITIES)


class Metric:
    """A metric by its name: whether more is better, and how it is shown."""

    def __init__(self, metric: str, sign: int, form: str, title: str = ""):
        self.metric, self.sign, self.form = metric, sign, form
        self.metric_title = title or metric

    def quality(self, metric: float) -> float:
        """Return the metric with the sign that makes more better; NaN is the worst."""
        return -math.inf if math.isnan(metric) else self.sign * metric

    def show(self, metric: float) -> str:
        return format(metric, self.form)

    def result(self, metric: float) -> str:
        """Return a sentence on the held-out samples, without a full stop."""
        return f"{self.metric_title} {self.show(metric)} on the held-out samples"


class Scored(mx.metric.EvalMetric):
    """A metric of scikit-learn; it is updated once, with all samples."""

    def __init__(self, row: Score):
        self.row = row
        super().__init__(row.name)

    def reset(self) -> None:
        self.value = math.nan

    def update(self, labels: list, preds: list) -> None:
        """Measure labels and outputs, which are one array each."""
        outputs = probabilities(preds[0]) if self.row.of_classes else preds[0]
        self.value = self.row.value(labels[0].asnumpy(), outputs.asnumpy())

    def get(self) -> tuple[str, float]:
        return self.name, self.value


# Those that a step computes too.
ACCURACY = Metric("accuracy", 1, ".2%")
BUILT_IN = {
    None: Metric("metric", -1, ".4g"),
    "accuracy": ACCURACY,
    "acc": ACCURACY,  # as `mx.metric` calls it too
    "mae": Metric("mae", -1, ".4g"),
}


def is_loss(measure: Any) -> bool:
    """True if there is no metric, and the loss is in its place."""
    return measure is BUILT_IN[None]


def is_computed(measure: Metric) -> bool:
    """True if a step computes the metric beside the loss."""
    return measure in (ACCURACY, BUILT_IN["mae"])


def chosen(metric: Any) -> tuple[Metric, list]:
    """Return the metric that tells which epoch is best, and the metrics of all samples.

    Raises
    ------
    Refused
        There is no such metric, or two have one name.
    """
    given = [*metric] if isinstance(metric, list | tuple) else [metric]
    first = given[0] if given else None
    first = first.lower() if isinstance(first, str) else first  # as `mx.metric` reads names
    built_in = BUILT_IN.get(first) if first is None or isinstance(first, str) else None
    found = [made(each) for each in (given[1:] if built_in else given)]
    names = [built_in.metric if built_in else "", *(each.name for each in found)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise Refused(f"metric: two are called {twice!r}; expected each once")
    if built_in:
        return built_in, found
    if isinstance(found[0], Scored):
        row = found[0].row
        return Metric(row.name, 1 if row.greater_is_better else -1, row.form, row.title), found
    less = isinstance(found[0], tuple(getattr(mx.metric, name) for name in ERRORS))
    return Metric(found[0].name, -1 if less else 1, ".4g"), found


def made(metric: Any) -> Any:
    """Return a metric of all samples, made by its name where it is no metric yet.

    Raises
    ------
    Refused
        It is neither a name nor a metric, no metric can be made by the name, or it is a
        CompositeEvalMetric.
    """
    if not isinstance(metric, str | mx.metric.EvalMetric):
        raise Refused(f"metric: expected a name or a metric, not {reprlib.repr(metric)}")
    if isinstance(metric, str) and (row := ROWS.get(metric.lower())):
        return Scored(row)
    try:
        found = mx.metric.create(metric)
    except Exception as error:
        raise Refused(f"metric: {metric!r}: {one_line(error)}") from error
    if isinstance(found, mx.metric.CompositeEvalMetric):
        raise Refused("metric: expected a list of metrics, not a CompositeEvalMetric")
    return found


def values_of(metrics: list, pairs: list, ignored: float | None = None) -> dict[str, float]:
    """Return the values of metrics of labels and outputs, by the names of the metrics.

    Cross entropy, negative log likelihood and perplexity are given `probabilities` of the outputs.
    Labels that are the `ignored` one are left out; where there are no others it is NaN.

    Raises
    ------
    Refused
        A metric cannot be computed of them.
    """
    labels, outputs = joined(pairs)
    if ignored is not None:
        labels, outputs = without(ignored, labels, outputs)
        if not labels.size:
            return {metric.name: math.nan for metric in metrics}
    labels, outputs = nd.array(labels), nd.array(outputs)
    found = {}
    needs = tuple(getattr(mx.metric, name) for name in OF_PROBABILITIES)
    for metric in metrics:
        try:
            metric.reset()
            given = probabilities(outputs) if isinstance(metric, needs) else outputs
            metric.update([labels], [given])
            found[metric.name] = float(metric.get()[1])
        except Exception as error:
            raise Refused(f"metric: {metric.name}: {one_line(error)}") from error
    return found


def joined(pairs: list) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels and the outputs of all samples, from pairs of a batch each."""
    labels, outputs = zip(*pairs)
    return tuple(np.concatenate([part.asnumpy() for part in parts]) for parts in (labels, outputs))


def without(
    ignored: float, labels: np.ndarray, outputs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels that are not ignored, (k,), and their outputs, (k, classes).

    Raises
    ------
    Refused
        There is not a label for each row of the outputs.
    """
    rows = outputs.reshape(-1, outputs.shape[-1])
    if labels.size != len(rows):
        raise Refused(
            f"metric: y is {labels.shape}, of which the loss ignores {ignored}, and outputs are "
            f"{outputs.shape}; expected y {outputs.shape[:-1]}"
        )
    counted = labels.ravel() != ignored
    return labels.ravel()[counted], rows[counted]


def probabilities(outputs: Any) -> Any:
    """Outputs whose last axis has probabilities: those that have not are scores, before softmax.

    The softmax of log probabilities are the probabilities, too.
    """
    values = outputs.asnumpy()
    if (values >= 0).all() and np.allclose(values.sum(axis=-1), 1, atol=1e-2):
        return outputs
    return nd.softmax(outputs, axis=-1)


def expect_one_target(y: Any) -> None:
    """Refuse several targets, of which there is no metric.

    Raises
    ------
    Refused
        The message has their number.
    """
    if isinstance(y, tuple):
        raise Refused(f"metric: y is {len(y)} arrays; expected None, which is the loss")


def named(loss: gluon.Block) -> str:
    """Return the class of a loss, with the metric that is beside it."""
    if isinstance(loss, WithMetric):
        return f"{type(loss.loss).__name__} and {loss.metric}"
    return type(loss).__name__


def cross_entropy(loss: gluon.Block) -> gluon.Block | None:
    """Return the cross entropy that a loss is, or has in it; None if there is none."""
    if isinstance(loss, gluon.loss.SoftmaxCrossEntropyLoss | SoftmaxLoss):
        return loss
    found = (cross_entropy(child) for child in loss._children.values())
    return next(filter(None, found), None)


def ignored_label(loss: gluon.Block) -> float | None:
    """Return the label that a loss, or the cross entropy in it, leaves out; else None."""
    return getattr(cross_entropy(loss), "ignore_label", None)


def axis_of_classes(loss: gluon.Block) -> int:
    """Return the axis of the outputs with the scores: that of Gluon's loss, or the last."""
    return getattr(cross_entropy(loss), "_axis", -1)


def takes_probabilities(loss: gluon.Block) -> bool:
    """True if the labels of a loss, or of the cross entropy in it, are probabilities."""
    return not getattr(cross_entropy(loss), "_sparse_label", True)


class WithMetric(gluon.HybridBlock):
    """The loss of each sample, and beside it the metric, which has no gradient: (n, 2).

    Where the loss ignores a label it is (n, 3): how many others are right, and how many there are.
    """

    def __init__(self, loss: gluon.Block, metric: str, **kwargs):
        super().__init__(**kwargs)
        self.loss, self.metric = loss, metric
        self.axis, self.ignored = axis_of_classes(loss), ignored_label(loss)
        self.soft = takes_probabilities(loss)

    def hybrid_forward(self, F, outputs, y):
        loss = self.loss(outputs, y)
        outputs, y = (F.cast(each, dtype="float32") for each in (outputs, y))
        if self.metric == "accuracy":
            said = F.argmax(outputs, axis=self.axis)
            y = F.argmax(y, axis=self.axis) if self.soft else F.reshape_like(y, said)
            values = said == y
        else:
            values = F.abs(F.reshape_like(outputs, y) - y)
        if self.ignored is None:
            beside = [F.mean(F.reshape(values, shape=(0, -1)), axis=1)]
        else:
            counted = y != self.ignored
            both = (values * counted, counted)
            beside = [F.sum(F.reshape(each, shape=(0, -1)), axis=1) for each in both]
        return F.stack(loss, *map(F.BlockGrad, beside), axis=1)


class Weighted(gluon.HybridBlock):
    """The losses of samples, in the first column, times their weights; the metric beside has none.

    Gluon's losses would broadcast weights (n,) to (n, n), and take the mean.

    Inputs:
        - **losses**: (n,) or (n, k)
        - **weights**: (n,), of the same dtype
    Outputs:
        - **weighted**: (n,) or (n, k)
    """

    def hybrid_forward(self, F, losses, weights):
        rows = F.reshape(losses, shape=(0, -1))
        first = F.contrib.arange_like(rows, axis=1) == 0
        more = F.broadcast_mul(
            F.reshape(weights - 1, shape=(-1, 1)), F.reshape(first, shape=(1, -1))
        )
        return F.reshape_like(rows * (1 + more), losses)


class WeightedLoss(gluon.HybridBlock):
    """A loss, of which the last target is the weights of the samples."""

    def __init__(self, loss: gluon.Block, **kwargs):
        super().__init__(**kwargs)
        self.loss, self.weighted = loss, Weighted()

    def hybrid_forward(self, F, outputs, *targets):
        weights = F.cast(targets[-1], dtype="float32")
        return self.weighted(self.loss(outputs, *targets[:-1]), weights)


class ScaledSquare(gluon.HybridBlock):
    """The loss ((y - target) / std)² of each sample; y : (n, 1) or (n,), target : (n,)."""

    def __init__(self, std: float, **kwargs):
        super().__init__(**kwargs)
        self.std = std

    def hybrid_forward(self, F, values, target):
        return F.square((F.reshape(values, shape=(-1,)) - target) / self.std)
