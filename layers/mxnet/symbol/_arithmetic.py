"""Arithmetic and comparison: the functions `add`, `equal` ..., and the operators of Symbol."""

from __future__ import annotations

import numbers

from .._table import registry
from ..base import NotImplementedForSymbol
from ..ndarray._arithmetic import ORDER, ROWS
from .register import compose
from .symbol import Symbol

# Where `nd` broadcasts, `sym` has operators for two Symbols of one shape: the names of these, and
# what MXNet calls their nodes.
NAMES = {
    "add": ("elemwise_add", "_plus"),
    "subtract": ("elemwise_sub", "_minus"),
    "multiply": ("elemwise_mul", "_mul"),
    "divide": ("elemwise_div", "_div"),
    "modulo": ("_mod", "_mod"),
}


def _binary(name: str, on_scalar: str, reflected: str):
    both, hint = NAMES.get(name, (f"_{name}", f"_{name}"))

    def scalar(operator: str, symbol: Symbol, value) -> Symbol:
        shown = operator if name in _COMPARISONS else operator.replace("_scalar", "scalar")
        return compose(registry.get(operator), (symbol,), {"scalar": value}, shown)

    def function(lhs, rhs):
        if isinstance(lhs, Symbol):
            if isinstance(rhs, Symbol):
                return compose(registry.get(both), (lhs, rhs), {}, hint)
            if isinstance(rhs, numbers.Number):
                return scalar(on_scalar, lhs, rhs)
        elif isinstance(rhs, Symbol) and isinstance(lhs, numbers.Number):
            return scalar(reflected, rhs, lhs)
        other = rhs if isinstance(lhs, Symbol) else lhs
        raise TypeError(
            f"{name}: an operand is of type {type(other).__name__}\n  expected a Symbol or a number"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{name.replace('_', ' ').capitalize()}, elementwise, of Symbols and numbers."
    )
    return function


def _in_place(name: str):
    """The method for x += y: it would change an array, and a Symbol cannot be changed."""

    def method(self, other):
        raise NotImplementedForSymbol(
            f"{name} in place: {self} is an output of a graph, and cannot be changed\n"
            "  expected x = x + y, or the operator that is meant, instead of x += y"
        )

    return method


_COMPARISONS = [name for name, row in ROWS.items() if row[3] in ORDER]


def _fill(cls: type) -> None:
    for name, (*_, method) in ROWS.items():
        function = _functions[name]
        if method is None:
            continue
        setattr(cls, f"__{method}__", lambda self, other, f=function: f(self, other))
        if method not in ORDER:
            setattr(cls, f"__r{method}__", lambda self, other, f=function: f(other, self))
            if method not in ("mod", "pow"):  # as in MXNet, x %= y and x **= y make a new Symbol
                setattr(cls, f"__i{method}__", _in_place(name))
    cls.__neg__ = lambda self: self * -1.0
    cls.__abs__ = lambda self: compose(registry.get("abs"), (self,), {}, "abs")
    cls.__hash__ = object.__hash__


_functions = {name: _binary(name, *row[1:3]) for name, row in ROWS.items()}
_functions["hypot"] = _binary("hypot", "_hypot_scalar", "_hypot_scalar")
globals().update(_functions)
_fill(Symbol)


# MXNet has other names for the arguments of these; its `nd` has them for power only.


def power(base, exp):
    """Power, elementwise, of Symbols and numbers."""
    return _functions["power"](base, exp)


def maximum(left, right):
    """Maximum, elementwise, of Symbols and numbers."""
    return _functions["maximum"](left, right)


def minimum(left, right):
    """Minimum, elementwise, of Symbols and numbers."""
    return _functions["minimum"](left, right)


def hypot(left, right):
    """The hypotenuse, elementwise, of Symbols and numbers."""
    return _functions["hypot"](left, right)


pow = power
__all__ = [*ROWS, "hypot", "pow"]
