"""Files of arrays of ``mx.np``."""

from __future__ import annotations

from collections.abc import Sequence

from ..ndarray import utils as _utils
from ..numpy._array import ndarray
from ..util import np_shape

__all__ = ["load", "save"]


def save(file: str, arr: ndarray | Sequence[ndarray] | dict[str, ndarray]) -> None:
    """Save arrays to a file: one, a list, or a dict of them by name."""
    with np_shape(True):
        _utils.save(file, arr)


def load(file: str) -> list[ndarray] | dict[str, ndarray]:
    """Return the arrays of a file: a list, or a dict by name."""
    with np_shape(True):
        found = _utils.load(file)
    if isinstance(found, dict):
        return {name: array.as_np_ndarray() for name, array in found.items()}
    return [array.as_np_ndarray() for array in found]
