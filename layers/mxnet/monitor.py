"""Monitor: statistics of what a graph computes, and of its parameters."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable

from . import ndarray
from .base import legible, py_str
from .ndarray import NDArray

__all__ = ["Monitor"]


class Monitor:
    """Gathers a statistic of the outputs of all nodes, and of all arguments and states.

    Parameters
    ----------
    interval : int
        At every which batch.
    stat_func : callable, optional
        From an array to the statistic, an NDArray or a list of them; by default |x| / √size.
    pattern : str
        A regular expression: the names that count.
    sort : bool
        Sort by name.
    monitor_all : bool
        Gather inputs of nodes too.
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ):
        self.interval = interval
        self.stat_func = stat_func or _root_mean_square
        self.re_prog = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all
        self.activated = False
        self.step = 0
        self.queue: list[tuple] = []
        self.exes: list = []

    def stat_helper(self, name: str | bytes, value: NDArray) -> None:
        """Gather the statistic of one array, if it is the time and the name counts."""
        name = py_str(name) if isinstance(name, bytes) else name
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(value)))

    def install(self, exe) -> None:
        """Watch an executor."""
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self) -> None:
        """Begin a batch: call before the forward."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """End a batch: step, name and statistic of everything; empty when it is not the time."""
        if not self.activated:
            return []
        for exe in self.exes:
            for name, value in (exe.arg_dict | exe.aux_dict).items():
                self.stat_helper(name, value)
        self.activated = False
        rows = sorted(self.queue, key=lambda row: row[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _shown(found)) for step, name, found in rows]

    def toc_print(self) -> None:
        """End a batch, and log what was gathered."""
        for step, name, found in self.toc():
            logging.info("Batch: %7d %-30s %s", step, legible(name), found)


def _root_mean_square(x: NDArray) -> NDArray:
    return ndarray.norm(x) / math.sqrt(x.size)


def _shown(found) -> str:
    values = [found] if isinstance(found, NDArray) else found
    shown = [v.asnumpy()[0] if v.shape == (1,) else v.asnumpy() for v in values]
    return "".join(f"{value!s}\t" for value in shown)
