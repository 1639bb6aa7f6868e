"""Printing, whose failure must not end a training."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from layers._errors import printable

__all__ = ["open_closed_streams", "say"]


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
