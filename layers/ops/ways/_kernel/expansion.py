"""Expansion of a kernel for known ranks: grids become nested loops, accesses get numbers."""

from __future__ import annotations

import ast
import copy

from .intrinsics import GRID
from .program import Program, called_name, is_shape, size_node

__all__ = ["expand", "is_element"]


def is_element(node: ast.AST) -> bool:
    """True if a node of an expanded kernel is an access to a tensor's element."""
    return isinstance(node, ast.Subscript) and not is_shape(node.value)


def expand(program: Program, ranks: dict[str, int]) -> list[ast.stmt]:
    """Return the statements for these ranks of inputs; add the ranks of buffers to `ranks`.

    Raises
    ------
    KernelError
        A tensor has more or fewer dimensions than it has indices.
    """
    for name, buffer in program.buffers.items():
        if is_shape(buffer.shape):
            ranks[name] = ranks[buffer.shape.value.id]
        else:
            ranks[name] = len(buffer.shape.elts) if isinstance(buffer.shape, ast.Tuple) else 1
    body = _Expansion(program, ranks).visit(ast.Module(copy.deepcopy(program.body), [])).body
    return body


class _Expansion(ast.NodeTransformer):
    def __init__(self, program: Program, ranks: dict[str, int]):
        self.source, self.ranks = program.source, ranks
        self.points: dict[str, list[str]] = {}
        self.sites = 0

    def visit_For(self, node: ast.For) -> ast.For:
        if called_name(node.iter) == GRID:
            node = self.nested_loops(node)
        return self.generic_visit(node)

    def nested_loops(self, node: ast.For) -> ast.For:
        """Turn ``for i, j in grid((n, m))`` into two nested loops."""
        shape = node.iter.args[0]
        if is_shape(shape):
            name = shape.value.id
            sizes = [size_node(name, axis, shape) for axis in range(self.ranks[name])]
        else:
            sizes = list(shape.elts)
        if isinstance(node.target, ast.Tuple):
            names = [name.id for name in node.target.elts]
            if len(names) != len(sizes):
                raise self.source.error(
                    node.iter, f"a grid of {len(sizes)} dimensions", f"{len(names)}, one a variable"
                )
        else:
            names = [f"{node.target.id}__axis{axis}" for axis in range(len(sizes))]
            self.points[node.target.id] = names
        sizes, names = sizes or [ast.Constant(1)], names or [f"{node.target.id}__none"]
        body = node.body
        for name, n in reversed([*zip(names, sizes)]):
            call = ast.Call(ast.Name("range", ast.Load()), [n], [])
            body = [ast.For(ast.Name(name, ast.Store()), call, body, [])]
        for part in (body[0], *ast.walk(body[0])):
            if not hasattr(part, "lineno"):
                ast.copy_location(part, node)
        return body[0]

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        if is_shape(node.value):
            return self.shape_access(node)
        name = node.value.id
        if isinstance(node.slice, ast.Name):
            names = self.points[node.slice.id]
            indices = [ast.copy_location(ast.Name(n, ast.Load()), node) for n in names]
            node.slice = ast.copy_location(ast.Tuple(indices, ast.Load()), node)
        count, rank = len(node.slice.elts), self.ranks[name]
        if count != rank:
            raise self.source.error(
                node,
                f"{name!r} has {rank} dimension{'s' * (rank != 1)}, and is given "
                f"{count} ind{'ices' if count != 1 else 'ex'}",
                "one index for each",
            )
        node.site, self.sites = self.sites, self.sites + 1
        return self.generic_visit(node)

    def shape_access(self, node: ast.Subscript) -> ast.Subscript:
        name, axis = node.value.value.id, node.slice.value
        rank = self.ranks[name]
        expected_rank = getattr(node, "expected_rank", None)
        if not -rank <= axis < rank or expected_rank not in (None, rank):
            raise self.source.error(
                node,
                f"{name!r} has {rank} dimension{'s' * (rank != 1)}",
                f"{expected_rank}" if expected_rank else f"one that has an axis {axis}",
            )
        node.slice = ast.copy_location(ast.Constant(axis % rank), node)
        return node
