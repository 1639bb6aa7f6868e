"""NumPy's functions of two operands, each an array or a Symbol, or a number."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from .._table.registry import check_ufunc_option
from .front import FRONTS

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
    on_both, on_right, on_left = f"_npi_{name}", f"_npi_{name}_scalar", f"_npi_{reflected}_scalar"

    def function(F, x1, x2, out=None, **kwargs):
        options = _options(name, out, kwargs) if out is not None or kwargs else {}
        if isinstance(x1, F.operand):
            if isinstance(x2, F.operand):
                return getattr(F, on_both)(x1, x2, **options)
            if isinstance(x2, NUMBERS):
                is_int = isinstance(x2, INTEGERS)
                return getattr(F, on_right)(x1, scalar=x2, is_int=is_int, **options)
            return getattr(F, on_both)(x1, F.as_operand(name, x2, x1), **options)
        if isinstance(x2, F.operand):
            if isinstance(x1, NUMBERS):
                is_int = isinstance(x1, INTEGERS)
                return getattr(F, on_left)(x2, scalar=x1, is_int=is_int, **options)
            return getattr(F, on_both)(F.as_operand(name, x1, x2), x2, **options)
        if isinstance(x1, NUMBERS) and isinstance(x2, NUMBERS):
            return getattr(np, name)(x1, x2)
        other = x2 if isinstance(x1, NUMBERS) else x1
        return getattr(F, on_both)(F.as_operand(name, other, None), x2, **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name.replace('_', ' ').capitalize()}, elementwise, of arrays and numbers."
    return function


def _options(name: str, out: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return `out`, and refuse what ufuncs of NumPy take and MXNet's do not."""
    for key, value in kwargs.items():
        check_ufunc_option(name, key, value)
    return {"out": out}


FRONTS.setdefault("numpy", {}).update(
    {name: _binary(name, reflected) for name, (reflected, _) in ROWS.items()}
)


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
    def method(self, other):
        return getattr(F, name)(self, other)

    return method


def _reflected(F: Any, name: str) -> Callable:
    def method(self, other):
        return getattr(F, name)(other, self)

    return method
