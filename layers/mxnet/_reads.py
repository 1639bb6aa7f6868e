"""What code reads beside its arguments, if it does nothing but compute with both.

What was noted of such code may be done in its place, as long as all that it reads is what it was.
What passes is what is known to be plain: constants, functions whose own code passes, and modules,
functions and types of libraries that compute. All else may change, or do more, in ways not seen.
"""

from __future__ import annotations

import ast
import dis
import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from . import operator
from ._effects import codes_in, held, source_of
from ._guards import is_library

__all__ = ["Read", "Reader", "Unreadable"]

OURS = str(Path(__file__).parent.parent) + os.sep
SCALARS = (type(None), bool, int, float, complex, str, bytes)
# Functions and types of Python's own that compute, and do no more.
PURE = {
    *("abs", "all", "any", "bool", "dict", "divmod", "enumerate", "filter", "float", "frozenset"),
    *("int", "isinstance", "len", "list", "map", "max", "min", "pow", "range", "reversed", "round"),
    *("set", "slice", "sorted", "str", "sum", "tuple", "zip"),
}
DEFINING = {"LOAD_BUILD_CLASS": "a class", "IMPORT_NAME": "an import"}


class Unreadable(Exception):
    """Why code may do more than compute, or read what may change."""


class Read(NamedTuple):
    """What code reads, and what that was."""

    name: str
    value: Callable[[], Any]
    seen: Any

    def has_changed(self) -> bool:
        """Whether it is something else now."""
        now, seen = self.value(), self.seen
        if now is seen:
            return False
        if type(now) is list and type(seen) is list:  # of functions
            return now != seen
        return type(now) is not type(seen) or type(now) not in SCALARS or repr(now) != repr(seen)


class Reader:
    """Reads functions, and those that they call.

    Attributes
    ----------
    reads : list of Read
        All that was found so far.
    """

    def __init__(self):
        self.reads: list[Read] = []
        self._seen: dict[int, Callable] = {}

    def look(self, function: Any, methods: set[str] | None = None) -> None:
        """Read a function; as a method, of whose object nothing is used but `methods`.

        Raises
        ------
        Unreadable
        """
        function = getattr(function, "__func__", function)
        if id(function) in self._seen:
            return
        self._seen[id(function)] = function
        if type(function) is not FunctionType:
            raise Unreadable(f"{function!r}, which is no function")
        if function.__code__.co_filename.startswith(OURS):  # what wraps a user's
            for cell in function.__closure__ or ():
                self._look_into(held(cell))
            return
        where = function.__qualname__
        if vars(function) or function.__kwdefaults__:
            raise Unreadable(f"{where} has attributes or keywords, which may change")
        if not all(map(_is_plain, function.__defaults__ or ())):
            raise Unreadable(f"a default of {where}, which may change")
        for part in ("__code__", "__defaults__"):
            read = partial(getattr, function, part)
            self.reads.append(Read(part, read, read()))
        if methods is not None:
            _expect_methods(function, methods)
        for name, value in _outside(function):
            self.reads.append(Read(name, value, value()))
            if not (_makes(value()) and _is_only_called(name, function)):
                self._accept(value(), f"{name}, which may change, in {where}")

    def _accept(self, value: Any, refusal: str) -> None:
        if type(value) is FunctionType and not _is_of_library(value):
            self.look(value)
        elif not (_is_plain(value) or _computes(value)):
            raise Unreadable(refusal)

    def _look_into(self, value: Any) -> None:
        """Read the functions in what a function of ours holds."""
        if isinstance(value, (list, tuple, set, frozenset)):
            for part in value:
                self._look_into(part)
        elif isinstance(value, dict):
            self._look_into([*value, *value.values()])
        elif type(value) is FunctionType:
            self.look(value)
        elif not (type(value).__module__.startswith("layers.") or _is_plain(value)):
            self._accept(value, f"{value!r}, which may change")


def _outside(function: FunctionType) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The globals and cells that a function reads, and what gives their values."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    for code in codes_in(function.__code__):
        for this in dis.get_instructions(code):
            name, kind = this.argval, this.opname
            if kind in DEFINING:
                raise Unreadable(f"{DEFINING[kind]} in {function.__qualname__}")
            if not kind.startswith("LOAD"):
                continue
            if "DEREF" in kind and name in cells:
                yield name, partial(held, cells[name])
            elif "GLOBAL" in kind or kind == "LOAD_NAME":
                yield name, partial(_global, function.__globals__, name)


def _global(names: dict[str, Any], name: str) -> Any:
    if name in names:
        return names[name]
    known = names["__builtins__"]
    return (vars(known) if isinstance(known, ModuleType) else known).get(name)


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return type(value) in SCALARS


def _computes(value: Any) -> bool:
    """Whether it is a module, function or type of a library that computes and does no more."""
    if isinstance(value, ModuleType):
        return is_library(value.__name__) or value is math
    name, home = getattr(value, "__name__", ""), getattr(value, "__module__", None)
    if isinstance(value, np.ufunc):
        return getattr(np, name, None) is value
    if home == "builtins":
        is_error = isinstance(value, type) and issubclass(value, BaseException)
        return is_error or name in PURE
    if type(value) is FunctionType:
        return _is_of_library(value)
    is_code = isinstance(value, (BuiltinFunctionType, type))
    return is_code and (is_library(home or "") or home == "math")


def _is_of_library(function: FunctionType) -> bool:
    return is_library(function.__globals__.get("__name__", ""))


def _makes(value: Any) -> bool:
    """Whether it makes an operator, whose code is read by itself."""
    return isinstance(value, type) and issubclass(value, operator.CustomOp)


def _is_only_called(name: str, function: FunctionType) -> bool:
    tree = source_of(function)
    if tree is None:
        return False
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    return all(id(n) in called for n in ast.walk(tree) if _is_name(n, name))


def _expect_methods(function: FunctionType, methods: set[str]) -> None:
    """Refuse a method that uses its object for anything but calls of `methods`."""
    tree, where = source_of(function), function.__qualname__
    if tree is None or not function.__code__.co_argcount:
        raise Unreadable(f"there is no source to read of {where}")
    own = function.__code__.co_varnames[0]
    calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
    fine = {
        id(f.value)
        for f in calls
        if isinstance(f, ast.Attribute) and f.attr in methods and _is_name(f.value, own)
    }
    for node in ast.walk(tree):
        if _is_name(node, own) and id(node) not in fine:
            raise Unreadable(f"{own}, whose attributes may change, in {where}")


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
