"""Metrics: numbers that say how good predictions are, gathered over batches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy
import torch

from . import registry
from .base import ArgumentError, BoundsError, ShapeError, quoted
from .ndarray import NDArray

__all__ = [
    "F1",
    "MAE",
    "MCC",
    "MSE",
    "PCC",
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


def check_label_shapes(labels, preds, wrap: bool = False, shape: bool = False):
    """Check that there are as many labels as predictions.

    Parameters
    ----------
    labels, preds : NDArray or list of NDArray
    wrap : bool
        Return single arrays as lists of one.
    shape : bool
        Compare shapes, not lengths.

    Raises
    ------
    ShapeError
        There are not.
    """
    if shape and tuple(labels.shape) != tuple(preds.shape):
        raise ShapeError(
            f"metric: labels are {tuple(labels.shape)}, predictions {tuple(preds.shape)}\n"
            "  expected the same shape"
        )
    if not shape and len(labels) != len(preds):
        raise ShapeError(
            f"metric: there are {len(labels)} labels and {len(preds)} predictions\n"
            "  expected as many labels as predictions"
        )
    if wrap:
        labels = [labels] if isinstance(labels, NDArray) else labels
        preds = [preds] if isinstance(preds, NDArray) else preds
    return labels, preds


class EvalMetric:
    """The base of metrics: a sum over batches, divided by a count.

    A subclass defines ``update(labels, preds)``, which adds to `sum_metric` and `num_inst` (and to
    `global_sum_metric` and `global_num_inst`, which `reset_local` leaves alone).

    Parameters
    ----------
    name : str
    output_names, label_names : list of str, optional
        Which outputs and labels `update_dict` takes; all by default.
    """

    # Sums on a device that nobody has asked for yet: {device: tensor}.
    _waiting: dict | None = None

    def __init__(self, name, output_names=None, label_names=None, **kwargs):
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict:
        """The metric as a dict, which `create` takes."""
        own = {
            "metric": type(self).__name__,
            "name": self.name,
            "output_names": self.output_names,
            "label_names": self.label_names,
        }
        return self._kwargs | own

    # Sums

    def _add(self, value, count) -> None:
        """Add to all sums. A tensor stays where it is; its number is read when it is asked for."""
        if isinstance(value, torch.Tensor):
            waiting = self._waiting = self._waiting or {}
            before = waiting.get(value.device)
            value = value.double()
            waiting[value.device] = value if before is None else before + value
        else:
            self.sum_metric += value
            self.global_sum_metric += value
        self.num_inst += count
        self.global_num_inst += count

    def _read(self) -> None:
        waiting, self._waiting = self._waiting, None
        for tensor in (waiting or {}).values():
            value = tensor.item()
            self._sum += value
            self._global_sum += value

    @property
    def sum_metric(self):
        """The sum since `reset` or `reset_local`."""
        self._read()
        return self._sum

    @sum_metric.setter
    def sum_metric(self, value) -> None:
        self._read()
        self._sum = value

    @property
    def global_sum_metric(self):
        """The sum since `reset`."""
        self._read()
        return self._global_sum

    @global_sum_metric.setter
    def global_sum_metric(self, value) -> None:
        self._read()
        self._global_sum = value

    def reset(self) -> None:
        """Begin anew."""
        self._waiting = None
        self._sum = self._global_sum = 0.0
        self.num_inst = self.global_num_inst = 0

    def reset_local(self) -> None:
        """Begin the local sums anew."""
        self._read()
        self._sum, self.num_inst = 0.0, 0

    # Results

    def _result(self, total, count):
        return total / count

    def get(self) -> tuple:
        """Name and value since `reset` or `reset_local`; NaN when there was nothing."""
        if not self.num_inst:
            return self.name, float("nan")
        return self.name, self._result(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple:
        """Name and value since `reset`."""
        if not self._has_global_stats:
            return self.get()
        if not self.global_num_inst:
            return self.name, float("nan")
        return self.name, self._result(self.global_sum_metric, self.global_num_inst)

    def get_name_value(self) -> list[tuple]:
        """`get`, as a list of pairs."""
        return _pairs(*self.get())

    def get_global_name_value(self) -> list[tuple]:
        """`get_global`, as a list of pairs."""
        return _pairs(*self.get_global())

    # What a subclass defines

    def update(self, labels, preds) -> None:
        """Take in a batch.

        Parameters
        ----------
        labels, preds : list of NDArray
        """
        raise NotImplementedError(f"{type(self).__name__}.update")

    def update_dict(self, label: dict, pred: dict) -> None:
        """Take in a batch of labels and predictions by name."""
        preds = (
            list(pred.values()) if self.output_names is None else _chosen(pred, self.output_names)
        )
        labels = (
            list(label.values()) if self.label_names is None else _chosen(label, self.label_names)
        )
        self.update(labels, preds)


def _pairs(name, value) -> list[tuple]:
    listed = isinstance(name, list)
    return list(zip(name, value)) if listed else [(name, value)]


def _chosen(arrays: dict, names: list[str]) -> list:
    return [arrays[name] for name in names]


def tensor_of(array) -> torch.Tensor:
    return array._tensor.detach() if isinstance(array, NDArray) else torch.as_tensor(array)


def _numpy(array) -> numpy.ndarray:
    return array.asnumpy() if isinstance(array, NDArray) else numpy.asarray(array)


register = registry.get_register_func(EvalMetric, "metric")
alias = registry.get_alias_func(EvalMetric, "metric")
_create = registry.get_create_func(EvalMetric, "metric")


def create(metric, *args, **kwargs) -> EvalMetric:
    """A metric, from its name, a function of labels and predictions, or a list of such.

    Parameters
    ----------
    metric : str, callable, EvalMetric, dict, or list of these
    *args, **kwargs
        Arguments of the metric.
    """
    if isinstance(metric, list):
        composite = CompositeEvalMetric()
        for one in metric:
            composite.add(create(one, *args, **kwargs))
        return composite
    if callable(metric) and not isinstance(metric, (EvalMetric, type)):
        return CustomMetric(metric, *args, **kwargs)
    return _create(metric, *args, **kwargs)


@alias("composite")
@register
class CompositeEvalMetric(EvalMetric):
    """Several metrics as one; names and values come as lists."""

    def __init__(self, metrics=None, name="composite", output_names=None, label_names=None):
        self.metrics = [create(metric) for metric in metrics or ()]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric) -> None:
        """Add a metric, or what `create` makes one of."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric at a position.

        Raises
        ------
        ArgumentError
            There is none at it.
        """
        if not 0 <= index < len(self.metrics):
            raise ArgumentError(f"metric: index {index}\n  expected 0 to {len(self.metrics) - 1}")
        return self.metrics[index]

    def update(self, labels, preds) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def update_dict(self, labels: dict, preds: dict) -> None:
        if self.label_names is not None:
            labels = {name: value for name, value in labels.items() if name in self.label_names}
        if self.output_names is not None:
            preds = {name: value for name, value in preds.items() if name in self.output_names}
        for metric in self.metrics:
            metric.update_dict(labels, preds)

    def reset(self) -> None:
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        for metric in self.metrics:
            metric.reset_local()

    def get(self) -> tuple[list, list]:
        return self._gathered([metric.get() for metric in self.metrics])

    def get_global(self) -> tuple[list, list]:
        return self._gathered([metric.get_global() for metric in self.metrics])

    def _gathered(self, results: list) -> tuple[list, list]:
        pairs = [pair for result in results for pair in _pairs(*result)]
        return [name for name, _ in pairs], [value for _, value in pairs]

    def get_config(self) -> dict:
        return super().get_config() | {"metrics": [m.get_config() for m in self.metrics]}


class Built(EvalMetric):
    """A metric of this module: `_batch` takes in each pair of a label and a prediction."""

    def __init__(self, name, output_names=None, label_names=None, **kwargs):
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    def update(self, labels, preds) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds):
            label, pred = tensor_of(label), tensor_of(pred)
            self._batch(label.to(pred.device), pred)

    def _batch(self, label: torch.Tensor, pred: torch.Tensor) -> None:
        raise NotImplementedError

    def _expect_as_many(self, label: torch.Tensor, pred: torch.Tensor) -> None:
        if len(label) != len(pred):
            raise ShapeError(
                f"{self.name}: {len(label)} labels, {len(pred)} predictions\n"
                "  expected as many of both"
            )


@register
class CustomMetric(EvalMetric):
    """The mean over batches of ``feval(label, pred)`` on NumPy arrays.

    Parameters
    ----------
    feval : callable
        Returns a number, or a pair of a sum and a count.
    name : str, optional
        By default the function's.
    allow_extra_outputs : bool
        More predictions than labels are all right.
    output_names, label_names
        As for `EvalMetric`.
    """

    def __init__(
        self, feval, name=None, allow_extra_outputs=False, output_names=None, label_names=None
    ):
        if name is None:
            name = feval.__name__
            name = f"custom({name})" if "<" in name else name
        super().__init__(name, output_names, label_names, has_global_stats=True)
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels, preds) -> None:
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, True)
        for pred, label in zip(preds, labels):
            value = self._feval(_numpy(label), _numpy(pred))
            self._add(*value if isinstance(value, tuple) else (value, 1))

    def get_config(self) -> dict:
        raise NotImplementedError(f"{self.name}: a function cannot be part of a config")


def np(numpy_feval, name=None, allow_extra_outputs: bool = False) -> CustomMetric:
    """A metric of a function on NumPy arrays; see `CustomMetric`."""
    return CustomMetric(numpy_feval, name, allow_extra_outputs)


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

    def _expect_axis(self, pred: torch.Tensor) -> None:
        if not -pred.dim() <= self.axis < pred.dim():
            raise ShapeError(
                f"{self.name}: predictions are {tuple(pred.shape)}\n"
                f"  expected scores of classes along axis {self.axis}, or the shape of the labels"
            )

    def _batch(self, label, pred) -> None:
        if pred.shape != label.shape:
            self._expect_axis(pred)
            pred = pred.argmax(self.axis)
        if pred.numel() != label.numel():
            raise ShapeError(
                f"{self.name}: labels are {tuple(label.shape)}, predictions "
                f"{tuple(pred.shape)} without the axis of classes\n  expected as many of both"
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
        self._expect_as_many(label, found)
        self._add((found == label[:, None]).sum(), len(label))


class _BinaryCounts:
    """True positives and negatives, `hits` and `passes`; false ones, `alarms` and `misses`."""

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
        self._expect_as_many(label, found)
        cells = torch.bincount((2 * label + found).clamp(0, 4), minlength=5).tolist()
        if cells[4] or (label < 0).any() or (found > 1).any():
            raise ArgumentError(
                f"{self.name}: labels are {quoted(label.tolist())}, predictions are "
                f"{quoted(found.tolist())}\n  expected two classes, 0 and 1"
            )
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


@register
class PCC(Built):
    """The correlation of labels and predictions of several classes, from -1 to 1.

    That of Pearson between two tables of 0 and 1, a row a sample, a column a class; of two classes
    it is Matthews' (Gorodkin 2004, Comparing two K-category assignments by a K-category
    correlation coefficient).
    """

    def __init__(self, name="pcc", output_names=None, label_names=None, has_global_stats=True):
        super().__init__(name, output_names, label_names)
        self._has_global_stats = has_global_stats

    def _batch(self, label, pred) -> None:
        if pred.shape == label.shape:
            found = pred.to(torch.int64)
        else:
            found = pred.argmax(1) if pred.dim() > 1 else pred.new_empty(0)
        found, label = found.flatten(), label.to(torch.int64).flatten()
        if not len(found) or len(found) != len(label):
            raise ShapeError(
                f"{self.name}: labels are {tuple(label.shape)}, predictions {tuple(pred.shape)}\n"
                "  expected (n,) and (n, classes), or classes in both"
            )
        if (label < 0).any() or (found < 0).any():
            raise ArgumentError(
                f"{self.name}: labels are {quoted(label.tolist())}, predictions are "
                f"{quoted(found.tolist())}\n  expected classes, 0 or more"
            )
        pairs, counts = torch.stack((label, found)).unique(dim=1, return_counts=True)
        seen = dict(zip(zip(*pairs.tolist()), counts.tolist()))
        self._table.update(seen)
        self._global_table.update(seen)

    def update(self, labels, preds) -> None:
        super().update(labels, preds)
        self.num_inst += 1
        self.global_num_inst += 1
        self.sum_metric = _correlation(self._table) * self.num_inst
        self.global_sum_metric = _correlation(self._global_table) * self.global_num_inst

    def reset(self) -> None:
        super().reset()
        # Samples by label and prediction: only classes that occur, however great their numbers are.
        self._table: Counter[tuple[int, int]] = Counter()
        self._global_table: Counter[tuple[int, int]] = Counter()

    def reset_local(self) -> None:
        super().reset_local()
        self._table = Counter()


def _correlation(table: Counter[tuple[int, int]]) -> float:
    """The correlation, from the numbers of samples by label and prediction; NaN of one class."""
    of_label, of_pred = Counter(), Counter()
    for (label, pred), count in table.items():
        of_label[label] += count
        of_pred[pred] += count
    n, hits = sum(table.values()), sum(count for (a, b), count in table.items() if a == b)
    spread = n * n - sum(count * count for count in of_label.values())
    spread *= n * n - sum(count * count for count in of_pred.values())
    both = sum(count * of_pred[label] for label, count in of_label.items())
    return (n * hits - both) / math.sqrt(spread) if spread else math.nan


class _Error(Built):
    """The mean over batches of an error of numbers; labels of shape (n,) are (n, 1)."""

    _error: Callable[[torch.Tensor], torch.Tensor]

    def _batch(self, label, pred) -> None:
        label, pred = (a[:, None] if a.dim() == 1 else a for a in (label, pred))
        try:
            torch.broadcast_shapes(label.shape, pred.shape)
        except RuntimeError:
            raise ShapeError(
                f"{self.name}: labels are {tuple(label.shape)}, predictions {tuple(pred.shape)}\n"
                "  expected shapes that broadcast"
            ) from None
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
        if pred.dim() != 2 or len(label) != len(pred):
            raise ShapeError(
                f"{self.name}: {len(label)} labels for predictions {tuple(pred.shape)}\n"
                "  expected predictions (n, classes) for n labels"
            )
        self._expect_classes(label, pred.shape[1])
        likelihood = pred.gather(1, label[:, None])
        self._add(-(likelihood + self.eps).log().sum(), len(label))

    def _expect_classes(self, label: torch.Tensor, classes: int) -> None:
        """Refuse labels that are no classes; on a GPU this would wait for them."""
        if label.device.type != "cpu" or not len(label):
            return
        low, high = (int(end) for end in label.aminmax())
        if low < 0 or high >= classes:
            raise BoundsError(
                f"{self.name}: label {low if low < 0 else high} for predictions of {classes} "
                f"classes\n  expected 0 to {classes - 1}"
            )


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
