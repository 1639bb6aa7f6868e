"""The methods of ``mx.np.ndarray`` and of its Symbols, which are functions of ``mx.np``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .. import _dtype
from ..base import ArgumentError

# The method: what may follow the array by position.
ROWS = {
    "all": ("axis", "out", "keepdims"),
    "any": ("axis", "out", "keepdims"),
    "argmax": ("axis", "out"),
    "argmin": ("axis", "out"),
    "argsort": ("axis", "kind", "order"),
    "broadcast_to": ("shape",),
    "clip": ("min", "max", "out"),
    "cumsum": ("axis", "dtype", "out"),
    "diagonal": ("offset", "axis1", "axis2"),
    "dot": ("b", "out"),
    "expand_dims": ("axis",),
    "max": ("axis", "out", "keepdims"),
    "mean": ("axis", "dtype", "out", "keepdims"),
    "min": ("axis", "out", "keepdims"),
    "nonzero": (),
    "prod": ("axis", "dtype", "out", "keepdims"),
    "ravel": ("order",),
    "repeat": ("repeats", "axis"),
    "round": ("decimals", "out"),
    "sort": ("axis", "kind", "order"),
    "squeeze": ("axis",),
    "std": ("axis", "dtype", "out", "ddof", "keepdims"),
    "sum": ("axis", "dtype", "out", "keepdims"),
    "swapaxes": ("axis1", "axis2"),
    "take": ("indices", "axis", "mode"),
    "tile": ("reps",),
    "trace": ("offset", "axis1", "axis2", "out"),
    "var": ("axis", "dtype", "out", "ddof", "keepdims"),
}
RENAMED = {"min": "a_min", "max": "a_max"}  # the arguments of the method `clip`


def fill(cls: type, F: Any) -> None:
    """Add the methods to a class of arrays or of Symbols."""
    for name, positions in ROWS.items():
        setattr(cls, name, _method(F, name, positions))
    for function in (reshape, transpose, flatten):
        setattr(cls, function.__name__, _bound(F, function))


def _method(F: Any, name: str, positions: tuple[str, ...]) -> Callable:
    def method(self, *args, **kwargs):
        if len(args) > len(positions):
            raise TypeError(f"{name}() takes {', '.join(positions) or 'no arguments'}")
        given = dict(zip(positions, args)) | kwargs
        if name == "clip":
            given = {RENAMED.get(key, key): value for key, value in given.items()}
            given = {"a_min": None, "a_max": None} | given
        return getattr(F, name)(self, **given)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = getattr(F, name).__doc__
    place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", place)]
    parameters += [inspect.Parameter(each, place, default=None) for each in positions]
    method.__signature__ = inspect.Signature(parameters)
    return method


def _bound(F: Any, function: Callable) -> Callable:
    def method(self, *args, **kwargs):
        return function(F, self, *args, **kwargs)

    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__
    parameters = [*inspect.signature(function).parameters.values()][1:]
    method.__signature__ = inspect.Signature(parameters)
    return method


def reshape(F, self, *shape, order="C", newshape=None):
    """Return a copy in another shape, in which -1 is the size that remains.

    ``reshape(2, 3)``, ``reshape((2, 3))``.
    """
    if newshape is not None:
        shape = newshape
    elif len(shape) == 1 and hasattr(shape[0], "__len__"):
        shape = shape[0]
    shape = tuple(shape) if hasattr(shape, "__len__") else (shape,)
    return F._np_reshape(self, newshape=shape, **({} if order == "C" else {"order": order}))


def transpose(F, self, *axes):
    """Return a copy with the axes in another order; reversed where none is given."""
    if len(axes) == 1 and (axes[0] is None or hasattr(axes[0], "__len__")):
        axes = axes[0] or ()
    return F._np_transpose(self, axes=tuple(axes) or None)


def flatten(F, self, order="C"):
    """Return a copy with one axis."""
    return F._np_reshape(self, newshape=(-1,), order=order)


def checked_astype(name: str, dtype: Any, order: str, casting: str, subok: bool) -> Any:
    """Return the dtype of ``astype``, whose other arguments have to be NumPy's defaults.

    Raises
    ------
    ArgumentError
        One of them is not.
    """
    for key, value, expected in (
        ("order", order, "K"),
        ("casting", casting, "unsafe"),
        ("subok", subok, True),
    ):
        if value != expected:
            raise ArgumentError(f"{name}: {key} is {value!r}\n  expected {expected!r}")
    return _dtype.to_torch(dtype)
