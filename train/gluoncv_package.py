"""GluonCV, imported such that the rest of the process goes on as before."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from layers import engine

from . import Refused
from .screen import one_line

__all__ = ["gluoncv", "quiet"]


def gluoncv(option: str = "") -> ModuleType:
    """Import the package on this engine.

    Raises
    ------
    Refused
        It cannot be imported; the message begins with the option, if one is given.
    """
    try:
        with quiet():
            return engine.gluoncv()
    except (ImportError, engine.EngineError) as error:
        raise Refused(f"{option and option + ': '}{one_line(error)}") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Inside the `with` statement GluonCV does not warn, nor change how Pillow reads files.

    One of its modules lets the whole process read images that are cut off.
    """
    before = reads_truncated_images()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if files := sys.modules.get("PIL.ImageFile"):
            vars(files)["LOAD_TRUNCATED_IMAGES"] = before


def reads_truncated_images() -> bool:
    """Return Pillow's flag of that name; None if Pillow is not imported yet."""
    files = sys.modules.get("PIL.ImageFile")
    return files is not None and files.LOAD_TRUNCATED_IMAGES
