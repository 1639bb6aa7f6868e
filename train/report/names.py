"""Names of the outputs in a graph: that of the layer, as Gluon has it, and the operator."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["REARRANGING", "names_of"]

# Operators whose outputs are the numbers that come in, in another shape or order.
REARRANGING = {"Flatten", "Reshape", "SwapAxis", "expand_dims", "flatten", "reshape", "squeeze",
               "swapaxes", "transpose"}  # fmt: skip
CONTAINERS = re.compile(r"((hybrid)?sequential\d+_)+")


def names_of(graph: Any) -> dict[str, tuple[str, str]]:
    """Return, by the name of each node that computes, its layer and its operator.

    Of hybridsequential1_denseblock7_custom0 they are 'denseblock7' and 'dense': without the
    containers that all layers are in, and without the node's own part of the name.
    """
    found = {}
    for node in json.loads(graph.tojson())["nodes"]:
        if node["op"] != "null":
            name = CONTAINERS.sub("", node["name"], count=1)
            layer = re.sub(rf"_*{re.escape(node['op'].lower().lstrip('_'))}\d*$", "", name)
            found[node["name"]] = (layer or name, operator_of(node))
    return found


def operator_of(node: dict[str, Any]) -> str:
    """Return the operator's name; of a custom operator the one that it is registered by."""
    attributes = node.get("attrs") or node.get("param") or {}
    return str(attributes.get("op_type", node["op"])).removeprefix("layers.").lstrip("_")
