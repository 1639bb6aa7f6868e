"""Where in a network an error happened, as one note on it that grows on the way up.

``in Dense(x (5, 2, 4)), net.features.0``: the innermost block with the shapes of its inputs, and
the attributes that lead to it from the outermost one.
"""

from __future__ import annotations

import inspect
import weakref

from ..base import note
from ..ndarray import NDArray


class _Place:
    def __init__(self, block, args: tuple):
        self._block, self.path = weakref.ref(block), ""  # an error that is kept keeps no network
        self.text = self.call = f"  in {type(block).__name__}({_inputs(block, args)})"

    @property
    def block(self):
        return self._block()

    def extend(self, parent) -> str:
        """Add the step from a block that contains this one; returns the text as it was."""
        before = self.text
        children = parent._children.items()
        step = next((n for n, child in children if child is self.block), self.block.name)
        self._block, self.path = weakref.ref(parent), f".{step}{self.path}"
        self.text = f"{self.call}, net{self.path}"
        return before


def locate(error: Exception, block, args: tuple) -> None:
    """Note on an error that it came out of a call of a block."""
    place = getattr(error, "_place", None)
    if place is None:
        error._place = _Place(block, args)
        note(error, error._place.text)
    elif place.block is not block:
        _replace(error, place.extend(block), place.text)


def _replace(error: Exception, before: str, after: str) -> None:
    notes = getattr(error, "__notes__", ())
    if before in notes:
        notes[notes.index(before)] = after
    elif error.args and isinstance(error.args[0], str):  # Python 3.10 has no notes
        error.args = (error.args[0].replace(before, after), *error.args[1:])


def _inputs(block, args: tuple) -> str:
    from .block import HybridBlock  # which imports this module

    hybrid = isinstance(block, HybridBlock) and type(block).forward is HybridBlock.forward
    function = block.hybrid_forward if hybrid else block.forward
    parameters = inspect.signature(function).parameters.values()
    names = [f"{p.name} " for p in parameters if p.name != "F" and p.kind is not p.VAR_POSITIONAL]
    names += [""] * len(args)
    return ", ".join(name + _shown(value) for name, value in zip(names, args))


def _shown(value) -> str:
    if isinstance(value, NDArray):
        return str(value.shape)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    text = repr(value)
    return text if len(text) <= 40 else type(value).__name__
