"""Callbacks of `fit`: progress, speed, checkpoints.

A callback after a batch is called with a `mx.model.BatchEndParam`, one after an epoch with the
number of the epoch, the Symbol, and the parameters and states by name.
"""

from __future__ import annotations

import logging
import math
import time
from collections import namedtuple
from collections.abc import Callable

from ._files.checkpoint import save_checkpoint

__all__ = [
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]

BatchEndParam = namedtuple("BatchEndParam", ["epoch", "nbatch", "eval_metric", "locals"])
BatchEndParam.__doc__ = "What a callback gets after a batch."


def module_checkpoint(mod, prefix, period: int = 1, save_optimizer_states: bool = False):
    """After every `period` epochs, ``mod.save_checkpoint(prefix, epoch, ...)``."""
    period = int(max(1, period))

    def callback(iter_no, sym=None, arg=None, aux=None) -> None:
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return callback


def do_checkpoint(prefix, period: int = 1) -> Callable:
    """After every `period` epochs, `mx.model.save_checkpoint`."""
    period = int(max(1, period))

    def callback(iter_no, sym, arg, aux) -> None:
        if (iter_no + 1) % period == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return callback


def log_train_metric(period: int, auto_reset: bool = False) -> Callable:
    """At every `period`-th batch, log the metric; with `auto_reset`, begin it anew."""

    def callback(param: BatchEndParam) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info(
                    "Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value
                )
            if auto_reset:
                param.eval_metric.reset_local()

    return callback


class Speedometer:
    """At every `frequent`-th batch, logs the examples per second, and the metric.

    Parameters
    ----------
    batch_size : int
    frequent : int
    auto_reset : bool
        Begin the metric anew after each line.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True):
        self.batch_size = batch_size
        self.frequent = frequent
        self.auto_reset = auto_reset
        self.init = False
        self.tic = 0.0
        self.last_count = 0

    def __call__(self, param: BatchEndParam) -> None:
        count = param.nbatch
        if self.last_count > count:  # a new epoch
            self.init = False
        self.last_count = count
        if not self.init:
            self.init, self.tic = True, time.perf_counter()
            return
        if count % self.frequent:
            return
        elapsed = time.perf_counter() - self.tic
        speed = self.frequent * self.batch_size / elapsed if elapsed else float("inf")
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
        else:
            values = param.eval_metric.get_name_value()
            if self.auto_reset:
                param.eval_metric.reset_local()
            logging.info(
                "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec%s",
                param.epoch,
                count - self.frequent if self.auto_reset else 0,
                count,
                speed,
                "".join(f"\t{name}={value:f}" for name, value in values),
            )
        self.tic = time.perf_counter()


class ProgressBar:
    """Logs a bar after each batch.

    Parameters
    ----------
    total : int
        Batches in an epoch.
    length : int
        Characters of the bar.
    """

    def __init__(self, total: int, length: int = 80):
        self.total = total
        self.bar_len = length

    def __call__(self, param: BatchEndParam) -> None:
        share = param.nbatch / self.total
        filled = round(self.bar_len * share)
        bar = "=" * filled + "-" * (self.bar_len - filled)
        logging.info("[%s] %d%%\r", bar, math.ceil(100 * share))


class LogValidationMetricsCallback:
    """Logs the metric at the end of an evaluation."""

    def __call__(self, param: BatchEndParam) -> None:
        if param.eval_metric:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
