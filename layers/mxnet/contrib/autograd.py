"""Automatic differentiation as it was before `mx.autograd`: recording is training here."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from .. import autograd
from .._old import missing
from ..autograd import mark_variables
from ..base import ArgumentError, integer_types
from ..ndarray import NDArray, zeros_like

__all__ = [
    "TrainingStateScope",
    "backward",
    "compute_gradient",
    "grad",
    "grad_and_loss",
    "mark_variables",
    "set_is_training",
    "test_section",
    "train_section",
]


def set_is_training(is_train: bool) -> bool:
    """Record for training, or do not; return whether it was so before."""
    before = autograd.set_training(is_train)
    autograd.set_recording(is_train)
    return before


class TrainingStateScope(autograd._RecordingStateScope):
    """A scope in which there is recording for training, or is not.

    Parameters
    ----------
    enter_state : bool
    """

    def __init__(self, enter_state: bool):
        super().__init__(enter_state, enter_state)


def train_section() -> TrainingStateScope:
    """A scope with recording for training: ``with train_section(): y = net(x)``."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """A scope without recording, for prediction: inside `train_section`."""
    return TrainingStateScope(False)


def backward(outputs: Sequence[NDArray], out_grads=None, retain_graph: bool = False) -> None:
    """Compute the gradients of all marked variables that `outputs` were computed from.

    Parameters
    ----------
    outputs : list of NDArray
    out_grads : list of NDArray or None, optional
        Gradients with respect to the outputs; ones where None.
    retain_graph : bool
        Keep what was recorded, to go back a second time.

    Raises
    ------
    ArgumentError
        The outputs are in no list.
    """
    if not isinstance(outputs, (list, tuple)):
        raise ArgumentError(
            f"backward: outputs is of type {type(outputs).__name__}\n  expected a list of NDArrays"
        )
    autograd.backward(list(outputs), out_grads, retain_graph)


def compute_gradient(outputs: Sequence[NDArray]) -> None:
    """Deprecated: `backward`."""
    backward(outputs)


def grad_and_loss(func: Callable, argnum: int | Sequence[int] | None = None) -> Callable:
    """A function that returns the gradients of `func`, and what it returns.

    Parameters
    ----------
    func : callable
        Of NDArrays; it returns one or a list of them.
    argnum : int or list of int, optional
        The arguments whose gradients are asked for; by default all.

    Returns
    -------
    callable
        With the arguments of `func`; returns a list of gradients, and the outputs. An argument
        that is no NDArray, and whose gradient is asked for, is an ArgumentError.
    """

    @functools.wraps(func)
    def wrapped(*args):
        numbers = [argnum] if isinstance(argnum, integer_types) else argnum
        variables = list(args) if numbers is None else [args[i] for i in numbers]
        for x in variables:
            if not isinstance(x, NDArray):
                raise ArgumentError(
                    f"grad_and_loss: an argument is of type {type(x).__name__}\n  expected NDArray"
                )
        gradients = [zeros_like(x) for x in variables]
        mark_variables(variables, gradients)
        with train_section():
            outputs = func(*args)
        backward([outputs] if isinstance(outputs, NDArray) else outputs)
        return gradients, outputs

    return wrapped


def grad(func: Callable, argnum: int | Sequence[int] | None = None) -> Callable:
    """A function that returns the gradients of `func`: see `grad_and_loss`."""
    both = grad_and_loss(func, argnum)

    @functools.wraps(both)
    def wrapped(*args):
        return both(*args)[0]

    return wrapped


missing.watch(globals())
