"""The graph as text: MXNet's JSON, current and old.

A file is untrusted. Operators are looked up in the registry only, attributes are parsed by their
type and never evaluated, the number of outputs is bounded by the length of the text, an input is an
output of an earlier node, and the depth of graphs inside nodes is bounded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _np_shape
from .._op.registered import find
from .._op.user_op import UserOp
from .._table import registry
from ..base import ArgumentError, MXNetError, quoted
from ..operator import expect_registered
from ._casts import without_casts
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


def dumps(entries: list[Entry], with_casts: bool = True) -> str:
    """The graph of some entries, in MXNet's format; with the casts of mixed precision or not."""
    modules: dict[str, str] = {}
    graph = _graph(entries, with_casts, modules)
    attrs: dict[str, list] = {"mxnet_version": ["int", VERSION]}
    if _np_shape.is_on():
        attrs["is_np_shape"] = ["int", 1]
    if modules:
        attrs[MODULES] = ["list_str", [f"{name} {modules[name]}" for name in sorted(modules)]]
    return json.dumps(graph | {"attrs": attrs}, indent=2)


def _graph(entries: list[Entry], with_casts: bool, modules: dict[str, str]) -> dict[str, Any]:
    """The graph of some entries; `modules` gets those of its custom operators."""
    entries = entries if with_casts else without_casts(entries)
    nodes = ordered(entries)
    number = {id(node): i for i, node in enumerate(nodes)}
    rows, ends = [], [0]
    # How often each state was updated so far: the third number of an input.
    updates: Counter[int] = Counter()
    for node in nodes:
        _refuse_shadowed(node)
        if node.op is not None:
            modules |= node.op.module_to_record
        row: dict[str, Any] = {"op": node.op.name if node.op else "null", "name": node.name}
        if node.attrs:
            row["attrs"] = dict(sorted(node.attrs.items()))
        state_names = node.op.state_names(node.attributes) if node.op else ()
        named = zip(node.input_names, node.inputs)
        updates.update(id(source) for name, (source, _) in named if name in state_names)
        row["inputs"] = [[number[id(n)], index, updates[id(n)]] for n, index in node.inputs]
        if isinstance(node.op, ControlFlow):
            row["subgraphs"] = [_graph(g.entries, with_casts, modules) for g in node.op.graphs]
        rows.append(row)
        ends.append(ends[-1] + len(node.outputs))
    return {
        "nodes": rows,
        "arg_nodes": [i for i, node in enumerate(nodes) if node.op is None],
        "node_row_ptr": ends,
        "heads": [[number[id(node)], index, 0] for node, index in entries],
    }


def _refuse_shadowed(node: Node) -> None:
    """Refuse an operator whose name another one has taken since: a file has only the name."""
    if node.op is not None and not node.op.is_current:
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
            nodes.add(node, self.count_outputs(node, f"{where}node {len(nodes)}"))
        heads = graph.get("heads")
        if not isinstance(heads, list) or not heads:
            found = quoted(heads)
            raise MXNetError(f"symbol: {where}the heads are {found}\n  expected a list of outputs")
        return [nodes.entry(head, f"{where}a head") for head in heads]

    def count_outputs(self, node: Node, where: str) -> int:
        """The number of outputs of a node; refuse more than the length of the text allows."""
        count = node.op.count_outputs(node.attributes) if node.op else 1
        self.outputs_left -= count - 1
        if count < 1 or self.outputs_left < 0:
            raise MXNetError(
                f"symbol: {where} ({quoted(node.name)}) has {count} outputs\n"
                f"  expected 1 or more, and at most {self.most_outputs} in a graph of this size"
            )
        return count

    def node(self, row: Any, nodes: _Nodes, where: str, depth: int) -> Node:
        """The node that a row describes; its inputs are outputs of the nodes before it."""
        where = f"{where}node {len(nodes)}"
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            raise MXNetError(f"symbol: {where} is {quoted(row)}\n  expected op, name and inputs")
        where = f"{where} ({quoted(row['name'])})"
        attrs = _attribute_texts(row, where)
        inputs = row.get("inputs", [])
        if not isinstance(inputs, list):
            raise MXNetError(f"symbol: {where}: the inputs are {quoted(inputs)}\n  expected a list")
        if row.get("op") == "null":
            return _variable(row["name"], attrs, where)
        entries = [nodes.entry(e, where) for e in inputs]
        operator_class = OPERATORS.get(row["op"]) if isinstance(row.get("op"), str) else None
        if row.get("op") == "Custom":
            operator = self.users(attrs, where)
        elif operator_class is None:
            operator = _operator(row.get("op"), where)
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

    def users(self, attrs: dict[str, str], where: str) -> UserOp:
        """The operator of a user that a node names, for the node's attributes."""
        if "op_type" not in attrs:
            raise ArgumentError(
                f"symbol: {where}: Custom: op_type is missing\n  expected a registered name"
            )
        op_type = attrs["op_type"]
        expect_registered(op_type, self.modules.get(op_type), where)
        given = {k: v for k, v in attrs.items() if k != "op_type" and not k.startswith("__")}
        with _refusing("Custom", attrs, where):
            return find(op_type, given)

    def subgraphs(
        self, row: dict, operator_class: type[ControlFlow], where: str, depth: int
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

    def entry(self, value: Any, where: str) -> Entry:
        """The output that ``[node, output, 0]`` stands for."""
        is_entry = isinstance(value, list) and 2 <= len(value) <= 3
        if not is_entry or not all(type(n) is int for n in value):
            raise MXNetError(
                f"symbol: {where}: an input is {quoted(value)}\n  expected [node, output, 0]"
            )
        number, index = value[:2]
        if not 0 <= number < len(self):
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


def _variable(name: str, attrs: dict[str, str], where: str) -> Node:
    node = Node(None, name, attrs=attrs)
    try:
        declared_shape(node)
        declared_type(node)
    except ArgumentError as error:
        raise MXNetError(f"symbol: {where}: {error}") from None
    return node


def _parse_attributes(
    operator: registry.Op, attrs: dict[str, str], count: int, where: str
) -> tuple[dict[str, Any], list[str]]:
    """An operator's attributes, parsed, and its names of the `count` inputs."""
    with _refusing(operator.name, attrs, where):
        attributes = operator.read({k: v for k, v in attrs.items() if operator.owns(k)})
        missing = [name for name in operator.required if name not in attributes]
        if missing:
            raise ArgumentError(f"{operator.name}: {missing[0]} is missing")
        names = operator.input_names(attributes, count)
        operator.check_count(attrs, count)
    if count > len(names):
        raise MXNetError(
            f"symbol: {where}: {count} inputs\n  expected {', '.join(names) or 'none'}"
        )
    return attributes, names


@contextmanager
def _refusing(name: str, attrs: dict[str, str], where: str) -> Iterator[None]:
    """``with _refusing(...):`` an error tells the node whose attributes are read."""
    try:
        yield
    except MXNetError as error:
        raise type(error)(f"symbol: {where}: {error}") from None
    except Exception as error:  # of any kind: a user's operator parses text from a file
        raise MXNetError(
            f"symbol: {where}: {name} does not take {quoted(attrs)}: "
            f"{type(error).__name__}: {quoted(str(error))}"
        ) from error


def _control_flow(
    operator_class: type[ControlFlow], graphs: list, attrs: dict, count: int, where: str
):
    try:
        return operator_class(graphs, attrs, count)
    except ArgumentError as error:
        raise MXNetError(f"symbol: {where}: {error}") from None


def _operator(name: Any, where: str) -> registry.Op:
    try:
        return registry.get(name)
    except (KeyError, TypeError):
        raise MXNetError(
            f"symbol: {where}: there is no operator {quoted(name)}\n"
            "  expected one of the table; see mx.operator.get_all_registered_operators()"
        ) from None


def _attribute_texts(row: dict, where: str) -> dict[str, str]:
    """The attributes; old files have other keys, and hidden ones without underscores."""
    attrs: dict[str, str] = {}
    for key in ("param", "attr", "attrs"):
        part = row.get(key, {})
        texts = isinstance(part, dict) and all(isinstance(v, str) for v in part.values())
        if not texts:
            raise MXNetError(f"symbol: {where}: {key} is {quoted(part)}\n  expected text by name")
        attrs |= part
    # An attribute of a custom operator may have any name, also one that is hidden elsewhere.
    return with_hidden_names(attrs) | (attrs if row.get("op") == "Custom" else {})
