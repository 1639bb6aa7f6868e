"""The graph behind a Symbol: nodes, each an operator with inputs, or a variable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from operator import is_
from typing import Any

from .._state import this_thread
from .._table.registry import Op
from ..base import ArgumentError, quoted

# Attributes that are MXNet's own and not an operator's; a node has them with underscores around.
HIDDEN = ("ctx_group", "force_mirroring", "lr_mult", "mirror_stage", "wd_mult")

Entry = tuple["Node", int]  # one output of a node

serials = count()  # of all nodes, in the order in which they are made


@contextmanager
def part() -> Iterator[None]:
    """``with part():`` the nodes made inside are a part that is computed again in backward.

    A part inside another is not one of its own.
    """
    state = this_thread.state
    before = state.part
    if before is None:
        state.part = next(serials)
    try:
        yield
    finally:
        state.part = before


class Node:
    """An operator in a graph, or a variable, whose operator is None.

    Attributes
    ----------
    inputs : list of (Node, int)
        Outputs of other nodes; the states of the operator come last.
    attributes : dict of str to value
        The operator's attributes, parsed.
    attrs : dict of str to str
        The same as text, and what a user or a scope has attached.
    part : int or None
        The part of the graph that is computed again in backward, if it is in one.
    serial : int
        A node that was made later has a larger one.
    """

    __slots__ = ("attributes", "attrs", "inputs", "name", "op", "part", "serial")

    def __init__(self, op: Op | None, name: str, inputs=(), attributes=None, attrs=None):
        self.op, self.name, self.serial = op, name, next(serials)
        self.part = this_thread.state.part
        self.inputs: list[Entry] = list(inputs)
        self.attributes: dict[str, Any] = attributes or {}
        self.attrs: dict[str, str] = attrs or {}

    def copied(self, inputs: Iterable[Entry], **attrs: str) -> Node:
        """The same node with other inputs, and with more attached to it."""
        made = Node(self.op, self.name, inputs, dict(self.attributes), self.attrs | attrs)
        made.part = self.part
        return made

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs, without the node's name before them."""
        return [""] if self.op is None else self.op.output_names(self.attributes)

    @property
    def entries(self) -> list[Entry]:
        """All outputs."""
        return [(self, i) for i in range(len(self.outputs))]

    @property
    def input_names(self) -> list[str]:
        """What the operator calls its inputs."""
        return self.op.input_names(self.attributes, len(self.inputs)) if self.op else []

    def output_name(self, index: int) -> str:
        """The name of an output: ``fc_output``, ``split0_output1``; a variable's own."""
        if self.op is None:
            return self.name
        own = self.op.output_name(index, self.attributes)
        return f"{self.name}_{own}" if self.name else own


def with_hidden_names(attrs: dict[str, str]) -> dict[str, str]:
    """A user's attributes as a node stores them: the hidden ones between underscores."""
    return {f"__{k}__" if k in HIDDEN else k: v for k, v in attrs.items()}


def ordered(entries: Iterable[Entry]) -> list[Node]:
    """All nodes that the entries depend on, each after its inputs.

    Not recursive: a graph may be deeper than Python's stack.
    """
    found: list[Node] = []
    seen: set[Node] = set()
    for head, _ in entries:
        if head in seen:
            continue
        seen.add(head)
        path = [(head, iter(head.inputs))]  # each node is an input of the one before it
        while path:
            node, inputs = path[-1]
            for source, _ in inputs:
                if source not in seen:
                    seen.add(source)
                    if source.inputs:
                        path.append((source, iter(source.inputs)))
                        break
                    found.append(source)
            else:
                found.append(node)
                path.pop()
    return found


def states(nodes: Iterable[Node]) -> set[int]:
    """The ids of the variables that are states of an operator."""
    found = set()
    for node in nodes:
        updated = set(node.op.state_names(node.attributes)) if node.op is not None else ()
        if updated:
            named = zip(node.input_names, node.inputs)
            found |= {id(source) for name, (source, _) in named if name in updated}
    return found


class Graph:
    """The nodes that some entries depend on: found once, since a node keeps its inputs.

    Attributes
    ----------
    nodes : list of Node
        Each after its inputs.
    arguments, states : list of Node
        The variables, in that order; the states are those that operators update in place.
    """

    __slots__ = ("arguments", "nodes", "states")

    def __init__(self, entries: Iterable[Entry]):
        self.nodes = ordered(entries)
        updated = states(self.nodes)
        variables = [node for node in self.nodes if node.op is None]
        self.arguments = [node for node in variables if id(node) not in updated]
        self.states = [node for node in variables if id(node) in updated]


def by_name(
    what: str, names: Iterable[str], values: Iterable[Any], same: Callable[[Any, Any], bool] = is_
) -> dict[str, Any]:
    """Values of variables by their names; variables of one name have one value.

    Raises
    ------
    ArgumentError
        Variables of one name have values that are not the `same`.
    """
    given: dict[str, Any] = {}
    for name, value in zip(names, values):
        if not same(given.setdefault(name, value), value):
            found = " and ".join(" ".join(quoted(v).split()) for v in (given[name], value))
            raise ArgumentError(
                f"{what}: more than one variable is named {quoted(name)}, and they would have "
                f"{found}\n  expected one value for each name"
            )
    return given


def copy_graph(entries: list[Entry], replace: Callable[[Node], Entry | None]) -> list[Entry]:
    """The entries in a copy of the graph; `replace` may return another entry for a variable."""
    copies: dict[int, Node] = {}
    replaced: dict[int, Entry] = {}
    parts: dict[int, int] = {}

    def copied(entry: Entry) -> Entry:
        node, index = entry
        return replaced[id(node)] if id(node) in replaced else (copies[id(node)], index)

    for node in ordered(entries):
        replacement = replace(node) if node.op is None else None
        if replacement is not None:
            replaced[id(node)] = replacement
            continue
        made = copies[id(node)] = node.copied(copied(e) for e in node.inputs)
        if node.part is not None:  # two copies of a part are two parts
            made.part = parts.setdefault(node.part, made.serial)
    return [copied(e) for e in entries]
