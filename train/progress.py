"""The progress bar of a training."""

from __future__ import annotations

import time

from tqdm import tqdm

from .loop import Epoch, Meter

__all__ = ["Progress"]

PERIOD = 0.1  # seconds between two reads of the loss, which wait for the device


class Progress:
    """A bar with loss, accuracy and samples a second, where there is a terminal to show it."""

    def __init__(self, samples: int, epochs: int):
        self.samples, self.epochs = samples, epochs
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
            loss, accuracy = meter.read()
            self.show(epoch, meter.samples, loss, accuracy)

    def epoch(self, done: Epoch) -> None:
        """After an epoch: show its results."""
        self.held_out = f", held out {done.held_out_accuracy:.1%}"
        self.show(done.epoch, done.samples, done.loss, done.accuracy)

    def show(self, epoch: int, samples: int, loss: float, accuracy: float) -> None:
        self.bar.set_description_str(f"epoch {epoch}/{self.epochs}", refresh=False)
        text = f"loss {loss:.4f}, accuracy {accuracy:.1%}{self.held_out}"
        self.bar.set_postfix_str(text, refresh=False)
        self.bar.update((epoch - 1) * self.samples + samples - self.bar.n)
        self.due = time.monotonic() + PERIOD

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_) -> None:
        self.bar.close()
