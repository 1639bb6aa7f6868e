"""One table between MXNet's dtypes (NumPy's types) and PyTorch's."""

from __future__ import annotations

import numpy as np
import torch

from .base import DTypeError, quoted

# NumPy has no bfloat16; MXNet names it by this structured type.
bfloat16 = np.dtype([("bfloat16", np.uint16)])

_rows = {
    "float32": (np.float32, torch.float32),
    "float64": (np.float64, torch.float64),
    "float16": (np.float16, torch.float16),
    "bfloat16": (bfloat16, torch.bfloat16),
    "uint8": (np.uint8, torch.uint8),
    "int8": (np.int8, torch.int8),
    "int32": (np.int32, torch.int32),
    "int64": (np.int64, torch.int64),
    "bool": (np.bool_, torch.bool),
}
_numpy = {tensor: array for array, tensor in _rows.values()}
_names = {tensor: name for name, (_, tensor) in _rows.items()}
_torch = {name: tensor for name, (_, tensor) in _rows.items()}
_torch |= {np.dtype(array): tensor for array, tensor in _rows.values()}
NATIVE = {np.dtype(array) for array, _ in _rows.values()} - {bfloat16}  # what PyTorch reads
_aliases = {name: np.dtype(scalar) for name, scalar in np.sctypeDict.items()}  # "half", "long"
_torch |= {name: _torch[dtype] for name, dtype in _aliases.items() if dtype in NATIVE}
_torch |= {code: _torch[dtype] for dtype in NATIVE for code in (dtype.char, dtype.str[1:])}  # "f4"
_torch |= {None: torch.float32}  # MXNet's; NumPy's is float64
_torch |= {"bool_": torch.bool, "int": torch.int64, "float": torch.float64}


def to_torch(dtype) -> torch.dtype:
    """Return PyTorch's dtype for any way of naming one: ``'float32'``, ``np.float32``, ...

    None is float32, and an NDArray its own dtype.
    """
    if isinstance(dtype, torch.dtype) and dtype in _names:
        return dtype
    try:
        return _torch[getattr(dtype, "__name__", dtype)]
    except (KeyError, TypeError):
        pass
    try:
        if isinstance(dtype, str):  # not by np.dtype, which evaluates brackets and commas in it
            return _torch[dtype.lstrip("<>=|")]
        if hasattr(dtype, "_autograd_tensor"):
            return dtype._autograd_tensor.dtype
        return torch.bfloat16 if dtype == bfloat16 else _torch[np.dtype(dtype).name]
    except (KeyError, TypeError):
        raise DTypeError(
            f"dtype {quoted(dtype)} is unknown\n  expected one of {', '.join(_rows)}"
        ) from None


def to_numpy(dtype: torch.dtype):
    """MXNet's dtype for a tensor's: ``numpy.float32`` and so on."""
    return _numpy[dtype]


def name(dtype: torch.dtype) -> str:
    """``'float32'`` and so on."""
    return _names.get(dtype) or str(dtype).removeprefix("torch.")  # one that MXNet has not
