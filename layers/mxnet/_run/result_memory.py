"""How much memory the results of a graph take while it is computed, found from their shapes."""

from __future__ import annotations

import math

import torch

from ..symbol import _infer
from ..symbol._node import Entry, Node, ordered


def most_bytes(
    entries: list[Entry],
    shapes: dict[str, tuple[int, ...]],
    types: dict[str, torch.dtype],
    trained: set[str],
) -> int:
    """The bytes of the results that are there at the same time, at most.

    A result is there until its last use, and for the backward where a gradient goes through it: to
    a variable in `trained`, not behind a `BlockGrad`. Outputs stay; variables do not count.
    """
    nodes = ordered(entries)
    known, dtypes = _infer.shapes(entries, shapes), _infer.types(entries, types)
    kept = {*entries, *_with_gradients(nodes, entries, trained)}
    last = {entry: node for node in nodes for entry in node.inputs if entry[0].op is not None}
    now = most = 0
    for node in nodes:
        if node.op is not None:
            now += sum(_bytes(entry, known, dtypes) for entry in node.entries)
            most = max(most, now)
            ended = [e for e in dict.fromkeys(node.inputs) if last.get(e) is node]
            ended += [e for e in node.entries if e not in last]
            now -= sum(_bytes(e, known, dtypes) for e in ended if e not in kept)
    return most


def _bytes(entry: Entry, shapes: dict, types: dict) -> int:
    shape = shapes.get(entry)
    return math.prod(shape) * types[entry].itemsize if shape is not None else 0


def _with_gradients(nodes: list[Node], entries: list[Entry], trained: set[str]) -> list[Entry]:
    """The results through which a gradient goes from an output to a trained variable."""
    depends: set[Node] = set()
    for node in nodes:
        is_variable = node.op is None and node.name in trained
        if is_variable or any(source in depends for source, _ in node.inputs):
            depends.add(node)
    reached = {node for node, _ in entries}
    for node in reversed(nodes):
        if node in reached and (node.op is None or node.op.name != "BlockGrad"):
            reached |= {source for source, _ in node.inputs}
    through = [node for node in nodes if node in reached and node in depends]
    return [e for n in through if n.op is not None and n.op.name != "BlockGrad" for e in n.entries]
