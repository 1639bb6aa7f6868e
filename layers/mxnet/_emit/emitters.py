"""All emitters: importing this registers them in `table`."""

from . import functions, heads, layers, library, shapes

__all__ = ["functions", "heads", "layers", "library", "shapes"]
