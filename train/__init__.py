"""Train a multi-layer perceptron of this library's layers: ``python -m train --help``."""

from __future__ import annotations

__all__ = ["Diverged", "Interrupted", "Refused"]


class Refused(Exception):
    """The options ask for something that cannot be done. The message is one line that says why."""


class Diverged(Exception):
    """The loss has grown or is not finite. The message is one line that says since when."""


class Interrupted(Exception):
    """A signal ended the training early. The message is one line that says what was written."""

    def __init__(self, message: str, signal: int):
        super().__init__(message)
        self.signal = signal
