"""NumPy at the border of an operator: what its code is given, and what becomes of what it gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine import nd

__all__ = ["adopt", "array", "values", "view"]


def values(x) -> np.ndarray:
    """The values of an NDArray, in memory of their own; a compiler sees through it."""
    return x.asnumpy()


def view(x) -> np.ndarray:
    """The values of an NDArray, not to be written; on the CPU without a copy where that can be."""
    if x.context.device_type != "cpu" or not hasattr(x, "__dlpack__"):
        return x.asnumpy()
    try:
        seen = np.from_dlpack(x)
    except (BufferError, RuntimeError):  # NumPy has no such dtype
        return x.asnumpy()
    seen.flags.writeable = False
    return seen


def array(y: Any, context):
    """An NDArray of what NumPy's code gave, an array or a number, of its dtype; a copy."""
    y = np.atleast_1d(np.asarray(y))
    return nd.array(y, ctx=context, dtype=y.dtype)


def adopt(y: np.ndarray, context):
    """An NDArray on an array that nobody else has; on the CPU without a copy."""
    found = nd.from_numpy(y) if y.ndim and y.size else array(y, context)
    return found.as_in_context(context)
