"""What is in force inside ``with`` statements, in each thread for itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class ThreadStack(threading.local):
    """A stack of each thread's own, which begins with what `make` gives.

    Attributes
    ----------
    items : list
    value
        The topmost item: what is in force. One that is set takes its place until the innermost
        ``with`` statement ends.
    """

    def __init__(self, make: Callable[[], Any]):
        self.items = [make()]

    @property
    def value(self) -> Any:
        return self.items[-1]

    @value.setter
    def value(self, item: Any) -> None:
        self.items[-1] = item

    def push(self, item: Any) -> None:
        """Put an item on top."""
        self.items.append(item)

    def pop(self) -> None:
        """Take the topmost item away."""
        self.items.pop()


def scope_type(attribute: str, stack: str) -> type:
    """A metaclass: its classes have an attribute that is the scope in force in this thread.

    Parameters
    ----------
    attribute : str
        Its name. To set it is to put another scope in force.
    stack : str
        The attribute of the class that has the `ThreadStack`.
    """

    def get(cls: type) -> Any:
        return getattr(cls, stack).value

    def put(cls: type, item: Any) -> None:
        getattr(cls, stack).value = item

    return type("Scope", (type,), {attribute: property(get, put)})
