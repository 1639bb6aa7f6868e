"""Faster code for the formulas of `layers.ops`: forward and gradients, one file an operator.

A kernel is a class as an operator is, of PyTorch's tensors in place of arrays. Its `fits` says for
which inputs it computes what the formula does. It is here because it takes at most 1 / 1.3 of the
formula's time, or two thirds of its memory, where time is spent in computing; `check_operator`
holds it to the formula. Gradients that are differentiated again are those of the formula.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from importlib import import_module
from typing import Any

import torch

from .._state import this_thread
from ..base import DTypeError
from ..ndarray.ndarray import NDArray

__all__ = ["Kernel", "are_on", "find", "kernels"]

# The operators that have one.
NAMES = (
    "embedding_bag",
    "focal",
    "geglu_tanh",
    "gelu_tanh",
    "group_norm",
    "hard_swish",
    "layer_norm",
    "linear_cross_entropy",
    "rms_norm",
    "scaled_dot_product_attention",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "swiglu",
    "swish",
)


def are_on() -> bool:
    """True if kernels compute, in this thread."""
    return this_thread.state.kernels


@contextmanager
def kernels(on: bool) -> Iterator[None]:
    """``with kernels(False):`` formulas compute, in this thread.

    Raises
    ------
    DTypeError
        `on` is neither True nor False.
    """
    if not isinstance(on, bool):
        raise DTypeError(f"kernels: {on!r} ({type(on).__name__})\n  expected True or False")
    state = this_thread.state
    before, state.kernels = state.kernels, on
    try:
        yield
    finally:
        state.kernels = before


class Kernel:
    """Code of PyTorch for an operator's formula.

    Attributes
    ----------
    fits : callable
        It takes the tensors of the inputs and the attributes; True if the kernel is to compute.
    operator : Operator
        The operator with the kernel's forward and gradients in place of its own.
    """

    def __init__(self, definition: type, operator):
        self.fits = definition.fits
        gradients = {
            n: _on_arrays(rule) for n in operator.inputs if (rule := vars(definition).get(f"d{n}"))
        }
        backward = vars(definition).get("backward")
        self.operator = operator.with_formula(
            _on_arrays(definition.forward),
            gradients=gradients,
            backward=backward and _on_arrays(backward),
            saves=getattr(definition, "saves", ()),
        )

    def takes(self, inputs: Sequence[NDArray | None], attributes: dict[str, Any]) -> bool:
        """True if the kernel is to compute for these inputs, None for one left out."""
        return bool(self.fits(*[a if a is None else a._tensor for a in inputs], **attributes))


def find(operator) -> Kernel | None:
    """Return the kernel of an operator of `layers.ops`; None where it has none."""
    name = operator.__name__
    is_ours = operator.__module__ == f"layers.ops.{name}" and name in NAMES
    return _of(operator) if is_ours else None


@cache
def _of(operator) -> Kernel:
    name = operator.__name__
    return Kernel(getattr(import_module(f"{__name__}.{name}"), name), operator)


def _on_arrays(function: Callable) -> Callable:
    """Return a function of tensors as one of arrays."""

    @wraps(function)
    def call(*args, **attributes):
        values = []
        for value in args:
            if isinstance(value, NDArray):
                context, value = value._context, value._tensor
            values.append(value)
        found = function(*values, **attributes)
        if isinstance(found, torch.Tensor):
            return NDArray(found, context)
        if isinstance(found, dict):
            return {n: NDArray(t, context) for n, t in found.items()}
        return [NDArray(t, context) for t in found]

    call.__signature__ = inspect.signature(function)
    return call


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor in float32 if its dtype has 16 bits, else as it is."""
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def are_alike(*tensors: torch.Tensor) -> bool:
    """True if all have one dtype, of floating-point numbers."""
    first = tensors[0].dtype
    return first.is_floating_point and all(t.dtype is first for t in tensors)
