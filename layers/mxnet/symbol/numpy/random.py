"""The functions of ``mx.np.random``, for Symbols."""

from __future__ import annotations

from ._functions import F as _F

globals().update(_F.modules["numpy.random"])
__all__ = list(_F.modules["numpy.random"])
