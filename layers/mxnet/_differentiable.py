"""Calls with gradients of their own: one autograd function, for the table, users and graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from .autograd import plain_apply, saved_tensors

__all__ = ["Call", "Specs", "apply", "apply_plainly", "specs_of"]

Tensor = torch.Tensor
Specs = tuple[tuple[torch.Size, torch.dtype] | None, ...]


class Call:
    """A computation on tensors with gradients of its own.

    Attributes
    ----------
    what : str
        The operator, as messages name it.
    visible : int or None
        The number of results of `forward` that are outputs; the others are for `backward` alone.
        None where all are.
    twice : bool
        Whether its gradients can be differentiated again.
    reason : str
        Why they cannot, and what would help, for a message.
    """

    what: str
    visible: int | None = None
    twice = True
    reason = ""

    def forward(self, tensors: Sequence, specs: Specs) -> tuple[Tensor, ...]:
        """Return the outputs, and results for `backward` alone; `specs` are of the tensors."""
        raise NotImplementedError

    def saved_for_backward(
        self, inputs: tuple, outputs: tuple, asked: tuple[bool, ...]
    ) -> Iterable:
        """Return the inputs and results that `backward` needs for the gradients asked for."""
        return ()

    def backward(self, saved: tuple, dys: tuple, specs: Specs, asked: tuple[bool, ...]) -> Sequence:
        """Return the gradients of the inputs that are asked for, None for the others.

        `saved` is what `saved_for_backward` gave, `specs` has the shape and dtype of each input.
        """
        raise NotImplementedError

    def record(self, ctx, tensors: tuple) -> tuple[Tensor, ...]:
        """Return the outputs, and save in `ctx` the tensors for `differentiate`."""
        ctx.specs = specs = specs_of(tensors)
        results = self.forward(tensors, specs)
        if saved := self.saved_for_backward(tensors, results, ctx.needs_input_grad[1:]):
            ctx.save_for_backward(*saved)
        return results[: self.visible]

    def differentiate(self, ctx, dys: tuple) -> Sequence:
        """Return the gradients of the inputs, None for those that nobody asks for."""
        return self.backward(saved_tensors(ctx), dys, ctx.specs, ctx.needs_input_grad[1:])


class Differentiable(torch.autograd.Function):
    """A call, with the gradients that it gives itself."""

    @staticmethod
    def forward(ctx, call: Call, *tensors):
        ctx.call = call
        return call.record(ctx, tensors)

    @staticmethod
    def backward(ctx, *dys):
        return None, *ctx.call.differentiate(ctx, dys)


apply_plainly = plain_apply(Differentiable)


def apply(call: Call, tensors: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
    """Return the outputs of a call, which PyTorch's autograd records; grad mode is on."""
    if torch.compiler.is_dynamo_compiling():
        return Differentiable.apply(call, *tensors)
    try:
        return apply_plainly(call, *tensors)
    except RuntimeError as error:  # inside torch.func's transforms, before it does anything
        from ._transforms import transformed  # which needs this module

        return transformed(call, tensors, error)


def specs_of(tensors: Iterable) -> Specs:
    """Return the shape and dtype of each."""
    return tuple([None if t is None else (t.shape, t.dtype) for t in tensors])
