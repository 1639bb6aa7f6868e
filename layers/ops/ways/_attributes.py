"""The values of attributes, which a graph has as text."""

from __future__ import annotations

import ast
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

__all__ = ["PARSERS", "HasArray", "parse_literal", "read_literal", "without_arrays"]


class _Floats(ast.NodeTransformer):
    """Puts the floats inf and nan, which Python has no literals for, in place of their names."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(float(node.id)) if node.id in ("inf", "nan") else node


def read_literal(text: str) -> Any:
    """The value of text that is Python's of a number, text, None or a tuple of such.

    Raises
    ------
    ValueError, SyntaxError, MemoryError, RecursionError
        It is no such text, or nested too deeply.
    """
    return without_arrays(ast.literal_eval(_Floats().visit(ast.parse(text.strip(), mode="eval"))))


def parse_literal(value: Any) -> Any:
    """The value, read from its text if it is text."""
    return read_literal(value) if isinstance(value, str) else value


class HasArray(TypeError):
    """An array is in the place of an attribute's value."""


def without_arrays(value: Any) -> Any:
    """The value, with tuples in place of its lists and Python's numbers in place of NumPy's.

    Raises
    ------
    HasArray
        It is or has an array.
    """
    if isinstance(value, list | tuple):
        return tuple(map(without_arrays, value))
    shape = getattr(value, "shape", None)
    if not isinstance(shape, tuple) or isinstance(value, np.dtype):
        return value
    if shape:
        raise HasArray
    return value.item()


def _parse_bool(value: Any) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[str(value).lower()]


def _parse_int(value: Any) -> int:
    return int(value) if isinstance(value, str) else index(value)


def _parse_tuple(value: Any) -> tuple:
    return tuple(parse_literal(value))


# By type. They take any value of Python's, such as nested tuples, unlike the parsers of MXNet's own
# operators (`layers.mxnet._table.attributes`), which follow MXNet's text, its forms and its limits.
PARSERS: dict[type, Callable] = {
    bool: _parse_bool,
    int: _parse_int,
    float: float,
    str: str,
    tuple: _parse_tuple,
}
