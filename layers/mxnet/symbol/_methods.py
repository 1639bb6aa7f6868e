"""Symbol's methods that are operators of the table, called on the Symbol."""

from __future__ import annotations

from collections.abc import Callable

from ..ndarray._methods import NAMES
from . import op


def fill(cls: type) -> None:
    """Give a class the methods, but for those that it has."""
    for name in NAMES:
        if hasattr(op, name) and name not in vars(cls):
            setattr(cls, name, _method(getattr(op, name)))


def _method(function: Callable) -> Callable:
    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__
    return method
