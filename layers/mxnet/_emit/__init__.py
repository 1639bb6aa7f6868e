"""A net as plain source of PyTorch: a module that imports torch only, and its weights.

`table` has the emitters, which `layers`, `functions`, `shapes`, `heads` and `library` register. A
graph is a tree of parts (`scope`), each of which becomes a class; `module` makes one file of them,
and `write` writes it.
"""

from __future__ import annotations

import os

from ..base import ArgumentError
from ..gluon import Block, HybridBlock

__all__ = ["emit"]


def emit(
    block: Block, path: str | os.PathLike, shapes: list[tuple[int, ...]] | None = None
) -> dict[str, str]:
    """Write a Block as source of PyTorch, and its weights into a .safetensors beside it.

    The file imports torch only. Its classes are named after the Blocks; equal ones are one class,
    and Blocks with one layer alone are a line of the Block around them. ``load(path)`` in it makes
    the net with its weights.

    Parameters
    ----------
    block : HybridBlock
        Its parameters are initialized, and their shapes known.
    path : str
        The file of source, ``net.py``; files that exist are replaced.
    shapes : list of tuple of int, optional
        The shapes of the inputs: comments show those of all values.

    Returns
    -------
    dict of str to str
        The names of the weights in the new state dict by those of the parameters.

    Raises
    ------
    ArgumentError
        `block` is no HybridBlock, or `path` does not end in .py.
    UnsupportedError
        Operators have no form in PyTorch here: the error names all of them.
    """
    from . import blocks, emitters, write

    if not isinstance(block, HybridBlock):
        raise ArgumentError(f"emit: {type(block).__name__}\n  expected a HybridBlock")
    if not os.fspath(path).endswith(".py"):
        raise ArgumentError(f"emit: {path}\n  expected a name that ends in .py")
    part, world, parameters = blocks.part_of_block(block, shapes)
    values = {node: p.data(p.list_ctx()[0])._tensor for node, p in parameters.items()}
    source, state, names = write.source_and_weights(part, world, values)
    write.write(path, source, state)
    return names
