"""Operators on Tensors: custom operators, and some of MindSpore's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..engine import nd
from ..ops.ways.kernel import kernel
from ..ops.ways.primitive import Custom as _Custom
from ..ops.ways.registration import CustomRegOp, DataType, custom_info_register
from ._absent import absent
from ._tensor import BINARY, Tensor, as_ndarray, common

__all__ = ["Custom", "CustomRegOp", "DataType", "custom_info_register", "kernel"]


class Custom(_Custom):
    """`layers.ops.Custom` with a `bprop` that takes and returns Tensors.

    A call with Tensors returns Tensors; a call with NDArrays or Symbols returns NDArrays or
    Symbols.
    """

    _to_bprop, _from_bprop = Tensor, staticmethod(as_ndarray)

    def __call__(self, *inputs):
        """Compute the output, or a tuple of outputs; see `layers.ops.Custom`."""
        found = super().__call__(*map(as_ndarray, inputs))
        if not any(isinstance(a, Tensor) for a in inputs):
            return found
        return tuple(map(Tensor, found)) if isinstance(found, tuple) else Tensor(found)


def _public(function: Callable, name: str = "", doc: str = "") -> Callable:
    """Make a public function of Tensors from a function of NDArrays."""
    name = function.__name__ = function.__qualname__ = name or function.__name__
    function.__doc__ = doc or function.__doc__

    @wraps(function)
    def on_tensors(*args, **kwargs):
        args = [_as_ndarrays(a) for a in args]
        return Tensor(function(*args, **{n: _as_ndarrays(a) for n, a in kwargs.items()}))

    __all__.append(name)
    globals()[name] = on_tensors
    return on_tensors


def _as_ndarrays(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(_as_ndarrays, value))
    return as_ndarray(value)


# By MindSpore's name: the name in `nd` and the formula.
_UNARY = {
    "abs": ("abs", "\\|x\\|"),
    "acos": ("arccos", "arccos x"),
    "asin": ("arcsin", "arcsin x"),
    "atan": ("arctan", "arctan x"),
    "ceil": ("ceil", "the smallest integer not below x"),
    "cos": ("cos", "cos x"),
    "cosh": ("cosh", "cosh x"),
    "erf": ("erf", "erf x"),
    "exp": ("exp", "eˣ"),
    "expm1": ("expm1", "eˣ - 1"),
    "floor": ("floor", "the largest integer not above x"),
    "log": ("log", "ln x"),
    "log1p": ("log1p", "ln(1 + x)"),
    "neg": ("negative", "-x"),
    "ones_like": ("ones_like", "1"),
    "reciprocal": ("reciprocal", "1 / x"),
    "relu": ("relu", "max(x, 0)"),
    "rsqrt": ("rsqrt", "1 / √x"),
    "sigmoid": ("sigmoid", "1 / (1 + e⁻ˣ)"),
    "sign": ("sign", "the sign of x, -1, 0 or 1"),
    "sin": ("sin", "sin x"),
    "sinh": ("sinh", "sinh x"),
    "sqrt": ("sqrt", "√x"),
    "square": ("square", "x²"),
    "stop_gradient": ("BlockGrad", "x, without its gradient"),
    "tan": ("tan", "tan x"),
    "tanh": ("tanh", "tanh x"),
    "zeros_like": ("zeros_like", "0"),
}


def _unary(inner: str) -> Callable:
    return lambda x: getattr(nd, inner)(x)


for _name, (_inner, _formula) in _UNARY.items():
    _public(_unary(_inner), _name, f"Return {_formula}, element by element; x: any shape.")


_BINARY = {
    "add": ("add", "x + y"),
    "div": ("truediv", "x / y"),
    "equal": ("eq", "x = y, as bool"),
    "floor_div": ("floordiv", "⌊x / y⌋"),
    "floor_mod": ("mod", "x - y⌊x / y⌋"),
    "greater": ("gt", "x > y, as bool"),
    "greater_equal": ("ge", "x ≥ y, as bool"),
    "less": ("lt", "x < y, as bool"),
    "less_equal": ("le", "x ≤ y, as bool"),
    "mul": ("mul", "x y"),
    "not_equal": ("ne", "x ≠ y, as bool"),
    "pow": ("pow", "xʸ"),
    "sub": ("sub", "x - y"),
}


def _binary(operator: str) -> Callable:
    return lambda x, y: BINARY[operator](x, y)


for _name, (_operator, _formula) in _BINARY.items():
    _doc = f"Return {_formula}; x and y: Tensors or numbers, of shapes that broadcast."
    _public(_binary(_operator), _name, _doc)

_REDUCED = {"max": "maximum", "mean": "mean", "min": "minimum", "prod": "product", "sum": "sum"}


def _reduced(name: str) -> Callable:
    def function(x, axis=None, keep_dims: bool = False):
        axis = None if axis in (None, (), []) else axis
        return getattr(nd, name)(x, axis=axis, keepdims=keep_dims)

    return function


for _name, _what in _REDUCED.items():
    _doc = f"Return the {_what} over axes; by default over all, of shape (1,)."
    _public(_reduced(_name), f"reduce_{_name}", _doc)


@_public
def cast(x, dtype):
    """Return x in another dtype; any shape."""
    return Tensor(x).astype(dtype).array


@_public
def concat(tensors: Sequence, axis: int = 0):
    """Join Tensors along an axis; their other sizes must be equal."""
    return nd.concat(*tensors, dim=axis)


@_public
def expand_dims(x, axis: int):
    """Return x with a new axis of size 1 at `axis`."""
    return nd.expand_dims(x, axis=axis)


@_public
def log_softmax(x, axis: int = -1):
    """Return ln softmax(x) along an axis; any shape."""
    return nd.log_softmax(x, axis=axis)


@_public
def matmul(x, y):
    """Return the matrix product of (m, k) and (k, n), of (k,) in place of either, or of stacks.

    Raises
    ------
    ValueError
        The numbers of matrices differ.
    """
    if x.ndim > 2 or y.ndim > 2:
        if x.shape[:-2] != y.shape[:-2]:
            raise ValueError(
                f"matmul: {x.shape} and {y.shape}\n  expected equal sizes before the last two"
            )
        z = nd.batch_dot(x.reshape((-1, *x.shape[-2:])), y.reshape((-1, *y.shape[-2:])))
        return z.reshape((*x.shape[:-1], y.shape[-1]))
    if x.ndim == 1 and y.ndim == 2:
        return nd.dot(x.reshape((1, -1)), y).reshape((-1,))
    return nd.dot(x, y)


@_public
def maximum(x, y):
    """Return the larger of x and y by elements; Tensors or numbers, of shapes that broadcast."""
    return nd.maximum(*common(x, y))


@_public
def minimum(x, y):
    """Return the smaller of x and y by elements; Tensors or numbers, of shapes that broadcast."""
    return nd.minimum(*common(x, y))


@_public
def reshape(x, shape: Sequence[int]):
    """Return x in another shape with the same number of elements; one size may be -1.

    Raises
    ------
    ValueError
        A size is below -1, several are -1, or the number of elements differs.
    """
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if sizes.count(-1) > 1 or any(n < -1 for n in sizes):
        raise ValueError(f"reshape: {tuple(sizes)}\n  expected sizes, at most one of them -1")
    if 0 in sizes and x.size:  # 0 means the size of the input in `nd`
        raise ValueError(
            f"reshape: {x.shape} to {tuple(sizes)}\n  expected the same number of elements"
        )
    return x.reshape(tuple(sizes))


@_public
def select(condition, x, y):
    """Return x where the condition is true, y elsewhere; all of one shape."""
    return nd.where(condition.astype("float32"), x, y)  # MXNet's operator takes no bool


@_public
def softmax(x, axis: int = -1):
    """Return eˣ / Σ eˣ along an axis; any shape."""
    return nd.softmax(x, axis=axis)


@_public
def squeeze(x, axis=None):
    """Return x without one axis of size 1, or without all such axes; at least one axis stays."""
    return nd.squeeze(x, axis=axis)


@_public
def stack(tensors: Sequence, axis: int = 0):
    """Join Tensors of one shape along a new axis."""
    return nd.stack(*tensors, axis=axis)


@_public
def transpose(x, axes: Sequence[int] | None = None):
    """Return x with its axes in another order, by default reversed."""
    return nd.transpose(x, axes=axes or ())


__all__.sort()

__getattr__ = absent(__name__, __all__)
