"""Values of attributes, which a graph stores as text."""

from __future__ import annotations

import ast
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

__all__ = ["PARSERS", "HasArray", "parse_literal", "read_literal", "without_arrays"]


class _Floats(ast.NodeTransformer):
    """Transformer of the names inf and nan, which are no literals of Python, into floats."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(float(node.id)) if node.id in ("inf", "nan") else node


def read_literal(text: str) -> Any:
    """Return the value of text that is a Python literal: a number, text, None or a tuple of them.

    Raises
    ------
    ValueError, SyntaxError, MemoryError, RecursionError
        It is no such text, or is nested too deeply.
    """
    return without_arrays(ast.literal_eval(_Floats().visit(ast.parse(text.strip(), mode="eval"))))


def parse_literal(value: Any) -> Any:
    """Return a value; parse it if it is text."""
    return read_literal(value) if isinstance(value, str) else value


class HasArray(TypeError):
    """An error about an array in place of an attribute's value."""


def without_arrays(value: Any) -> Any:
    """Return a value with tuples for lists, and with Python's numbers for NumPy's.

    Raises
    ------
    HasArray
        The value is an array or contains one.
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


# By type. These parsers take any Python value, such as nested tuples. The parsers of MXNet's own
# operators (`layers.mxnet._table.attributes`) follow the forms and limits of MXNet's text.
PARSERS: dict[type, Callable] = {
    bool: _parse_bool,
    int: _parse_int,
    float: float,
    str: str,
    tuple: _parse_tuple,
}
