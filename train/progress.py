"""What is shown of a training: a bar, and a line for each epoch."""

from __future__ import annotations

import math
import sys
import time
from typing import Any

from . import Refused
from .epochs import left_out
from .screen import say
from .state import Callback, Epoch, Run

__all__ = ["Logging"]

PERIOD = 0.1  # seconds between two reads of the loss, which wait for the device


class Logging(Callback):
    """A bar with loss, metric, samples a second and the time left, where a terminal can show it.

    Parameters
    ----------
    lines : bool
        Print a line after each epoch, too.
    """

    first_only = True

    def __init__(self, lines: bool = True):
        self.lines, self.held_out, self.due = lines, "", 0.0
        self.bar: Any = None

    def begin(self, run: Run) -> None:
        """Show the bar; raises Refused where tqdm is not installed."""
        try:
            from tqdm import tqdm
        except ImportError as error:
            raise Refused("Logging: tqdm is not installed: pip install tqdm") from error
        samples = None if run.steps_per_epoch else run.data.samples
        self.bar = tqdm(
            total=samples and samples * run.epochs,
            initial=sum(epoch.samples for epoch in run.history) + run.meter.samples,
            unit=" samples",
            unit_scale=True,
            disable=None,
            mininterval=0,
            dynamic_ncols=True,
            bar_format="{desc} |{bar}| {rate_fmt}{postfix}"
            + (", {remaining} left") * bool(samples),
        )
        self.bar.set_description_str(f"epoch {run.epoch}/{run.epochs}")

    def after_step(self, run: Run) -> None:
        if time.monotonic() >= self.due and not self.bar.disable:
            done = sum(epoch.samples for epoch in run.history)
            loss, metric = run.meter.read()
            self.show(run, run.epoch, loss, metric, done + run.meter.samples * run.workers.count)

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        if not math.isnan(epoch.held_out_loss):
            name = f"{run.measure.metric} " if math.isnan(epoch.metric) else ""
            self.held_out = f", held out {name}{run.measure.show(epoch.held_out_metric)}"
            self.held_out += "".join(f", {name} {value:.4g}" for name, value in epoch.more.items())
        done = sum(each.samples for each in run.history)
        self.show(run, epoch.epoch, epoch.loss, epoch.metric, done)
        if self.lines:
            text = (
                f"epoch {epoch.epoch}/{run.epochs}: {self.results(run, epoch.loss, epoch.metric)}"
            )
            with self.bar.external_write_mode(sys.stdout):
                say(f"{text}, {epoch.seconds:.2f} s", sys.stdout)

    def end(self, run: Run) -> None:
        if self.bar is not None:
            self.bar.close()

    def results(self, run: Run, loss: float, metric: float) -> str:
        shown = f", {run.measure.metric} {run.measure.show(metric)}"
        if "metric" in left_out(run):
            shown = ""
        return f"loss {loss:.4f}{shown}{self.held_out}"

    def show(self, run: Run, epoch: int, loss: float, metric: float, samples: int) -> None:
        self.bar.set_description_str(f"epoch {epoch}/{run.epochs}", refresh=False)
        self.bar.set_postfix_str(self.results(run, loss, metric), refresh=False)
        self.bar.update(samples - self.bar.n)
        self.due = time.monotonic() + PERIOD
