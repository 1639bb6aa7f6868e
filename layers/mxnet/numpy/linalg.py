"""Functions of matrices; stacks of matrices have theirs as last axes."""

from __future__ import annotations

from . import fallback_linalg as _of_numpy
from ._array import F as _F

globals().update(_F.modules["numpy.linalg"])
globals().update({_name: getattr(_of_numpy, _name) for _name in _of_numpy.__all__})
__all__ = [*_F.modules["numpy.linalg"], *_of_numpy.__all__]
