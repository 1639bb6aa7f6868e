"""Detection of loops with independent iterations, which may be spread over threads.

A loop over i may be spread if it writes only elements whose first index is i, or i with a constant
offset. The offset must be the same in all accesses to the tensor in the loop, and no scalar may
outlive an iteration.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .expansion import is_element
from .program import Program, called_name

__all__ = ["is_spreadable", "recomputable_scalars"]


def recomputable_scalars(program: Program, body: list[ast.stmt]) -> list[ast.stmt] | None:
    """Return the assignments of scalars outside loops, if all parts of the kernel can repeat them.

    For that, each scalar must be assigned once, from sizes, parameters, inputs and other such
    scalars. Return None if there is another scalar, such as one that a loop updates.
    """
    scalars = [n for n, loop in program.scopes.items() if not loop and program.stores[n]]
    found = [
        node
        for node in body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) in scalars
    ]
    read = {n.value.id for node in found for n in ast.walk(node.value) if is_element(n)}
    assigned = sum(program.stores[n] for n in scalars)
    return found if assigned == len(scalars) == len(found) and read <= program.tensors else None


def is_spreadable(program: Program, loop: ast.stmt) -> bool:
    """True if the iterations are independent, provided that indices are in range.

    A scalar that an iteration takes from the one before is found by `recomputable_scalars`.
    """
    if not isinstance(loop, ast.For) or called_name(loop.iter) in ("serial", "reduce"):
        return False
    stores = [target for node in ast.walk(loop) for target in _targets(node)]
    written = {t.value.id for t in stores if is_element(t)}
    firsts: dict[str, set[str]] = {name: set() for name in written}
    for node in ast.walk(loop):
        if is_element(node) and node.value.id in written:
            first = node.slice.elts[:1]
            if not first or not _is_variable_with_offset(program, first[0], loop.target.id):
                return False
            firsts[node.value.id].add(ast.dump(first[0]))
    return all(len(found) == 1 for found in firsts.values())


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign):
        yield from node.targets
    elif isinstance(node, ast.AugAssign):
        yield node.target


def _is_variable_with_offset(program: Program, index: ast.expr, variable: str) -> bool:
    """True if an index is the variable plus or minus a constant, or a constant minus it."""
    if isinstance(index, ast.Name):
        return index.id == variable
    if not isinstance(index, ast.BinOp) or not isinstance(index.op, (ast.Add, ast.Sub)):
        return False
    left, right = index.left, index.right
    return (_is_variable_with_offset(program, left, variable) and _is_constant(program, right)) or (
        _is_variable_with_offset(program, right, variable) and _is_constant(program, left)
    )


def _is_constant(program: Program, node: ast.expr) -> bool:
    """True if an expression is the same number in all iterations."""
    outside = {*program.tensors, *program.buffers, *program.numbers}
    names = (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return all(name in outside or program.scopes.get(name) == 0 for name in names)
