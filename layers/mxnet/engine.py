"""How many operators MXNet's engine runs as one: a number that is kept and changes nothing here."""

from __future__ import annotations

from ._state import this_thread

__all__ = ["bulk", "set_bulk_size"]


def set_bulk_size(size: int) -> int:
    """Set the size; return the former one, 0 at first."""
    state = this_thread.state
    former, state.bulk_size = state.bulk_size, int(size)
    return former


class bulk:
    """A scope with another size: ``with mx.engine.bulk(10):``."""

    def __init__(self, size: int):
        self._size = size
        self._former = 0

    def __enter__(self) -> bulk:
        self._former = set_bulk_size(self._size)
        return self

    def __exit__(self, *_) -> None:
        set_bulk_size(self._former)
