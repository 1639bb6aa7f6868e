"""The operators of the table that MXNet puts under `sym.contrib`."""

from .op import functions

globals().update(functions("_contrib_"))
__all__ = list(functions("_contrib_"))
