"""The names of MXNet's C interface: programs import them from `mxnet.base`, and few call them.

The types are those of `ctypes`; whatever would reach the C library refuses.
"""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn

from ..base import UnsupportedError

__all__ = ["NAMES"]


class MXCallbackList(ctypes.Structure):
    """The functions that MXNet's C library calls back; nothing here does."""

    _fields_ = [
        ("num_callbacks", ctypes.c_int),
        ("callbacks", ctypes.POINTER(ctypes.CFUNCTYPE(ctypes.c_int))),
        ("contexts", ctypes.POINTER(ctypes.c_void_p)),
    ]


def _refusing(name: str):
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        """Refuse, since there is no C library of MXNet.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError(
            f"{name}: it belongs to MXNet's C library, which is not used\n"
            "  expected functions of mx.nd, mx.sym and mx.gluon alone"
        )

    function.__name__ = function.__qualname__ = name
    return function


class _Library:
    """The stand-in for MXNet's C library: each of its functions refuses."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return _refusing(name)


_HANDLES = """
    CachedOpHandle CudaKernelHandle CudaModuleHandle DLPackHandle DataIterCreatorHandle
    DataIterHandle ExecutorHandle FunctionHandle KVStoreHandle NDArrayHandle OpHandle ProfileHandle
    RecordIOHandle RtcHandle SymbolHandle
"""
_FUNCTIONS = """
    c2pyerror c_array c_array_buf c_handle_array c_str c_str_array check_call ctypes2buffer
    ctypes2numpy_shared get_last_ffi_error
"""
NAMES: dict[str, Any] = {
    "MXCallbackList": MXCallbackList,
    "_LIB": _Library(),
    "mx_float": ctypes.c_float,
    "mx_float_p": ctypes.POINTER(ctypes.c_float),
    "mx_int": ctypes.c_int,
    "mx_int64": ctypes.c_int64,
    "mx_uint": ctypes.c_uint,
    **dict.fromkeys(_HANDLES.split(), ctypes.c_void_p),
    **{name: _refusing(name) for name in _FUNCTIONS.split()},
}
