"""Gradients of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ..engine import autograd, mx, nd
from ..ops.ways.numpy_border import array

__all__ = ["grad", "grad_and_loss"]


def grad(func: Callable, argnum: int | Sequence[int] = 0) -> Callable:
    """The function that gives the gradient of `func` in one argument, or in several.

    Like `grad_and_loss`, but for the result.
    """
    both = grad_and_loss(func, argnum)

    @wraps(func)
    def gradient(*args, **kwargs):
        return both(*args, **kwargs)[0]

    return gradient


def grad_and_loss(func: Callable, argnum: int | Sequence[int] = 0) -> Callable:
    """The function that gives the gradient of `func` in some arguments, and its result.

    Of a result that is no scalar it is the gradient of the sum. It is recorded where the function
    is called inside ``autograd.record()``, so that ``grad(grad(func))`` is the second derivative.

    Parameters
    ----------
    func : callable
        Of NDArrays; NumPy's arrays become such, of their dtypes, and inputs are never changed.
    argnum : int or sequence of int
        The arguments, by position. Their integers, numbers and lists become float32.

    Returns
    -------
    callable
        It gives ``(gradient, result)``; with several arguments a list of gradients, which have the
        shapes of the arguments.

    Raises
    ------
    TypeError, ValueError
        There is no such argument, or the result is no NDArray.
    """
    several = isinstance(argnum, (list, tuple))
    places = list(argnum) if several else [argnum]
    for place in places:
        if not isinstance(place, int) or isinstance(place, bool) or place < 0:
            raise TypeError(f"grad: argnum is {argnum!r}\n  expected the number of an argument")
    if not places or len(set(places)) < len(places):
        raise ValueError(f"grad: argnum is {argnum!r}\n  expected different arguments")

    @wraps(func)
    def differentiated(*args, **kwargs):
        if max(places) >= len(args):
            raise ValueError(
                f"grad of {_name(func)}: argnum is {argnum!r}, and {len(args)} arguments are given "
                "by position\n  expected as many as that"
            )
        given = [_array(a) for a in args]
        kwargs = {n: _array(a) for n, a in kwargs.items()}
        again = autograd.is_recording()
        with autograd.record():
            variables = []
            for place in places:
                given[place], variable = _variable(args[place], again)
                variables.append(variable)
            result = func(*given, **kwargs)
            _check(func, result)
            found = autograd.grad(result, variables, create_graph=again, retain_graph=again)
        return (found if several else found[0]), (result if again else result.detach())

    return differentiated


def _name(func: Callable) -> str:
    return getattr(func, "__name__", repr(func))


def _array(value: Any) -> Any:
    """A NumPy array as an NDArray; anything else as it is."""
    return array(value, mx.current_context()) if isinstance(value, np.ndarray) else value


def _variable(value: Any, again: bool) -> tuple[Any, Any]:
    """What stands for an argument, and the variable whose gradient is that of the argument."""
    if not isinstance(value, (nd.NDArray, np.ndarray)):
        value = np.atleast_1d(np.asarray(value, dtype="float32"))
    value = _array(value)
    if np.dtype(value.dtype).kind in "iub":
        value = value.astype("float32")
    if not again:
        variable = value.copy()
        variable.attach_grad()
        return variable, variable
    # Inside a record the argument keeps its past: the variable is added to it, as the one number
    # that changes no other, not even the sign of a zero.
    variable = nd.full(value.shape, -0.0, ctx=value.context, dtype=value.dtype)
    variable.attach_grad()
    return nd.elemwise_add(value, variable), variable


def _check(func: Callable, result: Any) -> None:
    if not isinstance(result, nd.NDArray):
        raise TypeError(
            f"grad of {_name(func)}: its result is {type(result).__name__}\n  expected an NDArray"
        )
