"""Calls of custom operators inside `torch.func`'s transforms: grad, vjp, jacrev and vmap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ._differentiable import Call, Specs, specs_of
from ._tensor import transforms
from .base import RecordingError, ShapeError, UnsupportedError

Tensor = torch.Tensor


def transformed(operation: Call, tensors: list, error: RuntimeError) -> tuple[Tensor, ...]:
    """Return the outputs of a call, which the transforms that are going on differentiate.

    Without transforms the error is raised that the plain call has raised.
    """
    kinds = transforms()
    if "Jvp" in kinds or (type(error) is NotImplementedError and "jvp" in str(error)):
        raise _no_forward_mode(operation) from error
    if not kinds:
        raise error
    if kinds.count("Grad") > 1 and not operation.twice:
        raise RecordingError(f"{operation.what} has no second derivative{operation.reason}")
    return Transformed.apply(operation, *tensors)[: operation.visible]


def _no_forward_mode(operation: Call) -> UnsupportedError:
    """Return the error for a derivative that is asked for in forward mode."""
    return UnsupportedError(
        f"{operation.what} has no derivative in forward mode (torch.func.jvp, jacfwd, hessian)\n"
        "  expected torch.func.grad, vjp or jacrev: it has gradients for reverse mode"
    )


class Transformed(torch.autograd.Function):
    """A call with its gradients, in the form that the transforms take.

    What only backward sees is among its outputs, so that each transform has its own form of it.
    """

    @staticmethod
    def forward(operation: Call, *tensors):
        results = operation.forward(tensors, specs_of(tensors))
        return tuple(map(Tensor.detach, results))

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        operation, *tensors = inputs
        visible = len(outputs[: operation.visible])
        ctx.call = operation, specs_of(tensors), ctx.needs_input_grad[1:], visible
        ctx.mark_non_differentiable(*outputs[visible:])
        ctx.save_for_backward(
            *operation.saved_for_backward(tuple(tensors), outputs, ctx.needs_input_grad[1:])
        )

    @staticmethod
    def backward(ctx, *dys):
        operation, specs, asked, visible = ctx.call
        given = *ctx.saved_tensors, *dys[:visible]
        gradients = GradientsOf(operation, specs, asked, visible)
        # Parameters of a net are variables, too: nobody may ever differentiate by them.
        if operation.twice and any(map(_is_differentiated_again, given)):
            try:
                return None, *operation.backward(ctx.saved_tensors, dys[:visible], specs, asked)
            except RecordingError as error:  # such as a gradient that NumPy computes
                gradients.refusal = error
        found = Transformed.apply(gradients, *given)
        return None, *map(dict(zip(gradients.places, found)).get, range(len(specs)))

    @staticmethod
    def vmap(info, in_dims, operation, *tensors):
        return _one_by_one(info, in_dims[1:], tensors, lambda x: Transformed.apply(operation, *x))


class GradientsOf(Call):
    """The gradients of a call, as a call; they have none themselves.

    Attributes
    ----------
    places : list of int
        Those that there are, when they are computed.
    refusal : RecordingError
        The error for a second derivative.
    """

    def __init__(self, operation: Call, specs: Specs, asked: tuple[bool, ...], visible: int):
        self.operation, self.what = operation, operation.what
        self._specs, self._asked, self._heads = specs, asked, visible
        self.places: list[int] = []
        self.refusal = RecordingError(
            f"{operation.what} has no second derivative{operation.reason}"
        )

    def forward(self, tensors: Sequence, specs: Specs) -> tuple[Tensor, ...]:
        """Return the gradients, from the saved tensors and the gradients of the outputs."""
        count = len(tensors) - self._heads
        saved, dys = tuple(tensors[:count]), tuple(tensors[count:])
        found = self.operation.backward(saved, dys, self._specs, self._asked)
        self.places = [i for i, g in enumerate(found) if g is not None]
        return tuple([found[i] for i in self.places])

    def backward(self, saved: tuple, dys: tuple, specs: Specs, asked: tuple[bool, ...]) -> Sequence:
        raise self.refusal


def _is_differentiated_again(tensor: Tensor) -> bool:
    """True if a tensor in backward is part of another graph than the one that backward is of."""
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
        if tensor.requires_grad:
            return True
    return False


def _one_by_one(info: Any, in_dims: Sequence, tensors: Sequence, call: Callable) -> tuple:
    """Return the results of a call for each sample of a batch, stacked, with the axes of the batch.

    The operator's code sees one sample at a time: it may compute in NumPy or in C.
    """
    if not info.batch_size:
        raise ShapeError("torch.vmap over an operator: 0 samples\n  expected at least one")
    samples = [
        [t if d is None else t.select(d, i) for t, d in zip(tensors, in_dims)]
        for i in range(info.batch_size)
    ]
    results = tuple(map(torch.stack, zip(*map(call, samples))))
    return results, (0,) * len(results)
