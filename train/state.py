"""The state of a training, which the loop shows to callbacks: `Run`, `Epoch` and `Meter`."""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from layers.engine import nd

from . import Diverged
from .data import ArrayBatches, Batches
from .workers import Workers

__all__ = ["Callback", "Epoch", "Measure", "Meter", "Run"]


@dataclass(frozen=True)
class Epoch:
    """The results of one pass over the training data.

    Loss and metric are means over the pass, in which the network still changes; those of the
    held-out samples are measured after it, and are NaN where there are none. The metric is the
    task's: accuracy, or absolute error. `samples` is the number of those that it learned from: all,
    unless the pass ended early. `more` are further metrics of the held-out samples, by their names.
    """

    epoch: int
    loss: float
    metric: float
    held_out_loss: float
    held_out_metric: float
    seconds: float
    samples: int
    more: dict[str, float] = field(default_factory=dict)


class Measure(Protocol):
    """The metric by which an epoch is best: a `train.task.Task` or `train.metrics.Metric`."""

    @property
    def metric(self) -> str: ...  # its name

    @property
    def metric_title(self) -> str: ...

    def quality(self, metric: float) -> float: ...  # more is better

    def show(self, metric: float) -> str: ...

    def result(self, metric: float) -> str: ...  # a sentence without a full stop


class Callback:
    """What happens beside the loop: a subclass has those of these methods that it needs.

    `run` is the state of the training. Callbacks are called in the order of their list, and after
    all others those that come last. One that sets `run.stop` to a reason ends the training: in
    `after_step` after that step, else after the epoch. What else it changes should be in `state`,
    so that a resumed training goes on alike.

    Attributes
    ----------
    first_only : bool
        Of several processes that train together only the first calls it: for what shows or writes.
    comes_last : bool
        It is called after the others, wherever it is in the list: for what saves their state.
    """

    first_only = False
    comes_last = False

    def begin(self, run: Run) -> None:
        """Act before the first step; of a resumed training too."""

    def before_epoch(self, run: Run) -> None:
        """Before the first step of each epoch, the `run.epoch`-th; of a resumed one, the next."""

    def after_step(self, run: Run) -> None:
        """Act after step `run.step` of an epoch; the device may still be computing."""

    def interrupted(self, run: Run) -> None:
        """Act when `run.stop` was set within an epoch, before that epoch is measured."""

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        """Act after each epoch, which is the last one of `run.history`."""

    def diverged(self, run: Run, error: Diverged) -> None:
        """Act when the loss is not finite; may raise another error that says more."""

    def end(self, run: Run) -> None:
        """Act at the end, also by an exception, which `run.error` then is."""

    def state(self) -> dict[str, np.ndarray]:
        """Return the arrays that a checkpoint saves."""
        return {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over what `state` gave in an earlier process; it is called before `begin`."""


@dataclass
class Run:
    """The visible state of a training.

    Attributes
    ----------
    learner : train.learner.Learner
    data : Batches
        What it learns from.
    validation : Batches or None
        What it is measured on after each epoch.
    epochs : int
    measure : Measure
    seed : int or None
        Every draw follows from it and from the number of epoch and step, so that a training can
        be resumed anywhere. None: nothing is seeded.
    callbacks : list of Callback
    history : list of Epoch
        The epochs that are done.
    start : float
        The loss of the first batch before the training.
    step : int
        Steps of this epoch that are done.
    meter : Meter
        Loss and metric of this epoch.
    started : float
        When this epoch began, by `time.perf_counter`.
    stop : str or None
        The reason for which the training ends early, which callbacks set.
    partial : bool
        The last epoch of the history ended early.
    error : BaseException or None
        What ended the training, where it was an exception.
    metrics : list of EvalMetric
        Measured on the held-out samples after each epoch. One with the name of `measure` is
        the metric.
    workers : Workers
        The processes that train together, each with a `Run`.
    settings : dict of str to float
        The optimizer's, with which a training goes on; empty where they are not known.
    options : dict
        What else `fit` was told that a training has to be told again to go on, by argument.
    resumed : Path or None
        The checkpoint from which it goes on.
    steps_per_epoch : int or None
        Steps after which an epoch ends, where that is before the end of the data.
    lost : set of int
        Epochs of the history whose parameters no checkpoint has any more. They are not the best.
    """

    learner: Any
    data: Batches
    validation: Batches | None
    epochs: int
    measure: Measure
    seed: int | None = 0
    callbacks: list[Callback] = field(default_factory=list)
    history: list[Epoch] = field(default_factory=list)
    start: float = math.nan
    step: int = 0
    meter: Meter = field(default_factory=lambda: Meter("epoch 1"))
    started: float = 0.0
    stop: str | None = None
    partial: bool = False
    error: BaseException | None = None
    metrics: list = field(default_factory=list)
    workers: Workers = field(default_factory=Workers)
    settings: dict[str, float] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    resumed: Path | None = None
    steps_per_epoch: int | None = None
    lost: set[int] = field(default_factory=set)

    def __post_init__(self):
        self.callbacks.sort(key=lambda callback: callback.comes_last)

    @property
    def epoch(self) -> int:
        """Return the number of the present epoch, from 1; after the last one, of the next."""
        return len(self.history) + 1

    @property
    def steps(self) -> int | None:
        """Return the steps of an epoch; None where they are not known."""
        found = [each for each in (self.data.steps, self.steps_per_epoch) if each is not None]
        return min(found, default=None)

    def tell(self, what: str, *args: Any) -> None:
        """Call this method of the callbacks."""
        for callback in self.callbacks:
            if self.workers.is_first or not callback.first_only:
                getattr(callback, what)(self, *args)

    def tell_end(self) -> None:
        """Call `end` of all callbacks, also where that of one raises an error."""
        with ExitStack() as stack:  # calls the last one that it is given first
            for callback in reversed(self.callbacks):
                if self.workers.is_first or not callback.first_only:
                    stack.callback(callback.end, self)

    def total(self, meter: Meter) -> Meter:
        """Return a meter with the samples of all processes, which all call it.

        Raises
        ------
        Diverged
            The loss is not finite, in one of them at least; all raise the same.
        """
        meter.read()
        sums = [meter.samples, meter.loss, meter.metric, meter.counted]
        samples, loss, metric, counted = self.workers.sums(sums)
        if not math.isfinite(loss):
            step = int(min(bad for [bad] in self.workers.each([meter.bad]) if bad))
            targets = self.data.bad_targets() if isinstance(self.data, ArrayBatches) else ""
            raise Diverged(f"{meter.name}, step {step}: the loss is {loss}{targets}")
        total = {"samples": int(samples), "loss": loss, "metric": metric, "counted": counted}
        return replace(meter, **total, pending=[])

    def best(self) -> Epoch:
        """Return the best epoch, by its held-out metric, then loss; without any, by training's.

        One that ended early counts only where there is no other: it cannot be resumed from.
        """
        whole = self.history[:-1] if self.partial else self.history
        return self.best_of(whole) or self.history[-1]

    def best_of(self, epochs: list[Epoch]) -> Epoch | None:
        """Return the best of these epochs whose parameters are not lost, if there is one."""
        kept = (epoch for epoch in epochs if epoch.epoch not in self.lost)
        return max(kept, key=self.score, default=None)

    def score(self, epoch: Epoch) -> tuple[float, float]:
        """More is better."""
        if self.validation is None:
            return self.measure.quality(epoch.metric), -epoch.loss
        return self.measure.quality(epoch.held_out_metric), -epoch.held_out_loss


MOST = 1000  # steps whose numbers are not read yet


@dataclass
class Meter:
    """Sums of loss and metric over samples, of which `read` returns the means.

    The mean of the metric is over those that are `counted`: the samples, or their labels without
    those that the loss ignores.

    `add` does not wait for the device: the numbers of many steps are read together, when `read` is
    called.

    Attributes
    ----------
    bad : int
        The first step whose loss is not finite; 0 while there is none.
    outputs : list or None
        Labels and outputs of the samples, where somebody wants them.
    """

    name: str
    samples: int = 0
    steps: int = 0
    loss: float = 0.0
    metric: float = 0.0
    counted: float = 0.0
    seconds: float = 0.0  # of an earlier process, before it was resumed
    pending: list = field(default_factory=list)
    bad: int = 0
    outputs: list | None = None

    def add(self, batch_values: list) -> None:
        """Add a step: by context, for each sample its loss; beside it its metric, and of how many.

        Without a metric it is the loss, and without their number it is that of one.
        """
        self.pending.append([part.detach() for part in batch_values])  # without the graph behind it
        if len(self.pending) == MOST:
            self.read()

    def read(self) -> tuple[float, float]:
        """Mean loss and metric of all steps until now; NaN if there are none."""
        pending, self.pending = self.pending, []
        together = all(len(step) == 1 for step in pending)  # on the first context
        sums = iter(sums_of([part for step in pending for part in step], together))
        for step in pending:
            self.steps += 1
            for part in step:
                loss, *beside = next(sums)
                metric, counted = [*(beside or [loss]), len(part)][:2]
                self.samples += len(part)
                self.loss += loss
                self.metric += metric
                self.counted += counted
            if not (self.bad or math.isfinite(self.loss)):
                self.bad = self.steps
        if not self.samples:
            return math.nan, math.nan
        metric = self.metric / self.counted if self.counted else math.nan
        return self.loss / self.samples, metric


def sums_of(parts: list, together: bool) -> list[list[float]]:
    """Return the sums over the rows of arrays, in float64; on one context read `together`."""
    if not parts:
        return []
    starts = np.cumsum([0, *map(len, parts)])[:-1]
    if together:
        rows = nd.concat(*parts, dim=0).asnumpy()
    else:
        rows = np.concatenate([part.asnumpy() for part in parts])
    return np.add.reduceat(rows.astype("float64").reshape(len(rows), -1), starts).tolist()
