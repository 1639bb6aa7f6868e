"""The arguments of a function whose operator is made of it: which are arrays, which attributes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from inspect import Parameter
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Form", "Layout", "is_array", "signature"]

# Parameters annotated so are attributes when an operator is called by name, which tells no types.
PLAIN = {"bool", "int", "float", "str", "tuple"}


def signature(function: Callable) -> inspect.Signature | None:
    """The signature, if it can be told: not of every function that is written in C."""
    try:
        return inspect.signature(function)
    except ValueError:
        return None


class Layout(NamedTuple):
    """Which arguments are arrays, and how the function is given all of them."""

    inputs: tuple[str, ...]
    optional: tuple[str, ...]  # inputs that may be None
    attributes: dict[str, Any]  # with their defaults, None where there is none
    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    defaults: frozenset[str]  # the parameters that have one

    def taken(self, maker: Callable) -> tuple | None:
        """What a maker is given by position, by name and not at all; None if it cannot be called.

        It is given all as the function is; or, what has a default by name, if it has that name.
        """
        found = signature(maker)
        if found is None or _binds(found, self.positional, self.keywords):
            return self.positional, self.keywords, ()
        required = tuple(n for n in self.positional if n not in self.defaults)
        rest = [n for n in (*self.positional, *self.keywords) if n not in required]
        every = any(p.kind is p.VAR_KEYWORD for p in found.parameters.values())
        named = tuple(n for n in rest if every or n in found.parameters)
        left = tuple(n for n in rest if n not in named)
        return (required, named, left) if _binds(found, required, named) else None


def _binds(found: inspect.Signature, positional: Sequence, keywords: Sequence) -> bool:
    try:
        found.bind(None, *positional, **dict.fromkeys(keywords))
    except TypeError:
        return False
    return True


class Form:
    """The parameters of a function, and what its calls mean."""

    def __init__(self, name: str, function: Callable):
        self.name, found = name, signature(function)
        if found is None:
            raise TypeError(f"operator {name!r}: {function!r} has no signature\n  expected a def")
        self.signature, self.expected = found, f"expected {function.__name__}{found}"
        parameters = found.parameters.values()

        def named(*kinds) -> list[str]:
            return [p.name for p in parameters if p.kind in kinds]

        self.positional = named(Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        self.more, self.others = named(Parameter.VAR_POSITIONAL), named(Parameter.VAR_KEYWORD)
        self.keywords = named(Parameter.KEYWORD_ONLY)
        self.defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self.plain = {p.name for p in parameters if _annotated(p.annotation) in PLAIN}
        self.is_method = self.positional[:1] == ["self"]

    def place(self, argnum: int | str) -> str:
        """The name of an argument, given by its number or name."""
        names = self.positional[1:] if self.is_method else self.positional
        if isinstance(argnum, str):
            if argnum in (*names, *self.keywords) or self.others:
                return argnum
        elif isinstance(argnum, int) and not isinstance(argnum, bool) and argnum >= 0:
            if argnum < len(names):
                return names[argnum]
            if self.more:
                return f"{self.more[0]}{argnum - len(names)}"
        else:
            raise TypeError(
                f"operator {self.name!r}: argnum is {argnum!r}\n"
                "  expected the number of an argument, from 0, or its name"
            )
        there = ", ".join(f"{i}: {n}" for i, n in enumerate(names)) or "none"
        raise ValueError(
            f"operator {self.name!r}: there is no argument {argnum!r}\n  expected of {there}"
        )

    def check_maker(self, name: str, maker: Callable) -> None:
        """Refuse what cannot be called as the maker of a gradient is."""
        if not callable(maker):
            raise TypeError(
                f"operator {self.name!r}: the gradient of {name} is made by {maker!r}\n"
                "  expected a function (ans, ...) that gives a function of the upstream gradient"
            )
        if self.more or self.others or self.by_name().taken(maker):
            return
        given = ", ".join(["ans", *self.positional, *(f"{n}={n}" for n in self.keywords)])
        raise TypeError(
            f"operator {self.name!r}: the gradient of {name} is made by "
            f"{getattr(maker, '__name__', maker)}{signature(maker)}\n"
            f"  expected one that can be called with ({given})"
        )

    def by_name(self) -> Layout:
        """The layout of a call by name: arrays are what has no default and no plain annotation."""
        attributes = {*self.plain, *self.keywords, *(self.defaults.keys() - self._optional)}
        return self._layout([n for n in self.positional if n not in attributes], [], [])

    @property
    def _optional(self) -> set[str]:
        """The parameters that are None by default: arrays, for all that is known."""
        return {n for n, value in self.defaults.items() if value is None} - self.plain

    def split(self, count: int, names: Sequence[str], given: tuple) -> tuple[Layout, dict, dict]:
        """The layout of a call, and where its arrays and attributes are in `given`.

        `given` has the positional arguments, `count` of them, and those with `names`.
        """
        try:
            bound = self.signature.bind(
                *range(count), **{n: count + i for i, n in enumerate(names)}
            )
        except TypeError as error:
            raise TypeError(f"operator {self.name!r}: {error}\n  {self.expected}") from None
        places = bound.arguments
        more = {f"{n}{i}": p for n in self.more for i, p in enumerate(places.pop(n, ()))}
        others = {n: p for name in self.others for n, p in places.pop(name, {}).items()}
        places |= more | others
        arrays, attributes = {}, {}
        for name in (*self.positional, *more, *self.keywords, *others):
            place = places.get(name, -1)
            value = given[place] if name in places else None
            if is_array(type(value)) or value is None and name in self._optional:
                arrays[name] = place
            elif name in places:
                attributes[name] = place
        return self._layout(arrays, more, others), arrays, attributes

    def _layout(self, inputs, more, others) -> Layout:
        names = (*self.positional, *more, *self.keywords, *others)
        return Layout(
            tuple(inputs),
            tuple(n for n in inputs if n in self._optional),
            {n: self.defaults.get(n) for n in names if n not in inputs},
            (*self.positional, *more),
            (*self.keywords, *others),
            frozenset(self.defaults),
        )


def _annotated(annotation: Any) -> str:
    """The name of the type that an annotation begins with."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return text.partition("|")[0].partition("[")[0].strip()


@cache
def is_array(kind: type) -> bool:
    """Whether it is a type of arrays: NumPy's, either engine's, Symbols, arrays yet to be made."""
    known = ("asnumpy", "list_arguments", "known")
    return issubclass(kind, np.ndarray) or any(hasattr(kind, name) for name in known)
