"""The operators of the table that MXNet puts under `sym.sparse`."""

from .op import functions

globals().update(functions("_sparse_"))
__all__ = list(functions("_sparse_"))
