"""Nodes of a graph that compute the same: an Executor computes it once."""

from __future__ import annotations

import os

from .._table import registry
from ..symbol._node import Entry, Node, ordered


def merged(entries: list[Entry]) -> list[Entry]:
    """The outputs of a graph in which nodes that compute the same are one.

    Where two outputs become one, the second is a copy of it. The environment variable
    MXNET_ELIMINATE_COMMON_EXPR=0 leaves the graph as it is.
    """
    if os.environ.get("MXNET_ELIMINATE_COMMON_EXPR") == "0":
        return entries
    places: dict[Node, Node] = {}
    first: dict[tuple, Node] = {}
    for node in ordered(entries):
        inputs = [(places[source], i) for source, i in node.inputs]
        made = node if inputs == node.inputs else node.copied(inputs)
        if _may_be_merged(node):
            attributes = tuple(sorted((k, repr(v)) for k, v in node.attributes.items()))
            made = first.setdefault((node.op, attributes, *inputs), made)
        places[node] = made
    return _with_copies(entries, places)


def _may_be_merged(node: Node) -> bool:
    """Whether another node of the same operator, attributes and inputs gives the same."""
    op = node.op
    return (
        op is not None
        and not op.draws
        and op.run is op.function  # each head of a loss has a gradient of its own
        and not op.states
        and not op.supplied
    )


def _with_copies(entries: list[Entry], places: dict[Node, Node]) -> list[Entry]:
    """The outputs; where two different ones are now one node, the later is an identity of it."""
    given: dict[Entry, Entry] = {}
    owners: dict[Entry, Entry] = {}  # by the place: the first output that is there
    for entry in entries:
        node, index = entry
        place = places[node], index
        if owners.setdefault(place, entry) != entry and entry not in given:
            name = f"{place[0].name}_{index}_copy"
            place = Node(registry.get("identity"), name, [place]), 0
        given.setdefault(entry, place)
    return [given[entry] for entry in entries]
