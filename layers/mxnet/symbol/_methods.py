"""Symbol's methods that are operators of the table, called on the Symbol."""

from __future__ import annotations

from ..ndarray._methods import NAMES, method
from . import op


def fill(cls: type) -> None:
    """Give a class the methods, but for those that it has."""
    for name in NAMES:
        if hasattr(op, name) and name not in vars(cls):
            setattr(cls, name, method(getattr(op, name)))
