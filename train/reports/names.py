"""What the outputs in a graph are called for a reader: their layers, and the operators."""

from __future__ import annotations

import json
import re
from typing import Any

import layers
from layers.engine import gluon

from .. import nets, scaling

__all__ = ["MOVING", "Name", "names_of"]

# Operators whose outputs are the numbers that come in, in another shape or order.
MOVING = {"Flatten", "Reshape", "SwapAxis", "expand_dims", "flatten", "reshape", "squeeze",
          "swapaxes", "transpose"}  # fmt: skip
CONTAINERS = re.compile(r"((hybrid)?sequential\d+_)+")
ONE = re.compile(r"([a-z][a-z0-9]*?)(\d+)_")  # a Block in a name, as Gluon numbers them
Name = tuple[str, str]  # layer, operator


def names_of(graph: Any) -> dict[str, Name]:
    """By the name of each node that computes, the layer that it is in and its operator.

    Gluon's names such as hybridsequential1_denseblock7_custom0 become 'DenseBlock 2', 'dense':
    layers of a class are numbered from 1 in the order of the graph, where there are several. A
    name that is not of this form stays as it is.
    """
    nodes = json.loads(graph.tojson())["nodes"]
    inputs = [node["name"] for node in nodes if node["op"] == "null"]
    owners = {name.rpartition("_")[0] for name in inputs}
    computed = [node for node in nodes if node["op"] != "null"]
    paths = {node["name"]: path_of(node["name"], owners) for node in computed}
    numbered = numbers(list(paths.values()))
    return {
        node["name"]: (
            " › ".join(numbered[path[: i + 1]] for i in range(len(path))) or node["name"],
            operator_of(node),
        )
        for node in computed
        for path in [paths[node["name"]]]
    }


def operator_of(node: dict[str, Any]) -> str:
    """The operator's name, of one of the library's or the user's that of its registration."""
    attributes = node.get("attrs") or node.get("param") or {}
    return str(attributes.get("op_type", node["op"])).removeprefix("layers.").lstrip("_")


def path_of(name: str, owners: set[str]) -> tuple[str, ...]:
    """The Blocks in a node's name, from the outermost; without the containers that all are in."""
    classes, path = known_classes(), []
    place = len(found[0]) if (found := CONTAINERS.match(name)) else 0
    while found := ONE.match(name, place):
        if found[1] not in classes and name[: found.end() - 1] not in owners and path:
            break
        path.append(found[0][:-1])
        place = found.end()
    rest = [owner for owner in owners if name.startswith(f"{owner}_") and len(owner) >= place]
    if rest:  # a Block with a name that its parent has chosen, such as query
        path.append(max(rest, key=len)[place:])
    return tuple(filter(None, path))


def numbers(paths: list[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """What each Block is called: its class, and its number among those of the class beside it."""
    beside: dict[tuple[tuple[str, ...], str], dict[tuple[str, ...], int]] = {}
    for path in paths:
        for i in range(len(path)):
            kind = re.sub(r"\d+$", "", path[i])
            alike = beside.setdefault((path[:i], kind), {})
            alike.setdefault(path[: i + 1], len(alike) + 1)
    classes = known_classes()
    return {
        path: f"{classes.get(kind, kind)} {number}" if len(alike) > 1 else classes.get(kind, kind)
        for (_, kind), alike in beside.items()
        for path, number in alike.items()
    }


def known_classes() -> dict[str, str]:
    """The classes of Blocks, by their names in lower case, as Gluon has them in names."""
    places = layers, layers.nets, gluon.nn, nets, scaling
    return {name.lower(): name for place in places for name in dir(place) if name[0].isupper()}
