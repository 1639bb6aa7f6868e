"""Arithmetic and comparison: the functions `add`, `equal` ..., and the operators of NDArray."""

from __future__ import annotations

import numbers

import numpy as np
from torch import Tensor

from .._table import registry
from .._tensor import describe
from ..base import ArgumentError, DTypeError, ShapeError
from . import op
from ._create import array
from .ndarray import NDArray
from .register import call, evaluate

# function: (operator on arrays, the same with a scalar on the right, on the left, NDArray's method)
ROWS = {
    "add": ("broadcast_add", "_plus_scalar", "_plus_scalar", "add"),
    "subtract": ("broadcast_sub", "_minus_scalar", "_rminus_scalar", "sub"),
    "multiply": ("broadcast_mul", "_mul_scalar", "_mul_scalar", "mul"),
    "divide": ("broadcast_div", "_div_scalar", "_rdiv_scalar", "truediv"),
    "modulo": ("broadcast_mod", "_mod_scalar", "_rmod_scalar", "mod"),
    "power": ("broadcast_power", "_power_scalar", "_rpower_scalar", "pow"),
    "maximum": ("broadcast_maximum", "_maximum_scalar", "_maximum_scalar", None),
    "minimum": ("broadcast_minimum", "_minimum_scalar", "_minimum_scalar", None),
    "equal": ("broadcast_equal", "_equal_scalar", "_equal_scalar", "eq"),
    "not_equal": ("broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar", "ne"),
    "greater": ("broadcast_greater", "_greater_scalar", "_lesser_scalar", "gt"),
    "greater_equal": (
        "broadcast_greater_equal",
        "_greater_equal_scalar",
        "_lesser_equal_scalar",
        "ge",
    ),
    "lesser": ("broadcast_lesser", "_lesser_scalar", "_greater_scalar", "lt"),
    "lesser_equal": (
        "broadcast_lesser_equal",
        "_lesser_equal_scalar",
        "_greater_equal_scalar",
        "le",
    ),
    "logical_and": ("broadcast_logical_and", "_logical_and_scalar", "_logical_and_scalar", None),
    "logical_or": ("broadcast_logical_or", "_logical_or_scalar", "_logical_or_scalar", None),
    "logical_xor": ("broadcast_logical_xor", "_logical_xor_scalar", "_logical_xor_scalar", None),
}
NUMBERS = (int, float, numbers.Real, np.bool_)  # the commonest first: Real takes long to ask
ORDER = ("eq", "ne", "gt", "ge", "lt", "le")  # Python itself reflects these


def _with_number(operator: registry.Op, x: NDArray, number: float) -> NDArray:
    if x._is_sparse:
        return call(operator, (x,), {"scalar": number})
    return evaluate(operator, (x,), (x._tensor,), {"scalar": number}, x._context)


def _binary(name: str, on_arrays: str, on_scalar: str, reflected: str):
    both, right, left = map(registry.get, (on_arrays, on_scalar, reflected))

    def function(lhs, rhs):
        if isinstance(lhs, NDArray):
            if isinstance(rhs, NDArray):
                if lhs._is_sparse or rhs._is_sparse:
                    return call(both, (lhs, rhs), {})
                return evaluate(both, (lhs, rhs), (lhs._tensor, rhs._tensor), {}, lhs._context)
            if isinstance(rhs, NUMBERS):
                if lhs._is_sparse:
                    return call(right, (lhs,), {"scalar": rhs})
                return evaluate(right, (lhs,), (lhs._tensor,), {"scalar": rhs}, lhs._context)
        elif isinstance(lhs, NUMBERS):
            if isinstance(rhs, NDArray):
                return _with_number(left, rhs, lhs)
            if isinstance(rhs, NUMBERS):
                integers = isinstance(lhs, int) and isinstance(rhs, int) and name != "divide"
                value = function(array([lhs], dtype="float64"), rhs).asscalar().item()
                return int(value) if integers else value
        other = rhs if isinstance(lhs, NDArray) else lhs
        maker = "from_torch" if isinstance(other, Tensor) else "array"
        raise ArgumentError(
            f"{name}: an operand is of type {type(other).__name__}\n"
            f"  expected an NDArray or a number; nd.{maker}(...) makes an array of others"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name.replace('_', ' ').capitalize()}, elementwise, of arrays and numbers."
    return function


# The methods look their functions up by name: torch.compile traces that, but no nested closures.


def _method(name: str):
    def method(self, other):
        return _functions[name](self, other)

    return method


def _reflected(name: str):
    def method(self, other):
        return _functions[name](other, self)

    return method


def _in_place(name: str):
    """The method for x += y, which writes into the array and is refused where it is recorded."""

    def method(self, other):
        self._refuse_recorded()
        y = _functions[name](self, other)._as_dense()
        result = y._tensor
        if result.shape != self._tensor.shape or result.dtype is not self._tensor.dtype:
            error_class = ShapeError if result.shape != self._tensor.shape else DTypeError
            raise error_class(
                f"{name} in place: the array is {describe(self._tensor)}\n"
                f"  expected {describe(result)}, as the result is"
            )
        self._replace(result)
        self._origin = y._origin
        return self

    return method


def _refuse_matrix_product(self, other):
    raise DTypeError(
        f"@: of {type(self).__name__} and {type(other).__name__}\n"
        "  expected nd.dot(a, b); nd.batch_dot(a, b) of two stacks of matrices; or arrays of mx.np"
    )


def _fill(cls: type) -> None:
    cls.__matmul__ = cls.__rmatmul__ = _refuse_matrix_product
    for name, (*_, method) in ROWS.items():
        if method is None:
            continue
        setattr(cls, f"__{method}__", _method(name))
        if method not in ORDER:
            setattr(cls, f"__r{method}__", _reflected(name))
            if method != "pow":  # as in MXNet, x **= y makes a new array
                setattr(cls, f"__i{method}__", _in_place(name))
    # Bools too, which PyTorch does not negate.
    cls.__neg__ = lambda self: _with_number(_times, self, -1)
    cls.__abs__ = lambda self: op.abs(self)
    cls.__hash__ = object.__hash__


def power(base, exp):
    """Power, elementwise, of arrays and numbers."""
    return _functions["power"](base, exp)


_times = registry.get("_mul_scalar")
_functions = {name: _binary(name, *row[:3]) for name, row in ROWS.items()}
globals().update({name: f for name, f in _functions.items() if name != "power"})
true_divide = _functions["divide"]
_fill(NDArray)
__all__ = [*ROWS, "true_divide"]
