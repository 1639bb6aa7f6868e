"""Advice on values that a subject's functions read or change besides their arguments.

A graph keeps the values that Python reads while the graph is made, until hybridize() is called
again: if a global changes later, the graph does not see it. A graph may also leave out changes that
a function makes.

Only this module looks into the code of users' functions, and it only gives advice: no computation
depends on its findings.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..ops import Custom, Kernel, Operator
from ..ops.ways.function import Primitive
from ._report import is_users_file
from ._subject import Subject
from ._values import summarize

OPERATORS = Operator, Primitive, Custom, Kernel, np.ufunc  # functions of other types

# The fate of a value that is read, by the subject's `pure`.
FROZEN = {
    True: "a recorded or compiled graph keeps its value until hybridize() is called again; with "
    "pure=False it is read in each call",
    None: "a compiled graph keeps its value until hybridize() is called again; with `pure = False` "
    "in the CustomOpProp it is read in each call",
}
FROZEN_IN_TRACE = "a graph keeps its value until hybridize() is called again"
# The fate of a change.
CHANGED = {
    True: "a recorded graph leaves the change out in later calls; with pure=False it is made in "
    "each call",
    None: "the change is made in each call, so the operator is not compiled",
}
CHANGED_IN_TRACE = "the change is made when a graph is made, and not when it runs"
# Methods of Python's containers that change them.
CHANGING = {"add", "append", "clear", "extend", "insert", "pop", "popleft", "remove"}
CHANGING |= {"reverse", "setdefault", "sort", "update"}


def advise(subject: Subject) -> list[str]:
    """Return a text for each outside value that a subject's functions read or change."""
    if subject.pure is False:
        return []
    frozen = FROZEN[subject.pure] if subject.declares else FROZEN_IN_TRACE
    left_out = CHANGED[subject.pure] if subject.declares else CHANGED_IN_TRACE
    readers: dict[str, dict[str, None]] = {}
    changed: dict[str, dict[str, None]] = {}
    for function in subject.functions():
        visited: set[Callable] = set()
        values = list(_values_read(function, visited))
        users = [f for f in visited if _is_users(f.__globals__.get("__name__", ""))]
        names = {name for f in users for name in _changed(f)}
        for reader, name, value in values:
            found = changed if name in names else readers
            found.setdefault(f"{name} ({summarize(value)})", {})[reader] = None
    return [
        f"{what}, {verb} by {' and '.join(names)}: {then}"
        for found, verb, then in ((readers, "read", frozen), (changed, "changed", left_out))
        for what, names in found.items()
    ]


def _changed(function: Callable) -> Iterator[str]:
    """Yield names that a function changes, such as SEEN or self.count, if its source is found."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):  # a lambda may be a part of a statement
        return
    nodes = list(ast.walk(tree))
    outer = {
        n for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for n in node.names
    }
    for node in nodes:
        if isinstance(node, ast.Call):
            method = node.func
            if isinstance(method, ast.Attribute) and method.attr in CHANGING:
                yield ast.unparse(method.value)
            elif isinstance(method, ast.Name) and method.id == "next" and node.args:
                yield ast.unparse(node.args[0])
        elif isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            while isinstance(node, ast.Subscript):  # changes the object that it is a part of
                node = node.value
                yield ast.unparse(node)
            if isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and node.id in outer):
                yield ast.unparse(node)


def _values_read(
    function: Callable, visited: set[Callable], reader: str = ""
) -> Iterator[tuple[str, str, Any]]:
    """Yield the values that a function, and the functions that it calls, read from outside.

    Each is the name of the user's function, the name of the value, and the value. A function of
    this library is only followed to user's functions that it calls.
    """
    if not isinstance(function, FunctionType) or function in visited:
        return
    visited.add(function)
    users = _is_users(function.__globals__.get("__name__", ""))
    names = set(_names(function.__code__))
    reader = reader or (function.__name__ if users else "")
    variables = _variables(function, names)
    if not users:
        variables = {n: v for n, v in variables.items() if n in function.__code__.co_freevars}
    for name, value in variables.items():
        if isinstance(value, FunctionType):
            yield from _values_read(value, visited, reader)
            if not users:
                found = _attributes_of_self(value, variables.values())
                yield from ((value.__name__, n, v) for n, v in found)
        elif users:
            yield from ((reader, n, v) for n, v in _values_or_attributes(name, value, names))


def _variables(function: FunctionType, names: Collection[str]) -> dict[str, Any]:
    """Return the globals and the variables of enclosing functions that a function names.

    `inspect.getclosurevars` would leave out names in functions that are defined inside this one.
    """
    found = {n: v for n, v in function.__globals__.items() if n in names}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # no value yet
            continue
    return found


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in a function, and in functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _values_or_attributes(
    name: str, value: Any, names: Collection[str]
) -> Iterator[tuple[str, Any]]:
    """Yield the value of a variable, or the named attributes of a user's object or module."""
    if isinstance(value, OPERATORS):
        return
    if isinstance(value, (ModuleType, type)) or _is_users(type(value).__module__):
        module = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
        if not _is_users(module):
            return
        attributes = list(_attributes(value, names))
        yield from ((f"{name}.{n}", v) for n, v in attributes)
        if attributes or isinstance(value, (ModuleType, type)):
            return
    elif callable(value):  # a builtin function, or an object of a library in its place
        return
    yield name, value


def _attributes_of_self(
    function: FunctionType, values: Collection[Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that a method reads from its object."""
    names = set(_names(function.__code__))
    for value in values:
        if not isinstance(value, (FunctionType, type)) and _is_users(type(value).__module__):
            yield from ((f"self.{n}", v) for n, v in _attributes(value, names))


def _attributes(value: Any, names: Collection[str]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes with these names, except functions, classes, modules and properties."""
    for name in sorted(names):
        found = inspect.getattr_static(value, name, inspect)  # runs none of the user's code
        is_value = not (callable(found) or isinstance(found, ModuleType))
        if is_value and not hasattr(type(found), "__get__"):
            yield name, found


def _module_of(value: Any) -> str:
    return value.__module__ if isinstance(value, type) else type(value).__module__


def _is_users(module: str) -> bool:
    """True if a module is neither this library's, nor installed, nor built in."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return module == "__main__" or (file is not None and is_users_file(file))
