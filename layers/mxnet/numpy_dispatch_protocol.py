"""NumPy's functions and ufuncs that call those of ``mx.np`` for arrays of ``mx.np``."""

from __future__ import annotations

import numpy as _np

from .numpy import linalg as _linalg
from .numpy import multiarray as _multiarray

__all__: list[str] = []
_NUMPY_ARRAY_UFUNC_LIST = [
    name for name in _multiarray.__all__ if isinstance(getattr(_np, name, None), _np.ufunc)
]
_NUMPY_ARRAY_FUNCTION_LIST = [
    *[
        name
        for name in _multiarray.__all__
        if hasattr(_np, name) and name not in (*_NUMPY_ARRAY_UFUNC_LIST, "array", "ndarray")
    ],
    *[f"linalg.{name}" for name in _linalg.__all__],
]


def with_array_function_protocol(func):
    """Return a function as it is: arrays answer NumPy's protocol themselves."""
    return func


with_array_ufunc_protocol = with_array_function_protocol
