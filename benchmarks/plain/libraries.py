"""A function in a compiled library, called through ctypes."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from ..data import elements
from ..worker import Entry

SOURCE = Path(__file__).parent / "loops.c"


def build(variant: str, device: str, body: str, shape: tuple[int, ...]) -> Entry:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "loops.so"
        command = ["cc", "-O3", "-shared", "-fPIC", str(SOURCE), "-o", str(path), "-lm"]
        subprocess.run(command, check=True)
        function = ctypes.CDLL(str(path))[f"{body}_forward"]
    x = elements(shape)
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    ndims = (ctypes.c_int * 2)(len(shape), len(shape))
    shapes = (ctypes.POINTER(ctypes.c_int64) * 2)(sizes, sizes)
    dtypes = (ctypes.c_char_p * 2)(b"float32", b"float32")

    def call():
        y = np.zeros_like(x)
        params = (ctypes.c_void_p * 2)(x.ctypes.data, y.ctypes.data)
        if function(2, params, ndims, shapes, dtypes, None, None):
            raise RuntimeError(f"{body} failed")
        return y

    return Entry(call, lambda: call().ravel()[:8].tolist())
