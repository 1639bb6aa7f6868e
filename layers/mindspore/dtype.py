"""Dtypes of NumPy, and bfloat16, which NumPy lacks: MXNet's dtype of this name."""

from __future__ import annotations

import numpy as np

from ..ops.ways.numpy_border import BFLOAT16 as bfloat16

__all__ = [
    "bfloat16",
    "bool_",
    "float16",
    "float32",
    "float64",
    "int16",
    "int32",
    "int64",
    "int8",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]

bool_ = np.dtype("bool")
int8, int16, int32, int64 = map(np.dtype, ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(np.dtype, ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = map(np.dtype, ("float16", "float32", "float64"))
