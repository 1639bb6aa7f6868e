"""What the outputs in a graph are called for a reader: their layers, and the operators."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import layers
from layers.engine import gluon

from .. import nets, scaling

__all__ = ["REARRANGING", "names_of"]

# Operators whose outputs are the numbers that come in, in another shape or order.
REARRANGING = {"Flatten", "Reshape", "SwapAxis", "expand_dims", "flatten", "reshape", "squeeze",
               "swapaxes", "transpose"}  # fmt: skip
CONTAINERS = re.compile(r"((hybrid)?sequential\d+_)+")
BLOCK = re.compile(r"([a-z][a-z0-9]*?)(\d+)_")  # in a name, as Gluon numbers them
Path = tuple[str, ...]  # the names of Blocks, from the outermost to the innermost


def names_of(graph: Any) -> dict[str, tuple[str, str]]:
    """By the name of each node that computes, the layer that it is in and its operator.

    Gluon's names such as hybridsequential1_denseblock7_custom0 become 'DenseBlock 2', 'dense':
    layers of a class are numbered from 1 in the order of the graph, where there are several. A
    name that is not of this form stays as it is.
    """
    nodes = json.loads(graph.tojson())["nodes"]
    owners = {node["name"].rpartition("_")[0] for node in nodes if node["op"] == "null"}
    computed = {node["name"]: node for node in nodes if node["op"] != "null"}
    paths = {name: path_of(name, owners) for name in computed}
    titles = titles_of(list(paths.values()))
    found = {}
    for name, node in computed.items():
        path = paths[name]
        layer = " › ".join(titles[path[: i + 1]] for i in range(len(path)))
        found[name] = layer or name, operator_of(node)
    return found


def operator_of(node: dict[str, Any]) -> str:
    """The operator's name; that of a custom operator is the one that it is registered by."""
    attributes = node.get("attrs") or node.get("param") or {}
    return str(attributes.get("op_type", node["op"])).removeprefix("layers.").lstrip("_")


def path_of(name: str, owners: set[str]) -> Path:
    """The Blocks in a node's name, without the containers that all are in.

    `owners` are the names of Blocks that have parameters or inputs.
    """
    path = []
    place = len(found[0]) if (found := CONTAINERS.match(name)) else 0
    while found := BLOCK.match(name, place):
        if found[1] not in classes() and name[: found.end() - 1] not in owners and path:
            break
        path.append(found[0][:-1])
        place = found.end()
    inner = [owner for owner in owners if name.startswith(f"{owner}_") and len(owner) > place]
    if inner:  # a Block with a name that its parent has chosen, such as query
        path.append(max(inner, key=len)[place:])
    return tuple(path)


def titles_of(paths: list[Path]) -> dict[Path, str]:
    """What each Block is called: its class, with a number where its parent has several of it."""
    siblings: dict[tuple[Path, str], dict[Path, int]] = {}  # by parent and class, their numbers
    for path in paths:
        for i, block in enumerate(path):
            alike = siblings.setdefault((path[:i], re.sub(r"\d+$", "", block)), {})
            alike.setdefault(path[: i + 1], len(alike) + 1)
    titles = {}
    for (_, kind), alike in siblings.items():
        title = classes().get(kind, kind)
        for path, number in alike.items():
            titles[path] = f"{title} {number}" if len(alike) > 1 else title
    return titles


@cache
def classes() -> dict[str, str]:
    """The classes of Blocks, by their names in lower case, as Gluon has them in names."""
    places = layers, layers.nets, gluon.nn, nets, scaling
    return {name.lower(): name for place in places for name in dir(place) if name[0].isupper()}
