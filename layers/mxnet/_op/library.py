"""Functions of compiled libraries, on the memory of tensors: the CPU's or a GPU's."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from .. import _dtype
from ..context import current_context
from ..ndarray.ndarray import NDArray

NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float32}
CPU = torch.device("cpu")
_anywhere = nullcontext()


def launch(library, values: Sequence, shapes: Sequence, dtypes: Sequence, attributes: dict) -> list:
    """Return the outputs of a `layers.ops.ways.library.Library`, where its inputs are.

    Parameters
    ----------
    values : sequence of NDArray, bool, int or float
        A number is an array without axes, of bool, int64 or float32.
    shapes, dtypes : sequence
        Of the outputs.
    """
    arrays = [v for v in values if isinstance(v, NDArray)]
    context = arrays[0]._context if arrays else current_context()
    library.expect(context.device_type)
    device = context.device if library.device == "gpu" else CPU
    tensors = [_at(device, v) for v in values]
    outputs = [_zeros(shape, t, device) for shape, t in zip(shapes, dtypes)]
    tensors += outputs
    on_gpu = device.type == "cuda"
    with torch.cuda.device(device) if on_gpu else _anywhere:
        library.run_device(
            [t.data_ptr() for t in tensors],
            [t.shape for t in tensors],
            [_dtype.to_numpy(t.dtype) for t in tensors],
            attributes,
            torch.cuda.current_stream(device).cuda_stream if on_gpu else None,
            lambda size: _memory(size, device),
        )
    if context.device != device:
        outputs = [t.to(context.device) for t in outputs]
    return [NDArray(t, context) for t in outputs]


def _at(device: torch.device, value: Any) -> torch.Tensor:
    """Return an input, in one piece on a device."""
    if isinstance(value, NDArray):
        tensor = value._tensor
        return (tensor if tensor.device == device else tensor.to(device)).contiguous()
    return torch.tensor(value, dtype=NUMBERS[type(value)], device=device)


def _zeros(shape: tuple[int, ...], dtype: np.dtype, device: torch.device) -> torch.Tensor:
    if device is CPU:  # half as long as by PyTorch
        return torch.from_numpy(np.zeros(shape, dtype))
    return torch.zeros(shape, dtype=_dtype.to_torch(dtype), device=device)


def _memory(size: int, device: torch.device) -> tuple[int, torch.Tensor]:
    memory = torch.empty(size, dtype=torch.uint8, device=device)
    return memory.data_ptr(), memory
