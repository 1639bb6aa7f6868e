"""A call of a graph, as one node for autograd."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

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
Run = Callable[[Sequence[Tensor], Context], list[Tensor]]
# Its outputs, the gradients that it is sent, and those that it returns.
Attempt = Callable[
    [Sequence[Tensor], Context], Generator[Sequence[Tensor], Sequence[Tensor | None], Gradients]
]
ATTEMPTS = 8  # calls of a kind that are watched while no backward follows


@dataclass(eq=False)
class GraphCall(Call):
    """A call of a graph, as one node for autograd.

    Attributes
    ----------
    program : Program
    what : str
        What messages name it.
    context : Context
    training : bool
    ahead : callable
        From the tensors to the outputs, and what `behind` needs.
    behind : callable or None
        From that, and the gradients of the differentiable outputs, to those of the inputs that ask
        for one. None where there are no gradients.
    differentiable : tuple of bool or None
        The outputs that have a gradient; None before a first call, whose outputs tell.
    has_dy : tuple of bool or None
        The differentiable outputs whose gradients `behind` takes; None where it takes any.
    draws : bool
        Whether random numbers may be drawn.
    twice : bool
        Whether there are second derivatives.
    """

    program: Program
    what: str
    context: Context
    training: bool
    ahead: Callable[[Sequence[Tensor]], tuple[Sequence[Tensor], Sequence[Tensor]]]
    behind: Callable[[Sequence[Tensor], Sequence[Tensor | None]], Gradients] | None
    differentiable: tuple[bool, ...] | None = None
    has_dy: tuple[bool, ...] | None = None
    draws: bool = True
    twice: bool = True

    def __call__(self, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        """Return the outputs, in the graph of autograd if they have gradients."""
        if self.behind is not None:
            return autograd_call(self, tensors)
        with torch.no_grad():
            return list(self.ahead(tensors)[0])

    def record(self, ctx, tensors):
        ctx.generators = generator_states(self.context) if self.draws else None
        outputs, saved = self.ahead(tensors)
        if self.differentiable is None:
            self.differentiable = tuple([y.requires_grad for y in outputs])
            outputs = [y.detach() for y in outputs]
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
                found = self.behind(saved, dys)
            given = [t for t in (*ctx.tensors, *dys) if t is not None]
            found = autograd.refuse_second(ctx, found, autograd.NO_SECOND, given)
        elif again or self.has_dy not in (None, which_are_given(dys)):
            found = self.by_the_program(_unchanged(ctx), dys, again, ctx.generators)
        else:
            found = self.behind(saved, dys)
        if not keeps_graph():
            ctx.tensors = ()
        gradients = iter(found)
        return [next(gradients) if asked else None for asked in ctx.needs_input_grad[1:]]

    def by_the_program(
        self,
        tensors: Sequence[Tensor],
        dys: Sequence[Tensor | None],
        again: bool,
        generators: list[Tensor] | None,
    ) -> Gradients:
        """Return what `behind` gives, by the program as it is.

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


def first_calls(
    program: Program, what: str, attempt: Attempt, otherwise: Run, again: bool = True
) -> Run:
    """Return what does the calls of a kind until one has shown, with its backward, what later do.

    Parameters
    ----------
    program, what
        As of a `GraphCall`.
    attempt : callable
        ``attempt(inputs, context)`` does one call as a generator, which waits between forward and
        backward. It yields the outputs, recorded by autograd; it is sent the gradients of those
        that are differentiable, none where there are none; and returns those of the inputs.
    otherwise : callable
        Does the calls after so many of which no backward came.
    again : bool
        Whether the program may have to compute a call again, for second derivatives.
    """
    done = 0

    def run(tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        nonlocal done
        if done == ATTEMPTS:
            return otherwise(tensors, context)
        if this_thread.state.recording and any(t.requires_grad for t in tensors):
            results = autograd_call(_first_call(program, what, attempt, context, again), tensors)
        else:
            begun = attempt([t.detach() for t in tensors], context)
            results = next(begun)
            _end(begun, ())
        done += 1  # one that raises is none
        return results

    return run


def _first_call(
    program: Program, what: str, attempt: Attempt, context: Context, again: bool
) -> GraphCall:
    """Return a call by an attempt. It is called once: what it holds is that call's."""
    begun: Generator | None = None
    inputs: Sequence[Tensor] = ()
    outputs: Sequence[Tensor] = ()

    def ahead(tensors: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        nonlocal begun, inputs, outputs
        inputs = [t.detach().requires_grad_(t.requires_grad) for t in tensors]
        begun = attempt(inputs, context)
        outputs = next(begun)
        if not any(y.requires_grad for y in outputs):
            _end(begun, ())
        # Where nothing is saved, PyTorch does not see that a graph is used a second time.
        return outputs, [torch.empty(0)]

    def behind(_: Sequence[Tensor], dys: Sequence[Tensor | None]) -> Gradients:
        nonlocal begun, inputs, outputs
        if begun is None:  # the graph was kept for another backward
            gradients = gradients_of_call(outputs, inputs, dys)
        else:
            ending, begun = begun, None
            gradients = _end(ending, dys)
        if not keeps_graph():
            inputs = outputs = ()
        return gradients

    training = this_thread.state.training
    return GraphCall(program, what, context, training, ahead, behind, draws=again, twice=again)


def _end(begun: Generator, dys: Sequence[Tensor | None]) -> Gradients:
    """Return what a generator returns when it is sent these gradients."""
    try:
        begun.send(dys)
    except StopIteration as end:
        return end.value
    raise AssertionError("an attempt yields once")


def gradients_of_call(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], dys: Sequence[Tensor | None]
) -> Gradients:
    """Return the gradients of the inputs that ask for one, for those of the outputs."""
    heads = [y for y in outputs if y.requires_grad]
    return gradients_of_given(heads, inputs, dys, retain_graph=keeps_graph()) if dys else ()


def gradients_of_given(
    heads: Sequence[Tensor],
    inputs: Sequence[Tensor],
    dys: Sequence[Tensor | None],
    retain_graph: bool,
    create_graph: bool = False,
) -> Gradients:
    """Return the gradients of the inputs that ask for one; a head may have none, None."""
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
    """Return the outputs of a call, in the graph of autograd."""
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
    """Return the inputs of a call, when nobody has written into them since; states may change."""
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
