"""Train a net: `fit` one of your own, or ``python -m train --help``; then `predict`, `evaluate`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from layers._errors import showable

if TYPE_CHECKING:
    from . import callbacks
    from .evaluation import evaluate
    from .loop import fit
    from .prediction import predict

__all__ = [
    "Diverged",
    "Interrupted",
    "Lost",
    "NotFound",
    "Refused",
    "callbacks",
    "evaluate",
    "fit",
    "predict",
]

# The modules of the functions. The submodule `predict` is the function, too.
FUNCTIONS = {"fit": ".loop", "predict": ".prediction", "evaluate": ".evaluation"}


class OneLine(Exception):
    """An error that is told in one line, whatever is in the names and texts of files."""

    def __str__(self) -> str:
        return showable(super().__str__(), 1500, keep="")


class Refused(OneLine, TypeError, ValueError):
    """The options ask for something that cannot be done. The message is one line that says why.

    It is caught as TypeError and as ValueError, too, as other libraries raise for such arguments.
    """


class NotFound(Refused, FileNotFoundError):
    """What the training goes on from is not there. The message is one line that says where."""


class Diverged(OneLine):
    """The loss has grown or is not finite. The message is one line that says since when."""


class Lost(OneLine):
    """Another process of the training is lost. The message is one line that says which it is."""


class Interrupted(OneLine):
    """A signal ended the training early. The message is one line that says what was written."""

    def __init__(self, message: str, signal: int):
        super().__init__(message)
        self.signal = signal


def __getattr__(name: str) -> Any:
    """Import the functions and `callbacks` at their first use; no engine is needed before."""
    if name in FUNCTIONS:
        return getattr(import_module(FUNCTIONS[name], __name__), name)
    if name == "callbacks":
        return import_module(".callbacks", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
