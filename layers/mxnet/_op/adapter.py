"""This engine as `layers.ops` uses it: calls of operators, and arrays of NumPy."""

from __future__ import annotations

import numpy as np
import torch

from .. import _dtype, operator
from .._run.kinds import warn
from ..context import Context
from ..ndarray.ndarray import NDArray, from_numpy
from . import conversions, lookups
from .library import launch
from .operator_op import OperatorOp

__all__ = ["Adapter"]


class Adapter(OperatorOp):
    """The op of an operator, with what the ways of writing operators ask of the engine."""

    register = staticmethod(operator.register_operator)
    registered = staticmethod(operator.registered_operators)

    @staticmethod
    def warn_again() -> None:
        """Show log messages again that are shown once, such as that an operator is not compiled."""
        warn.cache_clear()

    @staticmethod
    def view(array: NDArray) -> np.ndarray:
        """The values, not to be written."""
        tensor = array._tensor
        if not tensor.is_cpu or tensor.requires_grad or tensor.dtype is torch.bfloat16:
            return array.asnumpy()
        values = tensor.numpy()
        values.setflags(write=False)
        return values

    @staticmethod
    def adopt(values: np.ndarray, context: Context) -> NDArray:
        """An array in the memory of `values`, which nobody else has."""
        tensor = torch.from_numpy(values)
        on_gpu = context.device_type == "gpu"
        return NDArray(tensor.to(context.device) if on_gpu else tensor, context)

    @staticmethod
    def array(values: np.ndarray, context: Context) -> NDArray:
        """An array of `values`, in memory of its own."""
        if torch.compiler.is_compiling() or values.dtype not in _dtype.NATIVE:
            return from_numpy(values, zero_copy=False).as_in_context(context)
        return Adapter.adopt(values.copy(), context)

    @staticmethod
    def in_plain_layout(F, operator, x, *inputs, **attributes):
        """Call an operator, which reads PyTorch's arrays right in whatever layout."""
        return operator(x, *inputs, **attributes)

    @staticmethod
    def tensors(who: str):
        """The conversions between arrays and tensors, for an operator written in PyTorch."""
        return conversions

    launch = staticmethod(launch)
    refuses_classes = True
    class_numbers = staticmethod(lookups.class_numbers)
    row_numbers = staticmethod(lookups.row_numbers)
    bag_numbers = staticmethod(lookups.bag_numbers)
    add_rows = staticmethod(lookups.add_rows)
