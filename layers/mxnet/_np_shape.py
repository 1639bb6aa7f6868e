"""MXNet's np_shape semantics: whether a size of 0 and a shape of () are known, and may be made.

Outside np_shape semantics a size 0 and the shape () mean unknown; inside, the size -1 and None do.
"""

from __future__ import annotations

from collections.abc import Sequence

from ._state import State, this_thread
from .base import ArgumentError, ShapeError

OFF, ON, ON_IN_ALL_THREADS = 0, 1, 2


def is_on() -> bool:
    """Whether they are in force in this thread."""
    state = this_thread.state
    return state.np_shape or state.np_shape_everywhere


def switch(active: int) -> bool:
    """Put them in force, or out of force; returns whether they were.

    Parameters
    ----------
    active : int
        `OFF` also ends what `ON_IN_ALL_THREADS` has begun in other threads.

    Raises
    ------
    ArgumentError
        `active` is none of the three.
    """
    if active not in (OFF, ON, ON_IN_ALL_THREADS):
        raise ArgumentError(
            f"set_np_shape: active is {active!r}\n  expected True or False, or 2 for all threads"
        )
    before = is_on()
    this_thread.state.np_shape = bool(active)
    if active != ON:
        State.np_shape_everywhere = active == ON_IN_ALL_THREADS
    return before


def expected_of_files() -> bool | None:
    """Whether files have to be of these semantics; None where all threads have them."""
    state = this_thread.state
    return None if state.np_shape_everywhere else state.np_shape


def unknown_size() -> int:
    """What stands in a shape for a size that is not known."""
    return -1 if is_on() else 0


def is_known(shape: Sequence[int] | None) -> bool:
    """Whether every size of a shape is known, and how many there are."""
    if shape is None or min(shape, default=1) < 0:
        return False
    return is_on() or (len(shape) > 0 and 0 not in shape)


def require_size(function: str, shape: Sequence[int]) -> None:
    """Refuse to make an array without elements, or without axes, where they are not in force.

    Raises
    ------
    ShapeError
        Such a shape is asked for.
    """
    if not is_on() and (not len(shape) or 0 in shape):
        raise ShapeError(
            f"{function}: shape is {tuple(shape)}\n"
            "  expected sizes of 1 or more; others can be made inside `with mx.np_shape():`"
        )
