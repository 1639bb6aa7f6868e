"""What is shown: lines, whose failure must not end a training, errors in a line, and plots."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from layers._errors import printable

__all__ = ["one_line", "open_closed_streams", "quiet_matplotlib", "say"]


def open_closed_streams() -> None:
    """Open the standard streams that the process was started without (``2>&-``), on no file.

    Else the next file that is opened would get the descriptor of the standard error, and libraries
    would write their messages into it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  it stays open


def say(text: str, stream: TextIO) -> None:
    """Print lines if possible: a pipe may have lost its reader, a terminal may be closed.

    Names of files, columns and classes in them bring no sequences that a terminal obeys.
    """
    text = printable(text, keep="\n")
    encoding = stream.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
    except OSError:
        # The text is still in the buffer, and writing it would fail again at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def one_line(error: Exception, most: int | None = 300) -> str:
    """Return the lines of an error's message in one, of at most this many characters."""
    lines = (" ".join(line.split()) for line in str(error).splitlines())
    return printable("; ".join(filter(None, lines)))[:most]


@contextmanager
def quiet_matplotlib() -> Iterator[None]:
    """Keep Matplotlib, which may be imported inside, from two messages.

    Without a HOME it logs that it has no folder to cache fonts in. Of a character that its font
    does not have, such as one of a class's name, it warns, and draws a box.
    """
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing from")
            yield
    finally:
        log.setLevel(level)
