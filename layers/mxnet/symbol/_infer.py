"""Shapes and dtypes of a graph: by the operators' rules, and their functions run without data."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NoReturn

import torch

from .. import _dtype, _np_shape
from .._np_shape import is_known, unknown_size
from .._table.attributes import parser
from .._table.registry import Op, ask
from ..base import (
    ArgumentError,
    DTypeError,
    MXNetError,
    ShapeError,
    explained,
    note,
    quoted,
)
from ._node import Entry, Node

Shape = tuple[int, ...]
_read_shape = parser(tuple[int, ...])
# Two values that stand in for an unknown size: a result that is the same for both does not depend
# on it.
STAND_IN_SIZES = 60, 120
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


def shapes(nodes: list[Node], given: dict[str, Shape]) -> dict[Entry, Shape]:
    """The shapes of all outputs of all nodes, as far as those of some variables determine them.

    The nodes are `ordered`. An unknown size is 0, with np_shape semantics -1.
    """
    return completed(
        nodes, {(n, 0): given[n.name] for n in nodes if n.op is None and n.name in given}
    )


def completed(nodes: list[Node], given: dict[Entry, Shape | None]) -> dict[Entry, Shape]:
    """As `shapes`, by variable and not by name: two variables may have one name."""
    found: dict[Entry, Shape] = {}
    for node in nodes:
        if node.op is None:
            shape, declared = given.get((node, 0)), declared_shape(node)
            if shape and declared and len(shape) == len(declared):
                shape = _completed_sizes(shape, declared)
            shape = declared if _tells_nothing(shape) else shape
            if not _tells_nothing(shape):
                found[node, 0] = tuple(shape)
    np_shape = _np_shape.is_on()

    def outputs(node: Node, known: tuple) -> tuple[Shape, ...] | None:
        operator = node.op
        if operator.own or not operator.any_size:
            return None
        try:
            return _shapes_of_known(operator, tuple(node.attributes.items()), known, np_shape)
        except (MXNetError, *WRONG_ATTRIBUTES) as error:
            _raise_located(error, node, known)

    _Propagation(nodes, found, outputs, _infer_node_shapes, is_known)
    return found


@lru_cache(maxsize=1 << 14)  # graphs have many nodes that are alike
def _shapes_of_known(
    operator: Op, attributes: tuple, known: tuple[Shape | None, ...], np_shape: bool
) -> tuple[Shape, ...] | None:
    """The shapes of an operator's outputs from its inputs'; None unless all of them are known."""
    if not all(map(is_known, known)):
        return None
    given = dict(attributes)
    if operator.same:
        is_one = len({*known}) == 1 and operator.count_outputs(given) == 1
        return known[:1] if is_one else None
    if operator.sized_rule and operator.sized_function(given):
        return None
    found = [with_unknown_sizes(tuple(s)) for s in operator.output_shapes([*known], given)]
    return tuple(found) if all(map(is_known, found)) else None


def declared_shape(node: Node) -> Shape | None:
    """The shape that a variable was made with.

    Raises ArgumentError where the attribute is no shape.
    """
    if "__shape__" not in node.attrs:
        return None
    try:
        return with_unknown_sizes(_read_shape(node.attrs["__shape__"]))
    except ValueError as error:
        raise _wrong_declaration(node, "__shape__", str(error)) from None


def declared_type(node: Node) -> torch.dtype | None:
    """The dtype that a variable was made with.

    Raises ArgumentError where the attribute is the number of no dtype.
    """
    if "__dtype__" not in node.attrs:
        return None
    try:
        return NUMBERED[node.attrs["__dtype__"]]
    except KeyError:
        raise _wrong_declaration(node, "__dtype__", f"one of {', '.join(NUMBERED)}") from None


def _wrong_declaration(node: Node, key: str, expected: str) -> ArgumentError:
    found = quoted(node.attrs[key])
    return ArgumentError(f"variable {quoted(node.name)}: {key} is {found}\n  expected {expected}")


class _Propagation:
    """Finds what is known of all outputs of all nodes, from what is known of some.

    Each node is visited once, after its inputs. Where that leaves something unknown around a node,
    it is visited again when something around it becomes known, until nothing more is found.

    Parameters
    ----------
    nodes : list of Node
        Each after its inputs.
    found : dict of Entry to value
        What is known; `run` adds to it.
    outputs : callable
        ``outputs(node, values of its inputs)`` returns those of its outputs, None where not all are
        known or more than the inputs is needed to tell.
    visit : callable
        ``visit(node, found)`` infers from what is known around a node what is not.
    is_known : callable
        True for a value of which nothing is unknown, None being one.
    """

    def __init__(self, nodes: list[Node], found: dict, outputs, visit, is_known):
        self.found, self.visit, self._is_known = found, visit, is_known
        get = found.get
        left = []
        for node in nodes:
            if node.op is None:
                continue
            told = outputs(node, tuple(map(get, node.inputs)))
            if told is None:
                visit(node, found)
                if not self._is_complete(node):
                    left.append(node)
            elif len(told) == 1:
                found[node, 0] = told[0]
            else:
                found.update(zip([(node, i) for i in range(len(told))], told))
        self._beside: dict[Entry, list[Node]] = {}
        for node in left:
            for entry in dict.fromkeys((*node.inputs, *node.entries)):
                self._beside.setdefault(entry, []).append(node)
        self.revisit(reversed(left))

    def _is_complete(self, node: Node) -> bool:
        get, is_known = self.found.get, self._is_known
        return all(is_known(get(entry)) for entry in (*node.inputs, *node.entries))

    def revisit(self, nodes: Iterable[Node]) -> None:
        """Visit these nodes, and after each the nodes beside it for which something is new."""
        queue = deque(nodes)
        waiting = set(queue)
        while queue:
            node = queue.popleft()
            waiting.discard(node)
            around = [*node.inputs, *node.entries]
            before = [self.found.get(entry) for entry in around]
            self.visit(node, self.found)
            for entry, known in zip(around, before):
                if self.found.get(entry) != known:
                    # What it has told of its own outputs tells itself nothing.
                    own = entry[0] is node
                    again = [n for n in self.beside(entry) if n not in waiting]
                    again = [n for n in again if n is not node] if own else again
                    queue.extend(again)
                    waiting.update(again)

    def beside(self, entry: Entry) -> Sequence[Node]:
        """The nodes that give or take an output, and of which something was not known."""
        return self._beside.get(entry, ())


def _infer_node_shapes(node: Node, found: dict[Entry, Shape]) -> None:
    """Infer shapes around a node from those known; an error says in which node it arose."""
    try:
        _infer_inputs_and_outputs(node, found)
    except (MXNetError, *WRONG_ATTRIBUTES) as error:
        _raise_located(error, node, [found.get(entry) for entry in node.inputs])


def _raise_located(error: Exception, node: Node, known: Sequence[Shape | None]) -> NoReturn:
    """Raise the error with the node in which it arose; one of PyTorch or Python as ours."""
    if isinstance(error, MXNetError):
        if f"{node.op.name} {quoted(node.name)}" not in str(error):
            note(error, f"  in {node.op.name} {quoted(node.name)} of a Symbol")
        raise error
    if node.op.own:
        raise error
    shapes = {name: shape for name, shape in zip(node.input_names, known) if is_known(shape)}
    shown = [f"{n} {s}" for n, s in shapes.items()]
    shown += [f"{n}={quoted(v)}" for n, v in node.attributes.items()]
    problem = explained(error, shapes)[1] or type(error).__name__
    where = f"  in {node.op.name}({', '.join(shown)})"
    raise ShapeError(f"{node.op.name} {quoted(node.name)}: {problem}\n{where}") from error


# What rules and functions of operators raise where nothing has checked the attributes before.
WRONG_ATTRIBUTES = (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)


INPUTS = -1  # the place among a node's shapes of those of the inputs that its outputs come from


def _infer_inputs_and_outputs(node: Node, found: dict[Entry, Shape]) -> None:
    """Infer the shapes of a node's inputs, then of its outputs."""
    if node.op.same and len(node.entries) == 1:
        _share_shape(node, found, [*node.input_names, "output"], [*node.inputs, (node, 0)])
    elif node.op.same:
        for name, *pair in zip(node.input_names, node.inputs, node.entries):
            _share_shape(node, found, [name, "output"], pair)
    known = [found.get(entry) for entry in node.inputs]
    # A custom operator may refuse known shapes: an input may have another than it declares.
    if node.op.own or not all(is_known(shape) for shape in known):
        names = node.input_names
        forward = _input_shapes(node, names, known)
        for inferred in (forward, _input_shapes_from_output(node, known, found.get((node, 0)))):
            for name, entry, shape in zip(names, node.inputs, inferred):
                if shape is not None:
                    found[entry] = _merge(node, name, found.get(entry), shape)
        known = [found.get(entry) for entry in node.inputs]
    # Another node may have determined the output before the inputs were known: they have to agree.
    is_checked = node.op.same or found.get((node, INPUTS)) == known
    if None not in known and not (is_known(found.get((node, 0))) and is_checked):
        found[node, INPUTS] = known
        for i, shape in enumerate(_output_shapes(node, known)):
            if shape is not None:
                found[node, i] = _merge(node, "output", found.get((node, i)), tuple(shape))


def _input_shapes(node: Node, names: list[str], known: list[Shape | None]) -> list[Shape | None]:
    """The shapes of the inputs by the operator's rules, from those that are known."""
    if node.op.any_size:
        key = tuple(node.attributes.items()), tuple(known), _np_shape.is_on()
        return _inputs_of_any_size(node.op, *key)
    inferred = node.op.infer_shapes(dict(zip(names, known)), node.attributes)
    return [inferred.get(name) for name in names]


@lru_cache(maxsize=1 << 12)
def _inputs_of_any_size(
    operator: Op, attributes: tuple, known: tuple[Shape | None, ...], np_shape: bool
) -> list[Shape | None]:
    given = dict(attributes)
    names = operator.input_names(given, len(known))

    def rule(known: Sequence[Shape | None]) -> list[Shape | None]:
        inferred = operator.infer_shapes(dict(zip(names, known)), given)
        return [inferred.get(name) for name in names]

    # The rules may refuse the sizes that stand in for unknown ones. Then they get the shapes as
    # they are, and either infer from those without an unknown size or raise their error.
    return _independent_of_unknown_sizes(rule, known) or rule(known)


def _input_shapes_from_output(
    node: Node, known: list[Shape | None], output: Shape | None
) -> list[Shape | None]:
    """The shapes of the inputs, from that of the output where another node determines it."""
    if node.op.back_rule is None:
        return []
    if not _np_shape.is_on():
        shapes = {"inputs": known, "output": output or ()}
        return ask(node.op.back_rule, node.op.defaults | node.attributes | shapes)
    if any(shape is not None and (not shape or 0 in shape) for shape in (*known, output)):
        return []  # for the rules, 0 and () are what is not known
    shapes = {"inputs": [_replaced(shape, -1, 0) for shape in known]}
    shapes["output"] = _replaced(output, -1, 0) or ()
    told = ask(node.op.back_rule, node.op.defaults | node.attributes | shapes)
    return [_replaced(shape, 0, -1) for shape in told]


def _replaced(shape: Shape | None, size: int, by: int) -> Shape | None:
    return shape and tuple([by if n == size else n for n in shape])


def _output_shapes(node: Node, known: list[Shape]) -> list[Shape | None]:
    if node.op.sized_rule and node.op.sized_function(node.attributes):
        return []  # what is around it tells
    named = zip(node.input_names, known) if node.op.whole else ()
    if any(name in node.op.whole and not is_known(shape) for name, shape in named):
        return []
    if node.op.any_size:
        key = tuple(node.attributes.items()), tuple(known), _np_shape.is_on()
        found = _outputs_of_any_size(node.op, *key)
        return [_unknown_where(known[0], shape) for shape in found] if node.op.cuts else found
    # A custom operator's rules see real sizes only; control flow infers with its own graphs.
    return node.op.output_shapes(known, node.attributes) if all(map(is_known, known)) else []


def _unknown_where(given: Shape, shape: Shape | None) -> Shape | None:
    """Return a shape without the sizes of axes that are not known of another one."""
    unknown = unknown_size()
    return shape and tuple([unknown if a == unknown else b for a, b in zip(given, shape)])


@lru_cache(maxsize=1 << 12)
def _outputs_of_any_size(
    operator: Op, attributes: tuple, known: tuple[Shape, ...], np_shape: bool
) -> list[Shape | None]:
    given = dict(attributes)
    return _independent_of_unknown_sizes(
        lambda shapes: operator.output_shapes([*shapes], given), known
    )


def _independent_of_unknown_sizes(
    rule: Callable, known: Sequence[Shape | None]
) -> list[Shape | None]:
    """The shapes by a rule, from those known; 0 where a size depends on one that is unknown."""
    unknown = unknown_size()
    if not any(shape is not None and unknown in shape for shape in known):
        return [with_unknown_sizes(shape) for shape in rule(known)]
    try:
        first, second = [
            rule([_replaced(shape, unknown, size) for shape in known]) for size in STAND_IN_SIZES
        ]
    except Exception:  # of any kind: sizes that stand in for others need not fit each other
        return []
    pairs = zip(first, second)
    return [
        tuple([m if m == n else unknown for m, n in zip(a, b)])
        if a is not None and b is not None and len(a) == len(b)
        else None
        for a, b in pairs
    ]


def _share_shape(
    node: Node, found: dict[Entry, Shape], names: list[str], entries: Sequence[Entry]
) -> None:
    """Give inputs and an output of a node, which have one shape, what is known of it."""
    shape: Shape | None = None
    for name, entry in zip(names, entries):
        if entry in found:
            shape = _merge(node, name, found[entry], shape or found[entry])
    if shape is not None:
        found.update(dict.fromkeys(entries, shape))


def _tells_nothing(shape: Shape | None) -> bool:
    """Whether not even the number of axes is known."""
    return shape is None or (not shape and not _np_shape.is_on())


def with_unknown_sizes(shape: Shape | None) -> Shape | None:
    """A shape that a user wrote, where also -1 is a size that is not known."""
    if shape is None or min(shape, default=0) >= 0:
        return shape
    return tuple([n if n >= 0 else unknown_size() for n in shape])


def _completed_sizes(one: Sequence[int], other: Sequence[int]) -> Shape:
    unknown = unknown_size()
    return tuple([b if a == unknown else a for a, b in zip(one, other)])


def _merge(node: Node, name: str, known: Shape | None, inferred: Shape) -> Shape:
    """The shape of an output, from what two nodes infer of it.

    Raises ShapeError where they differ.
    """
    if known is None:
        return tuple(inferred)
    unknown, pairs = unknown_size(), list(zip(known, inferred))
    if len(known) == len(inferred) and all(a == b or unknown in (a, b) for a, b in pairs):
        return _completed_sizes(known, inferred)
    raise ShapeError(
        f"{node.op.name} {quoted(node.name)}: {name} is {known}\n  expected {tuple(inferred)}"
    )


def types(
    nodes: list[Node], given: dict[str, torch.dtype], default: torch.dtype | None = torch.float32
) -> dict[Entry, torch.dtype]:
    """The dtypes of all outputs of all nodes, from those of some variables.

    The nodes are `ordered`. A dtype that nothing around it determines is the default; with None it
    is left out.
    """
    known = {(n, 0): given[n.name] for n in nodes if n.op is None and n.name in given}
    return completed_types(nodes, known, default)


def completed_types(
    nodes: list[Node],
    given: dict[Entry, torch.dtype],
    default: torch.dtype | None = torch.float32,
) -> dict[Entry, torch.dtype]:
    """As `types`, by variable and not by name: two variables may have one name."""
    found = dict(given)
    for node in nodes:
        if node.op is None and (node, 0) not in found:
            declared = declared_type(node)
            if declared is not None:
                found[node, 0] = declared
    propagation = _Propagation(nodes, found, _known_types, _infer_node_types, _is_told)
    for node in nodes if default is not None else ():
        if (node, 0) not in found:
            found[node, 0] = default
            propagation.revisit(propagation.beside((node, 0)))
    return found


def _is_told(dtype: torch.dtype | None) -> bool:
    return dtype is not None


def _known_types(node: Node, known: tuple) -> tuple[torch.dtype, ...] | None:
    if node.op.own or not node.op.any_size:
        return None
    return _types_of_known(node.op, tuple(node.attributes.items()), known)


@lru_cache(maxsize=1 << 12)
def _types_of_known(
    operator: Op, attributes: tuple, known: tuple[torch.dtype | None, ...]
) -> tuple[torch.dtype, ...] | None:
    """The dtypes of an operator's outputs from its inputs'; None unless all of them are known.

    None also where inputs that are to have one dtype have several: the visit says which.
    """
    if None in known:
        return None
    given = dict(attributes)
    names = operator.input_names(given, len(known))
    if operator.one_type(given):
        told = [dtype for name, dtype in zip(names, known) if name != "label"]
        if not told or (operator.same and len({*told}) > 1):
            return None
        return (told[0],) * operator.count_outputs(given)
    return tuple(operator.output_types(dict(zip(names, known)), given)) or None


def _infer_node_types(node: Node, found: dict[Entry, torch.dtype]) -> None:
    """Infer the dtypes around a node from those that are known."""
    names, operator = node.input_names, node.op
    if operator.one_type(node.attributes):
        entries = [*zip(names, node.inputs), *[("y", (node, i)) for i in range(len(node.outputs))]]
        # A label may be of any dtype; where nothing else determines it, it is the data's.
        known = {n: found[e] for n, e in entries if e in found and n != "label"}
        if operator.same and len(set(known.values())) > 1:
            shown = ", ".join(f"{n} is {_dtype.name(dtype)}" for n, dtype in known.items())
            raise DTypeError(f"{operator.name} {quoted(node.name)}: {shown}\n  expected one dtype")
        for _, entry in entries if known else ():
            found.setdefault(entry, next(iter(known.values())))
        return

    def known() -> dict[str, torch.dtype]:
        return {name: found[e] for name, e in zip(names, node.inputs) if e in found}

    for name, dtype in operator.input_types(known(), node.attributes).items():
        if name in names:
            found.setdefault(node.inputs[names.index(name)], dtype)
    for i, dtype in enumerate(operator.output_types(known(), node.attributes)):
        found.setdefault((node, i), dtype)
