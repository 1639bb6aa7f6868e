"""Where the time of a training goes: data, forward, backward, update."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from layers.engine import nd

from .learner import Learner
from .screen import say
from .state import Callback, Epoch, Run

__all__ = ["Profile", "Profiled"]

PARTS = ("data", "forward", "backward", "update", "rest of the step", "held-out samples")


class Profiled(Learner):
    """A learner that measures the parts of its steps; `Profile` shows them.

    It waits for the device at the end of each part, so that a step may take longer than without.
    """

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.within = 0.0  # seconds of the parts inside the part that is measured
        self.since: float | None = None  # when the loop has asked for the next batch

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Add the time of a `with` block to a part, without that of the parts inside it."""
        start, outside, self.within = time.perf_counter(), self.within, 0.0
        yield
        nd.waitall()
        spent = time.perf_counter() - start
        self.seconds[name] += spent - self.within
        self.within = outside + spent

    def losses(self, x: Any, y: Any) -> Any:
        with self.part("forward"):
            return super().losses(x, y)

    def backward(self, *args: Any) -> list:
        with self.part("backward"):
            return super().backward(*args)

    def update(self, n: int) -> None:
        with self.part("update"):
            super().update(n)

    def learn(self, *args: Any) -> None:
        if self.since is not None:
            self.seconds["data"] += time.perf_counter() - self.since
        with self.part("rest of the step"):
            super().learn(*args)

    def evaluate(self, *args: Any) -> None:
        with self.part("held-out samples"):
            super().evaluate(*args)


class Profile(Callback):
    """Show at the end where the time went; the learner is a `Profiled` one."""

    comes_last = True

    def __init__(self):
        self.start, self.steps = 0.0, 0

    def begin(self, run: Run) -> None:
        run.learner.seconds = dict.fromkeys(PARTS, 0.0)
        self.start = run.learner.since = time.perf_counter()
        self.steps = 0

    def after_step(self, run: Run) -> None:
        self.steps += 1
        run.learner.since = time.perf_counter()

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        run.learner.since = time.perf_counter()

    def end(self, run: Run) -> None:
        if not self.steps:
            return
        total = time.perf_counter() - self.start
        rows = run.learner.seconds | {"callbacks": total - sum(run.learner.seconds.values())}
        lines = [f"{f'time of {self.steps} steps':20}    share  ms a step"]
        for name, seconds in rows.items():
            lines.append(f"{name:20} {seconds / total:8.1%} {seconds / self.steps * 1000:10.3f}")
        say("\n".join(lines), sys.stdout)
