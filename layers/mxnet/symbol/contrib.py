"""The operators of the table that MXNet puts under `sym.contrib`, and control flow."""

from ._control import cond, foreach, while_loop
from .op import functions

globals().update(functions("_contrib_"))
__all__ = [*functions("_contrib_"), "cond", "foreach", "while_loop"]
