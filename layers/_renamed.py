"""Former names and orders of arguments, accepted for one release with a DeprecationWarning."""

from __future__ import annotations

import reprlib
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from inspect import BoundArguments, Parameter, Signature, signature
from typing import Any, TypeVar

__all__ = ["deprecate", "formerly"]

F = TypeVar("F", bound=Callable)


def formerly(order: str, /, **names: str) -> Callable[[F], F]:
    """Decorate a function to take its arguments in a former order and by former names, too.

    A call that fits the present signature is passed on. Any other call is read in the former order
    and keeps its former meaning, with a DeprecationWarning that shows the new form. A call that
    fits neither raises Python's own TypeError.

    Parameters
    ----------
    order : str
        The former parameters, in the order in which they could be given by position.
        ``in_channels=0`` is a parameter whose default the function no longer has.
    **names
        The new name of each renamed parameter.
    """
    parts = [part.partition("=") for part in order.split()]
    places = [names.get(name, name) for name, _, _ in parts]
    defaults = {names.get(name, name): int(value) for name, _, value in parts if value}

    def decorate(function: F) -> F:
        now = signature(function)
        owner = int(next(iter(now.parameters), "") == "self")

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if names.keys().isdisjoint(kwargs) and _bind(now, args, kwargs):
                return function(*args, **kwargs)
            own, given = args[:owner], args[owner:]
            by_name = [(names.get(name, name), value) for name, value in kwargs.items()]
            values = [*zip(places, given), *by_name]
            read = defaults | dict(values)
            is_clear = len(given) <= len(places) and len({*dict(values)}) == len(values)
            bound = _bind(now, own, read) if is_clear else None
            if bound is None:
                return function(*args, **kwargs)  # raises Python's own TypeError
            who = type(own[0]).__name__ if own else function.__name__
            before = [*map(reprlib.repr, given), *_named(kwargs)]
            deprecate(
                f"{who}({', '.join(before)}) is deprecated\n"
                f"  write {who}({', '.join(_as_written(now, bound)[owner:])})"
            )
            return function(*own, **read)

        return call  # type: ignore[return-value]

    return decorate


def deprecate(message: str) -> None:
    """Warn about the line of the user's program that called this library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "layers":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DeprecationWarning, stacklevel=level)


def _bind(function: Signature, args: tuple, kwargs: dict[str, Any]) -> BoundArguments | None:
    """Return the arguments of a call by parameter; None if the call does not fit the signature."""
    try:
        return function.bind(*args, **kwargs)
    except TypeError:
        return None


def _as_written(function: Signature, call: BoundArguments) -> list[str]:
    """Return the arguments of a call as source text, by position where possible."""
    shown: list[str] = []
    has_gap = False
    for name, parameter in function.parameters.items():
        has_gap = has_gap or name not in call.arguments
        if name not in call.arguments:
            continue
        value = call.arguments[name]
        if parameter.kind is Parameter.VAR_KEYWORD:
            shown += _named(value)
        elif parameter.kind is Parameter.POSITIONAL_OR_KEYWORD and not has_gap:
            shown.append(reprlib.repr(value))
        else:
            shown += _named({name: value})
    return shown


def _named(values: dict[str, Any]) -> list[str]:
    return [f"{name}={reprlib.repr(value)}" for name, value in values.items()]
