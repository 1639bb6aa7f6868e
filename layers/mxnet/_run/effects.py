"""What code does beside computing, as far as it can be read: what forbids compiling it.

PyTorch's compiler draws other random numbers than NumPy does, steps past `except` clauses, and runs
Python's code while it traces it, and only then. So code that changes what outlives the call, or
depends on what changes, runs as it is.
"""

from __future__ import annotations

import ast
import dis
import inspect
import random
import textwrap
from collections.abc import Callable, Iterator
from types import BuiltinMethodType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .guards import is_library

__all__ = ["codes_in", "effect", "held", "source_of"]

# Methods of containers and arrays that change them.
CHANGING = {
    *("add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert"),
    *("pop", "popitem", "popleft", "remove", "reverse", "rotate", "setdefault", "subtract"),
    *("update", "fill", "itemset", "partition", "put", "resize", "sort"),
}
# In compiled code they give 0 for NaN.
OTHER_FOR_NAN = {"sign", "heaviside"}


def effect(codes: list[Callable]) -> str:
    """The first effect in functions and those that they call, or nothing."""
    seen: set[int] = set()  # by function: those of one `def` share a code, and not what it reads
    for function in codes:
        if reason := next(_effects(getattr(function, "__func__", function), seen), ""):
            return reason
    return ""


def _effects(function: Any, seen: set[int]) -> Iterator[str]:
    code = getattr(function, "__code__", None)
    if code is None or id(function) in seen:
        return
    seen.add(id(function))
    for inner in codes_in(code):
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
            elif isinstance(value, FunctionType) and not is_library(value.__module__ or ""):
                yield from _effects(value, seen)
    yield from (f"{what} in {function.__qualname__}" for what in _written(function))


def _named(function: Any, code: CodeType) -> Iterator[tuple[str, Any]]:
    """The names in a code, with what they are: globals, in closures, of a user's own things."""
    cells = function.__closure__ or ()
    known = dict(zip(function.__code__.co_freevars, [held(cell) for cell in cells]))
    for name in (*code.co_names, *code.co_freevars):
        value = known.get(name, function.__globals__.get(name))
        yield name, value
        home = value if isinstance(value, ModuleType) else type(value)
        if not is_library(getattr(home, "__module__", home.__name__)):
            found = {n: inspect.getattr_static(home, n, None) for n in code.co_names}
            yield from ((n, part) for n, part in found.items() if part is not None)


def held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty yet
        return None


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code and those of functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


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
    tree = source_of(function)
    if tree is None:
        return
    own = {n for c in codes_in(function.__code__) for n in (*c.co_varnames, *c.co_cellvars)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            changed = node.func.value if node.func.attr in CHANGING else None
        else:
            continue
        if changed is not None and _outlives(changed, own):
            yield f"a change of {ast.unparse(changed)}"


def source_of(function: Any) -> ast.Module | None:
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
