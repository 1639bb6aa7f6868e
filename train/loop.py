"""The loop: forward, backward, step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from layers import SoftmaxLoss
from layers.engine import autograd, gluon

from . import Diverged
from .data import Data, batches

__all__ = ["Epoch", "Meter", "evaluate", "fit", "train"]


@dataclass(frozen=True)
class Epoch:
    """What one pass over the training data came to.

    Loss and accuracy are means over the pass, in which the network still changes; those of the
    held-out samples are measured after it.
    """

    epoch: int
    loss: float
    accuracy: float
    held_out_loss: float
    held_out_accuracy: float
    seconds: float


def fit(
    net,
    data: Data,
    trainer,
    *,
    ctx: list,
    epochs: int,
    batch_size: int,
    rng: np.random.Generator,
    watch: Callable[[int, Meter], None] = lambda epoch, meter: None,
) -> Iterator[Epoch]:
    """Train for some epochs, and give an account of each.

    Parameters
    ----------
    net : HybridBlock
        (n, features) to (n, classes), initialized on the contexts `ctx`.
    trainer : gluon.Trainer
        Of the net's parameters.
    rng : numpy.random.Generator
        Draws the order of the samples.
    watch : callable
        Called after every step.

    Raises
    ------
    Diverged
        The loss is no longer finite; the message says since which epoch and step.
    """
    loss = SoftmaxLoss()
    for epoch in range(1, epochs + 1):
        start = time.perf_counter()
        meter = Meter(f"epoch {epoch}")
        for _ in train(net, loss, trainer, batches(data.x, data.y, batch_size, rng), ctx, meter):
            watch(epoch, meter)
        learned = meter.read()
        seconds = time.perf_counter() - start
        held_out = batches(data.held_out_x, data.held_out_y, batch_size)
        tested = evaluate(net, loss, held_out, ctx, Meter(f"epoch {epoch}, held out"))
        yield Epoch(epoch, *learned, *tested, seconds)


def train(net, loss, trainer, batches, ctx: list, meter: Meter) -> Iterator[None]:
    """One pass, w ← w - lr · Σ ∂loss(net(x), y)/∂w / n for each batch of n; stops after every step.

    This is the rule of plain gradient descent; the trainer's optimizer makes its own step of it.
    """
    for x, y in batches:
        xs, ys = split(x, ctx), split(y, ctx)  # a part for each context
        with autograd.record():
            scores = [net(part) for part in xs]
            losses = [loss(score, labels) for score, labels in zip(scores, ys)]
        autograd.backward(losses)
        trainer.step(len(x))
        meter.add(scores, losses, ys)
        yield


def evaluate(net, loss, batches, ctx: list, meter: Meter) -> tuple[float, float]:
    """Mean loss and accuracy on samples that the network does not learn from."""
    for x, y in batches:
        xs, ys = split(x, ctx), split(y, ctx)
        scores = [net(part) for part in xs]
        losses = [loss(score, labels) for score, labels in zip(scores, ys)]
        meter.add(scores, losses, ys)
    return meter.read()


def split(array: np.ndarray, ctx: list) -> list:
    """The parts of a batch, one for each context, as far as there are samples for them."""
    return gluon.utils.split_and_load(array, ctx[: len(array)], even_split=False)


@dataclass
class Meter:
    """Means of loss and accuracy.

    `add` does not wait for the device: what it is given is read when the mean is asked for.
    """

    name: str
    samples: int = 0
    steps: int = 0
    loss: float = 0.0
    correct: float = 0.0
    unread: list = field(default_factory=list)

    def add(self, scores: list, losses: list, labels: list) -> None:
        """One step: a list each, of the contexts' parts."""
        hits = [(score.argmax(axis=1) == y).sum() for score, y in zip(scores, labels)]
        self.unread.append([(len(y), l.sum(), hit) for y, l, hit in zip(labels, losses, hits)])

    def read(self) -> tuple[float, float]:
        """Mean loss and accuracy of all steps until now."""
        for parts in self.unread:
            self.steps += 1
            for samples, loss, hits in parts:
                self.samples += samples
                self.loss += loss.asscalar().item()
                self.correct += hits.asscalar().item()
            if not math.isfinite(self.loss):
                raise Diverged(f"{self.name}, step {self.steps}: the loss is {self.loss}")
        self.unread.clear()
        return self.loss / self.samples, self.correct / self.samples
