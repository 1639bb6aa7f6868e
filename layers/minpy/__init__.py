"""Operators in MinPy's way: `customop`, `core.grad`, and NumPy's names over `nd`."""

from . import context, core, numpy, primitive
from .primitive import Primitive, customop

__all__ = ["Primitive", "context", "core", "customop", "numpy", "primitive"]
