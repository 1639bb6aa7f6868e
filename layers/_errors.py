"""Parts of messages of exceptions, for both engines."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean", "note"]


def note(error: BaseException, text: str) -> BaseException:
    """Add a line to an exception, whose type and identity stay the same; return it.

    On Python 3.10, which has no notes, the line follows the message; a KeyError keeps its key
    alone.
    """
    if sys.version_info >= (3, 11):
        error.add_note(text)
    elif type(error).__str__ is KeyError.__str__:
        pass
    elif error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{text}", *error.args[1:])
    return error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A line with the known name that is most like one that is unknown; "" where none is like it.

    A name stands for itself, and its last part: 'sigmoid' for 'layers.sigmoid'.
    """
    by_name = {part: whole for whole in known for part in (whole.rpartition(".")[2], whole)}
    near = get_close_matches(name[:100], by_name, 1)
    return f"\n  did you mean {by_name[near[0]]!r}?" if near else ""
