"""A checked kernel, and errors that point at its source."""

from __future__ import annotations

import ast
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType

from ...._errors import note
from ....engine import mx

__all__ = [
    "Buffer",
    "KernelError",
    "Program",
    "Source",
    "called_name",
    "describe",
    "is_shape",
    "literal_int",
    "size_node",
    "tensors_and_numbers",
]


class KernelError(mx.base.MXNetError, TypeError, ValueError):
    """An error about a kernel that is not in the language, or an input of a wrong type."""

    @classmethod
    def unreadable(cls, name: str, function: Callable, why: object) -> KernelError:
        return cls(
            f"operator {name!r}: its source cannot be read ({why})\n"
            "  expected a function that is written in a file: a kernel is read before it is run\n"
            f"  in {function.__code__.co_filename}"
        )


@dataclass
class Source:
    """Source of a kernel, for errors that point at it."""

    name: str
    file: str
    first: int  # the number of its first line
    indent: int  # the width of the indentation that was removed
    lines: list[str]

    def error(self, node: ast.AST, problem: str, expected: str) -> KernelError:
        line, column = self.line(node), node.col_offset
        text = self.lines[node.lineno - 1]
        end = node.end_col_offset if node.end_lineno == node.lineno else len(text)
        # Python counts columns in bytes.
        before, marked = (len(text.encode()[:n].decode()) for n in (column, end))
        shift = len(text) - len(text.lstrip())
        return KernelError(
            f"operator {self.name!r}: {problem}\n"
            f"  expected {expected}\n"
            f"  in {self.file}, line {line}, column {before + self.indent + 1}\n"
            f"    {text.strip()}\n"
            f"    {' ' * (before - shift)}{'^' * max(1, marked - before)}"
        )

    def locate(self, error: BaseException, code: CodeType) -> None:
        """Add the line of the kernel to an error's notes, or to its message."""
        frames = traceback.walk_tb(error.__traceback__)
        for line in [n for frame, n in frames if frame.f_code is code][:1]:
            text = self.lines[line - self.first].strip()
            note(error, f"  in kernel {self.name!r}, {self.file}, line {line}\n    {text}")

    def line(self, node: ast.AST) -> int:
        return self.first + node.lineno - 1


@dataclass
class Buffer:
    """A tensor that a kernel makes."""

    shape: ast.expr  # a tensor's shape, a tuple, or one size
    dtype: ast.expr
    node: ast.AST
    is_output: bool


@dataclass
class Program:
    """A checked kernel, whose scalars are renamed so that each name has one dtype."""

    source: Source
    parameters: tuple[str, ...]
    tensors: frozenset[str]  # parameters that are tensors; the others are numbers, or unused
    numbers: frozenset[str]
    body: list[ast.stmt] = field(default_factory=list)  # without docstring and return
    buffers: dict[str, Buffer] = field(default_factory=dict)
    returns: tuple[str, ...] = ()
    returns_tuple: bool = False
    scopes: dict[str, int] = field(default_factory=dict)  # by scalar: its loop, 0 for none
    # By scalar: the number of assignments in the text.
    stores: Counter = field(default_factory=Counter)


def called_name(node: ast.AST) -> str | None:
    """Return the name of the called function, if the node is a call of a name."""
    return getattr(node.func, "id", None) if isinstance(node, ast.Call) else None


def is_shape(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def literal_int(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None


def size_node(tensor: str, axis: int, at: ast.AST) -> ast.Subscript:
    """Return the node of ``tensor.shape[axis]``."""
    shape = ast.Attribute(ast.Name(tensor, ast.Load()), "shape", ast.Load())
    node = ast.Subscript(shape, ast.Constant(axis), ast.Load())
    node.expected_rank = None  # any rank that has the axis; an unpacked shape requires one
    for part in ast.walk(node):
        ast.copy_location(part, at)
    return node


def tensors_and_numbers(
    function: ast.FunctionDef, parameters: tuple[str, ...]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the parameters that are used as tensors, and those used as numbers."""
    tensors, used = set(), set()
    for statement in function.body:
        for node in ast.walk(statement):
            if isinstance(node, (ast.Subscript, ast.Attribute)):
                tensors.add(getattr(node.value, "id", None))
            elif called_name(node) == "len" and node.args:
                tensors.add(getattr(node.args[0], "id", None))
            elif isinstance(node, ast.Name):
                used.add(node.id)
    tensors &= {*parameters}
    return frozenset(tensors), frozenset((used & {*parameters}) - tensors)


_DESCRIPTIONS = {
    ast.While: "while",
    ast.Break: "break",
    ast.Continue: "continue",
    ast.With: "with",
    ast.Try: "try",
    ast.FunctionDef: "a function inside",
    ast.ClassDef: "a class",
    ast.Delete: "del",
    ast.Assert: "assert",
    ast.Raise: "raise",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.AnnAssign: "an assignment with a type",
    ast.Lambda: "lambda",
}


def describe(node: ast.AST | None) -> str:
    """Return the name or the text of a node, for errors."""
    if node is None:
        return "nothing"
    if type(node) in _DESCRIPTIONS:
        return _DESCRIPTIONS[type(node)]
    text = ast.unparse(node)
    return repr(text if len(text) < 60 else text[:57] + "...")
