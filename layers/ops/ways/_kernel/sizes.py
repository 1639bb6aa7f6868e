"""Sizes of a kernel's tensors: whole numbers that are known before it runs."""

from __future__ import annotations

import ast

from .program import KernelError, Program, called_name, is_shape

__all__ = ["check_sizes", "unknown_size"]


def check_sizes(program: Program) -> Program:
    """Return the program; refuse a size that depends on elements, or may be no whole number.

    Raises
    ------
    KernelError
        There is such a size.
    """
    statements = ast.walk(ast.Module(program.body, []))
    scalars = {
        node.targets[0].id: node.value
        for node in statements
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for buffer in program.buffers.values():
        shape = buffer.shape
        for node in shape.elts if isinstance(shape, ast.Tuple) else [shape]:
            if not is_shape(node) and not _is_known(program, scalars, node):
                raise unknown_size(program, node)
    return program


def unknown_size(program: Program, node: ast.expr) -> KernelError:
    return program.source.error(
        node,
        "a size that is known only when the kernel runs",
        "shapes, whole numbers and parameters that are whole numbers, "
        "with + - * // % **, ceil_div, max and min",
    )


def _is_known(program: Program, scalars: dict[str, ast.expr], node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.Subscript):
        return is_shape(node.value)
    if isinstance(node, ast.Name):
        if node.id in program.numbers:
            return True
        # It is not known here which of several assignments determines the value.
        return program.stores[node.id] == 1 and _is_known(program, scalars, scalars[node.id])
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right] if not isinstance(node.op, ast.Div) else [None]
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        parts = [node.operand]
    elif called_name(node) in ("ceil_div", "max", "min"):
        parts = node.args
    else:
        return False
    return all(_is_known(program, scalars, part) for part in parts)
