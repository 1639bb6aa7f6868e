"""What is printed: it may be lost, and no training with it."""

from __future__ import annotations

import os
import sys
from typing import TextIO

__all__ = ["open_closed_streams", "say"]


def open_closed_streams() -> None:
    """Open what the process was started without (``2>&-``), to write into nothing.

    Else the next file that is opened would have the number of the standard error, and be written
    to by every library that complains there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  it stays open


def say(text: str, stream: TextIO) -> None:
    """Print lines, if they can be: a pipe may have lost its reader, a terminal may be gone."""
    encoding = stream.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
    except OSError:
        # What could not be written is still in the buffer, and would fail again at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
