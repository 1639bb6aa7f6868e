"""Control flow of `nd.contrib`: loops and branches that are Python's own, recorded as they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import ArgumentError
from . import op
from .ndarray import NDArray

__all__ = ["cond", "foreach", "while_loop"]


def foreach(body: Callable, data: Any, init_states: Any) -> tuple[Any, Any]:
    """Call ``body(data[i], states)`` for each i, and stack its outputs along a new first axis.

    Parameters
    ----------
    body : callable
        (slices, states) -> (outputs, new states).
    data, init_states : NDArray, or nested lists of them
        The first axes of `data` have one size.

    Returns
    -------
    outputs, states
        Nested as `body` returns them; the states are the last ones.

    Raises
    ------
    ArgumentError
        `data` or what `body` returns is no NDArray, or the first axes of `data` differ in size.
    """
    arrays = _flatten("foreach", "data", data)
    _flatten("foreach", "init_states", init_states)
    sizes = {array.shape[0] for array in arrays}
    if len(sizes) != 1:
        raise ArgumentError(
            f"foreach: the first axes of data are {[a.shape[0] for a in arrays]}\n"
            "  expected one size, the number of steps"
        )
    steps, states = [], init_states
    for i in range(sizes.pop()):
        result = body(_map_nested(lambda array, i=i: array[i], data), states)
        outputs, states = pair("foreach", "body", result)
        steps.append(outputs)
    return _stack_nested("foreach", steps), states


def while_loop(
    cond: Callable, func: Callable, loop_vars: Any, max_iterations: int | None = None
) -> tuple[Any, Any]:
    """Call ``func(*loop_vars)`` as long as ``cond(*loop_vars)``, and stack its outputs.

    Parameters
    ----------
    cond : callable
        (*loop_vars) -> a number that is not 0, to go on.
    func : callable
        (*loop_vars) -> (outputs of the step, new loop_vars).
    loop_vars : NDArray or list of them
    max_iterations : int
        The greatest number of steps, and the size of the outputs' first axis; rows that no step has
        filled are 0.

    Returns
    -------
    outputs, loop_vars
        The outputs nested as `func` returns them, [] where there was no step; the loop_vars as in
        the call.

    Raises
    ------
    ArgumentError
        `max_iterations` or `loop_vars` is missing, or what a function returns is no NDArray.
    """
    if max_iterations is None:
        raise ArgumentError("while_loop: max_iterations is missing\n  expected an int")
    several = isinstance(loop_vars, (list, tuple))
    variables = list(loop_vars) if several else [loop_vars]
    if not _flatten("while_loop", "loop_vars", variables):
        raise ArgumentError("while_loop: loop_vars is empty\n  expected at least one NDArray")
    steps: list = []
    while len(steps) < int(max_iterations) and _truth(cond(*variables)):
        outputs, new = pair("while_loop", "func", func(*variables))
        new = list(new) if isinstance(new, (list, tuple)) else [new]
        if len(new) != len(variables):
            raise ArgumentError(
                f"while_loop: func returns {len(new)} loop_vars\n  expected {len(variables)}"
            )
        variables = new
        steps.append(outputs)
    missing = int(max_iterations) - len(steps)
    if steps:
        steps += [_map_nested(op.zeros_like, steps[0])] * missing
    return _stack_nested("while_loop", steps), variables if several else variables[0]


def cond(pred: NDArray | bool, then_func: Callable, else_func: Callable) -> Any:
    """``then_func()`` where `pred`, of one element, is not 0, else ``else_func()``."""
    return then_func() if _truth(pred) else else_func()


def pair(name: str, what: str, value: Any) -> tuple[Any, Any]:
    """What a body returns, taken apart: the outputs of a step, and the values for the next one."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ArgumentError(
            f"{name}: {what} returns {value!r} ({type(value).__name__})\n"
            "  expected a pair: outputs of the step, and the values for the next one"
        )
    return value[0], value[1]


def _truth(value: Any) -> bool:
    return bool(value.asscalar()) if isinstance(value, NDArray) else bool(value)


def _flatten(name: str, what: str, value: Any) -> list[NDArray]:
    """The arrays in nested lists, in their order."""
    if isinstance(value, (list, tuple)):
        return [array for item in value for array in _flatten(name, what, item)]
    if not isinstance(value, NDArray):
        raise ArgumentError(
            f"{name}: {what} has {value!r} ({type(value).__name__})\n"
            "  expected NDArrays, or nested lists of them"
        )
    return [value]


def _map_nested(function: Callable, value: Any) -> Any:
    """The nested lists with a function applied to every array."""
    if isinstance(value, (list, tuple)):
        return [_map_nested(function, item) for item in value]
    return function(value)


def _stack_nested(name: str, steps: list) -> Any:
    """The outputs of all steps, nested as those of one step, each array stacked."""
    if not steps:
        return []
    if isinstance(steps[0], (list, tuple)):
        return [_stack_nested(name, list(items)) for items in zip(*steps, strict=True)]
    _flatten(name, "an output", steps)
    return op.stack(*steps, axis=0)
