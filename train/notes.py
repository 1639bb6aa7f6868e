"""What a run says of the input and the output of its network, in the files that hold the network.

An exported graph has it as the attribute `__run__` of its input, a safetensors file as metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import layers

__all__ = ["DATA", "add_notes", "notes_of"]

DATA = (
    *("classes", "columns", "codes", "table", "target"),
    *("shape", "pixels", "resized", "mean", "std", "offset", "unit"),
)


def notes_of(config: Mapping[str, Any]) -> dict[str, str]:
    """What a config.json says of them, as texts."""
    said = {name: config["data"][name] for name in DATA}
    said["outputs"] = config["network"]["outputs"]
    return {"made by": f"layers {layers.__version__}"} | {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in said.items()
    }


def add_notes(graph: Any, notes: Mapping[str, str]) -> None:
    """Have them in a Symbol, which is saved with them then."""
    graph.get_internals()["data"]._set_attr(__run__=json.dumps(notes))
