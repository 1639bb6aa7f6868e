"""Where in a network an error happened, as one note on it that grows on the way up.

``in Dense(x (5, 2, 4)), net.features.0``: the innermost block with the shapes of its inputs, and
the attributes that lead to it from the outermost one.
"""

from __future__ import annotations

import inspect
import weakref
from linecache import getline
from traceback import walk_tb

from .. import symbol
from ..base import note
from ..ndarray import NDArray


class _Place:
    def __init__(self, error: Exception, block, args: tuple):
        self._block, self.path = weakref.ref(block), ""  # an error that is kept keeps no network
        self.call = f"  in {type(block).__name__}({_inputs(block, args)})"
        self.line = _line(error, block)
        self.text = self.call + self.line

    @property
    def block(self):
        return self._block()

    def extend(self, parent) -> str:
        """Add the step from a block that contains this one; returns the text as it was."""
        before = self.text
        children = parent._children.items()
        step = next((n for n, child in children if child is self.block), self.block.name)
        self._block, self.path = weakref.ref(parent), f".{step}{self.path}"
        self.text = f"{self.call}, net{self.path}{self.line}"
        return before


def locate(error: Exception, block, args: tuple) -> None:
    """Note on an error that it came out of a call of a block."""
    place = getattr(error, "_place", None)
    if place is None:
        error._place = _Place(error, block, args)
        note(error, error._place.text)
    elif place.block is not block:
        _replace(error, place.extend(block), place.text)


def _line(error: Exception, block) -> str:
    """The line of `hybrid_forward` from which the error came, if that was making a graph."""
    function = getattr(getattr(type(block), "hybrid_forward", None), "__code__", None)
    for frame, number in walk_tb(error.__traceback__):
        if frame.f_code is function and any(v is symbol for v in frame.f_locals.values()):
            text = getline(function.co_filename, number).strip()
            return f"\n  at {function.co_filename}:{number}, of the graph: {text}"
    return ""


def _replace(error: Exception, before: str, after: str) -> None:
    notes = getattr(error, "__notes__", ())
    if before in notes:
        notes[notes.index(before)] = after
    elif error.args and isinstance(error.args[0], str):  # Python 3.10 has no notes
        error.args = (error.args[0].replace(before, after), *error.args[1:])


def _inputs(block, args: tuple) -> str:
    function = block.hybrid_forward if block._is_hybrid else block.forward
    parameters = inspect.signature(function).parameters.values()
    by_position = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [f"{p.name} " for p in parameters if p.name != "F" and p.kind in by_position]
    names += [""] * len(args)
    return ", ".join(name + shown_input(value) for name, value in zip(names, args))


def shown_input(value) -> str:
    """The shape of an array, also in lists; what else an input is, in short."""
    if isinstance(value, NDArray):
        return str(value.shape)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown_input, value))}]"
    text = repr(value)
    return text if len(text) <= 40 else type(value).__name__
