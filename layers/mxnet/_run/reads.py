"""What code reads beside its arguments, if it does nothing but compute with both.

What was noted of such code may be done in its place, as long as all that it reads is what it was.
What passes is what is known to be plain: constants, functions whose own code passes, and what of
`nd`, `math` and NumPy computes with arguments alone. Anything else may change, or do more, in ways
that are not seen. It is the instructions that are read: source may be another by now.
"""

from __future__ import annotations

import builtins
import dis
import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from .. import autograd, context
from .._table import registry
from ..ndarray import NDArray
from .effects import codes_in, held
from .guards import is_library

__all__ = ["Read", "Reader", "Unreadable"]

OURS = str(Path(__file__).parents[2]) + os.sep
SCALARS = (type(None), bool, int, float, complex, str, bytes)
# Functions and types that compute, and do no more: Python's own, by name;
PURE = {
    *("abs", "all", "any", "bool", "dict", "divmod", "enumerate", "filter", "float", "frozenset"),
    *("int", "isinstance", "len", "list", "map", "max", "min", "pow", "range", "reversed", "round"),
    *("set", "slice", "sorted", "str", "sum", "tuple", "zip"),
}
# all of these modules, beside the functions of the table;
COMPUTING = {"layers.mxnet.ndarray._create", "layers.mxnet.ndarray._arithmetic"}
# and some.
FUNCTIONS = autograd.is_training, autograd.is_recording, context.cpu, context.gpu, np.prod
TYPES = (NDArray, context.Context, np.number, np.bool_)
NUMBERS = {"pi", "e", "tau", "inf", "nan", "newaxis"}  # of math and NumPy
OF_MODULES = ("layers.mxnet", "layers.engine", "numpy", "math")
ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
FORBIDDEN = {"LOAD_BUILD_CLASS": "a class", "IMPORT_NAME": "an import"}
# Instructions that say nothing of what is done.
SILENT = {"CACHE", "COPY_FREE_VARS", "MAKE_CELL", "PRECALL", "PUSH_NULL", "RESUME"}


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
        if type(now) is not type(seen):
            return True
        if type(now) is list:
            return len(now) != len(seen) or any(a is not b for a, b in zip(now, seen))
        if type(now) is float:
            return now != seen or math.copysign(1, now) != math.copysign(1, seen)
        return type(now) not in (bool, int, str, bytes) or now != seen


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
        """Read a function; if there are `methods`, as one, that calls no others of its object.

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
        for name, value, attributes in _outside(function):
            self.reads.append(Read(name, value, value()))
            self._accept(value(), attributes, f"{name}, which may change, in {where}")

    def look_at_maker(self, function: Callable, made: type) -> None:
        """Read what makes an object: it may call the type, without arguments, and no more."""
        code = [i for i in dis.get_instructions(function) if i.opname not in SILENT]
        calls = [i.opname for i in code][1:] in (
            ["CALL", "RETURN_VALUE"],
            ["CALL_FUNCTION", "RETURN_VALUE"],
        )
        found = [value for _, value, _ in _outside(function)]
        own = [name for kind in made.__mro__[:-1] for name in vars(kind) if name == "__new__"]
        if not calls or [v() for v in found] != [made] or type(made) is not type or own:
            raise Unreadable(f"{function.__qualname__} does more than to call a class")
        self.reads.append(Read(made.__name__, found[0], made))

    def _accept(self, value: Any, attributes: list[str], refusal: str) -> None:
        """Pass what is read, of which these attributes are taken one after the other."""
        while isinstance(value, ModuleType) and attributes:
            if not _is_in(value.__name__, OF_MODULES):
                break
            name, *attributes = attributes
            module, value = value, vars(value).get(name)
            if _is_plain(value) and name in NUMBERS and module in (math, np):
                return
        if _is_plain(value):
            return
        if type(value) is FunctionType and not _is_of_library(value) and not attributes:
            self.look(value)
        elif attributes or not _computes(value):
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
        elif not (_is_in(type(value).__module__, ("layers",)) or _is_plain(value)):
            self._accept(value, [], f"{value!r}, which may change")


def _outside(function: FunctionType) -> Iterator[tuple[str, Callable[[], Any], list[str]]]:
    """The globals and cells that a function reads, what gives their values, what is read of them.

    The last are attributes that follow, of which there is none where the value goes elsewhere.
    """
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    for code in codes_in(function.__code__):
        instructions = [i for i in dis.get_instructions(code) if i.opname not in SILENT]
        for place, this in enumerate(instructions):
            name, kind = this.argval, this.opname
            if kind in FORBIDDEN:
                raise Unreadable(f"{FORBIDDEN[kind]} in {function.__qualname__}")
            if kind in ATTRIBUTES and name.startswith("__"):
                raise Unreadable(f"{name}, which may change, in {function.__qualname__}")
            if not kind.startswith("LOAD"):
                continue
            attributes = []
            for after in instructions[place + 1 :]:
                if after.opname not in ATTRIBUTES:
                    break
                attributes.append(after.argval)
            if "DEREF" in kind and name in cells:
                yield name, partial(held, cells[name]), attributes
            elif "GLOBAL" in kind or kind == "LOAD_NAME":
                yield name, partial(_global, function, name), attributes


def _global(function: FunctionType, name: str) -> Any:
    known = function.__globals__
    return known[name] if name in known else function.__builtins__.get(name)


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return type(value) in SCALARS


def _computes(value: Any) -> bool:
    """Whether it is a function or type of a library that computes and does no more."""
    name = getattr(value, "__name__", "")
    if vars(builtins).get(name) is value:
        is_error = isinstance(value, type) and issubclass(value, BaseException)
        return is_error or name in PURE
    if isinstance(value, type):
        return issubclass(value, TYPES) and is_library(value.__module__)
    if isinstance(value, (np.ufunc, BuiltinFunctionType)):
        return value is getattr(np if isinstance(value, np.ufunc) else math, name, None)
    if any(value is function for function in FUNCTIONS):
        return True
    if type(value) is not FunctionType:
        return False
    by_row = isinstance(getattr(value, "operator", None), registry.Op)
    return by_row or value.__globals__.get("__name__") in COMPUTING


def _is_of_library(function: FunctionType) -> bool:
    return is_library(function.__globals__.get("__name__", ""))


def _is_in(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == p or module.startswith(p + ".") for p in packages)


def _expect_methods(function: FunctionType, methods: set[str]) -> None:
    """Refuse a method that does anything with its object but call these methods."""
    code = function.__code__
    own = code.co_varnames[0] if code.co_argcount else ""
    refusal = f"{own}, whose attributes may change, in {function.__qualname__}"
    if not own or own in code.co_cellvars:
        raise Unreadable(refusal)
    instructions = [i for i in dis.get_instructions(code) if i.opname not in SILENT]
    for this, after in zip(instructions, [*instructions[1:], None]):
        names = this.argval if isinstance(this.argval, tuple) else (this.argval,)
        if "FAST" not in this.opname or own not in names:
            continue
        is_method = after.opname == "LOAD_METHOD" or "NULL|self" in after.argrepr
        calls = names[-1] == own and names.count(own) == 1 and is_method
        if not calls or after.argval not in methods:
            raise Unreadable(refusal)
