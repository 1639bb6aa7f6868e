"""Shapes and dtypes over a graph: by the operators' rules, and by their functions on no data."""

from __future__ import annotations

import torch

from .._attribute import parser
from .._op import ask
from ..base import MXNetError, ShapeError, note
from ._node import Entry, Node, ordered

Shape = tuple[int, ...]
_read_shape = parser(tuple[int, ...])
TYPE_NUMBERS = {
    torch.float32: 0,
    torch.float64: 1,
    torch.float16: 2,
    torch.uint8: 3,
    torch.int32: 4,
    torch.int8: 5,
    torch.int64: 6,
    torch.bool: 7,
    torch.bfloat16: 12,
}


def shapes(entries: list[Entry], given: dict[str, Shape]) -> dict[Entry, Shape]:
    """The shapes that can be told of all outputs of all nodes, from those of some variables.

    A size that is not known is 0.
    """
    return completed(
        entries,
        {(n, 0): given[n.name] for n in ordered(entries) if n.op is None and n.name in given},
    )


def completed(entries: list[Entry], given: dict[Entry, Shape | None]) -> dict[Entry, Shape]:
    """The same, from shapes of the variables themselves, whose names may be equal."""
    nodes = ordered(entries)
    found: dict[Entry, Shape] = {}
    for node in nodes:
        if node.op is None:
            known = given.get((node, 0))
            shape = _declared(node) if known is None else known
            if shape is not None:
                found[node, 0] = tuple(shape)
    before = -1
    while before != (before := sum(0 not in shape for shape in found.values())):
        for node in nodes:
            if node.op is not None:
                _visit(node, found)
    return found


def _declared(node: Node) -> Shape | None:
    return _read_shape(node.attrs["__shape__"]) if "__shape__" in node.attrs else None


def _visit(node: Node, found: dict[Entry, Shape]) -> None:
    """Tell from what is known around a node what is not: its inputs, then its outputs."""
    if node.op.same:
        _spread(node, found)
    known = [found.get(entry) for entry in node.inputs]
    if not all(whole(shape) for shape in known):
        names = node.input_names
        told = node.op.infer_shapes(dict(zip(names, known)), node.attributes)
        told |= _told_back(node, known, found.get((node, 0)))
        for name, entry, shape in zip(names, node.inputs, known):
            if told.get(name) is not None:
                found[entry] = _merged(node, name, shape, told[name])
        known = [found.get(entry) for entry in node.inputs]
    if (node, 0) not in found and all(whole(shape) for shape in known):
        for i, shape in enumerate(_outputs(node, known)):
            if shape is not None:
                found[node, i] = tuple(shape)


def _told_back(node: Node, known: list[Shape | None], output: Shape | None) -> dict[str, Shape]:
    """What the shape of the output, known from elsewhere, says of the inputs."""
    if node.op.back_rule is None or not whole(output):
        return {}
    asked = node.op.defaults | node.attributes | {"inputs": known, "output": output}
    return dict(zip(node.input_names, ask(node.op.back_rule, asked)))


def _spread(node: Node, found: dict[Entry, Shape]) -> None:
    """Give the one shape of a node that is known to its other inputs, and its output."""
    entries = [*node.inputs, (node, 0)]
    told = next((found[e] for e in entries if whole(found.get(e))), None)
    if told is not None:
        for name, entry in zip([*node.input_names, "output"], entries):
            if not whole(found.get(entry)):
                found[entry] = _merged(node, name, found.get(entry), told)


def whole(shape: Shape | None) -> bool:
    """Whether all of a shape is known."""
    return shape is not None and 0 not in shape


def _merged(node: Node, name: str, known: Shape | None, told: Shape) -> Shape:
    if known is None or (len(known) == len(told) and all(a in (0, b) for a, b in zip(known, told))):
        return tuple(told)
    raise ShapeError(f"{node.op.name} {node.name!r}: {name} is {known}\n  expected {tuple(told)}")


def _outputs(node: Node, known: list[Shape]) -> list[Shape]:
    try:
        return node.op.output_shapes(known, node.attributes)
    except MXNetError as error:
        note(error, f"  in {node.op.name} {node.name!r} of a Symbol")
        raise
    except (RuntimeError, IndexError) as error:
        shown = ", ".join(f"{n} {s}" for n, s in zip(node.input_names, known))
        raise ShapeError(f"{node.op.name} {node.name!r} ({shown}): {error}") from error


def types(entries: list[Entry], given: dict[str, torch.dtype]) -> dict[Entry, torch.dtype]:
    """The dtypes of all outputs of all nodes, from those of some variables.

    A variable of which nothing is known has the dtype of the first known input beside it, else
    float32.
    """
    nodes = ordered(entries)
    known = {(n, 0): given[n.name] for n in nodes if n.op is None and n.name in given}
    return completed_types(entries, known)


def completed_types(
    entries: list[Entry], given: dict[Entry, torch.dtype]
) -> dict[Entry, torch.dtype]:
    """The same, from dtypes of the variables themselves, whose names may be equal."""
    numbers = {str(number): dtype for dtype, number in TYPE_NUMBERS.items()}
    nodes, found = ordered(entries), dict(given)
    for node in nodes:
        if node.op is None and (node, 0) not in found and "__dtype__" in node.attrs:
            found[node, 0] = numbers[node.attrs["__dtype__"]]
    for node in nodes:
        if node.op is None:
            continue
        beside = next((found[e] for e in node.inputs if e in found), torch.float32)
        for entry in node.inputs:
            found.setdefault(entry, beside)
        dtypes = {name: found[e] for name, e in zip(node.input_names, node.inputs)}
        for i, dtype in enumerate(node.op.output_types(dtypes, node.attributes)):
            found[node, i] = dtype
    for node in nodes:
        found.setdefault((node, 0), torch.float32)
    return found
