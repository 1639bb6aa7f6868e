"""A call of a graph, as one node for autograd."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

import torch

from .. import autograd
from .._differentiable import Call, apply_plainly
from .._draws import draws_restored, generator_states
from .._state import this_thread
from ..base import RecordingError
from ..context import Context
from .program import Program

Tensor = torch.Tensor
Gradients = Sequence[Tensor | None]


class GraphCall(Call):
    """A call of a graph, as one node for autograd.

    Parameters
    ----------
    program : Program
    what : str
        What messages name it.
    context : Context
    forward : callable
        From the tensors to the outputs, and what `backward` needs.
    backward : callable, optional
        From that, and the gradients of the differentiable outputs, to those of the inputs that ask
        for one.

    Attributes
    ----------
    differentiable : tuple of bool
        The outputs that have a gradient.
    has_dy : tuple of bool or None
        The differentiable outputs whose gradients `backward` takes; None where it takes any.
    draws : bool
        Whether random numbers may be drawn.
    twice : bool
        Whether there are second derivatives.
    """

    differentiable: tuple[bool, ...] = ()
    has_dy: tuple[bool, ...] | None = None
    draws = twice = True

    def __init__(
        self,
        program: Program,
        what: str,
        context: Context,
        forward: Callable[[Sequence[Tensor]], tuple[Sequence[Tensor], Sequence[Tensor]]] | None,
        backward: Callable[[Sequence[Tensor], Sequence[Tensor | None]], Gradients] | None,
    ):
        self.program, self.what, self.context = program, what, context
        self._forward, self._backward = forward, backward
        self.training = this_thread.state.training

    def __call__(self, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        """Return the outputs, in the graph of autograd if they have gradients."""
        if self._backward is not None:
            return autograd_call(self, tensors)
        with torch.no_grad():
            return list(self.forward(tensors)[0])

    def forward(self, tensors: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """Return the outputs, and what `backward` needs."""
        return self._forward(tensors)

    def backward(self, saved: Sequence[Tensor], dys: Sequence[Tensor | None]) -> Gradients:
        """Return the gradients of the inputs that ask for one."""
        return self._backward(saved, dys)

    def release(self) -> None:
        """Let go of what `backward` needs: it will not be called again."""

    def later(self, forward: Callable, backward: Callable | None) -> GraphCall:
        """Return another call of this kind, which these functions compute."""
        made = GraphCall(self.program, self.what, self.context, forward, backward)
        made.training, made.draws, made.twice = self.training, self.draws, self.twice
        made.differentiable, made.has_dy = self.differentiable, self.has_dy
        return made

    def record(self, ctx, tensors):
        ctx.generators = generator_states(self.context) if self.draws else None
        outputs, saved = self.forward(tensors)
        ctx.tensors = tensors  # the program may compute the outputs again
        if self.twice:
            ctx.versions = [t._version for t in tensors]
        ctx.save_for_backward(*saved)
        ctx.set_materialize_grads(False)  # an operator of losses has gradients where it is asked
        if not all(self.differentiable):
            constant = zip(outputs, self.differentiable)
            ctx.mark_non_differentiable(*[y for y, there in constant if not there])
        return tuple(outputs)

    def differentiate(self, ctx, dys):
        saved, pairs = autograd.saved_tensors(ctx), zip(dys, self.differentiable)
        dys = [dy if dy is None else dy.contiguous() for dy, there in pairs if there]
        again = torch.is_grad_enabled()
        if again and not self.twice:
            with torch.no_grad():
                found = self.backward(saved, dys)
            given = [t for t in (*ctx.tensors, *dys) if t is not None]
            found = autograd.refuse_second(ctx, found, autograd.NO_SECOND, given)
        elif again or self.has_dy not in (None, which_are_given(dys)):
            found = self.by_the_program(_unchanged(ctx), dys, again, ctx.generators)
        else:
            found = self.backward(saved, dys)
        if not keeps_graph():
            ctx.tensors = ()
            self.release()
        gradients = iter(found)
        return [next(gradients) if asked else None for asked in ctx.needs_input_grad[1:]]

    def by_the_program(
        self,
        tensors: Sequence[Tensor],
        dys: Sequence[Tensor | None],
        again: bool,
        generators: list[Tensor] | None,
    ) -> Gradients:
        """Return what `backward` gives, by the program as it is.

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


class FirstCall(GraphCall):
    """A call by which it is found what later calls of its kind do.

    Parameters
    ----------
    program, what, context
        As of a `GraphCall`.
    run : callable
        ``run(call)`` computes the outputs of `call.inputs`, recorded by autograd.
    finish : callable
        ``finish(call, dys)`` is called with the first backward, or after `run` without `dys` where
        no output has a gradient. It gives `call.gradients(dys)`.
    """

    def __init__(
        self,
        program: Program,
        what: str,
        context: Context,
        run: Callable[[FirstCall], list[Tensor]],
        finish: Callable[[FirstCall, Sequence[Tensor | None]], Gradients],
    ):
        super().__init__(program, what, context, None, None)
        self._run: Callable | None = run
        self._finish: Callable | None = finish
        self.inputs: Sequence[Tensor] = ()
        self.outputs: Sequence[Tensor] = ()

    def __call__(self, tensors, context):
        if this_thread.state.recording and any(t.requires_grad for t in tensors):
            return autograd_call(self, tensors)
        self._compute(tensors, False)
        return self.outputs

    def forward(self, tensors):
        self._compute(tensors, True)
        # Where nothing is saved, PyTorch does not see that a graph is used a second time.
        return [y.detach() for y in self.outputs], [torch.empty(0)]

    def _compute(self, tensors: Sequence[Tensor], for_backward: bool) -> None:
        self.inputs = [t.detach().requires_grad_(for_backward and t.requires_grad) for t in tensors]
        self.outputs = self._run(self)
        self.differentiable = tuple([y.requires_grad for y in self.outputs])
        if not any(self.differentiable):
            self._finish(self, ())

    def backward(self, saved, dys):
        finish, self._finish = self._finish, None
        return finish(self, dys) if finish else self.gradients(dys)

    def gradients(self, dys: Sequence[Tensor | None]) -> Gradients:
        """Return the gradients of the inputs that ask for one."""
        heads = [y for y in self.outputs if y.requires_grad]
        keeps = keeps_graph()
        return gradients_of_given(heads, self.inputs, dys, retain_graph=keeps) if dys else ()

    def release(self):
        self._run = self._finish = None
        self.inputs = self.outputs = ()


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


def which_are_given(dys: Sequence[Tensor | None]) -> tuple[bool, ...]:
    """Return, for each output, True if it has a gradient."""
    return tuple([dy is not None for dy in dys])


# Whether the graph is kept for another backward. Not public.
keeps_graph = getattr(torch._C._autograd, "_get_current_graph_task_keep_graph", lambda: True)


def autograd_call(call: GraphCall, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The outputs of a call, in the graph of autograd."""
    before = torch.is_grad_enabled()
    autograd._set_grad_enabled(True)
    try:
        return list(apply_plainly(call, *tensors))
    finally:
        autograd._set_grad_enabled(before)


def versions(tensors: Sequence[Tensor]) -> list[int | None]:
    """Return how often each was written into; None where PyTorch does not count."""
    return [None if t.is_inference() else t._version for t in tensors]


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
