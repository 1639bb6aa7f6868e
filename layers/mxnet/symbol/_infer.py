"""Shapes and dtypes over a graph: by the operators' rules, and by their functions on no data."""

from __future__ import annotations

from collections.abc import Callable

import torch

from .. import _dtype
from .._table.attributes import parser
from .._table.registry import ask
from ..base import DTypeError, MXNetError, ShapeError, explained, note
from ._node import Entry, Node, ordered

Shape = tuple[int, ...]
_read_shape = parser(tuple[int, ...])
# In the places of a size that is not known; what comes of both does not hang on it.
SIZES = 60, 120
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
            shape, declared = given.get((node, 0)) or (), _declared(node) or ()
            if len(shape) == len(declared):
                shape = [a or b for a, b in zip(shape, declared)]
            if shape or declared:
                found[node, 0] = tuple(shape or declared)
    before = -1
    while before != (before := sum(1 + sum(map(bool, shape)) for shape in found.values())):
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
    # One's own operator may refuse what is known: an input of another shape than it declares.
    if node.op.own or not all(whole(shape) for shape in known):
        names = node.input_names
        for told in (_told(node, names, known), _told_back(node, known, found.get((node, 0)))):
            for name, entry, shape in zip(names, node.inputs, told):
                if shape is not None:
                    found[entry] = _merged(node, name, found.get(entry), shape)
        known = [found.get(entry) for entry in node.inputs]
    if not whole(found.get((node, 0))) and None not in known:
        for i, shape in enumerate(_outputs(node, known)):
            if shape is not None:
                found[node, i] = _merged(node, "output", found.get((node, i)), tuple(shape))


def _told(node: Node, names: list[str], known: list[Shape | None]) -> list[Shape | None]:
    """What the rules of the operator say of its inputs, from those that are known."""

    def rule(known: list[Shape | None]) -> list[Shape | None]:
        told = node.op.infer_shapes(dict(zip(names, known)), node.attributes)
        return [told.get(name) for name in names]

    return _whatever(rule, known) if node.op.any_size else rule(known)


def _told_back(node: Node, known: list[Shape | None], output: Shape | None) -> list[Shape | None]:
    """What the shape of the output, where it is known from elsewhere, says of the inputs."""
    if node.op.back_rule is None:
        return []
    asked = {"inputs": known, "output": output or ()}
    return ask(node.op.back_rule, node.op.defaults | node.attributes | asked)


def _outputs(node: Node, known: list[Shape]) -> list[Shape | None]:
    if node.op.any_size:
        return _whatever(lambda shapes: _computed(node, shapes), known)
    # An operator of one's own is asked for sizes that there are; control flow asks its graphs.
    return _computed(node, known) if all(map(whole, known)) else []


def _whatever(tell: Callable, known: list[Shape | None]) -> list[Shape | None]:
    """What `tell` gives for these shapes, 0 where that hangs on a size that is not known."""
    if not any(shape is not None and 0 in shape for shape in known):
        return tell(known)
    try:
        first, second = [
            tell([shape and tuple([n or size for n in shape]) for shape in known]) for size in SIZES
        ]
    except Exception:  # of any kind: sizes that are made up need not fit
        return []
    pairs = zip(first, second)
    return [
        tuple([m if m == n else 0 for m, n in zip(a, b)]) if a and b and len(a) == len(b) else None
        for a, b in pairs
    ]


def _spread(node: Node, found: dict[Entry, Shape]) -> None:
    """Give what is known of the one shape of a node to all its inputs, and its output."""
    entries = dict(zip([*node.input_names, "output"], [*node.inputs, (node, 0)]))
    shape: Shape | None = None
    for name, entry in entries.items():
        if entry in found:
            shape = _merged(node, name, found[entry], shape or found[entry])
    if shape is not None:
        found.update(dict.fromkeys(entries.values(), shape))


def whole(shape: Shape | None) -> bool:
    """Whether all of a shape is known."""
    return shape is not None and 0 not in shape


def _merged(node: Node, name: str, known: Shape | None, told: Shape) -> Shape:
    """One shape of what two places tell of it."""
    if known is None:
        return tuple(told)
    if len(known) == len(told) and all(a == b or 0 in (a, b) for a, b in zip(known, told)):
        return tuple([a or b for a, b in zip(known, told)])
    raise ShapeError(f"{node.op.name} {node.name!r}: {name} is {known}\n  expected {tuple(told)}")


def _computed(node: Node, known: list[Shape]) -> list[Shape]:
    try:
        return node.op.output_shapes(known, node.attributes)
    except MXNetError as error:
        note(error, f"  in {node.op.name} {node.name!r} of a Symbol")
        raise
    except (RuntimeError, IndexError, TypeError) as error:
        if node.op.own:
            raise
        shapes = dict(zip(node.input_names, known))
        shown = ", ".join(f"{n} {s}" for n, s in shapes.items())
        told = explained(error, shapes)[1]
        where = f"  in {node.op.name}({shown})"
        raise ShapeError(f"{node.op.name} {node.name!r}: {told}\n{where}") from error


def types(
    entries: list[Entry], given: dict[str, torch.dtype], default: torch.dtype | None = torch.float32
) -> dict[Entry, torch.dtype]:
    """The dtypes of all outputs of all nodes, from those of some variables.

    What is not told, by inputs or outputs beside it, has the default; with None it is left out.
    """
    nodes = ordered(entries)
    known = {(n, 0): given[n.name] for n in nodes if n.op is None and n.name in given}
    return completed_types(entries, known, default)


def completed_types(
    entries: list[Entry],
    given: dict[Entry, torch.dtype],
    default: torch.dtype | None = torch.float32,
) -> dict[Entry, torch.dtype]:
    """The same, from dtypes of the variables themselves, whose names may be equal."""
    numbers = {str(number): dtype for dtype, number in TYPE_NUMBERS.items()}
    nodes, found = ordered(entries), dict(given)
    for node in nodes:
        if node.op is None and (node, 0) not in found and "__dtype__" in node.attrs:
            found[node, 0] = numbers[node.attrs["__dtype__"]]
    rest = iter(nodes)
    while True:
        before = -1
        while before != (before := len(found)):
            for node in nodes:
                if node.op is not None:
                    _visit_types(node, found)
        open_ones = (n for n in rest if (n, 0) not in found)
        node = next(open_ones, None) if default is not None else None
        if node is None:
            return found
        found[node, 0] = default


def _visit_types(node: Node, found: dict[Entry, torch.dtype]) -> None:
    """Tell the dtypes around a node from those that are known."""
    names, operator = node.input_names, node.op
    if operator.one_type(node.attributes):
        entries = [*zip(names, node.inputs), *[("y", (node, i)) for i in range(len(node.outputs))]]
        # A label may be of any dtype, and has that of the data where nothing is known of it.
        told = {n: found[e] for n, e in entries if e in found and n != "label"}
        if operator.same and len(set(told.values())) > 1:
            shown = ", ".join(f"{n} is {_dtype.name(dtype)}" for n, dtype in told.items())
            raise DTypeError(f"{operator.name} {node.name!r}: {shown}\n  expected one dtype")
        for _, entry in entries if told else ():
            found.setdefault(entry, next(iter(told.values())))
        return

    def known() -> dict[str, torch.dtype]:
        return {name: found[e] for name, e in zip(names, node.inputs) if e in found}

    for name, dtype in operator.input_types(known(), node.attributes).items():
        if name in names:
            found.setdefault(node.inputs[names.index(name)], dtype)
    for i, dtype in enumerate(operator.output_types(known(), node.attributes)):
        found.setdefault((node, i), dtype)
