"""NumPy at the border of an operator: what its code is given, and what becomes of what it gives."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import engine
from ..engine import nd

__all__ = ["adopt", "array", "values", "view"]


def values(x) -> np.ndarray:
    """The values of an NDArray, in memory of their own; a compiler sees through it."""
    return x.asnumpy()


def view(x) -> np.ndarray:
    """The values of an NDArray, not to be written; on the CPU without a copy where that can be."""
    return engine.adapter().view(x)


def array(y: Any, context):
    """An NDArray of what NumPy's code gave, an array or a number, of its dtype; a copy."""
    # A compiler sees through `from_numpy`; not through `y.dtype`, which `nd.array` would need.
    made = nd.from_numpy(np.atleast_1d(np.asarray(y)), zero_copy=False)
    return made.as_in_context(context)


def adopt(y: np.ndarray, context):
    """An NDArray on an array that nobody else has; on the CPU without a copy."""
    return engine.adapter().adopt(y, context) if y.ndim and y.size else array(y, context)
