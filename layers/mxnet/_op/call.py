"""Calls of users' operators.

A `CustomCall` runs a user's code on NDArrays that wrap the tensors: not recorded, training as the
caller is, on the context of the inputs. An exception keeps its type and gets a note.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any

import torch

from .._differentiable import Call, apply, specs_of
from .._state import State, this_thread
from .._tensor import describe
from ..autograd import (
    _set_grad_enabled,
    enter_operator,
    leave_operator,
    refuse_second,
    translated,
)
from ..base import NotFiniteError, note
from ..context import Context
from ..ndarray._memory import BORROWED, LENT
from ..ndarray.ndarray import NDArray

Tensor, is_grad_enabled = torch.Tensor, torch.is_grad_enabled
# Whether to look for NaN and infinity in what operators give.
CHECK_NAN = os.environ.get("LAYERS_CHECK_NAN", "0") not in ("", "0")


class CustomCall(Call):
    """A call of a custom operator, with all that it needs but the tensors.

    Attributes
    ----------
    name : str
        Its own name.
    inputs, outputs : sequence of str
        Their names, where they have some.
    context : Context
    training : bool
    traced : bool
        Whether it is part of a compiled graph.
    pure : bool or None
        Whether it is a function of its inputs and attributes, whose Python may be left out once
        what it computes is recorded: True or False as its author says, None where nothing is said.
        What is said not to be pure is not compiled either.
    opaque : str
        Why PyTorch's compiler cannot trace it; "" where it can be tried.
    states : list
        The inputs that it updates in place: their places, or for a `PropCall` the arrays.
    """

    name: str
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    context: Context
    training: bool
    twice = False
    reason = "\n  expected its gradient written in nd, one function for each input"
    traced = False
    pure: bool | None = None
    opaque = ""
    states: list

    # A frame of Python costs 0.2 us and more where another code ran before: there are few here.

    def record(self, ctx, tensors: tuple) -> tuple[Tensor, ...]:
        ctx.specs = specs = tuple([None if t is None else (t.shape, t.dtype) for t in tensors])
        results = separate(self, self.forward(tensors, specs))
        if CHECK_NAN:
            self.expect_finite_outputs(tensors, results)
        if saved := self.saved_for_backward(tensors, results, ctx.needs_input_grad[1:]):
            ctx.save_for_backward(*saved)
        return results if self.visible is None else results[: self.visible]

    def differentiate(self, ctx, dys: tuple) -> Sequence:
        try:
            saved = ctx.saved_tensors
        except RuntimeError as error:
            raise translated(error) from error
        gradients = self.backward(saved, dys, ctx.specs, ctx.needs_input_grad[1:])
        if self.traced:
            return separate(self, gradients)
        if CHECK_NAN:
            self.expect_finite_gradients((*saved, *dys), gradients)
        if not self.twice and is_grad_enabled():
            message = f"{self.what} has no second derivative{self.reason}"
            return refuse_second(ctx, gradients, message, (*saved, *dys))
        return gradients

    def unrecorded(self, tensors: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
        """Return the outputs, outside of the graph of autograd."""
        results = self.forward(tuple(tensors), specs_of(tensors))[: self.visible]
        if CHECK_NAN and not self.traced:
            self.expect_finite_outputs(tensors, results)
        return results

    def expect_finite_outputs(self, tensors: Sequence, results: Sequence) -> None:
        """Raise for outputs that are not finite, and all of the tensors are."""
        names = self.outputs or range(len(results))
        found = {f"output {n}": t for n, t in zip(names, results)}
        expect_finite(self, "forward", tensors, found)

    def expect_finite_gradients(self, tensors: Sequence, gradients: Sequence) -> None:
        """Raise for gradients that are not finite, and all of the tensors are."""
        names = self.inputs or range(len(gradients))
        found = {f"the gradient of {n}": t for n, t in zip(names, gradients)}
        expect_finite(self, "backward", tensors, found)

    def run(
        self, phase: str, tensors: Iterable, function: Callable, args: Sequence, kwargs: dict
    ) -> Any:
        """Run the operator's own code; what fails in it is told with `tensors`."""
        if self.traced:  # these are set around the whole graph
            return function(*args, **kwargs)
        again = phase == "backward" and self.twice and is_grad_enabled()
        if State.profile is not None:
            name = self.name if phase == "forward" else f"_{phase}_{self.name}"
            function = State.profile("Custom Operator", name, function)
        before = enter_operator(self.context, self.training, again)
        try:
            return function(*args, **kwargs)
        except Exception as error:
            req = kwargs.get("req")
            told = "" if req is None else f"; req {req}"
            note(error, f"  in {phase} of {self.what} ({self.shown(tensors)}{told})")
            raise
        finally:
            leave_operator(before)

    def as_traced(self) -> CustomCall:
        """Return the same call, for a compiled graph."""
        made = copy(self)
        made.traced = True
        return made

    def shown(self, tensors: Iterable) -> str:
        """Return the tensors, as messages show them."""
        return ", ".join(describe(t) for t in tensors if t is not None)


def call(operation: CustomCall, tensors: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
    """Return the outputs, recorded where recording is on and an input needs a gradient."""
    state = this_thread.state
    if state.recorder is not None:
        state.recorder.note_operator(operation.what, operation.pure)
    enabled = is_grad_enabled()
    if not (enabled if operation.traced else state.recording):
        return operation.unrecorded(tensors)
    if enabled:
        return apply(operation, tensors)
    _set_grad_enabled(True)
    try:
        return apply(operation, tensors)
    finally:
        _set_grad_enabled(False)


def expect_finite(
    operation: CustomCall, phase: str, given: Iterable, found: dict[str, Any]
) -> None:
    """Raise for what a call has made, where it is not finite, and all that it was given is.

    These are tensors, or what is stored of sparse arrays, or None.
    """
    for name, made in found.items():
        if _is_finite(made) or not all(map(_is_finite, given)):
            continue
        values = _values(made)
        wrong = (~values.isfinite()).nonzero()
        place = tuple(wrong[0].tolist())
        at = place if values is made else made.place(*place)
        raise NotFiniteError(
            f"{operation.what}: {name} is {values[place].item()} at {at}, and not finite at "
            f"{len(wrong)} of {values.numel()} places{' stored' if values is not made else ''}\n"
            f"  expected finite values, as all that it was given are\n"
            f"  in {phase} of {operation.what} ({operation.shown(given)})"
        )


def _values(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else x.values


def _is_finite(x: Any) -> bool:
    return x is None or bool(_values(x).isfinite().all())


def as_input(tensor: Tensor, context: Context, array_class: type[NDArray] = NDArray) -> NDArray:
    """Return an input as the operator's code sees it: what is written there stays there."""
    return array_class(tensor.detach() if tensor.requires_grad else tensor, context, BORROWED)


def as_output(tensor: Tensor, context: Context, array_class: type[NDArray] = NDArray) -> NDArray:
    """Return an output as the caller sees it: the operator may keep it, and sees no writes."""
    return array_class(tensor, context, LENT)


def take_tensor(array: NDArray) -> Tensor:
    """Return the tensor of what an operator gave, in memory neither viewed nor an input's."""
    if array._held is None:
        array._held = LENT
    return array._tensor if array._held is LENT else array._tensor.clone()


def separate(operation: CustomCall, results: tuple) -> tuple:
    """Results as tensors of their own, to which PyTorch may attach what they were computed from.

    An operator may give an array that it keeps, or a global: that one must not become part of the
    graph of autograd. In compiled code they are copies, of which the compiler drops those that are
    not needed.
    """
    if operation.traced:
        return tuple([None if t is None else t.clone() for t in results])
    return tuple([t.detach() for t in results])
