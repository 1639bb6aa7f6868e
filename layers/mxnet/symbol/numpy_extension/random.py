"""The functions of ``mx.npx.random``, for Symbols."""

from __future__ import annotations

from ..numpy._functions import F as _F

globals().update(_F.modules["numpy_extension.random"])
__all__ = list(_F.modules["numpy_extension.random"])
