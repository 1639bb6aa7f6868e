"""Shapes and dtypes over a graph: by the operators' rules, and by their functions on no data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import torch

from .. import _dtype
from .._table.attributes import parser
from .._table.registry import ask
from ..base import (
    ArgumentError,
    DTypeError,
    MXNetError,
    ShapeError,
    explained,
    note,
    quoted,
)
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
NUMBERED = {str(number): dtype for dtype, number in TYPE_NUMBERS.items()}


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
            shape, declared = given.get((node, 0)) or (), declared_shape(node) or ()
            if len(shape) == len(declared):
                shape = [a or b for a, b in zip(shape, declared)]
            if shape or declared:
                found[node, 0] = tuple(shape or declared)
    _Spread(nodes, found, _visit).run(nodes)
    return found


def declared_shape(node: Node) -> Shape | None:
    """The shape that a variable was made with.

    Raises ArgumentError where the attribute is no shape.
    """
    if "__shape__" not in node.attrs:
        return None
    try:
        return _read_shape(node.attrs["__shape__"])
    except ValueError as error:
        raise _undeclared(node, "__shape__", str(error)) from None


def declared_type(node: Node) -> torch.dtype | None:
    """The dtype that a variable was made with.

    Raises ArgumentError where the attribute is the number of no dtype.
    """
    if "__dtype__" not in node.attrs:
        return None
    try:
        return NUMBERED[node.attrs["__dtype__"]]
    except KeyError:
        raise _undeclared(node, "__dtype__", f"one of {', '.join(NUMBERED)}") from None


def _undeclared(node: Node, key: str, expected: str) -> ArgumentError:
    found = quoted(node.attrs[key])
    return ArgumentError(f"variable {quoted(node.name)}: {key} is {found}\n  expected {expected}")


class _Spread:
    """Visits nodes until nothing more can be told: again after what is around them has changed.

    Parameters
    ----------
    nodes : list of Node
    found : dict of Entry to value
        What is known; `visit` adds to it.
    visit : callable
        ``visit(node, found)`` tells from what is known around a node what is not.
    """

    def __init__(self, nodes: list[Node], found: dict, visit: Callable):
        self.found, self.visit = found, visit
        self._users: dict[Entry, list[Node]] = {}
        for node in nodes:
            for entry in dict.fromkeys(node.inputs):
                self._users.setdefault(entry, []).append(node)

    def run(self, nodes: Iterable[Node]) -> None:
        """Visit these nodes, and those that it is of use to visit then."""
        queue = deque(node for node in nodes if node.op is not None)
        waiting = set(queue)
        while queue:
            node = queue.popleft()
            waiting.discard(node)
            around = [*node.inputs, *node.entries]
            before = [self.found.get(entry) for entry in around]
            self.visit(node, self.found)
            for entry, known in zip(around, before):
                if self.found.get(entry) != known:
                    again = [n for n in self.around(entry) if n not in waiting]
                    queue.extend(again)
                    waiting.update(again)

    def around(self, entry: Entry) -> list[Node]:
        """The nodes that give or take an output."""
        return [n for n in (entry[0], *self._users.get(entry, ())) if n.op is not None]


def _visit(node: Node, found: dict[Entry, Shape]) -> None:
    """Tell from what is known around a node what is not; an error says in which node it is."""
    try:
        _tell(node, found)
    except MXNetError as error:
        if f"{node.op.name} {node.name!r}" not in str(error):
            note(error, f"  in {node.op.name} {node.name!r} of a Symbol")
        raise
    except WRONG_ATTRIBUTES as error:
        if node.op.own:
            raise
        named = zip(node.input_names, [found.get(entry) for entry in node.inputs])
        shapes = {name: shape for name, shape in named if shape is not None}
        shown = ", ".join(f"{n} {s}" for n, s in shapes.items())
        told = explained(error, shapes)[1] or type(error).__name__
        where = f"  in {node.op.name}({shown})"
        raise ShapeError(f"{node.op.name} {node.name!r}: {told}\n{where}") from error


# What rules and functions of operators raise of attributes that nobody else has looked at.
WRONG_ATTRIBUTES = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)


def _tell(node: Node, found: dict[Entry, Shape]) -> None:
    """The inputs of a node, then its outputs."""
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
        return _whatever(lambda shapes: node.op.output_shapes(shapes, node.attributes), known)
    # A custom operator is asked for sizes that there are; control flow asks its graphs.
    return node.op.output_shapes(known, node.attributes) if all(map(whole, known)) else []


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
    nodes, found = ordered(entries), dict(given)
    for node in nodes:
        if node.op is None and (node, 0) not in found:
            declared = declared_type(node)
            if declared is not None:
                found[node, 0] = declared
    spread = _Spread(nodes, found, _visit_types)
    spread.run(nodes)
    for node in nodes if default is not None else ():
        if (node, 0) not in found:
            found[node, 0] = default
            spread.run(spread.around((node, 0)))
    return found


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
