"""NumPy's functions and ufuncs, called with arrays of ``mx.np``: those of ``mx.np``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import linalg, multiarray
from .fallback import by_numpy

UFUNCS = {"divide": "true_divide", "conjugate": ""}


def own(function: Callable) -> Callable | None:
    """Return the function of ``mx.np`` for one of NumPy; None where there is none."""
    module = linalg if function.__module__ == "numpy.linalg" else multiarray
    name = function.__name__
    return getattr(module, name, None) if name in module.__all__ else None


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs, **kwargs) -> Any:
    """Call a ufunc: of ``mx.np``, or NumPy's where there is none, and for its other methods."""
    if method != "__call__":
        return by_numpy(getattr(ufunc, method))(*inputs, **kwargs)
    if "out" in kwargs:
        kwargs["out"], *_ = kwargs["out"]
    name = UFUNCS.get(ufunc.__name__, ufunc.__name__)
    function = getattr(multiarray, name, None) if name in multiarray.__all__ else None
    if function is None:
        return by_numpy(ufunc)(*inputs, **kwargs)
    return function(*inputs, **kwargs)


def array_function(self: Any, function: Callable, types: Any, args: tuple, kwargs: dict) -> Any:
    """Call a function: of ``mx.np``, or NumPy's where there is none."""
    return (own(function) or by_numpy(function))(*args, **kwargs)


multiarray.ndarray.__array_ufunc__ = array_ufunc
multiarray.ndarray.__array_function__ = array_function
