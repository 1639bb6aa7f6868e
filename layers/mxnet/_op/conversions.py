"""Arrays as tensors of PyTorch and back, for operators in PyTorch; dense ones are not copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .. import _dtype
from .._tensor import copy_if_aliased
from ..base import ArgumentError, DTypeError, describe_value
from ..context import Context, from_device
from ..ndarray.ndarray import NDArray

Tensor = torch.Tensor

__all__ = ["Protected", "array", "expect_tensor", "output", "tensor"]


def tensor(x: NDArray) -> torch.Tensor:
    """Return the tensor of an array, which is not to be written into.

    Its elements lie one after another, as `view` and kernels expect: images in a static graph may
    have their channels last.
    """
    return x._tensor.contiguous()


def expect_tensor(what: str, value: Any) -> torch.Tensor:
    """Return the result of an operator's function; refuse one that is no tensor."""
    if not isinstance(value, torch.Tensor):
        hint = ""
        if isinstance(value, NDArray):
            hint = ", or customop('mxnet')"
        raise DTypeError(f"{what} is {describe_value(value)}\n  expected a tensor of PyTorch{hint}")
    return value


def output(y: torch.Tensor, context: Context, inputs: Sequence[NDArray | None]) -> NDArray:
    """Return a result as an array; a copy where it shares memory with an input."""
    if torch.compiler.is_compiling():
        return NDArray(y, context)
    _dtype.to_torch(y.dtype)  # raises DTypeError for one that MXNet does not have
    if y.device != context.device:
        context = from_device(y.device)
    return NDArray(
        copy_if_aliased([y], [None if x is None else x._tensor for x in inputs])[0], context
    )


def array(y: torch.Tensor, context: Context) -> NDArray:
    """Return a gradient as an array; it may be the memory of another one, as gradients may."""
    return NDArray(y, context)


class Protected:
    """A function of tensors, in a dict, that gets copies of those that it writes into.

    The first call gets copies of all, and shows which these are: PyTorch counts the writes.
    """

    def __init__(self, who: str, function: Callable | None = None):
        self.who, self.function = who, function
        self.written: set | None = None  # the keys of tensors

    def __call__(self, given: dict, function: Callable | None = None) -> Any:
        """Call the function, or another one that does the same.

        Raises
        ------
        ArgumentError
            It writes into a tensor that it has only read before.
        """
        function = function or self.function
        keys = [n for n, t in given.items() if type(t) is Tensor or isinstance(t, Tensor)]
        if torch.compiler.is_compiling():  # compiled code drops needless copies
            return function(given | {n: given[n].clone() for n in keys})
        known = self.written
        if known is None or known:
            given = given | {n: given[n].clone() for n in (keys if known is None else known)}
        counted = [(n, t, t._version) for n in keys if not (t := given[n]).is_inference()]
        found = function(given)
        written = {n for n, t, before in counted if t._version != before}
        if known is None:
            self.written = written
        elif not written <= known:
            self.written = known | written
            raise ArgumentError(
                f"{self.who}: the function wrote into one of its tensors, and did not in its first "
                "call\n  expected one that writes into none, x * 2 in place of x.mul_(2)"
            )
        return found
