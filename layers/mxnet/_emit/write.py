"""Writing the files: the source, and the weights beside it."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from .._files import safetensors
from .._files.opening import write_files
from ..base import UnsupportedError, listed, quoted
from ..symbol._node import Node
from .custom import Functions
from .module import Module
from .scope import Part, World

WEIGHTS = ".safetensors"


def source_and_weights(
    part: Part, world: World, values: dict[Node, torch.Tensor]
) -> tuple[str, dict[str, torch.Tensor], dict[str, str]]:
    """Return the text of the file, the state dict, and the names in it by the variables'.

    Raises
    ------
    UnsupportedError
        Operators of the graph have no emitter; the error names all of them.
    """
    world.custom = Functions(world)
    module = Module(part, world)
    if world.lacking:
        raise _lacking(world.lacking)
    names = {node.name: places[0][0] for node, places in module.keys().items()}
    return module.source(), _state(module, values), names


def _state(module: Module, values: dict[Node, torch.Tensor]) -> dict[str, torch.Tensor]:
    state: dict[str, torch.Tensor] = {}
    for node, places in module.keys().items():
        if node in values:
            for name, how in places:
                value = values[node].detach()
                state[name] = torch.ones_like(value) if how == "ones" else value
    if state:
        state |= {name: torch.zeros((), dtype=torch.int64) for name in module.counters()}
    return state


def _lacking(lacking: list[tuple[str, str, str]]) -> UnsupportedError:
    by_reason: dict[tuple[str, str], list[str]] = {}
    for operator, node, reason in lacking:
        by_reason.setdefault((operator, reason), []).append(node)
    shown = [
        f"  {quoted(operator)}: {reason}, in {listed(map(quoted, dict.fromkeys(nodes)), 3)}"
        for (operator, reason), nodes in by_reason.items()
    ]
    what = f"{len(by_reason)} operator{'s' * (len(by_reason) > 1)}"
    return UnsupportedError(f"emit: {what} cannot be written in PyTorch\n" + "\n".join(shown))


def write(path: str | os.PathLike, source: str, state: dict[str, torch.Tensor]) -> None:
    """Write the source, and the weights into a file of its name that ends in .safetensors."""
    files = {os.fspath(path): [source.encode()]}
    if state:
        target = os.fspath(Path(path).with_suffix(WEIGHTS))
        files[target] = safetensors.pieces(target, [*state.values()], [*state])
    write_files(files)
