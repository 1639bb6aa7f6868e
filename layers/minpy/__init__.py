"""MinPy's way of writing operators: `customop`, `core.grad`, and NumPy's names over `nd`."""

from ..ops.ways.function import Primitive, customop
from . import core, numpy

__all__ = ["Primitive", "core", "customop", "numpy"]
