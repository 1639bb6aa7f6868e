"""The progress bar of a training."""

from __future__ import annotations

import time

from tqdm import tqdm

from .loop import Epoch, Meter
from .task import Task

__all__ = ["Progress"]

PERIOD = 0.1  # seconds between two reads of the loss, which wait for the device


class Progress:
    """A bar with loss, metric and samples a second, where there is a terminal to show it."""

    def __init__(self, samples: int, epochs: int, task: Task):
        self.samples, self.epochs, self.task = samples, epochs, task
        self.held_out, self.due = "", 0.0
        self.bar = tqdm(
            desc=f"epoch 1/{epochs}",
            total=samples * epochs,
            unit=" samples",
            unit_scale=True,
            disable=None,
            mininterval=0,
            dynamic_ncols=True,
            bar_format="{desc} |{bar}| {rate_fmt}{postfix}",
        )

    def step(self, epoch: int, meter: Meter) -> None:
        """After a step: show the progress, unless it was shown just before."""
        if time.monotonic() >= self.due:
            self.show(epoch, meter.samples, *meter.read())

    def epoch(self, done: Epoch) -> None:
        """After an epoch: show its results."""
        self.held_out = f", held out {self.task.show(done.held_out_metric)}"
        self.show(done.epoch, done.samples, done.loss, done.metric)

    def show(self, epoch: int, samples: int, loss: float, metric: float) -> None:
        self.bar.set_description_str(f"epoch {epoch}/{self.epochs}", refresh=False)
        text = f"loss {loss:.4f}, {self.task.metric} {self.task.show(metric)}{self.held_out}"
        self.bar.set_postfix_str(text, refresh=False)
        self.bar.update((epoch - 1) * self.samples + samples - self.bar.n)
        self.due = time.monotonic() + PERIOD

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_) -> None:
        self.bar.close()
