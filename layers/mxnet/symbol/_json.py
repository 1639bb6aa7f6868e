"""The graph as text: MXNet's JSON, current and old.

A file is untrusted. Operators are looked up in the registry only, attributes are parsed by their
type and never evaluated, the number of outputs is bounded by the length of the text, an input is an
output of an earlier node, and the depth of graphs inside nodes is bounded.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn

from .. import _np_shape
from .._op.registered import find
from .._op.user_op import UserOp
from .._table import registry
from ..base import ArgumentError, MXNetError, quoted
from ..operator import expect_registered
from ._casts import is_cast, without_casts
from ._infer import declared_shape, declared_type
from ._node import HIDDEN, Entry, Node, ordered, with_hidden_names
from ._onednn import OPERATORS as FUSED
from ._subgraph import OPERATORS as CONTROL_FLOW
from ._subgraph import ControlFlow

VERSION = 10901
OPERATORS = CONTROL_FLOW | FUSED
# An attribute of the graph, which MXNet reads and leaves alone: where custom operators are defined
# whose names do not begin with their modules, as "name module" each.
MODULES = "layers_modules"
MOST_NESTED = 8  # graphs inside graphs
# A few characters, num_outputs, can declare any number of outputs. Beyond one for each node, a
# graph may have this many, or one for each of this many characters of its text, whichever is more.
MOST_OUTPUTS = 1 << 16
CHARACTERS_PER_OUTPUT = 64
_encoded = json.JSONEncoder().encode


def dumps(nodes: list[Node], entries: list[Entry], with_casts: bool = True) -> str:
    """The graph of some entries, in MXNet's format; with the casts of mixed precision or not.

    `nodes` are those that the entries depend on, `ordered`.
    """
    modules: dict[str, str] = {}
    graph = _graph_text(nodes, entries, with_casts, modules)
    attrs: dict[str, list] = {"mxnet_version": ["int", VERSION]}
    if _np_shape.is_on():
        attrs["is_np_shape"] = ["int", 1]
    if modules:
        attrs[MODULES] = ["list_str", [f"{name} {modules[name]}" for name in sorted(modules)]]
    return f'{graph[:-2]},\n  "attrs": {json.dumps(attrs)}\n}}'


def _graph_text(
    nodes: list[Node], entries: list[Entry], with_casts: bool, modules: dict[str, str]
) -> str:
    """The graph of some entries; `modules` gets those of its custom operators.

    Its lines are MXNet's. They are put together here, since Python's encoder indents six times as
    slowly as MXNet writes.
    """
    if not with_casts and any(map(is_cast, nodes)):
        entries = without_casts(entries)
        nodes = ordered(entries)
    number = {node: i for i, node in enumerate(nodes)}
    rows, ends = [], [0]
    # How often each state was updated so far: the third number of an input.
    updates: Counter[Node] = Counter()
    for node in nodes:
        operator, count = node.op, 1
        if operator is not None:
            _refuse_shadowed(node)
            modules |= operator.module_to_record
            count = operator.count_outputs(node.attributes)
            if updated := operator.state_names(node.attributes):
                named = zip(node.input_names, node.inputs)
                updates.update(source for name, (source, _) in named if name in updated)
        inputs = [f"[{number[n]}, {index}, {updates.get(n, 0)}]" for n, index in node.inputs]
        row = f'"op": {_encoded(operator.name if operator else "null")}'
        row += f',\n      "name": {_encoded(node.name)}'
        if node.attrs:
            attrs = [f"{_encoded(k)}: {_encoded(v)}" for k, v in sorted(node.attrs.items())]
            row += f',\n      "attrs": {{{", ".join(attrs)}}}'
        row += f',\n      "inputs": [{", ".join(inputs)}]'
        if isinstance(operator, ControlFlow):
            graphs = [_graph_text(g.nodes, g.entries, with_casts, modules) for g in operator.graphs]
            inner = ", ".join(graphs).replace("\n", "\n      ")
            row += f',\n      "subgraphs": [{inner}]'
        rows.append(f"    {{\n      {row}\n    }}")
        ends.append(ends[-1] + count)
    variables = [i for i, node in enumerate(nodes) if node.op is None]
    heads = [[number[node], index, 0] for node, index in entries]
    all_rows = ",\n".join(rows)
    return (
        f'{{\n  "nodes": [\n{all_rows}\n  ],\n  "arg_nodes": {variables},\n'
        f'  "node_row_ptr": {ends},\n  "heads": {heads}\n}}'
    )


def _refuse_shadowed(node: Node) -> None:
    """Refuse an operator whose name another one has taken since: a file has only the name."""
    if not node.op.is_current:
        raise MXNetError(
            f"symbol: {quoted(node.name)} is an operator {node.op.op_type!r}, and another one has "
            "its name now\n"
            "  expected names of their own, such as @operator(name=...), for a file or a pickle"
        )


def loads(text: str) -> list[Entry]:
    """The entries of the graph that a text describes.

    Raises
    ------
    MXNetError
        It is no such graph; the message names the node.
    """
    try:
        graph = json.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also of a number of 5,000 digits
        raise MXNetError(f"symbol: not JSON: {error}\n  expected nodes and heads") from None
    return _GraphParser(graph, len(text)).entries(graph, "", 0)


class _GraphParser:
    """Makes the nodes that parsed JSON describes.

    Parameters
    ----------
    graph
        The outermost one.
    size : int
        Characters of the text.
    """

    def __init__(self, graph: Any, size: int):
        self.version = _version(graph)
        self.modules = _modules(graph)
        self.outputs_left = self.most_outputs = max(MOST_OUTPUTS, size // CHARACTERS_PER_OUTPUT)

    def entries(self, graph: Any, where: str, depth: int) -> list[Entry]:
        """The entries of a graph; `where` names the node that it is inside of, for messages."""
        if not isinstance(graph, dict) or not isinstance(graph.get("nodes"), list):
            raise MXNetError(
                f"symbol: {where}the text has no list of nodes\n  expected nodes and heads"
            )
        nodes = _Nodes()
        for row in graph["nodes"]:
            node = self.node(row, nodes, where, depth)
            nodes.add(node, self.count_outputs(node, where, len(nodes)))
        heads = graph.get("heads")
        if not isinstance(heads, list) or not heads:
            found = quoted(heads)
            raise MXNetError(f"symbol: {where}the heads are {found}\n  expected a list of outputs")
        return [nodes.entry(head, f"{where}a head") for head in heads]

    def count_outputs(self, node: Node, where: str, number: int) -> int:
        """The number of outputs of a node; refuse more than the length of the text allows."""
        count = node.op.count_outputs(node.attributes) if node.op else 1
        self.outputs_left -= count - 1
        if count < 1 or self.outputs_left < 0:
            raise MXNetError(
                f"symbol: {_Place(where, number, node.name)} has {count} outputs\n"
                f"  expected 1 or more, and at most {self.most_outputs} in a graph of this size"
            )
        return count

    def node(self, row: Any, nodes: _Nodes, inside: str, depth: int) -> Node:
        """The node that a row describes; its inputs are outputs of the nodes before it."""
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            raise MXNetError(
                f"symbol: {inside}node {len(nodes)} is {quoted(row)}\n"
                "  expected op, name and inputs"
            )
        where = _Place(inside, len(nodes), row["name"])
        attrs = _attribute_texts(row, where)
        inputs = row.get("inputs", [])
        if not isinstance(inputs, list):
            raise MXNetError(f"symbol: {where}: the inputs are {quoted(inputs)}\n  expected a list")
        op = row.get("op")
        if op == "null":
            return _variable(row["name"], attrs, where)
        entries = [nodes.entry(e, where) for e in inputs]
        operator_class = OPERATORS.get(op) if isinstance(op, str) else None
        if op == "Custom":
            operator = self.users(attrs, where)
        elif operator_class is None:
            operator = _operator(op, where)
        else:
            graphs = self.subgraphs(row, operator_class, where, depth)
            operator = _control_flow(operator_class, graphs, attrs, len(entries), where)
        if self.version < 905 and operator.name in ("argmax", "argmin"):
            if attrs.get("axis") == "-1":
                del attrs["axis"]  # before 0.9.5 -1 stood for no axis
        attributes, names = _parse_attributes(operator, attrs, len(entries), where)
        # Before 0.9 a file had no states: each becomes a variable of this node.
        for name in names[len(entries) :]:
            entries.append((Node(None, f"{row['name']}_{name}"), 0))
        # Before 0.9 an operator had the hidden attributes of its inputs: weight_lr_mult.
        for name, (source, _) in zip(names, entries) if self.version < 900 else ():
            for key in HIDDEN:
                if source.op is None and f"{name}_{key}" in attrs:
                    source.attrs[f"__{key}__"] = attrs.pop(f"{name}_{key}")
        return Node(operator, row["name"], entries, attributes, attrs)

    def users(self, attrs: dict[str, str], where: _Place) -> UserOp:
        """The operator of a user that a node names, for the node's attributes."""
        if "op_type" not in attrs:
            raise ArgumentError(
                f"symbol: {where}: Custom: op_type is missing\n  expected a registered name"
            )
        op_type = attrs["op_type"]
        expect_registered(op_type, self.modules.get(op_type), str(where))
        given = {k: v for k, v in attrs.items() if k != "op_type" and not k.startswith("__")}
        try:
            return find(op_type, given)
        except Exception as error:  # of any kind, as its Prop's
            _refuse(error, "Custom", attrs, where)

    def subgraphs(
        self, row: dict, operator_class: type[ControlFlow], where: _Place, depth: int
    ) -> list[list[Entry]]:
        """The graphs inside a node."""
        graphs, expected = row.get("subgraphs"), len(operator_class.parts)
        if not isinstance(graphs, list) or len(graphs) != expected:
            found = len(graphs) if isinstance(graphs, list) else quoted(graphs)
            raise MXNetError(f"symbol: {where}: subgraphs: {found}\n  expected {expected} of them")
        if depth == MOST_NESTED:
            raise MXNetError(f"symbol: {where}: it is inside {depth} graphs\n  expected fewer")
        return [
            self.entries(graph, f"{where}, subgraph {i}, ", depth + 1)
            for i, graph in enumerate(graphs)
        ]


class _Place:
    """A node, for a message: `inside` names the node that its graph is inside of."""

    __slots__ = ("inside", "name", "number")

    def __init__(self, inside: str, number: int, name: str):
        self.inside, self.number, self.name = inside, number, name

    def __str__(self) -> str:
        return f"{self.inside}node {self.number} ({quoted(self.name)})"


class _Nodes:
    """The nodes of a graph parsed so far, with the number of outputs of each."""

    def __init__(self):
        self._nodes: list[Node] = []
        self._counts: list[int] = []

    def __len__(self) -> int:
        return len(self._nodes)

    def add(self, node: Node, count: int) -> None:
        self._nodes.append(node)
        self._counts.append(count)

    def entry(self, value: Any, where: str | _Place) -> Entry:
        """The output that ``[node, output, 0]`` stands for."""
        if type(value) is not list or {*map(type, value)} != {int} or not 2 <= len(value) <= 3:
            raise MXNetError(
                f"symbol: {where}: an input is {quoted(value)}\n  expected [node, output, 0]"
            )
        number, index = value[:2]
        if not 0 <= number < len(self._nodes):
            raise MXNetError(
                f"symbol: {where}: an input is of node {quoted(number)}\n"
                f"  expected one of the {len(self)} before it"
            )
        if not 0 <= index < self._counts[number]:
            name = quoted(self._nodes[number].name)
            raise MXNetError(
                f"symbol: {where}: an input is output {quoted(index)} of {name}\n"
                f"  expected one of its {self._counts[number]}"
            )
        return self._nodes[number], index


def _version(graph: Any) -> int:
    """The version of MXNet that wrote it, 10901 for 1.9.1; before 0.8 it wrote none."""
    attrs = graph.get("attrs") if isinstance(graph, dict) else None
    version = attrs.get("mxnet_version") if isinstance(attrs, dict) else None
    known = isinstance(version, list) and len(version) == 2 and type(version[1]) is int
    return version[1] if known else 800


def _modules(graph: Any) -> dict[str, str]:
    """The modules of custom operators by their names, as far as the file tells them."""
    attrs = graph.get("attrs") if isinstance(graph, dict) else None
    told = attrs.get(MODULES) if isinstance(attrs, dict) else None
    if not (isinstance(told, list) and len(told) == 2 and isinstance(told[1], list)):
        return {}
    pairs = [text.rpartition(" ") for text in told[1] if isinstance(text, str)]
    return {name: module for name, _, module in pairs}


def _variable(name: str, attrs: dict[str, str], where: _Place) -> Node:
    node = Node(None, name, attrs=attrs)
    try:
        declared_shape(node)
        declared_type(node)
    except ArgumentError as error:
        raise MXNetError(f"symbol: {where}: {error}") from None
    return node


def _parse_attributes(
    operator: registry.Op, attrs: dict[str, str], count: int, where: _Place
) -> tuple[dict[str, Any], list[str]]:
    """An operator's attributes, parsed, and its names of the `count` inputs."""
    try:
        attributes = operator.read({k: v for k, v in attrs.items() if operator.owns(k)})
        for name in operator.required:
            if name not in attributes:
                raise ArgumentError(f"{operator.name}: {name} is missing")
        names = operator.input_names(attributes, count)
        operator.check_count(attrs, count)
    except Exception as error:  # of any kind: a user's operator parses text from a file
        _refuse(error, operator.name, attrs, where)
    if count > len(names):
        raise MXNetError(
            f"symbol: {where}: {count} inputs\n  expected {', '.join(names) or 'none'}"
        )
    return attributes, names


def _refuse(error: Exception, name: str, attrs: dict[str, str], where: _Place) -> NoReturn:
    """Raise the error with the node whose attributes are read."""
    if isinstance(error, MXNetError):
        raise type(error)(f"symbol: {where}: {error}") from None
    raise MXNetError(
        f"symbol: {where}: {name} does not take {quoted(attrs)}: "
        f"{type(error).__name__}: {quoted(str(error))}"
    ) from error


def _control_flow(
    operator_class: type[ControlFlow], graphs: list, attrs: dict, count: int, where: _Place
):
    try:
        return operator_class(graphs, attrs, count)
    except ArgumentError as error:
        raise MXNetError(f"symbol: {where}: {error}") from None


def _operator(name: Any, where: _Place) -> registry.Op:
    try:
        return registry.get(name)
    except (KeyError, TypeError):
        raise MXNetError(
            f"symbol: {where}: there is no operator {quoted(name)}\n"
            "  expected one of the table; see mx.operator.get_all_registered_operators()"
        ) from None


def _attribute_texts(row: dict, where: _Place) -> dict[str, str]:
    """The attributes; old files have other keys, and hidden ones without underscores."""
    attrs: dict[str, str] = {}
    for key in ("param", "attr", "attrs"):
        if key in row:
            part = row[key]
            if type(part) is not dict or not {*map(type, part.values())} <= {str}:
                raise MXNetError(
                    f"symbol: {where}: {key} is {quoted(part)}\n  expected text by name"
                )
            attrs |= part
    # An attribute of a custom operator may have any name, also one that is hidden elsewhere.
    return with_hidden_names(attrs) | (attrs if row.get("op") == "Custom" else {})
