"""The graphs of Executors: on several contexts, with equal nodes made one, and in how much memory.

Where the attribute `group2ctx` says so, a node is where its group is. Nodes that compute the same
are computed once. How much memory the results take while a graph is computed is found from their
shapes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from .._table import registry
from ..base import ArgumentError, quoted
from ..context import Context
from ..symbol import _infer
from ..symbol._node import Entry, Node, ordered
from .program import Program


def contexts(
    entries: list[Entry],
    groups: dict[str, Context] | None,
    default: Context,
    given: Mapping[str, Context] | None = None,
) -> dict[Node, Context]:
    """Return the context of each node of a graph; none where all compute on the default.

    Parameters
    ----------
    entries : list of (Node, int)
        The outputs.
    groups : dict of str to Context, optional
        For each value of the attribute ``ctx_group``.
    default : Context
        That of variables and of operators without inputs, where they have no group. Another
        operator without a group is where its first input is.
    given : mapping of str to Context, optional
        Of variables that have arrays already.

    Raises
    ------
    ArgumentError
        A group has no context.
    """
    found: dict[Node, Context] = {}
    for node in ordered(entries) if groups else ():
        group = node.attrs.get("__ctx_group__")
        if node.op is None and given and node.name in given:
            found[node] = given[node.name]
        elif group is not None:
            if group not in groups:
                raise ArgumentError(
                    f"group2ctx: there is no context for ctx_group {quoted(group)} of "
                    f"{quoted(node.name)}\n  expected one beside those for {list(groups)}"
                )
            found[node] = groups[group]
        else:
            found[node] = found[node.inputs[0][0]] if node.inputs else default
    return found


def contexts_of_variables(places: dict[Node, Context]) -> dict[str, Context]:
    """Return the contexts of variables, by name."""
    return {node.name: context for node, context in places.items() if node.op is None}


def functions_on(
    program: Program,
    own: dict[Node, Callable],
    places: dict[Node, Context],
    default: Context,
) -> dict[Node, Callable]:
    """Return the functions of a program's nodes that compute on other contexts than `default`.

    `own` has the functions of some nodes that are in place of the operators'.
    """
    known = program.functions | own
    elsewhere = [
        node
        for node in program.nodes
        if {places[node], *[places[source] for source, _ in node.inputs]} != {default}
    ]
    return own | {node: _on(places[node], known[node]) for node in elsewhere}


def _on(context: Context, function: Callable) -> Callable:
    """Return the function on a context, to whose device its inputs are copied."""

    def run(*tensors: Tensor | None, **options):
        device = context.device
        here = {"context": context, "device": device}
        moved = [t if t is None else t.to(device) for t in tensors]
        return function(*moved, **options | {k: v for k, v in here.items() if k in options})

    return run


def merged(entries: list[Entry]) -> list[Entry]:
    """Return the outputs of a graph in which nodes that compute the same are one.

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
    """True if nodes of one operator, with equal attributes and inputs, have equal outputs."""
    op = node.op
    return (
        op is not None
        and not op.draws
        and op.run is op.function  # each head of a loss has a gradient of its own
        and not op.states
        and not op.supplied
    )


def _with_copies(entries: list[Entry], places: dict[Node, Node]) -> list[Entry]:
    """Return the outputs; where two of them are now one node, the later is an identity of it."""
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


def most_bytes(
    entries: list[Entry],
    shapes: dict[str, tuple[int, ...]],
    types: dict[str, torch.dtype],
    trained: set[str],
) -> int:
    """Return the bytes of the results that are there at the same time, at most.

    A result is there until its last use, and for the backward where a gradient goes through it: to
    a variable in `trained`, not behind a `BlockGrad`. Outputs stay; variables do not count.
    """
    nodes = ordered(entries)
    known, dtypes = _infer.shapes(nodes, shapes), _infer.types(nodes, types)
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
    """Return the results through which a gradient goes from an output to a trained variable."""
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
