"""The operators of the table that MXNet puts under `nd.contrib`, control flow,
and what is put together from others."""

from ._contrib import isfinite, isinf, isnan, rand_zipfian
from ._control import cond, foreach, while_loop
from .op import functions

globals().update(functions("_contrib_"))
__all__ = [
    *functions("_contrib_"),
    "cond",
    "foreach",
    "isfinite",
    "isinf",
    "isnan",
    "rand_zipfian",
    "while_loop",
]
