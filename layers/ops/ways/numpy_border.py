"""Conversions between NDArrays and NumPy's arrays and numbers, and names of dtypes."""

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

NUMBERS = {bool: "bool", int: "int64", float: "float32"}  # dtypes of numbers among the inputs
BFLOAT16 = np.dtype([("bfloat16", np.uint16)])  # MXNet's dtype for it; NumPy has none


def values(x) -> np.ndarray:
    """A copy of an NDArray's values, in a form that PyTorch's compiler can trace."""
    return x.asnumpy()


def array(y: Any, context):
    """An NDArray with a copy of a NumPy array or number, with its dtype."""
    return engine.adapter().array(np.atleast_1d(np.asarray(y)), context)


def adopt(y: np.ndarray, context):
    """An NDArray of a NumPy array that nothing else uses; on the CPU without a copy."""
    return engine.adapter().adopt(y, context) if y.ndim and y.size else array(y, context)


def number(value: bool | int | float) -> np.ndarray:
    """A number among the inputs of an operator, as an array without axes."""
    return np.asarray(value, NUMBERS[type(value)])


def dtype_of(x) -> str:
    """The name of an NDArray's dtype, in a way that PyTorch's compiler can trace."""
    return getattr(x.dtype, "__name__", "bfloat16").rstrip("_")  # NumPy 1 has bool_


def is_floating(x) -> bool:
    """Whether an NDArray has a floating dtype."""
    return dtype_of(x).startswith(("float", "bfloat"))


def dtype_name(dtype: Any) -> str:
    """The name of a dtype in any form, such as ``'float32'``.

    Raises
    ------
    TypeError
        It is no dtype.
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
    """NumPy's dtype of this name."""
    return BFLOAT16 if name == "bfloat16" else np.dtype(name)
