"""The error tree, and the small things that MXNet programs import from `mxnet.base`."""

from __future__ import annotations

import sys

import numpy as np

__all__ = [
    "ArgumentError",
    "ContextError",
    "DTypeError",
    "MXNetError",
    "NotFiniteError",
    "NotSupportedForSparseNDArray",
    "RecordingError",
    "ShapeError",
    "UnsupportedError",
]

string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.integer)


class MXNetError(RuntimeError):
    """The root of every error that this package raises."""


class ShapeError(MXNetError, ValueError):
    """Shapes do not fit each other, or what was declared."""


class DTypeError(MXNetError, TypeError):
    """A dtype is unknown, or does not fit the others."""


class ArgumentError(MXNetError, TypeError, ValueError):
    """Something was called with a wrong, missing or unreadable argument."""


class ContextError(MXNetError, ValueError):
    """A context does not exist on this machine, or does not fit the others."""


class RecordingError(MXNetError):
    """Something that a recorded computation does not allow."""


class NotFiniteError(MXNetError, FloatingPointError):
    """An operator made NaN or infinity of finite values; looked for with LAYERS_CHECK_NAN=1."""


class UnsupportedError(MXNetError, NotImplementedError):
    """A part of MXNet that does not exist here; the message says why."""


class NotSupportedForSparseNDArray(UnsupportedError):
    """A function that has no form for sparse storage."""


_MISFITS = (
    "The size of tensor a",
    "The expanded size of the tensor",
    "Attempting to broadcast a dimension",
)


def of_shapes(sentence: str, shapes: dict[str, tuple[int, ...]]) -> str:
    """What PyTorch says of shapes that do not broadcast, with the shapes; else what it says."""
    if not sentence.startswith(_MISFITS):
        return sentence
    found = ", ".join(f"{name} is {shape}" for name, shape in shapes.items())
    return f"{found}\n  expected sizes that are equal or 1"


def note(error: BaseException, text: str) -> BaseException:
    """Add a line to an exception without changing what it is; return it."""
    if sys.version_info >= (3, 11):
        error.add_note(text)
    elif error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{text}", *error.args[1:])
    return error
