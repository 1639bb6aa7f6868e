"""Gradients of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ..engine import autograd, mx, nd
from ..ops.ways.numpy_border import array

__all__ = [
    "convert_args",
    "grad",
    "grad_and_loss",
    "minpy_to_numpy",
    "numpy_to_minpy",
    "return_numpy",
]


def grad(func: Callable, argnum: int | Sequence[int] = 0) -> Callable:
    """Return the function that returns the gradient of `func` in one argument or several.

    It is `grad_and_loss` without the result.

    Raises
    ------
    TypeError, ValueError
        See `grad_and_loss`.
    """
    differentiated = grad_and_loss(func, argnum)

    @wraps(func)
    def gradient(*args, **kwargs):
        return differentiated(*args, **kwargs)[0]

    return gradient


def grad_and_loss(func: Callable, argnum: int | Sequence[int] = 0) -> Callable:
    """Return the function that returns the gradient of `func` in some arguments, and its result.

    If the result is no scalar, its sum is differentiated. Inside ``autograd.record()`` the
    gradient is recorded, so that ``grad(grad(func))`` is the second derivative.

    Parameters
    ----------
    func : callable
        A function of NDArrays. NumPy arrays become NDArrays of the same dtypes; inputs are never
        changed.
    argnum : int or sequence of int
        The positions of the arguments. Integers, numbers and lists in these positions become
        float32.

    Returns
    -------
    callable
        A function that returns ``(gradient, result)``; for several arguments, a list of gradients.
        Gradients have the shapes of the arguments.

    Raises
    ------
    TypeError, ValueError
        There is no such argument, or the result is no NDArray.
    """
    is_sequence = isinstance(argnum, (list, tuple))
    argnums = list(argnum) if is_sequence else [argnum]
    for number in argnums:
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise TypeError(f"grad: argnum is {argnum!r}\n  expected the number of an argument")
    if not argnums or len(set(argnums)) < len(argnums):
        raise ValueError(f"grad: argnum is {argnum!r}\n  expected different arguments")

    @wraps(func)
    def gradient_and_result(*args, **kwargs):
        if max(argnums) >= len(args):
            raise ValueError(
                f"grad of {_name(func)}: argnum is {argnum!r}, and {len(args)} arguments are given "
                "by position\n  expected all of them by position"
            )
        arrays = [_array(a) for a in args]
        kwargs = {n: _array(a) for n, a in kwargs.items()}
        is_recording = autograd.is_recording()
        with autograd.record():
            variables = []
            for number in argnums:
                arrays[number], variable = _variable(args[number], is_recording)
                variables.append(variable)
            result = func(*arrays, **kwargs)
            _check_result(func, result)
            found = autograd.grad(
                result, variables, create_graph=is_recording, retain_graph=is_recording
            )
        return (found if is_sequence else found[0]), (result if is_recording else result.detach())

    return gradient_and_result


def _name(func: Callable) -> str:
    return getattr(func, "__name__", repr(func))


def _array(value: Any) -> Any:
    """Return a NumPy array as an NDArray, and other values unchanged."""
    return array(value, mx.current_context()) if isinstance(value, np.ndarray) else value


def _variable(value: Any, is_recording: bool) -> tuple[Any, Any]:
    """Return the array to pass for an argument, and the variable with the argument's gradient."""
    if not isinstance(value, (nd.NDArray, np.ndarray)):
        value = np.atleast_1d(np.asarray(value, dtype="float32"))
    value = _array(value)
    if np.dtype(value.dtype).kind in "iub":
        value = value.astype("float32")
    if not is_recording:
        variable = value.copy()
        variable.attach_grad()
        return variable, variable
    # While autograd records, the argument must stay part of the graph recorded before, so the
    # variable is added to it. It is -0.0, which changes no number, not even the sign of a zero.
    variable = nd.full(value.shape, -0.0, ctx=value.context, dtype=value.dtype)
    variable.attach_grad()
    return nd.elemwise_add(value, variable), variable


def _check_result(func: Callable, result: Any) -> None:
    if not isinstance(result, nd.NDArray):
        raise TypeError(
            f"grad of {_name(func)}: its result is {type(result).__name__}\n  expected an NDArray"
        )


def numpy_to_minpy(value):
    """Return a value, list or tuple with NDArrays in place of NumPy arrays."""
    if isinstance(value, (list, tuple)):
        return type(value)([numpy_to_minpy(part) for part in value])
    return _array(value)


def minpy_to_numpy(value):
    """Return a value, list or tuple with NumPy arrays in place of NDArrays."""
    if isinstance(value, (list, tuple)):
        return type(value)([minpy_to_numpy(part) for part in value])
    return value.asnumpy() if isinstance(value, nd.NDArray) else value


def convert_args(func: Callable) -> Callable:
    """Wrap a function of NDArrays so that it takes NumPy arrays."""

    @wraps(func)
    def converted(*args, **kwargs):
        named = {name: numpy_to_minpy(value) for name, value in kwargs.items()}
        return func(*numpy_to_minpy(args), **named)

    return converted


def return_numpy(func: Callable) -> Callable:
    """Wrap a function that returns NDArrays so that it returns NumPy arrays."""

    @wraps(func)
    def converted(*args, **kwargs):
        return minpy_to_numpy(func(*args, **kwargs))

    return converted
