"""A net as plain source of PyTorch: a module that imports torch only, and its weights.

`table` has the emitters, which `layers`, `functions`, `shapes` and `heads` register. A graph is a
tree of parts (`scope`), each of which becomes a class; `module` makes one file of them, and `write`
writes it.
"""

from __future__ import annotations

from . import functions, heads, layers, shapes
from .graph import part_of_graph
from .write import source_and_weights, write

__all__ = ["functions", "heads", "layers", "part_of_graph", "shapes", "source_and_weights", "write"]
