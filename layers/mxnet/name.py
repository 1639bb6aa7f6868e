"""Names made up for what is created without one: ``dense0``, ``dense1``, ...

The managers in force form a stack, each thread its own.
"""

from __future__ import annotations

from ._state import ThreadStack, scope_type

__all__ = ["NameManager", "Prefix"]


class NameManager(metaclass=scope_type("current", "_current")):
    """Makes names by counting: the hint and a number.

    Used in a ``with`` statement it counts anew, from 0, for what is created inside.
    `NameManager.current` is the manager in force, and may be set to another one.
    """

    def __init__(self):
        self._counter: dict[str, int] = {}

    def get(self, name: str | None, hint: str) -> str:
        """`name` where one is given, else the hint with the next number."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        self._current.push(self)
        return self

    def __exit__(self, *_) -> None:
        self._current.pop()


class Prefix(NameManager):
    """A manager that puts a prefix before every name, given or made.

    Parameters
    ----------
    prefix : str
    """

    def __init__(self, prefix: str):
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """The name that `NameManager.get` gives, after the prefix."""
        return self._prefix + super().get(name, hint)


NameManager._current = ThreadStack("name_managers", NameManager)
