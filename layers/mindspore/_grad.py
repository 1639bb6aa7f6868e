"""Gradients of functions of Tensors, by the engine's autograd: `grad` and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..engine import autograd, nd
from ..ops.ways.numpy_border import is_floating
from ._tensor import Parameter, Tensor

__all__ = ["grad", "value_and_grad"]


def grad(
    fn: Callable,
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
) -> Callable:
    """Return the function that returns the gradient of the sum of all outputs of `fn`.

    Parameters
    ----------
    fn : callable
        A function of Tensors, or a Cell.
    grad_position : int or tuple of int, optional
        The positions of the inputs to differentiate with respect to. An int gives one gradient, a
        tuple a tuple of them.
    weights : Parameter, or list or tuple of them, optional
        The Parameters to differentiate with respect to. The gradients are then a pair: of inputs
        and of weights. If `grad_position` is None, they are only of weights.
    has_aux : bool
        If True, only the first output is differentiated; the other outputs are returned after the
        gradients, in a tuple.

    Raises
    ------
    TypeError, ValueError
        There are no inputs and no weights, or one of them is no floating Tensor.
    IndexError
        In a call: there is no such input.
    """
    differentiate = _make_differentiate("grad", fn, grad_position, weights, has_aux)

    def gradient(*args):
        value, gradients = differentiate(args)
        return (gradients, tuple(value[1:])) if has_aux else gradients

    return gradient


def value_and_grad(
    fn: Callable,
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
) -> Callable:
    """Return the function that returns the value of `fn` and its gradients; see `grad`.

    Raises
    ------
    TypeError, ValueError, IndexError
        See `grad`.
    """
    differentiate = _make_differentiate("value_and_grad", fn, grad_position, weights, has_aux)
    return lambda *args: differentiate(args)


def _make_differentiate(who: str, fn, grad_position, weights, has_aux) -> Callable:
    if not callable(fn):
        raise TypeError(f"{who}: fn is {fn!r} ({type(fn).__name__})\n  expected a function")
    positions = _positions(who, grad_position)
    parameters = _parameters(who, weights)
    if grad_position is None and weights is None:
        raise ValueError(f"{who}: grad_position and weights are None\n  expected one of them")

    def differentiate(args: Sequence) -> tuple[Any, Any]:
        value, found = _gradients(who, fn, args, positions, parameters, has_aux)
        inputs, of_weights = found[: len(positions)], found[len(positions) :]
        parts = []
        if grad_position is not None:
            parts.append(inputs if isinstance(grad_position, tuple) else inputs[0])
        if weights is not None:
            parts.append(of_weights[0] if isinstance(weights, Parameter) else of_weights)
        return value, parts[0] if len(parts) == 1 else tuple(parts)

    return differentiate


def _gradients(who, fn, args, positions, parameters, has_aux) -> tuple[Any, tuple]:
    is_recording, training = autograd.is_recording(), autograd.is_training()
    inputs, variables = list(args), []
    for i in positions:
        array = _floating_input(who, args, i).array
        # Add zeros to the input and take their gradient: so the input stays part of the graph
        # recorded before. They are negative zeros, because -0 + 0 would be 0.
        zeros = nd.full(array.shape, -0.0, ctx=array.context, dtype=array.dtype)
        zeros.attach_grad()
        variables.append(zeros)
    with autograd.record(train_mode=training):
        for i, zeros in zip(positions, variables):
            inputs[i] = Tensor(nd.elemwise_add(args[i].array, zeros))
        variables += [p.array for p in parameters]
        value = fn(*inputs)
        heads = _outputs(who, value, has_aux)
        if not is_recording:
            heads = _depending_on(heads, variables)
    found = autograd.grad(heads, variables, create_graph=is_recording, train_mode=training)
    return value if is_recording else _detached(value), tuple(map(Tensor, found))


def _outputs(who: str, value: Any, has_aux: bool) -> list:
    """Return the NDArrays of the floating outputs."""
    if has_aux and not isinstance(value, (tuple, list)):
        raise TypeError(
            f"{who}: fn gave {type(value).__name__}\n"
            "  expected a tuple for has_aux=True; its first output is differentiated"
        )
    outputs = _tensors(value[0] if has_aux else value)
    if not outputs:
        raise TypeError(f"{who}: fn gave {type(value).__name__}\n  expected a Tensor")
    return [t.array for t in outputs if is_floating(t.array)]


def _depending_on(heads: list, variables: list) -> list:
    """Return the heads plus a zero that depends on all variables, so that unused ones get zeros.

    MXNet can differentiate this only once.
    """
    zero = sum(nd.where(z, v, z).sum().astype("float32") for z, v in _zeros(variables))
    return [a + zero.astype(a.dtype) for a in heads] or [zero]


def _zeros(variables: list) -> list[tuple]:
    return [(nd.zeros(v.shape, ctx=v.context, dtype=v.dtype), v) for v in variables]


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, (tuple, list)):
        return [t for part in value for t in _tensors(part)]
    return [value] if isinstance(value, Tensor) else []


def _detached(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(_detached, value))
    return Tensor(value.array.detach()) if isinstance(value, Tensor) else value


def _floating_input(who: str, args: Sequence, i: int) -> Tensor:
    if i >= len(args):
        raise IndexError(
            f"{who}: grad_position {i}, and {len(args)} inputs\n  expected one below {len(args)}"
        )
    if not isinstance(args[i], Tensor) or not is_floating(args[i].array):
        shown = getattr(args[i], "dtype", type(args[i]).__name__)
        raise TypeError(f"{who}: input {i} is of {shown}\n  expected a floating Tensor")
    return args[i]


def _positions(who: str, grad_position: Any) -> tuple[int, ...]:
    if grad_position is None:
        return ()
    positions = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    if not positions or any(isinstance(i, bool) or not isinstance(i, int) for i in positions):
        raise TypeError(f"{who}: grad_position is {grad_position!r}\n  expected ints, or None")
    if min(positions) < 0:
        raise ValueError(f"{who}: grad_position is {grad_position!r}\n  expected ints from 0")
    return positions


def _parameters(who: str, weights: Any) -> list[Parameter]:
    if weights is None:
        return []
    found = [weights] if isinstance(weights, Parameter) else weights
    is_list = isinstance(found, (list, tuple)) and found
    if not is_list or not all(isinstance(p, Parameter) and is_floating(p.array) for p in found):
        raise TypeError(f"{who}: weights is {weights!r}\n  expected floating Parameters")
    return list(found)
