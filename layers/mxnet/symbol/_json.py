"""The graph as text: MXNet's JSON, current and old.

A file is untrusted. Operators are looked up in the registry only, attributes are read by their type
and never evaluated, numbers of nodes are bounded by the text, an input is a node that came before,
graphs inside nodes are so deep at most.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from .._own.node import CUSTOM
from .._table import registry
from ..base import ArgumentError, MXNetError
from ._node import HIDDEN, Entry, Node, kept, ordered
from ._subgraph import OPERATORS, ControlFlow

VERSION = 10901
DEPTH = 8  # of graphs inside graphs


def dumps(entries: list[Entry]) -> str:
    """The graph of some entries, in MXNet's format."""
    return json.dumps(_graph(entries) | {"attrs": {"mxnet_version": ["int", VERSION]}}, indent=2)


def _graph(entries: list[Entry]) -> dict[str, Any]:
    nodes = ordered(entries)
    number = {id(node): i for i, node in enumerate(nodes)}
    rows, ends = [], [0]
    moved: Counter[int] = Counter()  # how often a state was updated: the third number of an input
    for node in nodes:
        _expect_current(node)
        row: dict[str, Any] = {"op": node.op.name if node.op else "null", "name": node.name}
        if node.attrs:
            row["attrs"] = dict(sorted(node.attrs.items()))
        told = node.op.state_names(node.attributes) if node.op else ()
        named = zip(node.input_names, node.inputs)
        moved.update(id(source) for name, (source, _) in named if name in told)
        row["inputs"] = [[number[id(n)], index, moved[id(n)]] for n, index in node.inputs]
        if isinstance(node.op, ControlFlow):
            row["subgraphs"] = [_graph(graph.entries) for graph in node.op.graphs]
        rows.append(row)
        ends.append(ends[-1] + len(node.outputs))
    return {
        "nodes": rows,
        "arg_nodes": [i for i, node in enumerate(nodes) if node.op is None],
        "node_row_ptr": ends,
        "heads": [[number[id(node)], index, 0] for node, index in entries],
    }


def _expect_current(node: Node) -> None:
    """Refuse an operator whose name another one has: a file has only the name."""
    if node.op is CUSTOM and not node.attributes["op_type"].is_current:
        op_type = node.attributes["op_type"]
        raise MXNetError(
            f"symbol: {node.name!r} is an operator {op_type!r}, and another one has its name now\n"
            "  expected names of their own, such as @operator(name=...), for a file or a copy"
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
    except (json.JSONDecodeError, RecursionError) as error:
        raise MXNetError(f"symbol: not JSON: {error}") from None
    return _entries(graph, _version(graph), "", 0)


def _entries(graph: Any, version: int, where: str, depth: int) -> list[Entry]:
    """The entries of a graph; `where` it is: in the text, or in a node."""
    if not isinstance(graph, dict) or not isinstance(graph.get("nodes"), list):
        raise MXNetError(
            f"symbol: {where}the text has no list of nodes\n  expected nodes and heads"
        )
    nodes: list[Node] = []
    for row in graph["nodes"]:
        nodes.append(_node(row, nodes, version, where, depth))
    heads = graph.get("heads")
    if not isinstance(heads, list) or not heads:
        raise MXNetError(f"symbol: {where}the heads are {heads!r}\n  expected a list of outputs")
    return [_entry(head, nodes, f"{where}a head") for head in heads]


def _version(graph: Any) -> int:
    """The version of MXNet that wrote it, 10901 for 1.9.1; before 0.8 it wrote none."""
    attrs = graph.get("attrs") if isinstance(graph, dict) else None
    told = attrs.get("mxnet_version") if isinstance(attrs, dict) else None
    known = isinstance(told, list) and len(told) == 2 and type(told[1]) is int
    return told[1] if known else 800


def _node(row: Any, nodes: list[Node], version: int, where: str, depth: int) -> Node:
    where = f"{where}node {len(nodes)}"
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        raise MXNetError(f"symbol: {where} is {str(row)[:80]}\n  expected op, name and inputs")
    where = f"{where} ({row['name']!r})"
    attrs = _attrs(row, where)
    inputs = row.get("inputs", [])
    if not isinstance(inputs, list):
        raise MXNetError(f"symbol: {where}: the inputs are {inputs!r}\n  expected a list")
    if row.get("op") == "null":
        return Node(None, row["name"], attrs=attrs)
    entries = [_entry(e, nodes, where) for e in inputs]
    kind = OPERATORS.get(str(row.get("op")))
    if kind is None:
        operator = _operator(row.get("op"), where)
    else:
        graphs = _subgraphs(row, kind, version, where, depth)
        operator = _with_graphs(kind, graphs, attrs, len(entries), where)
    if version < 905 and operator.name in ("argmax", "argmin") and attrs.get("axis") == "-1":
        del attrs["axis"]  # then -1 stood for no axis
    try:
        attributes = operator.read({k: v for k, v in attrs.items() if operator.owns(k)})
        names = operator.input_names(attributes, len(entries))
    except MXNetError as error:
        raise type(error)(f"symbol: {where}: {error}") from None
    # Before 0.9 the states were not written down: they are variables of the node's own.
    for name in names[len(entries) :]:
        entries.append((Node(None, f"{row['name']}_{name}"), 0))
    # Before 0.9 an operator kept what was hidden of its inputs: weight_lr_mult.
    for name, (source, _) in zip(names, entries):
        for key in HIDDEN:
            if source.op is None and f"{name}_{key}" in attrs:
                source.attrs[f"__{key}__"] = attrs.pop(f"{name}_{key}")
    return Node(operator, row["name"], entries, attributes, attrs)


def _subgraphs(
    row: dict, kind: type[ControlFlow], version: int, where: str, depth: int
) -> list[list[Entry]]:
    """The graphs inside a node."""
    graphs, expected = row.get("subgraphs"), len(kind.parts)
    if not isinstance(graphs, list) or len(graphs) != expected:
        found = len(graphs) if isinstance(graphs, list) else repr(graphs)[:80]
        raise MXNetError(f"symbol: {where}: subgraphs: {found}\n  expected {expected} of them")
    if depth == DEPTH:
        raise MXNetError(f"symbol: {where}: it is in {depth} graphs\n  expected fewer")
    return [
        _entries(graph, version, f"{where}, subgraph {i}, ", depth + 1)
        for i, graph in enumerate(graphs)
    ]


def _with_graphs(kind: type[ControlFlow], graphs: list, attrs: dict, count: int, where: str):
    try:
        return kind(graphs, attrs, count)
    except ArgumentError as error:
        raise MXNetError(f"symbol: {where}: {error}") from None


def _operator(name: Any, where: str) -> registry.Op:
    if name == "Custom":
        return CUSTOM
    try:
        return registry.get(name)
    except (KeyError, TypeError):
        raise MXNetError(
            f"symbol: {where}: there is no operator {name!r}\n"
            "  expected one of the table; see mx.operator.get_all_registered_operators()"
        ) from None


def _attrs(row: dict, where: str) -> dict[str, str]:
    """The attributes; old files have other keys, and hidden ones without underscores."""
    attrs: dict[str, str] = {}
    for key in ("param", "attr", "attrs"):
        part = row.get(key, {})
        texts = isinstance(part, dict) and all(isinstance(v, str) for v in part.values())
        if not texts:
            raise MXNetError(f"symbol: {where}: {key} is {str(part)[:80]}\n  expected text by name")
        attrs |= part
    return kept(attrs)


def _entry(value: Any, nodes: list[Node], where: str) -> Entry:
    whole = isinstance(value, list) and 2 <= len(value) <= 3
    if not whole or not all(type(n) is int for n in value):
        raise MXNetError(f"symbol: {where}: an input is {value!r}\n  expected [node, output, 0]")
    number, index = value[:2]
    if not 0 <= number < len(nodes):
        raise MXNetError(
            f"symbol: {where}: an input is of node {number}\n"
            f"  expected one of the {len(nodes)} before it"
        )
    count = len(nodes[number].outputs)
    if not 0 <= index < count:
        raise MXNetError(
            f"symbol: {where}: an input is output {index} of {nodes[number].name!r}\n"
            f"  expected one of its {count}"
        )
    return nodes[number], index
