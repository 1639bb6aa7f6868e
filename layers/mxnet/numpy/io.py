"""Arrays from text files."""

from __future__ import annotations

import numpy as _np

from ..context import Context
from ._array import array, ndarray

__all__ = ["genfromtxt"]


def genfromtxt(*args, ctx: Context | None = None, **kwargs) -> ndarray:
    """Return the numbers of a text file as NumPy reads them, float32 by default."""
    dtype = kwargs.pop("dtype", None) or _np.float32
    return array(_np.genfromtxt(*args, dtype=dtype, **kwargs), dtype, ctx)
