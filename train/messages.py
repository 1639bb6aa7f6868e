"""What an error says, in a line of a message of our own."""

from __future__ import annotations

from layers._errors import printable

__all__ = ["one_line"]


def one_line(error: Exception, most: int | None = 300) -> str:
    """The lines of what an error says, behind one another; at most this many characters."""
    lines = (" ".join(line.split()) for line in str(error).splitlines())
    return printable("; ".join(filter(None, lines)))[:most]
