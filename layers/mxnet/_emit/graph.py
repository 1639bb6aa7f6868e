"""A graph as one class: its nodes in their order, named by what differs of their names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from ..base import MXNetError
from ..symbol import Symbol
from ..symbol._infer import completed
from ..symbol._node import Entry, Node, states
from .heads import WITH_LABEL
from .scope import Part, World

# What operators call inputs that are weights; a graph without arrays has to tell them from data.
WEIGHTS = {"weight", "bias", "gamma", "beta", "moving_mean", "moving_var", "parameters"}
BATCH = 97  # stands for the size of the batch, where shapes allow


def weights_of(graph: Symbol) -> list[str]:
    """Return the names of the variables that operators take as weights."""
    nodes = graph._graph.nodes
    found = {
        source.name
        for node in nodes
        for name, (source, _) in zip(node.input_names, node.inputs)
        if source.op is None and name in WEIGHTS
    }
    return [n.name for n in nodes if n.op is None and n.name in found]


def world_of(
    nodes: list[Node],
    inputs: list[Node],
    given: dict[Node, tuple],
    buffers: Iterable[Node] = (),
    names: Callable[[Node], str] | None = None,
) -> World:
    """Return what the parts of a graph share, for the shapes of some variables.

    Inputs whose shape is not given take what the first convolution tells of it.
    """
    parameters = {n for n in nodes if n.op is None} - {*inputs}
    known = {(n, 0): shape for n, shape in given.items() if shape}
    batch = None
    for node in inputs:
        if (node, 0) not in known and (shape := _guessed(node, nodes, known)):
            known[node, 0] = shape
    told = [known[n, 0] for n in inputs if (n, 0) in known]
    shapes = None
    if len({shape[0] for shape in told}) == 1 and all(told[0]) and len(told) == len(inputs):
        other = {(n, 0): (BATCH, *known[n, 0][1:]) for n in inputs}
        try:
            shapes, batch = completed(nodes, known | other), BATCH
        except MXNetError:  # the size of the batch is written in the graph
            shapes = None
    if shapes is None:
        try:
            shapes = completed(nodes, known)
        except MXNetError:  # an operator tells nothing for a size that is not known
            if len(told) == len(inputs) and not any(0 in shape for shape in told):
                raise
            shapes = dict(known)
    updated = states(nodes)
    own = {n for n in parameters if id(n) in updated or n in {*buffers}}
    return World(shapes, parameters, own, batch, names or short_names(nodes))


# Operators whose output has the shape of their data, before the first convolution of some nets.
LIKE_DATA = {"BatchNorm", "LeakyReLU", "Dropout", "_contrib_SyncBatchNorm", "LRN"}


def _guessed(node: Node, nodes: list[Node], known: dict[Entry, tuple]) -> tuple | None:
    """Return the shape of the data of a convolution, without the sizes that are not known."""
    alike = {(node, 0)}
    for user in nodes:
        if user.op is None or not user.inputs or user.inputs[0] not in alike:
            continue
        if user.op.same or user.op.name in LIKE_DATA:
            alike.add((user, 0))
        elif user.op.name in ("Convolution", "Convolution_v1") and user.inputs[1] in known:
            attributes = user.op.defaults | user.attributes
            if (attributes["layout"] or "NC").endswith("C"):
                return None
            channels = known[user.inputs[1]][1] * attributes["num_group"]
            return (0, channels, *[0] * len(attributes["kernel"]))
    return None


def short_names(nodes: list[Node]) -> Callable[[Node], str]:
    """Return what gives a node's name without what all names begin with, and without ``_fwd``."""
    named = [n.name for n in nodes if n.op is not None or "_" in n.name]
    common = os.path.commonprefix([n.name for n in nodes if n.op is not None]) if named else ""
    common = common[: common.rfind("_") + 1]

    def short(node: Node) -> str:
        return node.name.removeprefix(common).removesuffix("_fwd")

    return short


def part_of_graph(graph: Symbol, arrays: dict, shapes: list[tuple] | None) -> tuple[Part, World]:
    """Return a graph as one part, with the arrays of its parameters, or their shapes alone."""
    nodes, entries = graph._graph.nodes, graph._entries
    owned = {*arrays} or {*weights_of(graph)}
    inputs = [n for n in nodes if n.op is None and n.name not in owned]
    given = {n: tuple(arrays[n.name].shape) for n in nodes if n.op is None and n.name in arrays}
    labels = labels_of(nodes, inputs)
    data = [n for n in inputs if n not in labels]
    given |= dict(zip(data if len(shapes or ()) == len(data) else inputs, shapes or ()))
    world = world_of(nodes, inputs, given)
    names = numbered("x", data) | {n: n.name for n in labels}
    part = Part(
        "Net",
        [((n, 0), names[n]) for n in [*data, *labels]],
        entries[0] if len(entries) == 1 else tuple(entries),
        [n for n in nodes if n.op is not None],
        {(n, 0) for n in labels},
    )
    return part, world


def labels_of(nodes: list[Node], inputs: list[Node]) -> list[Node]:
    """Return the inputs that are labels of heads alone."""
    users: dict[Node, list] = {n: [] for n in inputs}
    for node in nodes:
        for place, (source, _) in enumerate(node.inputs):
            if source in users:
                users[source].append(place == 1 and node.op.name in WITH_LABEL)
    return [n for n in inputs if users[n] and all(users[n])]


def numbered(name: str, inputs: list[Node]) -> dict[Node, str]:
    """Return `name` for one input, and the inputs' own names for several."""
    if len(inputs) == 1:
        return {inputs[0]: name}
    return {n: n.name for n in inputs}
