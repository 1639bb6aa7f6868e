"""Random draws of ``mx.npx``, and the seed."""

from __future__ import annotations

from .. import random as _random
from ..context import Context
from ..numpy._array import F as _F


def seed(seed: int, ctx: Context | str = "all") -> None:
    """Seed the generators: all of them, or that of one context; see ``mx.random.seed``."""
    _random.seed(seed, ctx)


globals().update(_F.modules["numpy_extension.random"])
__all__ = ["seed", *_F.modules["numpy_extension.random"]]
