"""Metrics of an Estimator: checked, and suggested."""

from __future__ import annotations

from ....base import ArgumentError
from ....metric import Accuracy, CompositeEvalMetric, EvalMetric
from ...loss import SoftmaxCrossEntropyLoss

# What is here is the Estimator's own, as in MXNet.
__all__ = []


def _check_metrics(metrics) -> list[EvalMetric]:
    """Metrics as a list of single ones."""
    if isinstance(metrics, CompositeEvalMetric):
        return [m for part in metrics.metrics for m in _check_metrics(part)]
    if isinstance(metrics, EvalMetric):
        return [metrics]
    found = metrics or []
    if isinstance(found, str) or not all(isinstance(metric, EvalMetric) for metric in found):
        raise ArgumentError(
            f"Estimator: metrics is {metrics!r}\n  expected a metric.EvalMetric, or a list of them"
        )
    return list(found)


def _check_handler_metric_ref(handler, known_metrics: list[EvalMetric]) -> None:
    """See that a handler's metrics are those of the Estimator, which updates no others."""
    metrics = getattr(handler, "metrics", None) or []
    for metric in metrics if isinstance(metrics, (list, tuple)) else [metrics]:
        if not any(metric is known for known in known_metrics):
            raise ArgumentError(
                f"{type(handler).__name__}: the Estimator does not update its metric {metric}\n"
                "  expected metrics that are in train_metrics or val_metrics of the Estimator"
            )


def _suggest_metric_for_loss(loss) -> EvalMetric | None:
    """A metric that goes with a loss: accuracy, with the cross entropy of classes."""
    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None
