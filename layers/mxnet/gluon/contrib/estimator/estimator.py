"""Estimator: a network with its loss, metrics and trainer, trained by `fit`."""

from __future__ import annotations

import copy
import logging
import sys
import warnings

from ....base import ArgumentError, ContextError, ParameterError
from ....context import Context, cpu, gpu, num_gpus
from ....metric import Loss as LossMetric
from ...data import DataLoader
from ...loss import Loss
from ...trainer import Trainer
from .batch_processor import BatchProcessor
from .event_handler import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
    _check_event_handlers,
)
from .utils import _check_handler_metric_ref, _check_metrics, _suggest_metric_for_loss

__all__ = ["Estimator"]


class Estimator:
    """A network with all that training it needs.

    Parameters
    ----------
    net : Block
    loss : gluon.loss.Loss
    train_metrics : EvalMetric or list of them, optional
        By default the loss, and the accuracy where that goes with the loss.
    val_metrics : EvalMetric or list of them, optional
        By default like those of training.
    initializer : Initializer, optional
        For parameters that are not initialized yet.
    trainer : Trainer, optional
        By default 'sgd' with a learning rate of 0.001.
    context : Context or list of Context, optional
        By default the first GPU, else the CPU.
    val_net, val_loss : optional
        By default those of training.
    batch_processor : BatchProcessor, optional
        What to do with a batch.

    Attributes
    ----------
    logger : logging.Logger
        Writes to stdout.
    max_epoch, max_batch : int or None
        When to stop, from `fit` on.

    Raises
    ------
    ArgumentError
        Something is not of its type.
    ParameterError
        There is no such context.
    """

    def __init__(
        self,
        net,
        loss,
        train_metrics=None,
        val_metrics=None,
        initializer=None,
        trainer=None,
        context=None,
        val_net=None,
        val_loss=None,
        batch_processor=None,
    ):
        self.net = net
        self.loss = self._check_loss(loss)
        self._train_metrics = _check_metrics(train_metrics)
        self._val_metrics = _check_metrics(val_metrics)
        self._add_default_training_metrics()
        self._add_validation_metrics()
        self.val_loss = self.loss if val_loss is None else self._check_loss(val_loss)
        self.val_net = self.net if val_net is None else val_net
        self.logger = logging.Logger(name="Estimator", level=logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.max_epoch = self.max_batch = None
        self.context = self._check_context(context)
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        self.batch_processor = self._check_batch_processor(batch_processor)

    def _check_loss(self, loss) -> Loss:
        if not isinstance(loss, Loss):
            raise ArgumentError(f"Estimator: loss is {loss!r}\n  expected a gluon.loss.Loss")
        return loss

    def _check_context(self, context) -> list[Context]:
        if not context:
            if num_gpus() > 1:
                warnings.warn(
                    "Estimator: there are several GPUs, gpu(0) is used; context names others",
                    UserWarning,
                    stacklevel=3,
                )
            return [gpu(0)] if num_gpus() else [cpu()]
        found = context if isinstance(context, (list, tuple)) else [context]
        if not all(isinstance(ctx, Context) for ctx in found):
            raise ArgumentError(
                f"Estimator: context is {context!r}\n  expected a Context such as mx.cpu(), or a "
                "list of them"
            )
        for ctx in found:
            try:
                _ = ctx.device
            except ContextError as error:
                raise ParameterError(str(error)) from None
        return list(found)

    def _check_batch_processor(self, batch_processor):
        if batch_processor is None:
            return BatchProcessor()
        for method in ("fit_batch", "evaluate_batch"):
            if not callable(getattr(batch_processor, method, None)):
                raise ArgumentError(
                    f"Estimator: batch_processor {batch_processor!r} has no method {method}\n"
                    "  expected fit_batch and evaluate_batch, as BatchProcessor has them"
                )
        return batch_processor

    def _initialize(self, initializer) -> None:
        """Initialize the parameters that are not yet."""
        if not self._is_initialized():
            # Those that are, of a trained network with a new output, are left as they are.
            for parameter in self.net.collect_params().values():
                if not _initialized(parameter):
                    parameter.initialize(None, self.context, initializer or "uniform")
        elif initializer:
            warnings.warn(
                "Network already fully initialized: the Estimator's initializer is not used. To "
                "set all parameters anew call net.initialize with force_reinit=True.",
                UserWarning,
                stacklevel=3,
            )

    def _is_initialized(self) -> bool:
        return all(_initialized(p) for p in self.net.collect_params().values())

    def _check_trainer(self, trainer) -> Trainer:
        if trainer is None:
            warnings.warn(
                "No trainer specified: the Estimator trains by 'sgd', learning_rate=0.001.",
                UserWarning,
                stacklevel=3,
            )
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ArgumentError(f"Estimator: trainer is {trainer!r}\n  expected a gluon.Trainer")
        return trainer

    def _get_data_and_label(self, batch, ctx, batch_axis: int = 0):
        """The parts of a batch for each context."""
        return self.batch_processor._get_data_and_label(batch, ctx, batch_axis)

    def _add_default_training_metrics(self) -> None:
        if not self._train_metrics:
            suggested = _suggest_metric_for_loss(self.loss)
            name = self.loss.name.rstrip("1234567890")
            self._train_metrics = [suggested] if suggested else []
            self._train_metrics.append(LossMetric(name))
        for metric in self._train_metrics:
            metric.name = f"training {metric.name}"

    def _add_validation_metrics(self) -> None:
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(metric) for metric in self._train_metrics]
        for metric in self._val_metrics:
            metric.name = f"validation {metric.name.removeprefix('training ')}"

    @property
    def train_metrics(self) -> list:
        """The metrics of training."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list:
        """The metrics of validation."""
        return self._val_metrics

    def evaluate(self, val_data, batch_axis: int = 0, event_handlers=None) -> None:
        """Predict a data set, and update the metrics of validation.

        Parameters
        ----------
        val_data : DataLoader
        batch_axis : int
            The axis of samples.
        event_handlers : EventHandler or list of them, optional
            Besides those that update and log the metrics.

        Raises
        ------
        ArgumentError
            The data comes from something else; or a handler has metrics of its own.
        """
        _check_loader(val_data)
        handlers = self._prepare_default_validation_handlers(event_handlers)
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = self._categorize_handlers(handlers)
        for handler in epoch_begin:
            handler.epoch_begin(self)
        for batch in val_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            done = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            _, label, pred, loss = done
            for handler in batch_end:
                handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
        for handler in epoch_end:
            handler.epoch_end(self)

    def fit(
        self,
        train_data,
        val_data=None,
        epochs: int | None = None,
        event_handlers=None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Train, for so many epochs or for so many batches.

        Parameters
        ----------
        train_data : DataLoader
        val_data : DataLoader, optional
            Predicted at the end of each epoch.
        epochs, batches : int, optional
            One of the two.
        event_handlers : EventHandler or list of them, optional
            Besides the default ones, which update parameters and metrics, validate, stop and log;
            one's own MetricHandler, ValidationHandler, LoggingHandler or GradientUpdateHandler
            replaces the default one.
        batch_axis : int
            The axis of samples.

        Raises
        ------
        ArgumentError
            Data comes from something else, both or none of `epochs` and `batches` are given, or
            a handler has metrics that are not the Estimator's.
        """
        _check_loader(train_data)
        if bool(epochs) == bool(batches):
            raise ArgumentError(
                f"Estimator.fit: epochs is {epochs}, batches is {batches}\n"
                "  expected one of the two, above 0"
            )
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        train_begin, *rest, train_end = self._categorize_handlers(handlers)
        for handler in train_begin:
            handler.train_begin(self)
        while not self._fit_epoch(train_data, batch_axis, *rest):
            pass
        for handler in train_end:
            handler.train_end(self)

    def _fit_epoch(
        self, train_data, batch_axis, epoch_begin, batch_begin, batch_end, epoch_end
    ) -> bool:
        """One epoch, or less where a handler says so; whether one says to stop at its end."""
        for handler in epoch_begin:
            handler.epoch_begin(self)
        for batch in train_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
            told = [
                handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
                for handler in batch_end
            ]
            if any(told):
                break
        told = [handler.epoch_end(self) for handler in epoch_end]
        return any(told)

    def _prepare_default_handlers(self, val_data, event_handlers) -> list:
        """The given handlers and the default ones, in the order of their priorities."""
        handlers = _check_event_handlers(event_handlers)
        handlers.append(StoppingHandler(self.max_epoch, self.max_batch))
        defaults = [
            (GradientUpdateHandler, GradientUpdateHandler),
            (MetricHandler, lambda: MetricHandler(self.train_metrics)),
            (LoggingHandler, lambda: LoggingHandler(metrics=self.train_metrics)),
        ]
        if val_data is not None:
            validate = (ValidationHandler, lambda: ValidationHandler(val_data, self.evaluate))
            defaults.insert(2, validate)
        return self._completed(handlers, defaults)

    def _prepare_default_validation_handlers(self, event_handlers) -> list:
        """The given handlers and the default ones for a validation, in order."""
        return self._completed(
            _check_event_handlers(event_handlers),
            [
                (MetricHandler, lambda: MetricHandler(self.val_metrics)),
                (LoggingHandler, lambda: LoggingHandler(metrics=self.val_metrics)),
            ],
        )

    def _completed(self, handlers: list, defaults: list[tuple]) -> list:
        for handler_class, make in defaults:
            if not any(isinstance(handler, handler_class) for handler in handlers):
                handlers.append(make())
        for handler in handlers:
            _check_handler_metric_ref(handler, self.train_metrics + self.val_metrics)
        return sorted(handlers, key=lambda handler: getattr(handler, "priority", 0))

    def _categorize_handlers(self, event_handlers: list) -> tuple:
        """The handlers of each event."""
        events = TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd
        return tuple([h for h in event_handlers if isinstance(h, event)] for event in events)


def _initialized(parameter) -> bool:
    try:
        parameter.list_ctx()
    except RuntimeError:
        return False
    return True


def _check_loader(data) -> None:
    if not isinstance(data, DataLoader):
        raise ArgumentError(
            f"Estimator: data is of type {type(data).__name__}\n"
            "  expected a gluon.data.DataLoader; arrays make one by ArrayDataset"
        )
