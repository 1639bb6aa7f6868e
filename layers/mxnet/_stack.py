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
        The topmost item: what is in force.
    """

    def __init__(self, make: Callable[[], Any]):
        self.items = [make()]

    @property
    def value(self) -> Any:
        return self.items[-1]

    def push(self, item: Any) -> None:
        """Put an item on top."""
        self.items.append(item)

    def pop(self) -> None:
        """Take the topmost item away."""
        self.items.pop()
