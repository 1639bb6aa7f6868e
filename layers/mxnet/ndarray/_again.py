"""Gradients of integers, as ``mx.np`` has them: the recorded calls, made again on float64.

PyTorch differentiates floats alone. So an array that was computed from variables, and that PyTorch
has not recorded, keeps the call that gave it, as its origin; `backward` from it makes the calls
again, with float64 in place of integers, and gives the variables what comes of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from .._table.registry import Constant

if TYPE_CHECKING:
    from .ndarray import NDArray


class Again:
    """A call that gave an array: its operator, attributes and inputs, and which output it is."""

    __slots__ = ("attributes", "index", "inputs", "operator")

    def __init__(self, operator: Any, attributes: dict, inputs: list, index: int):
        self.operator, self.attributes, self.inputs = operator, attributes, inputs
        self.index = index

    def compute(self, twins: dict[int, torch.Tensor]) -> torch.Tensor:
        """Return the output for the twins of the inputs."""
        tensors = [None if x is None else twin_of(x, twins) for x in self.inputs]
        graph = getattr(self.operator, "program", None)
        if graph is not None:  # of a hybridized block
            results = graph.run(graph.function, tensors, self.inputs[0]._context, True)
        else:
            attributes = {name: _as_float(value) for name, value in self.attributes.items()}
            results = self.operator.run(*tensors, **attributes)
        y = results if isinstance(results, torch.Tensor) else results[self.index]
        if y.is_floating_point() and y.requires_grad:
            return y
        variables = [t for t in tensors if t is not None and t.requires_grad]
        return Constant.apply(y.double, *variables)


def _as_float(value: Any) -> Any:
    is_dtype = isinstance(value, torch.dtype)
    return torch.float64 if is_dtype and not value.is_floating_point else value


def note_again(results: Any, operator: Any, attributes: dict, inputs: Iterable) -> None:
    """Note the call that gave arrays, if it was of variables."""
    inputs = list(inputs)
    if any(x is not None and is_variable(x) for x in inputs):
        for i, array in enumerate(results if isinstance(results, list) else [results]):
            array._origin = Again(operator, attributes, inputs, i)


def is_variable(array: NDArray) -> bool:
    """True if an array has a gradient, or was computed from one that has."""
    return array._leaf is not None or array._requires_grad() or type(array._origin) is Again


def twin_of(array: NDArray, twins: dict[int, torch.Tensor]) -> torch.Tensor:
    """Return the tensor by which PyTorch differentiates an array: its own, or one of float64."""
    if id(array) in twins:
        return twins[id(array)]
    tensor, leaf = array._tensor, array._leaf
    if tensor.requires_grad:
        twin = tensor
    elif leaf is not None and leaf.req != "null":
        twin = tensor.double().requires_grad_()

        def collect(given: torch.Tensor) -> None:
            gradient, given.grad = given.grad, None
            leaf.take(None if gradient is None else gradient.to(tensor.dtype))

        twin.register_post_accumulate_grad_hook(collect)
    else:
        origin = array._origin
        twin = origin.compute(twins) if type(origin) is Again else tensor
    twins[id(array)] = twin
    return twin


def computed_again(array: NDArray, twins: dict[int, torch.Tensor]) -> torch.Tensor | None:
    """Return the twin of an array that PyTorch has not recorded; None where it is no variable.

    `twins` are those of arrays by id, to which those are added that are needed.
    """
    if not is_variable(array):
        return None
    with torch.enable_grad():
        return twin_of(array, twins)
