"""Conversion between NDArrays and NumPy's arrays and numbers; names of dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import engine

__all__ = [
    "BFLOAT16",
    "NUMBERS",
    "adopt",
    "array",
    "as_dtype",
    "dtype_name",
    "dtype_of",
    "is_floating",
    "number",
    "values",
]

NUMBERS = {bool: "bool", int: "int64", float: "float32"}  # dtypes of numbers given as inputs
BFLOAT16 = np.dtype([("bfloat16", np.uint16)])  # MXNet's dtype for it; NumPy has none


def values(x) -> np.ndarray:
    """Return a copy of an NDArray's values, in a form that PyTorch's compiler can trace."""
    return x.asnumpy()


def array(y: Any, context):
    """Return an NDArray with a copy of a NumPy array or number, in its dtype."""
    return engine.adapter().array(np.atleast_1d(np.asarray(y)), context)


def adopt(y: np.ndarray, context):
    """Return an NDArray of a NumPy array that nobody else uses; on the CPU without a copy."""
    return engine.adapter().adopt(y, context) if y.ndim and y.size else array(y, context)


def number(value: bool | int | float) -> np.ndarray:
    """Return a number given as an input of an operator as an array without axes."""
    return np.asarray(value, NUMBERS[type(value)])


def dtype_of(x) -> str:
    """Return the name of an NDArray's dtype, in a form that PyTorch's compiler can trace."""
    return getattr(x.dtype, "__name__", "bfloat16").rstrip("_")  # NumPy 1 has bool_


def is_floating(x) -> bool:
    """True if an NDArray has a floating dtype."""
    return dtype_of(x).startswith(("float", "bfloat"))


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype in any form, such as ``'float32'``.

    Raises
    ------
    TypeError
        The value is no dtype.
    """
    found = dtype
    if isinstance(dtype, str):
        found = as_dtype(dtype)
    elif isinstance(dtype, type) and issubclass(dtype, (np.generic, bool, int, float)):
        found = np.dtype(dtype)
    if not isinstance(found, np.dtype):
        raise TypeError(f"{dtype!r} is no dtype")
    return "bfloat16" if found == BFLOAT16 else found.name


def as_dtype(name: str) -> np.dtype:
    """Return NumPy's dtype of this name."""
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)
