"""The methods of NDArray that are operators of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import _create, _internal, op

if TYPE_CHECKING:
    from .ndarray import NDArray

# The methods that only call their operator on the array; in MXNet's order.
_WORDS = """
abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort broadcast_axes
broadcast_like cbrt ceil clip cos cosh degrees depth_to_space diag exp
expm1 fix flip floor log log10 log1p log2 log_softmax max mean min nanprod nansum norm
one_hot ones_like pad pick prod radians rcbrt reciprocal relu repeat reshape_like rint round rsqrt
shape_array sigmoid sign sin sinh size_array slice slice_axis slice_like softmax softmin sort
space_to_depth split sqrt square sum swapaxes take tan tanh tile topk transpose trunc
zeros_like
"""
NAMES = _WORDS.split()


def fill(cls: type) -> None:
    """Add the methods to the class."""
    for name in NAMES:
        if hasattr(op, name):
            setattr(cls, name, _method(name))
    for method in HANDWRITTEN:
        setattr(cls, method.__name__, method)


def _method(name: str) -> Callable:
    function = getattr(op, name)

    def method(self, *args, **kwargs):
        # Looked up in the module: PyTorch's compiler traces that, but no function in a closure.
        return getattr(op, name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def broadcast_to(self: NDArray, shape) -> NDArray:
    """A copy repeated to a shape, which may have more axes in front."""
    shape = tuple(shape)
    new = (1,) * (len(shape) - self.ndim)
    array = op.reshape(self, shape=new + self.shape) if new else self
    return op.broadcast_to(array, shape=shape)


def broadcast_like(self: NDArray, other: NDArray, lhs_axes=None, rhs_axes=None) -> NDArray:
    """A copy repeated to the shape of another array; see `nd.broadcast_like`."""
    return op.broadcast_like(self, other, lhs_axes=lhs_axes, rhs_axes=rhs_axes)


def split_v2(self: NDArray, indices_or_sections, axis: int = 0, squeeze_axis: bool = False) -> list:
    """Parts along an axis; see `nd.split_v2`."""
    return _create.split_v2(self, indices_or_sections, axis, squeeze_axis)


def slice_assign(self: NDArray, rhs: NDArray, begin, end, step) -> NDArray:
    """A copy with `rhs` written at [begin:end:step], inside `record` too."""
    return _internal._slice_assign(self, rhs, begin=begin, end=end, step=step)


def slice_assign_scalar(self: NDArray, value: float, begin, end, step) -> NDArray:
    """A copy with a number written at [begin:end:step], inside `record` too."""
    return _internal._slice_assign_scalar(self, scalar=value, begin=begin, end=end, step=step)


def squeeze(self: NDArray, axis=None, inplace: bool = False) -> NDArray:
    """The array without axes of size 1; `inplace` in the same memory."""
    y = op.squeeze(self, axis=axis)
    return self.reshape(y.shape) if inplace else y


def expand_dims(self: NDArray, axis: int, inplace: bool = False) -> NDArray:
    """The array with a new axis of size 1; `inplace` in the same memory."""
    y = op.expand_dims(self, axis=axis)
    return self.reshape(y.shape) if inplace else y


def flatten(self: NDArray, inplace: bool = False) -> NDArray:
    """The array with all axes but the first as one; `inplace` in the same memory."""
    y = op.Flatten(self)
    return self.reshape(y.shape) if inplace else y


# The methods that do more than call their operator.
HANDWRITTEN = (
    broadcast_like,
    broadcast_to,
    split_v2,
    slice_assign,
    slice_assign_scalar,
    squeeze,
    expand_dims,
    flatten,
)
