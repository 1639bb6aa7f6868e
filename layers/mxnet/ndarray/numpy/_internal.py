"""Operators by MXNet's names without the prefix, that are no functions of NumPy."""

from __future__ import annotations

from ...numpy._array import F as _F

globals().update(_F.modules["numpy._internal"])
