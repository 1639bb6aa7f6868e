"""A program in which operators of one's own that follow one another are chains."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .._own import call
from .._own.node import CUSTOM
from ..context import Context
from ..symbol._node import Entry, Node, ordered
from .chain import Chain
from .program import Program


class Chained:
    """A program, and the same with chains, which runs unless all operators are looked at.

    Parameters
    ----------
    program, joined : Program
    entries : list of (Node, int)
        The outputs of the first.
    """

    def __init__(self, program: Program, joined: Program, entries: list[Entry]):
        self.program, self._joined, self._entries = program, joined, entries

    def __call__(self, tensors: list[torch.Tensor], context: Context) -> list[torch.Tensor]:
        """The outputs, in memory of their own, recorded when recording is on."""
        is_watched = call.CHECK_NAN or torch.compiler.is_compiling()
        return (self.program if is_watched else self._joined)(tensors, context)

    def __reduce__(self) -> tuple:
        return chained, (self.program, self._entries)  # a copy notes for itself


def chained(program: Program, entries: list[Entry]) -> Program | Chained:
    """The program of a graph, with chains if it has operators of one's own."""
    if program.is_open or not any(map(_is_link, program.nodes)):
        return program
    nodes = sorted(ordered(entries), key=lambda n: n.op is not None)  # variables first
    last = _last(nodes, entries)
    made: list[Node] = []
    moved: dict[Entry, Entry] = {}
    for part in _parts(nodes, last):
        first = part[0]
        if _is_link(first):
            chain = Chain(part)
            node = Node(chain, part[-1].name, [moved[e] for e in chain.sources])
        else:
            node = Node(first.op, first.name, [moved[e] for e in first.inputs], first.attributes)
        made.append(node)
        moved |= zip(part[-1].entries, node.entries)
    return Chained(program, Program([moved[e] for e in entries], made), entries)


def _is_link(node: Node) -> bool:
    return node.op is CUSTOM and not node.op.state_names(node.attributes)


def _last(nodes: list[Node], entries: list[Entry]) -> dict[Node, int]:
    """The place of the last user of each node's outputs; behind all, where the graph gives them."""
    last = {node: place for place, node in enumerate(nodes)}
    for place, node in enumerate(nodes):
        last |= {source: place for source, _ in node.inputs}
    return last | {node: len(nodes) for node, _ in entries}


def _parts(nodes: list[Node], last: dict[Node, int]) -> Iterator[list[Node]]:
    """The nodes one by one, and as long chains as there can be.

    Of a chain, only the last node has outputs that others use: so there is a gradient by them.
    """
    start = 0
    while start < len(nodes):
        end, reach = start, 0
        for place, node in enumerate(nodes[start:], start):
            if not _is_link(node):
                break
            if reach <= place:  # nobody behind it uses what is before it
                end = place
            reach = max(reach, last[node])
        yield nodes[start : end + 1]
        start = end + 1
