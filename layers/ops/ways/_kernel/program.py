"""What a checked kernel is, and errors that point at its source."""

from __future__ import annotations

import ast
import traceback
from collections import Counter
from dataclasses import dataclass, field
from types import CodeType

from ...._errors import note

__all__ = [
    "Buffer",
    "KernelError",
    "Program",
    "Source",
    "called",
    "integer",
    "is_shape",
    "size",
    "told",
]


class KernelError(TypeError, ValueError):
    """A kernel says what its language does not have, or is given what it cannot take."""


@dataclass
class Source:
    """Where a kernel is written, for errors that point at it."""

    name: str
    file: str
    first: int  # the number of its first line
    indent: int  # columns that were taken off
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
        """Tell in an error's notes, or its message, at which line of the kernel it happened."""
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
    """A checked kernel. Names are made different: what one name stands for has one dtype."""

    source: Source
    parameters: tuple[str, ...]
    tensors: frozenset[str]  # the parameters that are tensors; the others are numbers, or not used
    numbers: frozenset[str]
    body: list[ast.stmt] = field(default_factory=list)  # without documentation and return
    buffers: dict[str, Buffer] = field(default_factory=dict)
    returns: tuple[str, ...] = ()
    returns_tuple: bool = False
    scopes: dict[str, int] = field(default_factory=dict)  # by scalar: its loop, 0 for none
    stores: Counter = field(default_factory=Counter)  # by scalar: how often it is assigned in text


def called(node: ast.AST) -> str | None:
    """The plain name that is called, if it is a call of one."""
    return getattr(node.func, "id", None) if isinstance(node, ast.Call) else None


def is_shape(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def integer(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if type(value) is int else None


def size(tensor: str, axis: int, at: ast.AST) -> ast.Subscript:
    """``tensor.shape[axis]``"""
    shape = ast.Attribute(ast.Name(tensor, ast.Load()), "shape", ast.Load())
    node = ast.Subscript(shape, ast.Constant(axis), ast.Load())
    node.of = None
    for part in ast.walk(node):
        ast.copy_location(part, at)
    return node


_TOLD = {
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


def told(node: ast.AST | None) -> str:
    """What a person calls it."""
    if node is None:
        return "nothing"
    if type(node) in _TOLD:
        return _TOLD[type(node)]
    text = ast.unparse(node)
    return repr(text if len(text) < 60 else text[:57] + "...")
