"""Detection of tensors that need no zeros: a loop fills them before an element is used."""

from __future__ import annotations

import ast

from .expansion import is_element
from .program import Program, called_name, is_shape

__all__ = ["is_filled"]


def is_filled(program: Program, body: list[ast.stmt], name: str, rank: int) -> bool:
    """True if a tensor is first accessed in loops over all its elements that write them.

    An example is ``for i in range(x.shape[0]): for j in range(x.shape[1]): y[i, j] = ...``, where y
    has x's shape.
    """
    variables: list[str] = []
    sizes = _sizes(program.buffers[name].shape, rank)
    for axis in range(rank):
        loop = _first_access(body, name)
        if not isinstance(loop, ast.For) or called_name(loop.iter) == "grid":
            return False
        bounds = [ast.unparse(n) for n in loop.iter.args]
        if bounds not in ([sizes[axis]], [f"{name}.shape[{axis}]"]):
            return False
        variables.append(loop.target.id)
        body = loop.body
    statement = _first_access(body, name)
    return (
        isinstance(statement, ast.Assign)
        and is_element(target := statement.targets[0])
        and target.value.id == name
        and [ast.unparse(n) for n in target.slice.elts] == variables
        and not _accesses(statement.value, name)
    )


def _sizes(shape: ast.expr, rank: int) -> list[str | None]:
    """Return the sizes as text; None for a size that may have changed since the tensor was made."""
    if is_shape(shape):
        return [f"{shape.value.id}.shape[{axis}]" for axis in range(rank)]
    sizes = shape.elts if isinstance(shape, ast.Tuple) else [shape]
    unchanging = [isinstance(n, ast.Constant) or is_shape(getattr(n, "value", n)) for n in sizes]
    return [ast.unparse(n) if unchanged else None for n, unchanged in zip(sizes, unchanging)]


def _first_access(body: list[ast.stmt], name: str) -> ast.stmt | None:
    return next((node for node in body if _accesses(node, name)), None)


def _accesses(node: ast.AST, name: str) -> bool:
    return any(is_element(n) and n.value.id == name for n in ast.walk(node))
