"""NumPy's functions of two operands, each an array or a Symbol, or a number."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from .._table.registry import check_ufunc_option
from .front import MAKERS

# function: (its form with the number on the left, the method of arrays and Symbols)
ROWS = {
    "add": ("add", "add"),
    "subtract": ("rsubtract", "sub"),
    "multiply": ("multiply", "mul"),
    "true_divide": ("rtrue_divide", "truediv"),
    "mod": ("rmod", "mod"),
    "power": ("rpower", "pow"),
    "maximum": ("maximum", None),
    "minimum": ("minimum", None),
    "hypot": ("hypot", None),
    "arctan2": ("rarctan2", None),
    "copysign": ("rcopysign", None),
    "ldexp": ("rldexp", None),
    "lcm": ("lcm", None),
    "bitwise_and": ("bitwise_and", "and"),
    "bitwise_or": ("bitwise_or", "or"),
    "bitwise_xor": ("bitwise_xor", "xor"),
    "equal": ("equal", "eq"),
    "not_equal": ("not_equal", "ne"),
    "greater": ("less", "gt"),
    "greater_equal": ("less_equal", "ge"),
    "less": ("greater", "lt"),
    "less_equal": ("greater_equal", "le"),
}
ORDER = ("eq", "ne", "gt", "ge", "lt", "le")  # Python itself reflects these
NUMBERS = (int, float, numbers.Real, np.bool_)  # the commonest first: Real takes long to ask
INTEGERS = (int, numbers.Integral, np.bool_)


def _binary(name: str, reflected: str) -> Callable:
    """Return what makes the function for an `F`."""

    def bind(F):
        operand, of_both = F.operand, getattr(F, f"_npi_{name}")
        of_right = getattr(F, f"_npi_{name}_scalar")
        of_left = getattr(F, f"_npi_{reflected}_scalar")

        def function(x1, x2, out=None, **kwargs):
            if out is not None or kwargs:
                kwargs = _options(name, out, kwargs)
            if isinstance(x1, operand):
                if isinstance(x2, operand):
                    return of_both(x1, x2, **kwargs)
                if isinstance(x2, NUMBERS):
                    return of_right(x1, scalar=x2, is_int=isinstance(x2, INTEGERS), **kwargs)
                return of_both(x1, F.as_operand(name, x2, x1), **kwargs)
            if isinstance(x2, operand):
                if isinstance(x1, NUMBERS):
                    return of_left(x2, scalar=x1, is_int=isinstance(x1, INTEGERS), **kwargs)
                return of_both(F.as_operand(name, x1, x2), x2, **kwargs)
            if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
                return getattr(np, name)(x1, x2)
            return function(
                *[x if isinstance(x, NUMBERS) else F.as_operand(name, x, None) for x in (x1, x2)],
                **kwargs,
            )

        function.__name__ = function.__qualname__ = name
        function.__doc__ = (
            f"{name.replace('_', ' ').capitalize()}, elementwise, of arrays and numbers."
        )
        return function

    return bind


def _options(name: str, out: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return `out`, and refuse what ufuncs of NumPy take and MXNet's do not."""
    for key, value in kwargs.items():
        check_ufunc_option(name, key, value)
    return {"out": out}


MAKERS.update({name: _binary(name, reflected) for name, (reflected, _) in ROWS.items()})


def fill(cls: type, F: Any) -> None:
    """Add the operators of Python to a class of arrays or of Symbols."""
    for name, (_, method) in ROWS.items():
        if method is None:
            continue
        setattr(cls, f"__{method}__", _method(F, name))
        if method not in ORDER:
            setattr(cls, f"__r{method}__", _reflected(F, name))
    cls.__neg__ = lambda self: F.negative(self)
    cls.__pos__ = lambda self: self
    cls.__abs__ = lambda self: F.abs(self)
    cls.__invert__ = lambda self: F.invert(self)
    cls.__matmul__ = lambda self, other: F.matmul(self, other)
    cls.__rmatmul__ = lambda self, other: F.matmul(other, self)
    cls.__hash__ = object.__hash__


def _method(F: Any, name: str) -> Callable:
    function = getattr(F, name)

    def method(self, other):
        return function(self, other)

    return method


def _reflected(F: Any, name: str) -> Callable:
    function = getattr(F, name)

    def method(self, other):
        return function(other, self)

    return method
