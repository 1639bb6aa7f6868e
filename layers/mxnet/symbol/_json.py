"""The graph as text: MXNet's JSON, current and old.

A file is untrusted. Operators are looked up in the registry only, attributes are read by their type
and never evaluated, numbers of nodes are bounded by the text, an input is a node that came before.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import torch

from .. import _op
from .._custom import CUSTOM
from ..base import MXNetError
from ._node import HIDDEN, Entry, Node, kept, ordered

VERSION = 10901
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


def dumps(entries: list[Entry]) -> str:
    """The graph of some entries, in MXNet's format."""
    nodes = ordered(entries)
    number = {id(node): i for i, node in enumerate(nodes)}
    rows, ends = [], [0]
    moved: Counter[int] = Counter()  # how often a state was updated: the third number of an input
    for node in nodes:
        row: dict[str, Any] = {"op": node.op.name if node.op else "null", "name": node.name}
        if node.attrs:
            row["attrs"] = dict(sorted(node.attrs.items()))
        told = node.op.state_names(node.attributes) if node.op else ()
        named = zip(node.input_names, node.inputs)
        moved.update(id(source) for name, (source, _) in named if name in told)
        row["inputs"] = [[number[id(n)], index, moved[id(n)]] for n, index in node.inputs]
        rows.append(row)
        ends.append(ends[-1] + len(node.outputs))
    graph = {
        "nodes": rows,
        "arg_nodes": [i for i, node in enumerate(nodes) if node.op is None],
        "node_row_ptr": ends,
        "heads": [[number[id(node)], index, 0] for node, index in entries],
        "attrs": {"mxnet_version": ["int", VERSION]},
    }
    return json.dumps(graph, indent=2)


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
    if not isinstance(graph, dict) or not isinstance(graph.get("nodes"), list):
        raise MXNetError("symbol: the text has no list of nodes\n  expected nodes and heads")
    version = _version(graph)
    nodes: list[Node] = []
    for row in graph["nodes"]:
        nodes.append(_node(row, nodes, version))
    heads = graph.get("heads")
    if not isinstance(heads, list) or not heads:
        raise MXNetError(f"symbol: the heads are {heads!r}\n  expected a list of outputs")
    return [_entry(head, nodes, "a head") for head in heads]


def _version(graph: dict) -> int:
    """The version of MXNet that wrote it, 10901 for 1.9.1; before 0.8 it wrote none."""
    attrs = graph.get("attrs")
    told = attrs.get("mxnet_version") if isinstance(attrs, dict) else None
    known = isinstance(told, list) and len(told) == 2 and type(told[1]) is int
    return told[1] if known else 800


def _node(row: Any, nodes: list[Node], version: int) -> Node:
    where = f"node {len(nodes)}"
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        raise MXNetError(f"symbol: {where} is {str(row)[:80]}\n  expected op, name and inputs")
    where = f"{where} ({row['name']!r})"
    attrs = _attrs(row, where)
    inputs = row.get("inputs", [])
    if not isinstance(inputs, list):
        raise MXNetError(f"symbol: {where}: the inputs are {inputs!r}\n  expected a list")
    if row.get("op") == "null":
        return Node(None, row["name"], attrs=attrs)
    operator = _operator(row.get("op"), where)
    entries = [_entry(e, nodes, where) for e in inputs]
    if version < 905 and operator.name in ("argmax", "argmin") and attrs.get("axis") == "-1":
        del attrs["axis"]  # then -1 stood for no axis
    attributes = operator.read({k: v for k, v in attrs.items() if operator.owns(k)})
    # Before 0.9 the states were not written down: they are variables of the node's own.
    names = operator.input_names(attributes, len(entries))
    for name in names[len(entries) :]:
        entries.append((Node(None, f"{row['name']}_{name}"), 0))
    # Before 0.9 an operator kept what was hidden of its inputs: weight_lr_mult.
    for name, (source, _) in zip(names, entries):
        for key in HIDDEN:
            if source.op is None and f"{name}_{key}" in attrs:
                source.attrs[f"__{key}__"] = attrs.pop(f"{name}_{key}")
    return Node(operator, row["name"], entries, attributes, attrs)


def _operator(name: Any, where: str) -> _op.Op:
    if name == "Custom":
        return CUSTOM
    try:
        return _op.get(name)
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
