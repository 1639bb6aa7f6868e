"""The operators of the table that MXNet puts under `sym.image`."""

from .op import functions

globals().update(functions("_image_"))
__all__ = list(functions("_image_"))
