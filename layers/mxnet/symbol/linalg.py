"""The operators of the table that MXNet puts under `sym.linalg`."""

from .op import functions

globals().update(functions("_linalg_"))
__all__ = list(functions("_linalg_"))
