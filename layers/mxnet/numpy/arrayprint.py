"""Options of printing, which are NumPy's."""

from __future__ import annotations

import numpy as _np

__all__ = ["set_printoptions"]


def set_printoptions(precision: int | None = None, threshold: int | None = None, **kwarg) -> None:
    """Set NumPy's options of printing, which hold for its own arrays, too."""
    _np.set_printoptions(precision=precision, threshold=threshold, **kwarg)
