"""What metrics have in common: sums over batches, several as one, one made of a function."""

from __future__ import annotations

import numpy
import torch

from . import registry
from .base import ArgumentError, ShapeError
from .ndarray import NDArray

__all__ = [
    "Built",
    "CompositeEvalMetric",
    "CustomMetric",
    "EvalMetric",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
    "tensor_of",
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
    ours, theirs = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if ours != theirs:
        raise ShapeError(f"metric: labels are {ours}, predictions {theirs}\n  expected as many")
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
        """The metric at a position."""
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
    name = name or getattr(numpy_feval, "__name__", None)
    name = f"custom({name})" if name and "<" in name else name
    return CustomMetric(numpy_feval, name, allow_extra_outputs)
