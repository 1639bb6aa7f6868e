"""A call of a graph, as one node for autograd."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

import torch

from .. import autograd
from .._draws import draws_restored, generator_states
from .._own.call import refuse_second
from .._state import this_thread
from ..base import RecordingError
from ..context import Context
from .program import Program

Tensor = torch.Tensor
Gradients = Sequence[Tensor | None]


class GraphCall:
    """A call of a graph, as one node for autograd.

    Attributes
    ----------
    differentiable : tuple of bool
        The outputs that have a gradient.
    draws : bool
        Whether random numbers may be drawn.
    twice : bool
        Whether there are second derivatives.
    """

    differentiable: tuple[bool, ...]
    draws = twice = True

    def __init__(self, program: Program, what: str, context: Context):
        self.program, self.what, self.context = program, what, context
        self.training = this_thread.state.training

    def forward(self, tensors: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """The outputs, and what `backward` needs."""
        raise NotImplementedError

    def backward(self, saved: Sequence[Tensor], dys: Sequence[Tensor | None]) -> Gradients | None:
        """The gradients of the inputs that ask for one, from those of the differentiable outputs.

        None where it does not know how to compute them from these.
        """
        raise NotImplementedError

    def release(self) -> None:
        """Let go of what `backward` needs: it will not be called again."""

    def differentiate(
        self,
        tensors: Sequence[Tensor],
        dys: Sequence[Tensor | None],
        again: bool,
        generators: list[Tensor] | None,
    ) -> Gradients:
        """What `backward` gives, by the program as it is; to be differentiated again or not.

        Random numbers are drawn from the states of the generators in which the call began.
        """
        program, context = self.program, self.context
        draws = draws_restored(context, generators) if generators else nullcontext()
        with autograd.record(self.training), states_restored(program, tensors), draws:
            with torch.enable_grad():  # one input may have been computed from another
                inputs = [t.view_as(t) if t.requires_grad else t for t in tensors]
            outputs = program.run(program.function, inputs, context, True)
            heads = [y for y, there in zip(outputs, self.differentiable) if there]
            return gradients_of_given(heads, inputs, dys, retain_graph=again, create_graph=again)


def gradients_of_given(
    heads: Sequence[Tensor],
    inputs: Sequence[Tensor],
    dys: Sequence[Tensor | None],
    retain_graph: bool,
    create_graph: bool = False,
) -> Gradients:
    """The gradients of the inputs that ask for one; None for a head whose gradient is None."""
    given = [(y, dy) for y, dy in zip(heads, dys) if dy is not None]
    wanted = [t for t in inputs if t.requires_grad]
    heads, dys = [y for y, _ in given], [dy for _, dy in given]
    return autograd.gradients_of(heads, wanted, dys, retain_graph, create_graph)


class _Differentiable(torch.autograd.Function):
    """A call of a graph, with its gradients."""

    @staticmethod
    def forward(ctx, call: GraphCall, *tensors):
        ctx.generators = generator_states(call.context) if call.draws else None
        outputs, saved = call.forward(tensors)
        ctx.call = call
        if call.twice:  # the program may compute the outputs again
            ctx.tensors, ctx.versions = tensors, [t._version for t in tensors]
        ctx.save_for_backward(*saved)
        ctx.set_materialize_grads(False)  # an operator of losses has gradients where it is asked
        if not all(call.differentiable):
            constant = zip(outputs, call.differentiable)
            ctx.mark_non_differentiable(*[y for y, there in constant if not there])
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *dys):
        call, saved = ctx.call, autograd.saved_tensors(ctx)
        given = [
            dy if dy is None else dy.contiguous()
            for dy, there in zip(dys, call.differentiable)
            if there
        ]
        again = torch.is_grad_enabled()
        if again and not call.twice:
            with torch.no_grad():
                found = call.backward(saved, given)
            found = refuse_second(found, autograd.NO_SECOND)
        else:
            found = None if again else call.backward(saved, given)
        if found is None:
            found = call.differentiate(_unchanged(ctx), given, again, ctx.generators)
        if not keeps_graph():
            ctx.tensors = ()
            call.release()
        gradients = iter(found)
        needed = ctx.needs_input_grad[1:]
        return None, *[next(gradients) if is_needed else None for is_needed in needed]


# Whether the graph is kept for another backward. Not public.
keeps_graph = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True)


def autograd_call(call: GraphCall, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The outputs of a call, in the graph of autograd."""
    before = torch.is_grad_enabled()
    autograd._set_grad_enabled(True)
    try:
        return list(_apply(call, *tensors))
    finally:
        autograd._set_grad_enabled(before)


_apply = autograd.plain_apply(_Differentiable)


def _unchanged(ctx) -> tuple[Tensor, ...]:
    """The inputs of a call, when nobody has written into them since; states may change."""
    states = ctx.call.program.states
    for i, (tensor, version) in enumerate(zip(ctx.tensors, ctx.versions)):
        if tensor._version != version and i not in states:
            raise RecordingError(
                f"{ctx.call.what}: {ctx.call.program.inputs[i]} {tuple(tensor.shape)} was "
                "overwritten after it was used in the recorded computation\n"
                "  expected it to keep its value until backward"
            )
    return ctx.tensors


@contextmanager
def states_restored(program: Program, tensors: Sequence[Tensor]) -> Iterator[None]:
    """``with states_restored(...):`` what is written into the states is forgotten after it."""
    states = [tensors[i] for i in program.states]
    values = [t.clone() for t in states]
    try:
        yield
    finally:
        for tensor, value in zip(states, values):
            tensor.copy_(value)
