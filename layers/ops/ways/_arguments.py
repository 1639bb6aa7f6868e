"""Division of a plain function's arguments into inputs and attributes of its operator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from inspect import Parameter
from typing import Any, NamedTuple

import numpy as np

from ...engine import mxnet_error

__all__ = ["Form", "Layout", "is_array", "signature"]

# A parameter with one of these annotations is an attribute if the operator is called by name: such
# a call does not show which arguments are arrays.
ATTRIBUTE_TYPES = {"bool", "int", "float", "str", "tuple"}


def signature(function: Callable) -> inspect.Signature | None:
    """Return the signature, or None for a function in C without one."""
    try:
        return inspect.signature(function)
    except ValueError:
        return None


class Layout(NamedTuple):
    """Arguments of a call that are arrays, and the form of the call of the function.

    Attributes
    ----------
    inputs, optional : tuple of str
        The arrays, and the arrays among them that may be None.
    attributes : dict of str to value
        The other arguments with their defaults, None if there is none.
    positional, keywords : tuple of str
        The arguments that the function takes by position, and by name.
    defaults : frozenset of str
        The parameters that have a default.
    """

    inputs: tuple[str, ...]
    optional: tuple[str, ...]
    attributes: dict[str, Any]
    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    defaults: frozenset[str]

    def arguments_of(self, maker: Callable) -> tuple | None:
        """Return the arguments for a call of the maker of a gradient; None if it cannot be called.

        They are the names of arguments to give by position, by name, and not at all. A maker is
        called like the function itself. If its signature does not allow that, arguments with a
        default are left out, or given by name if the maker has a parameter of that name.
        """
        found = signature(maker)
        if found is None or _accepts(found, self.positional, self.keywords):
            return self.positional, self.keywords, ()
        required = tuple(n for n in self.positional if n not in self.defaults)
        rest = [n for n in (*self.positional, *self.keywords) if n not in required]
        takes_any = any(p.kind is p.VAR_KEYWORD for p in found.parameters.values())
        named = tuple(n for n in rest if takes_any or n in found.parameters)
        left_out = tuple(n for n in rest if n not in named)
        return (required, named, left_out) if _accepts(found, required, named) else None


def _accepts(found: inspect.Signature, positional: Sequence, keywords: Sequence) -> bool:
    try:
        found.bind(None, *positional, **dict.fromkeys(keywords))
    except TypeError:
        return False
    return True


class Form:
    """Parameters of a function, which decide which arguments of a call are arrays.

    Attributes
    ----------
    positional, keywords : list of str
        The parameters that can be given by position, and those that cannot.
    variadic, variadic_keywords : list of str
        The name of ``*args``, and of ``**kwargs``, if the function has them.
    defaults : dict of str to value
    """

    def __init__(self, name: str, function: Callable):
        self.name, found = name, signature(function)
        if found is None:
            raise mxnet_error(
                TypeError, f"operator {name!r}: {function!r} has no signature\n  expected a def"
            )
        self.signature, self.expected = found, f"expected {function.__name__}{found}"
        parameters = found.parameters.values()

        def names(*kinds) -> list[str]:
            return [p.name for p in parameters if p.kind in kinds]

        self.positional = names(Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        self.variadic = names(Parameter.VAR_POSITIONAL)
        self.variadic_keywords = names(Parameter.VAR_KEYWORD)
        self.keywords = names(Parameter.KEYWORD_ONLY)
        self.defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self._annotated = {
            p.name for p in parameters if _type_name(p.annotation) in ATTRIBUTE_TYPES
        }
        self.is_method = self.positional[:1] == ["self"]

    def argument_name(self, argnum: int | str) -> str:
        """Return the name of an argument from its number or name.

        Raises
        ------
        TypeError, ValueError
            `argnum` is neither, or there is no such argument.
        """
        names = self.positional[1:] if self.is_method else self.positional
        if isinstance(argnum, str):
            if argnum in (*names, *self.keywords) or self.variadic_keywords:
                return argnum
        elif isinstance(argnum, int) and not isinstance(argnum, bool) and argnum >= 0:
            if argnum < len(names):
                return names[argnum]
            if self.variadic:
                return f"{self.variadic[0]}{argnum - len(names)}"
        else:
            raise mxnet_error(
                TypeError,
                f"operator {self.name!r}: argnum is {argnum!r}\n"
                "  expected the number of an argument, from 0, or its name",
            )
        known = ", ".join(f"{i}: {n}" for i, n in enumerate(names)) or "none"
        raise mxnet_error(
            ValueError,
            f"operator {self.name!r}: there is no argument {argnum!r}\n  expected one of {known}",
        )

    def check_maker(self, name: str, maker: Callable) -> None:
        """Refuse a maker of a gradient that cannot be called with the function's arguments.

        Raises
        ------
        TypeError
            It is no function, or has another signature.
        """
        if not callable(maker):
            raise mxnet_error(
                TypeError,
                f"operator {self.name!r}: the gradient of {name} is made by {maker!r}\n"
                "  expected a function (ans, ...) that returns a function of the upstream gradient",
            )
        any_number = self.variadic or self.variadic_keywords
        if any_number or self.layout_by_name().arguments_of(maker):
            return
        arguments = ", ".join(["ans", *self.positional, *(f"{n}={n}" for n in self.keywords)])
        raise mxnet_error(
            TypeError,
            f"operator {self.name!r}: the gradient of {name} is made by "
            f"{getattr(maker, '__name__', maker)}{signature(maker)}\n"
            f"  expected one that can be called with ({arguments})",
        )

    def layout_by_name(self) -> Layout:
        """Return the layout of ``Custom(..., op_type=name)``, where parameters show the arrays.

        Arrays are the parameters without a default, or with the default None, that are not
        annotated as attributes.
        """
        attributes = {*self._annotated, *self.keywords, *(self.defaults.keys() - self._optional)}
        return self._layout([n for n in self.positional if n not in attributes], [], [])

    @property
    def _optional(self) -> set[str]:
        """Return the parameters with the default None, which may be arrays that are left out."""
        return {n for n, value in self.defaults.items() if value is None} - self._annotated

    def split(self, count: int, names: Sequence[str], values: tuple) -> tuple[Layout, dict, dict]:
        """Return the layout of a call, and the indices of its arrays and attributes in `values`.

        `values` has the `count` positional arguments, then the arguments with `names`. The index of
        an array that is left out is -1.
        """
        try:
            bound = self.signature.bind(
                *range(count), **{n: count + i for i, n in enumerate(names)}
            )
        except TypeError as error:
            raise mxnet_error(
                TypeError, f"operator {self.name!r}: {error}\n  {self.expected}"
            ) from None
        indices = bound.arguments
        variadic = {f"{n}{i}": p for n in self.variadic for i, p in enumerate(indices.pop(n, ()))}
        named = {n: p for kw in self.variadic_keywords for n, p in indices.pop(kw, {}).items()}
        indices |= variadic | named
        arrays, attributes = {}, {}
        for name in (*self.positional, *variadic, *self.keywords, *named):
            index = indices.get(name, -1)
            value = values[index] if name in indices else None
            if is_array(type(value)) or value is None and name in self._optional:
                arrays[name] = index
            elif name in indices:
                attributes[name] = index
        return self._layout(arrays, variadic, named), arrays, attributes

    def _layout(
        self, inputs: Iterable[str], variadic: Iterable[str], named: Iterable[str]
    ) -> Layout:
        names = (*self.positional, *variadic, *self.keywords, *named)
        return Layout(
            tuple(inputs),
            tuple(n for n in inputs if n in self._optional),
            {n: self.defaults.get(n) for n in names if n not in inputs},
            (*self.positional, *variadic),
            (*self.keywords, *named),
            frozenset(self.defaults),
        )


def _type_name(annotation: Any) -> str:
    """Return the name of the first type in an annotation."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return text.partition("|")[0].partition("[")[0].strip()


@cache
def is_array(kind: type) -> bool:
    """True for a type of arrays: NumPy's, either engine's, Symbols, or pending arrays."""
    attributes = ("asnumpy", "list_arguments", "known")
    return issubclass(kind, np.ndarray) or any(hasattr(kind, name) for name in attributes)
