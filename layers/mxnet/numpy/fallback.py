"""Functions of ``mx.np`` that NumPy computes, on the CPU, from copies of the arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as _np

from .._state import this_thread
from ..base import RecordingError
from ..context import Context, current_context
from ..ndarray.ndarray import NDArray
from ._array import array

_NAMES = """
allclose apply_along_axis apply_over_axes argpartition argwhere array_equal array_equiv
choose compress corrcoef correlate count_nonzero cov digitize divmod extract flatnonzero
float_power frexp heaviside histogram2d histogram_bin_edges histogramdd i0 interp intersect1d
isclose isin ix_ lexsort min_scalar_type mirr modf msort nanargmax nanargmin nancumprod nancumsum
nanmax nanmedian nanmin nanpercentile nanprod nanquantile ndim npv partition piecewise packbits
poly polyadd polydiv polyfit polyint polymul polysub positive ppmt promote_types ptp pv rate real
result_type rollaxis roots searchsorted select setdiff1d setxor1d signbit size spacing
take_along_axis tril_indices_from trim_zeros triu_indices_from union1d unpackbits unwrap
vander
"""
_RENAMED = {"alltrue": "all", "in1d": "isin", "trapz": "trapezoid"}  # by NumPy
# Those that a release of NumPy has not any more, under no other name, are not there.
__all__ = [*_RENAMED, *filter(partial(hasattr, _np), _NAMES.split())]


def by_numpy(function: Callable) -> Callable:
    """Return a function of NumPy that takes arrays, and gives arrays on the first one's context."""

    @wraps(function)
    def call(*args, **kwargs):
        if this_thread.state.recording:
            raise RecordingError(
                f"{function.__name__}: NumPy computes it, and autograd cannot record that\n"
                "  expected a call outside autograd.record()"
            )
        contexts: list[Context] = []
        args, kwargs = _as_numpy(args, contexts), _as_numpy(kwargs, contexts)
        found = function(*args, **kwargs)
        return _as_arrays(found, contexts[0] if contexts else current_context())

    return call


def _as_numpy(value: Any, contexts: list[Context]) -> Any:
    """Return an argument with NumPy's arrays in place of arrays, whose contexts are noted."""
    if isinstance(value, NDArray):
        contexts.append(value.context)
        return value.asnumpy()
    if isinstance(value, (list, tuple)):
        return type(value)([_as_numpy(v, contexts) for v in value])
    if isinstance(value, dict):
        return {k: _as_numpy(v, contexts) for k, v in value.items()}
    return value


def _as_arrays(value: Any, context: Context) -> Any:
    """Return a result with arrays in place of NumPy's, as far as there are such dtypes."""
    if isinstance(value, (_np.ndarray, _np.generic)):
        if value.dtype.kind not in "biuf":
            return value
        dtype = {"u": _np.int64, "f": _np.float64}.get(value.dtype.kind)
        is_known = value.dtype.name in ("uint8", "float16", "float32") or dtype is None
        is_short = value.dtype == _np.int16
        kind = value.dtype if is_known and not is_short else _np.int32 if is_short else dtype
        return array(_np.asarray(value), kind, context)
    if isinstance(value, (list, tuple)):
        return type(value)([_as_arrays(v, context) for v in value])
    return value


globals().update(
    {
        _name: by_numpy(getattr(_np, _name, None) or getattr(_np, _RENAMED[_name]))
        for _name in __all__
    }
)
