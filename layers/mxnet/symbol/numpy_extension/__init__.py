"""``mx.sym.npx``: the functions of ``mx.npx``, for Symbols."""

from __future__ import annotations

from ..numpy._functions import F as _F
from . import image, random

globals().update(_F.modules["numpy_extension"])
__all__ = ["image", "random", *_F.modules["numpy_extension"]]
