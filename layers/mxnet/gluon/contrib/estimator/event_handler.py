"""What is done at the events of a training: begin and end of training, epochs and batches.

A handler of one's own inherits from the events that it handles, such as `EpochEnd`, and defines
their methods. `batch_end` may return True to end the epoch, and `epoch_end` to end the training.
Handlers run in the order of their `priority`, the least first, 0 where they have none.
"""

from __future__ import annotations

import os
import re
import time
import warnings
from pathlib import Path

import numpy as np

from ....base import ArgumentError, ParameterError, integer_types
from ....metric import EvalMetric
from ....metric import Loss as LossMetric
from ...block import HybridBlock
from .utils import _check_metrics

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]


class EventHandler:
    """The base of handlers."""


def _check_event_handlers(handlers) -> list[EventHandler]:
    """Handlers as a list."""
    if isinstance(handlers, EventHandler):
        return [handlers]
    found = list(handlers or [])
    if not all(isinstance(handler, EventHandler) for handler in found):
        raise ArgumentError(
            f"Estimator: event_handlers is {handlers!r}\n"
            "  expected an EventHandler, or a list of them"
        )
    return found


class TrainBegin(EventHandler):
    """A handler of the beginning of `fit`."""

    def train_begin(self, estimator, *args, **kwargs):
        """Called before the first epoch."""


class TrainEnd(EventHandler):
    """A handler of the end of `fit`."""

    def train_end(self, estimator, *args, **kwargs):
        """Called after the last epoch."""


class EpochBegin(EventHandler):
    """A handler of the beginning of each epoch."""

    def epoch_begin(self, estimator, *args, **kwargs):
        """Called before the first batch of an epoch."""


class EpochEnd(EventHandler):
    """A handler of the end of each epoch."""

    def epoch_end(self, estimator, *args, **kwargs):
        """Called after the last batch of an epoch; True stops the training."""
        return False


class BatchBegin(EventHandler):
    """A handler of the beginning of each batch."""

    def batch_begin(self, estimator, *args, **kwargs):
        """Called before a batch, with ``batch``."""


class BatchEnd(EventHandler):
    """A handler of the end of each batch."""

    def batch_end(self, estimator, *args, **kwargs):
        """Called after a batch, with ``batch``, ``pred``, ``label`` and ``loss``.

        True ends the epoch.
        """
        return False


class _Counting(TrainBegin, BatchEnd, EpochEnd):
    """What handlers have in common that do something after so many batches or epochs."""

    def __init__(self):
        self.current_batch = self.current_epoch = 0

    def train_begin(self, estimator, *args, **kwargs):
        """Count from 0."""
        self.current_batch = self.current_epoch = 0


class StoppingHandler(_Counting):
    """Stops after so many epochs or batches.

    Parameters
    ----------
    max_epoch, max_batch : int, optional
        In `fit` the Estimator's own are taken.
    """

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None):
        super().__init__()
        self.max_epoch, self.max_batch, self.stop_training = max_epoch, max_batch, False

    def train_begin(self, estimator, *args, **kwargs):
        """Take over when the Estimator is to stop."""
        super().train_begin(estimator)
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.stop_training = False

    def batch_end(self, estimator, *args, **kwargs):
        """Count a batch."""
        self.current_batch += 1
        self.stop_training |= self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator, *args, **kwargs):
        """Count an epoch."""
        self.current_epoch += 1
        self.stop_training |= self.current_epoch == self.max_epoch
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Updates metrics by each batch, and begins them anew with each epoch.

    Parameters
    ----------
    metrics : EvalMetric or list of them
    priority : int
        Before the handlers that read them.
    """

    def __init__(self, metrics, priority: float = -1000):
        self.metrics, self.priority = _check_metrics(metrics), priority

    def epoch_begin(self, estimator, *args, **kwargs):
        """Begin anew."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator, *args, **kwargs):
        """Update the metrics."""
        for metric in self.metrics:
            if isinstance(metric, LossMetric):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(_Counting):
    """Validates after so many epochs or batches.

    Parameters
    ----------
    val_data : DataLoader
    eval_fn : callable
        ``eval_fn(val_data=..., batch_axis=..., event_handlers=...)``, such as Estimator.evaluate.
    epoch_period, batch_period : int, optional
        After how many; None: not at all.
    priority : int
    event_handlers : EventHandler or list of them, optional
        For `eval_fn`.
    """

    def __init__(
        self,
        val_data,
        eval_fn,
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers=None,
    ):
        super().__init__()
        self.val_data, self.eval_fn = val_data, eval_fn
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.priority, self.event_handlers = priority, event_handlers

    def _validate(self, estimator) -> None:
        self.eval_fn(
            val_data=self.val_data,
            batch_axis=estimator.batch_axis,
            event_handlers=self.event_handlers,
        )

    def batch_end(self, estimator, *args, **kwargs):
        """Count a batch, and validate where it is time."""
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._validate(estimator)

    def epoch_end(self, estimator, *args, **kwargs):
        """Count an epoch, and validate where it is time."""
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._validate(estimator)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs times and metrics.

    Parameters
    ----------
    log_interval : int or 'epoch'
        After how many batches to log; 'epoch': after each epoch only.
    metrics : EvalMetric or list of them, optional
    priority : float
        After all others.

    Raises
    ------
    ArgumentError
        `log_interval` is neither.
    """

    def __init__(self, log_interval="epoch", metrics=None, priority: float = np.inf):
        if not isinstance(log_interval, integer_types) and log_interval != "epoch":
            raise ArgumentError(
                f"LoggingHandler: log_interval is {log_interval!r}\n"
                "  expected a number of batches, or 'epoch'"
            )
        self.metrics = _check_metrics(metrics)
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.priority, self.log_interval = priority, log_interval
        self.log_interval_time = 0.0

    def _told(self, start: str) -> str:
        values = [f"{name}: {value:.4f}" for name, value in (m.get() for m in self.metrics)]
        return (start + ", ".join(values)).rstrip(", ")

    def train_begin(self, estimator, *args, **kwargs):
        """Log what is begun."""
        self.train_start = time.time()
        trainer = estimator.trainer
        estimator.logger.info(
            "Training begins: optimizer %s, learning rate %.4f",
            type(trainer.optimizer).__name__,
            trainer.learning_rate,
        )
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0

    def train_end(self, estimator, *args, **kwargs):
        """Log the whole time, and the metrics."""
        passed = time.time() - self.train_start
        start = f"Training ended after {passed:.0f}s, epochs: {self.current_epoch}, "
        estimator.logger.info(self._told(start))

    def batch_begin(self, estimator, *args, **kwargs):
        """Note the time."""
        if isinstance(self.log_interval, integer_types):
            self.batch_start = time.time()

    def batch_end(self, estimator, *args, **kwargs):
        """Log the metrics where it is time."""
        if not isinstance(self.log_interval, integer_types):
            return
        self.log_interval_time += time.time() - self.batch_start
        self.processed_samples += kwargs["batch"][0].shape[0]
        if self.batch_index % self.log_interval == 0:
            place = f"[Epoch {self.current_epoch}][Batch {self.batch_index}]"
            start = f"{place}[Samples {self.processed_samples}] "
            start += f"time/interval: {self.log_interval_time:.3f}s "
            self.log_interval_time = 0.0
            estimator.logger.info(self._told(start))
        self.batch_index += 1

    def epoch_begin(self, estimator, *args, **kwargs):
        """Log that an epoch begins."""
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            estimator.logger.info(
                "[Epoch %d] Begins, learning rate: %.4f",
                self.current_epoch,
                estimator.trainer.learning_rate,
            )
        else:
            estimator.logger.info("Validation begins")

    def epoch_end(self, estimator, *args, **kwargs):
        """Log the time of the epoch, and the metrics."""
        passed = time.time() - self.epoch_start
        start = f"[Epoch {self.current_epoch}] Finished in {passed:.3f}s, "
        estimator.logger.info(self._told(start))
        self.current_epoch += 1
        self.batch_index = 0


def _comparison(name: str, monitor: EvalMetric, mode: str):
    """Whether the greater or the lesser value of a metric is the better one."""
    if mode not in ("auto", "min", "max"):
        warnings.warn(
            f"{name}: mode is {mode!r}, and 'auto' is used; expected 'auto', 'min' or 'max'",
            RuntimeWarning,
            stacklevel=3,
        )
        mode = "auto"
    if mode == "auto":
        metric = monitor.name.lower()
        better = np.greater if "acc" in metric or "f1" in metric else np.less
        warnings.warn(
            f"{name}: a {better.__name__} value of {monitor.name} is taken as better; mode='min' "
            "or mode='max' says which is, without this warning",
            UserWarning,
            stacklevel=3,
        )
        return better
    return np.less if mode == "min" else np.greater


class CheckpointHandler(_Counting):
    """Saves parameters and the trainer's states after so many epochs or batches.

    Files begin with ``model_dir/model_prefix``: ``-epoch3batch12.params`` and ``.states``, and
    ``-best.params`` and ``.states``; of a hybridized network also ``-symbol.json``.

    Parameters
    ----------
    model_dir : path
    model_prefix : str
    monitor : EvalMetric, optional
        One of the Estimator's, to tell which is the best.
    verbose : int
        Above 0, log what is saved.
    save_best : bool
        Save the best ones too.
    mode : {'auto', 'min', 'max'}
        Whether the least or the greatest value of `monitor` is the best; 'auto': the greatest of
        an accuracy or an F1, else the least.
    epoch_period, batch_period : int, optional
        After how many; None: not at all.
    max_checkpoints : int
        How many to keep; the oldest are removed.
    resume_from_checkpoint : bool
        Go on from the last one in `model_dir`: epochs and batches count from there. Only epochs
        may be saved where `fit` trains for epochs, and only batches where it does for batches.

    Raises
    ------
    ArgumentError
        `save_best` is asked for, and `monitor` is no metric.
    """

    def __init__(
        self,
        model_dir,
        model_prefix: str = "model",
        monitor: EvalMetric | None = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ):
        super().__init__()
        self.monitor, self.verbose = monitor, verbose
        self.model_dir, self.model_prefix = model_dir, model_prefix
        os.makedirs(model_dir, exist_ok=True)
        self.save_best = save_best
        if save_best and not isinstance(monitor, EvalMetric):
            raise ArgumentError(
                f"CheckpointHandler: save_best is set, and monitor is {monitor!r}\n"
                "  expected one of train_metrics or val_metrics of the Estimator"
            )
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        if save_best:
            self.monitor_op = _comparison("CheckpointHandler", monitor, mode)

    def train_begin(self, estimator, *args, **kwargs):
        """Count from 0, or from the last checkpoint.

        Raises
        ------
        ArgumentError
            As many epochs or batches as there are to be are already trained, as the checkpoint
            says.
        """
        super().train_begin(estimator)
        if self.save_best:
            self.best = np.inf if self.monitor_op == np.less else -np.inf
        if self.resume_from_checkpoint:
            self._resume_from_checkpoint(estimator)

    def batch_end(self, estimator, *args, **kwargs):
        """Count a batch, and save where it is time."""
        if self.current_batch == 0:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator, *args, **kwargs):
        """Count an epoch, and save where it is time."""
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator)
        self.current_epoch += 1

    def _log(self, estimator, text: str) -> None:
        if self.verbose > 0:
            estimator.logger.info(f"[Epoch {self.current_epoch}] CheckpointHandler: {text}")

    def _save_checkpoint(self, estimator) -> None:
        epoch, batch = self.current_epoch, self.current_batch
        if self.resume_from_checkpoint:
            epoch, batch = epoch + self.trained_epoch + 1, batch + self.trained_batch
            if estimator.max_batch:  # then it is not yet counted
                batch += 1
        prefix = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._save_params_and_trainer(estimator, prefix)
        count = self.current_batch + 1
        place = f"{self.model_dir}, file names begin with "
        self._log(estimator, f"saves after {count} batches in {place}{prefix}")
        if self.save_best:
            self._save_if_best(estimator, place)

    def _save_if_best(self, estimator, place: str) -> None:
        name, value = self.monitor.get()
        if np.isnan(value):
            warnings.warn(
                f"CheckpointHandler: {name} has no value yet, and the best model is not updated",
                RuntimeWarning,
                stacklevel=2,
            )
        elif self.monitor_op(value, self.best):
            prefix = f"{self.model_prefix}-best"
            self._save_params_and_trainer(estimator, prefix)
            message = f"{name} went from {self.best:.5f} to {value:.5f}, saves the best model in "
            self._log(estimator, f"{message}{place}{prefix}")
            self.best = value
        else:
            message = f"the best model stays, {name} is {value:.5f}, its best {self.best:.5f}"
            self._log(estimator, message)

    def _save_symbol(self, estimator) -> None:
        path = Path(self.model_dir, f"{self.model_prefix}-symbol.json")
        net = estimator.net
        if isinstance(net, HybridBlock) and net._graphs:
            next(reversed(net._graphs.values())).symbol.save(str(path))
        else:
            estimator.logger.info(
                "CheckpointHandler: no graph is saved as %s, for the network is not hybridized; "
                "a HybridBlock is by its method hybridize",
                path,
            )

    def _save_params_and_trainer(self, estimator, file_prefix: str) -> None:
        path = Path(self.model_dir, file_prefix)
        estimator.net.save_parameters(f"{path}.params")
        estimator.trainer.save_states(f"{path}.states")
        if file_prefix.endswith("-best"):
            return
        self.saved_checkpoints.append(str(path))
        while len(self.saved_checkpoints) > self.max_checkpoints:
            oldest = self.saved_checkpoints.pop(0)
            for ending in ("params", "states"):
                Path(f"{oldest}.{ending}").unlink(missing_ok=True)

    def _resume_from_checkpoint(self, estimator) -> None:
        """Load the last checkpoint, and reduce what is left to be done by what is done."""
        unit = "epoch" if estimator.max_epoch else "batch"
        self._check_periods(unit)
        most = getattr(estimator, f"max_{unit}")
        found = self._last_checkpoint()
        if found is None:
            self.trained_epoch = self.trained_batch = -1
            message = f"{self.model_dir} has no checkpoint, all {most} {_plural(unit)} are trained"
            estimator.logger.info(f"CheckpointHandler: {message}")
            return
        self.trained_epoch, self.trained_batch = found
        place = f"epoch{self.trained_epoch}batch{self.trained_batch}"
        path = Path(self.model_dir, f"{self.model_prefix}-{place}")
        rest = most - getattr(self, f"trained_{unit}") - 1
        if rest <= 0:
            raise ArgumentError(
                f"CheckpointHandler: {most} {_plural(unit)} are already trained, as {path} says\n"
                "  expected more to do; resume_from_checkpoint=False begins anew"
            )
        estimator.net.load_parameters(f"{path}.params", ctx=estimator.context)
        estimator.trainer.load_states(f"{path}.states")
        setattr(estimator, f"max_{unit}", rest)
        estimator.logger.info(
            "CheckpointHandler: goes on after epoch %d, batch %d, for %d more %s",
            self.trained_epoch,
            self.trained_batch,
            rest,
            _plural(unit),
        )

    def _check_periods(self, unit: str) -> None:
        """Refuse to resume unless checkpoints are of what `fit` counts, and of nothing else."""
        periods = {"epoch": self.epoch_period, "batch": self.batch_period}
        if not periods.pop(unit) or any(periods.values()):
            raise ParameterError(
                f"CheckpointHandler: epoch_period is {self.epoch_period}, batch_period is "
                f"{self.batch_period}, and fit counts {_plural(unit)}\n"
                f"  expected {unit}_period alone, and None for the other, to resume"
            )

    def _last_checkpoint(self) -> tuple[int, int] | None:
        """The numbers of the epoch and the batch that the newest file was written after."""
        name = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params")
        matches = [name.fullmatch(file) for file in os.listdir(self.model_dir)]
        return max([(int(match[1]), int(match[2])) for match in matches if match], default=None)


def _plural(unit: str) -> str:
    return "epochs" if unit == "epoch" else "batches"


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Stops when a metric does not improve any more.

    Parameters
    ----------
    monitor : EvalMetric
        One of the Estimator's.
    min_delta : float
        By how much it has to improve.
    patience : int
        For how many epochs it may not.
    mode : {'auto', 'min', 'max'}
        Whether less or more is better; 'auto': more of an accuracy or an F1, else less.
    baseline : float, optional
        What has to be reached first.

    Raises
    ------
    ArgumentError
        `monitor` is no metric.
    """

    def __init__(
        self,
        monitor: EvalMetric,
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
    ):
        if not isinstance(monitor, EvalMetric):
            raise ArgumentError(
                f"EarlyStoppingHandler: monitor is {monitor!r}\n"
                "  expected one of train_metrics or val_metrics of the Estimator"
            )
        self.monitor, self.baseline, self.patience = monitor, baseline, patience
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self.monitor_op = _comparison("EarlyStoppingHandler", monitor, mode)
        self.min_delta = min_delta if self.monitor_op == np.greater else -min_delta

    def train_begin(self, estimator, *args, **kwargs):
        """Begin anew."""
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self.best = np.inf if self.monitor_op == np.less else -np.inf
        if self.baseline is not None:
            self.best = self.baseline

    def epoch_end(self, estimator, *args, **kwargs):
        """See whether the metric has improved."""
        name, value = self.monitor.get()
        if np.isnan(value):
            warnings.warn(
                f"EarlyStoppingHandler: {name} has no value; is it updated by a MetricHandler?",
                RuntimeWarning,
                stacklevel=2,
            )
        elif self.monitor_op(value - self.min_delta, self.best):
            self.best, self.wait = value, 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch, self.stop_training = self.current_epoch, True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator, *args, **kwargs):
        """Log why the training has stopped."""
        if self.stopped_epoch > 0:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHandler: stopped, for %s got no better",
                self.stopped_epoch,
                self.monitor.get()[0],
            )


class GradientUpdateHandler(BatchEnd):
    """Updates the parameters by the gradients of each batch.

    Parameters
    ----------
    priority : int
        Before all others: metrics and logs see what is done.
    """

    def __init__(self, priority: float = -2000):
        self.priority = priority

    def batch_end(self, estimator, *args, **kwargs):
        """Make a step of the trainer, for as many samples as there are losses."""
        estimator.trainer.step(sum(loss.shape[0] for loss in kwargs["loss"]))
