"""The operators of the table that MXNet puts under `sym._internal`."""

from .op import functions

globals().update(functions("_"))
__all__ = list(functions("_"))
