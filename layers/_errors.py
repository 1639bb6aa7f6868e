"""Notes on exceptions, for both engines."""

from __future__ import annotations

import sys

__all__ = ["note"]


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
