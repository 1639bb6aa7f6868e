"""NDArray's methods that are operators of the table, called on the array."""

from __future__ import annotations

from collections.abc import Callable

from . import op

# In MXNet's order; the methods that are more than an operator stand in the class itself.
_WORDS = """
abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort broadcast_axes
broadcast_like cbrt ceil clip cos cosh degrees depth_to_space diag exp expand_dims
expm1 fix flatten flip floor log log10 log1p log2 log_softmax max mean min nanprod nansum norm
one_hot ones_like pad pick prod radians rcbrt reciprocal relu repeat reshape_like rint round rsqrt
shape_array sigmoid sign sin sinh size_array slice slice_axis slice_like softmax softmin sort
space_to_depth split sqrt square squeeze sum swapaxes take tan tanh tile topk transpose trunc
zeros_like
"""
NAMES = _WORDS.split()


def fill(cls: type) -> None:
    """Give a class the methods."""
    for name in NAMES:
        if hasattr(op, name):
            setattr(cls, name, _method(name))


def _method(name: str) -> Callable:
    function = getattr(op, name)

    def method(self, *args, **kwargs):
        # By the module, not as a closure: PyTorch's compiler follows what has a place.
        return getattr(op, name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__
    return method
