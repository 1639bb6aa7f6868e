"""What code does beside computing, as far as it can be read: what forbids compiling it.

PyTorch's compiler draws other random numbers than NumPy does, steps past `except` clauses, and runs
Python's code while it traces it, and only then. So code that changes what outlives the call, or
depends on what changes, runs as it is.
"""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import math
import random
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, BuiltinMethodType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ._guards import is_library

__all__ = ["Read", "effect", "readings"]

# Methods of containers and arrays that change them.
CHANGING = {
    *("add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert"),
    *("pop", "popitem", "popleft", "remove", "reverse", "rotate", "setdefault", "subtract"),
    *("update", "fill", "itemset", "partition", "put", "resize", "sort"),
}
OURS = str(Path(__file__).parent.parent)
PLAIN = (type(None), bool, int, float, complex, str, bytes)
# Functions and types of Python's own that compute, and do no more.
PURE = {
    *("abs", "all", "any", "bool", "dict", "divmod", "enumerate", "filter", "float", "frozenset"),
    *("int", "isinstance", "len", "list", "map", "max", "min", "pow", "range", "reversed", "round"),
    *("set", "slice", "sorted", "str", "sum", "tuple", "type", "zip"),
}
# In compiled code they give 0 for NaN.
OTHER_FOR_NAN = {"sign", "heaviside"}


def effect(codes: list[Callable]) -> str:
    """The first effect in functions and those that they call, or nothing."""
    seen: set[CodeType] = set()
    for function in codes:
        if reason := next(_effects(getattr(function, "__func__", function), seen), ""):
            return reason
    return ""


class Read(NamedTuple):
    """A constant or function outside of a function, that its code reads: another may come there."""

    name: str
    function: str  # that reads it
    value: Callable[[], Any]
    seen: Any

    def has_changed(self) -> bool:
        """Whether it is another one than when the code was read."""
        now = self.value()
        return now is not self.seen and (type(now) is not type(self.seen) or now != self.seen)

    def __str__(self) -> str:
        return f"{self.name}, which may change, in {self.function}"


def readings(codes: list[Callable]) -> tuple[list[Read], str]:
    """What functions and those that they call read; why that cannot be told, if so.

    `effect` need not tell of it: compiled code looks at it in each call.
    """
    seen: set[CodeType] = set()
    methods = {"assign", *(getattr(f, "__name__", "") for f in codes)}
    reads: list[Read] = []
    for function in codes:
        for found in _readings(getattr(function, "__func__", function), methods, seen):
            if isinstance(found, str):
                return reads, found
            reads.append(found)
    return reads, ""


def _readings(function: Any, methods: set[str], seen: set[CodeType]) -> Iterator[Read | str]:
    code = getattr(function, "__code__", None)
    if code is None or code in seen:
        return
    where = function.__qualname__
    ours = code.co_filename.startswith(OURS)  # what wraps a function of a user's
    for inner in _codes(code):
        seen.add(inner)
        for name, value in _outside(function, inner):
            found = value()
            for part in _parts(found):
                yield from _readings(part, methods, seen)
            if ours or _is_settled(found):
                continue
            if _parts(found) or _is_plain(found):
                yield Read(name, where, value, found)
            else:
                yield f"{name}, which may change, in {where}"
    if not all(map(_is_plain, function.__defaults__ or ())):
        yield f"a default that may change, in {where}"
    tree = _tree(function)
    if tree is None and code.co_varnames[:1] == ("self",):
        yield f"self, and there is no source to read of {where}"
    for node in ast.walk(tree or ast.Module([], [])):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
            if node.attr not in methods:
                yield f"self.{node.attr}, which may change, in {where}"


def _outside(function: Any, code: CodeType) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The globals and cells that a code reads, and what tells their values."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    for this in dis.get_instructions(code):
        name = this.argval
        if this.opname == "LOAD_DEREF" and name in cells:
            yield name, partial(_held, cells[name])
        elif this.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield name, partial(function.__globals__.get, name, getattr(builtins, name, None))
        elif this.opname == "IMPORT_NAME":
            yield name, partial(sys.modules.get, name)


def _parts(value: Any) -> list[Callable]:
    """The functions of a user's that a value is made of."""
    if isinstance(value, FunctionType):
        return [] if is_library(value.__module__ or "") else [value]
    return list(getattr(type(value), "codes", None) and value.codes or ())


def _is_settled(value: Any) -> bool:
    """Whether it is a module, function or class of a library that computes and does no more."""
    if isinstance(value, ModuleType):
        return is_library(value.__name__) or value is math
    if isinstance(value, BuiltinFunctionType | type) and value.__module__ == "builtins":
        is_error = isinstance(value, type) and issubclass(value, BaseException)
        return is_error or value.__name__ in PURE
    code = isinstance(value, (FunctionType, BuiltinFunctionType, type, np.ufunc))
    home = getattr(value, "__module__", None) or type(value).__module__
    return code and (is_library(home) or home == "math")


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_plain, value))
    return isinstance(value, PLAIN)


def _effects(function: Any, seen: set[CodeType]) -> Iterator[str]:
    code = getattr(function, "__code__", None)
    if code is None or code in seen:
        return
    for inner in _codes(code):
        seen.add(inner)
        where = f"{function.__qualname__}, line {inner.co_firstlineno}"
        yield from (f"{what} in {where}" for what in _instructed(inner))
        for name, value in _named(function, inner):
            if _draws(value) or name == "random":
                yield f"random numbers ({name}) in {where}"
            elif name in ("environ", "getenv"):
                yield f"the environment ({name}) in {where}"
            elif value is np and (found := OTHER_FOR_NAN.intersection(inner.co_names)):
                yield f"np.{found.pop()}, which compiled is 0 for NaN, in {where}"
            elif isinstance(value, Iterator):
                yield f"the iterator {name} in {where}"
            for part in _parts(value):
                yield from _effects(part, seen)
    yield from (f"{what} in {function.__qualname__}" for what in _written(function))


def _named(function: Any, code: CodeType) -> Iterator[tuple[str, Any]]:
    """The names in a code, with what they are: globals, in closures, of a user's own things."""
    cells = function.__closure__ or ()
    known = dict(zip(function.__code__.co_freevars, [_held(cell) for cell in cells]))
    for name in (*code.co_names, *code.co_freevars):
        value = known.get(name, function.__globals__.get(name))
        yield name, value
        home = value if isinstance(value, ModuleType) else type(value)
        if not is_library(getattr(home, "__module__", home.__name__)):
            found = {n: inspect.getattr_static(home, n, None) for n in code.co_names}
            yield from ((n, part) for n, part in found.items() if part is not None)


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty yet
        return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code and those of functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _instructed(code: CodeType) -> Iterator[str]:
    """What the instructions of a code show."""
    instructions = list(dis.get_instructions(code))
    for this, after in zip(instructions, [*instructions[1:], None]):
        # A `with` statement handles exceptions too, and is no matter.
        handler = this.opname == "PUSH_EXC_INFO" and after.opname != "WITH_EXCEPT_START"
        if handler or this.opname == "SETUP_FINALLY":
            yield "try"
        elif this.opname in ("STORE_ATTR", "DELETE_ATTR"):
            yield f"a store of .{this.argval}"
        elif this.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            yield f"a store of the global {this.argval}"
        elif this.opname == "STORE_DEREF" and this.argval in code.co_freevars:
            yield f"a store of the outer {this.argval}"
        elif this.opname == "LOAD_GLOBAL" and this.argval in ("setattr", "delattr"):
            yield this.argval


def _written(function: Any) -> Iterator[str]:
    """What the source shows: changes of an outer container, or of one that is kept on `self`."""
    tree = _tree(function)
    if tree is None:
        return
    own = {n for c in _codes(function.__code__) for n in (*c.co_varnames, *c.co_cellvars)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = node.func.value if node.func.attr in CHANGING else None
        else:
            continue
        if changed is not None and _outlives(changed, own):
            yield f"a change of {ast.unparse(changed)}"


def _tree(function: Any) -> ast.Module | None:
    """The source, if there is one that is no part of a statement."""
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return None


def _outlives(node: ast.expr, own: set[str]) -> bool:
    """Whether what an expression names is there after the call."""
    kept = False
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        kept = kept or isinstance(node, ast.Attribute)
        node = node.value
    if not isinstance(node, ast.Name):
        return False
    return node.id not in own or (kept and node.id == "self")


def _draws(value: Any) -> bool:
    """Whether a global is a source of random numbers, or a function of one."""
    if isinstance(value, ModuleType):
        return value in (random, np.random)
    source = value.__self__ if isinstance(value, BuiltinMethodType) else value
    return isinstance(source, (random.Random, np.random.RandomState, np.random.Generator))
