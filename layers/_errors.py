"""What both engines' operators do with an exception of the user's."""

from __future__ import annotations

import sys

__all__ = ["note"]


def note(error: BaseException, text: str) -> BaseException:
    """Add a line to an exception without changing what it is; return it."""
    if sys.version_info >= (3, 11):
        error.add_note(text)
    elif error.args and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{text}", *error.args[1:])
    return error
