"""What arrays and operators do with tensors, where PyTorch's own functions are not enough."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from . import _dtype, autograd
from ._state import this_thread
from .base import ArgumentError, MXNetError

# Errors that PyTorch's own functions raise, exactly of these types; others are of users' code.
PYTORCH_ERRORS = RuntimeError, IndexError, NotImplementedError, torch.linalg.LinAlgError


def call_recorded(function: Callable, *args) -> Any:
    """Call a function of tensors; PyTorch remembers it for `backward` if recording is on."""
    recording = this_thread.state.recording
    if torch.is_grad_enabled() is recording:
        return function(*args)
    autograd._set_grad_enabled(recording)
    try:
        return function(*args)
    finally:
        autograd._set_grad_enabled(not recording)


def transforms() -> list[str]:
    """The transforms of `torch.func` that are going on: "Grad" (vjp, jacrev too), "Jvp", "Vmap"."""
    stack = torch._C._functorch.get_interpreter_stack()
    return [one.key().name for one in stack or ()]


def is_differentiated(tensor: torch.Tensor) -> bool:
    """True if a transform of `torch.func`, or forward mode, differentiates by a tensor."""
    functorch = torch._C._functorch
    if torch.autograd.forward_ad._current_level >= 0:
        if torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None:
            return True
    while functorch.is_functorch_wrapped_tensor(tensor):
        if functorch.is_gradtrackingtensor(tensor):
            return True
        tensor = functorch.get_unwrapped(tensor)
    return False


def copy_if_aliased(results: list, inputs: list) -> list:
    """The results, as copies where they share memory with an input, another result or themselves.

    A tensor shares memory with itself where it was expanded: one element is shown at many places.
    """
    if torch.compiler.is_compiling():  # no address is known there; needless copies are dropped
        return [contiguous_copy(y) for y in results]
    taken = {t.untyped_storage().data_ptr() for t in inputs if t is not None}
    separate = []
    for y in results:
        place = y.untyped_storage().data_ptr()
        if place in taken or 0 in y.stride():
            y = contiguous_copy(y)
            place = y.untyped_storage().data_ptr()
        taken.add(place)
        separate.append(y)
    return separate


def copy_to(tensor: torch.Tensor, device: torch.device, dtype=None) -> torch.Tensor:
    """A copy on a device, in a dtype."""
    return tensor.to(device, dtype or tensor.dtype, copy=True)


def allocate(
    what: str, make: Callable, shape: Sequence[int], dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """A new tensor of `torch.zeros`, `torch.ones` or `torch.empty`; `what` wants it, for the error.

    Raises
    ------
    MXNetError
        There is not so much memory.
    """
    try:
        return make(shape, dtype=dtype, device=device)
    except (RuntimeError, TypeError) as error:  # TypeError: a size is no number of 64 bits
        size = math.prod(shape) * dtype.itemsize
        raise MXNetError(
            f"{what}: no memory on {device} for {size:,} bytes, an array of shape {tuple(shape)} "
            f"and dtype {_dtype.name(dtype)}\n  {str(error).splitlines()[0]}"
        ) from None


def contiguous_copy(tensor: torch.Tensor) -> torch.Tensor:
    """A copy whose elements lie in memory in the order of the axes."""
    return tensor.clone(memory_format=torch.contiguous_format)


def describe(tensor: torch.Tensor) -> str:
    """Shape and dtype, as error messages show them."""
    return f"{tuple(tensor.shape)} {_dtype.name(tensor.dtype)}"


def as_tensor(what: str, values: Any, dtype: torch.dtype) -> torch.Tensor:
    """A new tensor of what NumPy makes of `values`; `what` wants it, for the error."""
    np_dtype = _dtype.to_numpy(torch.float32 if dtype is torch.bfloat16 else dtype)
    try:
        if isinstance(values, (list, tuple)):
            try:
                raw = np.array(values, np_dtype)
            except OverflowError:  # NumPy 2 refuses 300 as uint8 in a list, where MXNet wraps it
                raw = np.array(values).astype(np_dtype)
        else:
            raw = np.asarray(values).astype(np_dtype)
    except (ValueError, TypeError) as error:
        raise ArgumentError(
            f"{what}: {type(values).__name__} does not make an array of {_dtype.name(dtype)}: "
            f"{error}\n  expected numbers, nested in lists of equal lengths"
        ) from None
    tensor = torch.from_numpy(raw)
    tensor = tensor if tensor.dtype is dtype else tensor.to(dtype)
    return tensor if tensor.is_contiguous() else tensor.contiguous()
