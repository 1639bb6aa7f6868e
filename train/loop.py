"""The loop over epochs and batches, and the means of loss and metric."""

from __future__ import annotations

import math
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from . import Diverged
from .data import Data, batches

__all__ = ["Epoch", "Learner", "Meter", "fit"]


@dataclass(frozen=True)
class Epoch:
    """The results of one pass over the training data.

    Loss and metric are means over the pass, in which the network still changes; those of the
    held-out samples are measured after it. The metric is the task's: accuracy, or absolute error.
    `samples` is the number of those that it learned from: all, unless the pass ended early.
    """

    epoch: int
    loss: float
    metric: float
    held_out_loss: float
    held_out_metric: float
    seconds: float
    samples: int


class Learner(Protocol):
    """A network and how it learns; the numbers of a batch go to a `Meter`."""

    files: tuple[str, ...]  # that `save` writes
    inputs: tuple[str, ...]  # of the graph that `save` exports
    outputs: str  # of that graph: scores or probabilities of classes; or a number
    parameters: int

    @classmethod
    def of(cls, data: Data, ctx: list, options: Namespace) -> Learner: ...

    def learn(self, x: np.ndarray, y: np.ndarray, meter: Meter) -> None: ...

    def evaluate(self, x: np.ndarray, y: np.ndarray, meter: Meter) -> None: ...

    def save(self, folder: Path) -> None: ...


def fit(
    learner: Learner,
    data: Data,
    *,
    epochs: int,
    batch_size: int,
    rng: np.random.Generator,
    after_step: Callable[[int, Meter], Any] = lambda epoch, meter: False,
) -> Iterator[Epoch]:
    """Train for some epochs, and yield the results of each.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws the order of the samples.
    after_step : callable
        Called after every step. If it returns something true, the epoch ends there, is measured,
        and is the last.

    Raises
    ------
    Diverged
        The loss is no longer finite; the message says since which epoch and step.
    """
    for epoch in range(1, epochs + 1):
        start, stopped = time.perf_counter(), False
        meter, held_out = Meter(f"epoch {epoch}"), Meter(f"epoch {epoch}, held out")
        for x, y in batches(data.x, data.y, batch_size, rng):
            learner.learn(x, y, meter)
            if stopped := after_step(epoch, meter):
                break
        learned = meter.read()
        seconds = time.perf_counter() - start
        for x, y in batches(data.held_out_x, data.held_out_y, batch_size):
            learner.evaluate(x, y, held_out)
        yield Epoch(epoch, *learned, *held_out.read(), seconds, meter.samples)
        if stopped:
            return


@dataclass
class Meter:
    """Means of loss and metric.

    `add` does not wait for the device: the numbers are read when `read` is called.
    """

    name: str
    samples: int = 0
    steps: int = 0
    loss: float = 0.0
    metric: float = 0.0
    pending: list = field(default_factory=list)

    def add(self, measured: list) -> None:
        """Add a step: by context, for each sample its loss and its metric."""
        self.pending.append([(len(part), part.sum(axis=0)) for part in measured])

    def read(self) -> tuple[float, float]:
        """Mean loss and metric of all steps until now."""
        for parts in self.pending:
            self.steps += 1
            for samples, sums in parts:
                loss, metric = sums.asnumpy().tolist()
                self.samples += samples
                self.loss += loss
                self.metric += metric
            if not math.isfinite(self.loss):
                raise Diverged(f"{self.name}, step {self.steps}: the loss is {self.loss}")
        self.pending.clear()
        return self.loss / self.samples, self.metric / self.samples
