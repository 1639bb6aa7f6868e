"""Arrays as tensors of PyTorch and back, for operators in PyTorch; dense ones are not copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .. import _dtype
from .._tensor import copy_if_aliased
from ..base import DTypeError, describe_value
from ..context import Context, from_device
from ..ndarray.ndarray import NDArray

__all__ = ["array", "expect_tensor", "output", "tensor"]


def tensor(x: NDArray) -> torch.Tensor:
    """The tensor of an array, which is not to be written into.

    Its elements lie one after another, as `view` and kernels expect: images in a static graph may
    have their channels last.
    """
    return x._tensor.contiguous()


def expect_tensor(what: str, value: Any) -> torch.Tensor:
    """What an operator's function returned, if it is a tensor."""
    if not isinstance(value, torch.Tensor):
        hint = ""
        if isinstance(value, NDArray):
            hint = ", or customop('mxnet')"
        raise DTypeError(f"{what} is {describe_value(value)}\n  expected a tensor of PyTorch{hint}")
    return value


def output(y: torch.Tensor, context: Context, inputs: Sequence[NDArray | None]) -> NDArray:
    """A result as an array; a copy where it shares memory with an input."""
    if torch.compiler.is_compiling():
        return NDArray(y, context)
    _dtype.to_torch(y.dtype)  # raises DTypeError for one that MXNet does not have
    if y.device != context.device:
        context = from_device(y.device)
    return NDArray(
        copy_if_aliased([y], [None if x is None else x._tensor for x in inputs])[0], context
    )


def array(y: torch.Tensor, context: Context) -> NDArray:
    """A gradient as an array; it may be the memory of another one, as gradients may."""
    return NDArray(y, context)
