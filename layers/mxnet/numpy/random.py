"""Random draws, seeded by ``mx.random.seed``."""

from __future__ import annotations

from ._array import F as _F

globals().update(_F.modules["numpy.random"])
__all__ = list(_F.modules["numpy.random"])
