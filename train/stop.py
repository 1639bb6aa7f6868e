"""Ending a training early with its results so far: Ctrl-C, SIGTERM, SIGHUP."""

from __future__ import annotations

import signal
import threading

from .state import Callback, Epoch, Run

__all__ = ["Stop"]

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
SIGNALS = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]


class Stop(Callback):
    """Inside its `with` statement a signal raises nothing: its number is stored in `signal`.

    An exception would be lost while MXNet calls an operator's Python code, and would lose the files
    while they are written. A second Ctrl-C does not wait: it raises KeyboardInterrupt.
    """

    def __init__(self):
        self.signal: int | None = None
        self.ctrl_c = False
        self.previous = {}

    def note(self, number: int, _) -> None:
        if number == signal.SIGINT:
            if self.ctrl_c:
                raise KeyboardInterrupt
            self.ctrl_c = True
        self.signal = self.signal or number

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():  # other threads get no signals
            # An ignored signal stays ignored: nohup ignores SIGHUP.
            handled = [n for n in SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
            self.previous = {number: signal.signal(number, self.note) for number in handled}
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def after_step(self, run: Run) -> None:
        if self.signal:
            run.stop = signal.Signals(self.signal).name

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        self.after_step(run)
