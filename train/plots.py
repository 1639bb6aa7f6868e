"""Matplotlib, without what it says of the machine and not of the training."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quiet_matplotlib"]


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
