"""``mx.np.ndarray``, and the functions of ``mx.np``."""

from __future__ import annotations

from ._array import F as _F
from ._array import array as array
from ._array import ndarray as ndarray

_np_ndarray_cls = ndarray

globals().update(_F.modules["numpy"])
__all__ = ["array", "ndarray", *_F.modules["numpy"]]
