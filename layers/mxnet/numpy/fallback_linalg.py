"""Functions of ``mx.np.linalg`` that NumPy computes, on the CPU, from copies of the arrays."""

from __future__ import annotations

import numpy as _np

from .fallback import by_numpy

_NAMES = ("cond", "lstsq", "matrix_power", "matrix_rank", "multi_dot", "qr")
__all__ = list(_NAMES)
globals().update({_name: by_numpy(getattr(_np.linalg, _name)) for _name in _NAMES})
