"""Symbols with NumPy's rules, and the functions of ``mx.sym.np``."""

from __future__ import annotations

from ._functions import F as _F
from ._functions import _Symbol as _Symbol

globals().update(_F.modules["numpy"])
__all__ = list(_F.modules["numpy"])
