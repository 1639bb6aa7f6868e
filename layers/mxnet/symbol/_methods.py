"""The methods of Symbol that are operators of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..ndarray._methods import NAMES
from . import _create, op

if TYPE_CHECKING:
    from .symbol import Symbol


def fill(cls: type) -> None:
    """Add the methods to the class."""
    for name in NAMES:
        if hasattr(op, name):
            setattr(cls, name, _method(getattr(op, name)))
    for method in HANDWRITTEN:
        setattr(cls, method.__name__, method)


def _method(function: Callable) -> Callable:
    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def reshape(self: Symbol, *shape, **kwargs) -> Symbol:
    """Another shape for the same elements; see `NDArray.reshape`."""
    if shape:
        is_one = len(shape) == 1 and not isinstance(shape[0], int)
        kwargs["shape"] = shape[0] if is_one else shape
    return op.reshape(self, **kwargs)


def broadcast_to(self: Symbol, shape) -> Symbol:
    """The elements repeated to another shape; see `NDArray.broadcast_to`."""
    return op.broadcast_to(self, shape=tuple(shape))


def squeeze(self: Symbol, axis=None, inplace: bool = False, **kwargs) -> Symbol:
    """Without axes of size 1; `inplace` is for arrays."""
    return op.squeeze(self, axis=axis, **kwargs)


def expand_dims(self: Symbol, axis: int, inplace: bool = False, **kwargs) -> Symbol:
    """With a new axis of size 1; `inplace` is for arrays."""
    return op.expand_dims(self, axis=axis, **kwargs)


def flatten(self: Symbol, inplace: bool = False, **kwargs) -> Symbol:
    """With all axes but the first as one; `inplace` is for arrays."""
    return op.flatten(self, **kwargs)


def split_v2(self: Symbol, *args, **kwargs) -> Symbol:
    """Parts along an axis; see `sym.split_v2`."""
    return _create.split_v2(self, *args, **kwargs)


def astype(self: Symbol, dtype) -> Symbol:
    """Another dtype."""
    return op.cast(self, dtype=np.dtype(dtype).name)


# The methods that do more than call their operator.
HANDWRITTEN = (reshape, broadcast_to, squeeze, expand_dims, flatten, split_v2, astype)
