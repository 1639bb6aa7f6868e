"""How a training is ended early, with what it has learned: Ctrl-C, SIGTERM, SIGHUP."""

from __future__ import annotations

import signal
import threading

__all__ = ["Stop"]

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
SIGNALS = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]


class Stop:
    """Inside its `with` statement a signal interrupts nothing: it is noted in `signal`.

    An exception would be lost while MXNet is calling an operator's Python code, and while files are
    written it would throw them away. A second Ctrl-C does not wait: it is a KeyboardInterrupt.
    """

    def __init__(self):
        self.signal: int | None = None
        self.interrupted = False
        self.before = {}

    def note(self, number: int, _) -> None:
        if number == signal.SIGINT:
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True
        self.signal = self.signal or number

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():  # others get no signals
            # One that is ignored stays so: nohup ignores SIGHUP.
            heard = [n for n in SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
            self.before = {number: signal.signal(number, self.note) for number in heard}
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
