"""``mx.sym.np``: the functions of ``mx.np``, for Symbols."""

from __future__ import annotations

from . import _internal, _symbol, linalg, random
from ._symbol import *
from ._symbol import __all__ as __all__
from ._symbol import _Symbol as _Symbol
