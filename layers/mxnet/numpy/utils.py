"""NumPy's constants and dtypes, as far as ``mx.np`` has them."""

from __future__ import annotations

import numpy as _np

float16, float32, float64 = _np.float16, _np.float32, _np.float64
uint8, int8, int32, int64 = _np.uint8, _np.int8, _np.int32, _np.int64
bool, bool_ = bool, _np.bool_
pi, e, inf = _np.pi, _np.e, _np.inf
nan = NaN = NAN = _np.nan
PINF, NINF, PZERO, NZERO = _np.inf, -_np.inf, 0.0, -0.0
newaxis = None
finfo = _np.finfo

_NAMES = """
float16 float32 float64 uint8 int8 int32 int64 bool bool_ pi e inf nan NaN NAN PINF NINF PZERO NZERO
newaxis finfo
"""
__all__ = _NAMES.split()
