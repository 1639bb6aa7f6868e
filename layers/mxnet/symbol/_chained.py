"""A program in which operators of one's own that follow one another are chains."""

from __future__ import annotations

from itertools import groupby

import torch

from .. import _function
from .._custom import CUSTOM
from ..context import Context
from ._chain import Chain
from ._node import Entry, Node, ordered
from ._program import Program


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
        is_watched = _function.CHECK_NAN or torch.compiler.is_compiling()
        return (self.program if is_watched else self._joined)(tensors, context)

    def __reduce__(self) -> tuple:
        return chained, (self.program, self._entries)  # a copy notes for itself


def chained(program: Program, entries: list[Entry]) -> Program | Chained:
    """The program of a graph, with chains if it has operators of one's own."""
    if program.is_open or not any(map(_is_link, program.nodes)):
        return program
    nodes = sorted(ordered(entries), key=lambda n: n.op is not None)  # variables first
    made: list[Node] = []
    moved: dict[Entry, Entry] = {}
    for is_link, run in groupby(nodes, _is_link):
        run = list(run)
        if is_link:
            asked = {*entries, *(e for n in nodes if n not in run for e in n.inputs)}
            chain = Chain(run, asked)
            parts = [(chain, run[-1].name, chain.sources, {}, chain.targets)]
        else:
            parts = [(n.op, n.name, n.inputs, n.attributes, n.entries) for n in run]
        for op, name, inputs, attributes, outputs in parts:
            node = Node(op, name, [moved[e] for e in inputs], attributes)
            made.append(node)
            moved |= zip(outputs, node.entries)
    return Chained(program, Program([moved[e] for e in entries], made), entries)


def _is_link(node: Node) -> bool:
    return node.op is CUSTOM and not node.op.state_names(node.attributes)
