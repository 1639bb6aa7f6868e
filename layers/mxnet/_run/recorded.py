"""A graph whose calls of PyTorch are recorded, forward and backward, and done again as one node.

The first call of a kind runs the program as it is, under a recorder, and so does its backward. The
second runs it as it is once more, and the recorded calls have to give the same of its inputs: so a
value is found that came to the first in a way that the recorder does not see. Later calls of that
kind do the recorded calls, and no other Python. On a GPU they are launched as
CUDA graphs. On a CPU only graphs with custom operators are recorded: where there are none,
PyTorch's autograd does the calls of a backward without Python already, and faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import torch

from .._draws import draws_restored, generator_states
from .._state import this_thread
from .._tensor import PYTORCH_ERRORS
from ..base import explained
from ..context import Context
from . import cuda_graph
from .graph_call import FirstCall, Gradients, GraphCall, versions, which_are_given
from .kinds import Kind, Kinds, agree, log
from .program import Program
from .recorder import Recorder

Tensor = torch.Tensor
ATTEMPTS = 8  # calls of a kind that are recorded while no backward follows
MOST_KINDS = 32  # each holds memory on a GPU
# Not public; without it autograd is asked to record nothing, which takes longer.
_below_autograd = getattr(torch._C, "_AutoDispatchBelowAutograd", torch.no_grad)


def recorded(program: Program, what: str = "a graph", fixed: Iterable[int] = ()) -> Kinds:
    """Return what records a program in the first call of each kind, and compares in the second.

    A program that looks at values, makes shapes of values, computes outside of PyTorch, or has a
    custom operator that is not pure, is not recorded and runs as it is.

    Parameters
    ----------
    program : Program
    what : str
        What messages name it.
    fixed : iterable of int
        The inputs that CUDA graphs read where they are, such as parameters.
    """
    has_custom = any(n.op.own for n in program.nodes)
    return Kinds(
        program,
        partial(_first_call, sorted({*fixed} | program.states)),
        "recorded",
        MOST_KINDS,
        what,
        partial(_plain, program),
        None if has_custom else _helps,
    )


def _helps(context: Context) -> bool:
    """True if it gains anything to record a graph without custom operators."""
    return cuda_graph.can_capture(context)


def _plain(program: Program, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
    """Return the outputs, not recorded; on a CPU the convolutions are laid out."""
    recording = this_thread.state.recording
    return program.run(program.static_function(context), tensors, context, recording)


def _first_call(
    fixed: list[int], kinds: Kinds, kind: Kind, tensors: Sequence[Tensor], context: Context
) -> list[Tensor]:
    kinds.keep(kind, run := Trial(kinds, kind, fixed))
    return run(tensors, context)


class Trial:
    """The calls of a kind until those of PyTorch that it makes are recorded, and compared.

    Parameters
    ----------
    kinds : Kinds
        They keep what is recorded, or refuse it.
    kind : tuple
    fixed : list of int
        The inputs that CUDA graphs read where they are.
    """

    def __init__(self, kinds: Kinds, kind: Kind, fixed: list[int]):
        self._kinds, self._kind, self._fixed = kinds, kind, fixed
        self._attempts = 0
        self._recorded: GraphCall | None = None

    def __call__(self, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        kinds = self._kinds
        if self._attempts == ATTEMPTS:
            kinds.refuse(self._kind, f"no gradient was asked for in {ATTEMPTS} calls")
            return kinds.plain(tensors, context)
        if self._recorded is None:
            run, finish = self._record()
        else:
            run, finish = self._compare(self._recorded)
        results = FirstCall(kinds.program, kinds.what, context, run, finish)(tensors, context)
        self._attempts += 1  # one that raises is none
        return results

    def _record(self) -> tuple[Callable, Callable]:
        """Return what computes a call under a recorder, and what keeps the recorded calls."""
        recorder = Recorder()

        def run(call: FirstCall) -> list[Tensor]:
            before = versions(call.inputs)
            recorder.take(call.inputs)
            with recorder:
                outputs = self._run(call)
            _refuse_writes(recorder, call.program, before, versions(call.inputs))
            recorder.give(outputs)
            return outputs

        def finish(call: FirstCall, dys: Sequence[Tensor | None]) -> Gradients:
            nonlocal recorder
            # One tensor may be the gradient of two outputs, and each needs a name of its own.
            dys = [None if dy is None else dy.detach() for dy in dys]
            given = recorder.name_inputs([dy for dy in dys if dy is not None])
            with recorder:
                gradients = call.gradients(dys)
            if recorder.reason:
                self._kinds.refuse(self._kind, recorder.reason)
            else:
                self._recorded = _done_again(call, *recorder.functions(given, gradients), dys)
                self._recorded.draws = recorder.draws
            del recorder  # and all tensors that it has seen
            return gradients

        return run, finish

    def _compare(self, recorded: GraphCall) -> tuple[Callable, Callable]:
        """Return what computes a call, and what decides whether the recorded ones do as well."""
        given: list[Tensor] = []
        generators: list[Tensor] = []

        def run(call: FirstCall) -> list[Tensor]:
            states = call.program.states  # as they are before the call changes them, and draws
            given.extend(t.clone() if i in states else t for i, t in enumerate(call.inputs))
            generators.extend(generator_states(call.context))
            return self._run(call)

        def finish(call: FirstCall, dys: Sequence[Tensor | None]) -> Gradients:
            gradients = call.gradients(dys)
            # Else a later call may be differentiated by the outputs that the first one was.
            if recorded.has_dy == which_are_given(dys):
                problem = _disagreement(recorded, given, generators, call.outputs, dys, gradients)
                self._decide(recorded, problem, given)
            return gradients

        return run, finish

    def _decide(self, recorded: GraphCall, problem: str, given: list[Tensor]) -> None:
        """Keep the recorded calls, or refuse them if there is a problem."""
        kinds = self._kinds
        if problem:
            kinds.refuse(self._kind, f"done again, its calls {problem}")
            return
        log.debug(
            "%s is recorded: later calls of this kind run no Python of its operators", kinds.what
        )
        is_captured = cuda_graph.can_capture(recorded.context)
        launched = partial(cuda_graph.Launched, recorded, self._fixed, given)
        kinds.keep(self._kind, launched() if is_captured else recorded)

    @staticmethod
    def _run(call: FirstCall) -> list[Tensor]:
        """Return the outputs of the program as it is, for a backward if an input asks for one."""
        for_backward = any(t.requires_grad for t in call.inputs)
        program, context = call.program, call.context
        return program.run(program.static_function(context), call.inputs, context, for_backward)


def _refuse_writes(
    recorder: Recorder, program: Program, before: list[int | None], after: list[int | None]
) -> None:
    """Refuse a program that has written into an input that is no state of it."""
    for i, (name, old, new) in enumerate(zip(program.inputs, before, after)):
        if new is None:
            recorder.refuse(f"PyTorch does not count writes into {name}, made in inference mode")
        elif old != new and i not in program.states:
            recorder.refuse(f"it writes into {name}")


def _disagreement(
    recorded: GraphCall,
    given: list[Tensor],
    generators: list[Tensor],
    expected: Sequence[Tensor],
    dys: Sequence[Tensor | None],
    gradients: Gradients,
) -> str:
    """Return how the recorded calls do not give what a call gave; "" if they do."""
    try:
        with torch.no_grad(), draws_restored(recorded.context, generators):
            outputs, saved = recorded.forward(given)
            found = recorded.backward(saved, dys) if dys else ()
    except RuntimeError as error:  # a kernel whose backward needs more than tensors: oneDNN's
        return f"raise {str(error).partition(chr(10))[0]}"
    # Apart, for gradients are of another size: large outputs would hide what they lack.
    agreed = agree(expected, outputs) and agree(gradients, found)
    return "" if agreed else "give other values"


def _done_again(
    call: GraphCall,
    forward: Callable[..., tuple],
    backward: Callable[..., tuple] | None,
    dys: Sequence[Tensor | None],
) -> GraphCall:
    """Return a later call of a kind: the recorded calls.

    Parameters
    ----------
    call : GraphCall
        The call that was recorded.
    forward : callable
        From its inputs to its outputs, and what `backward` needs beside the gradients of those.
    backward : callable or None
        To the gradients of the inputs.
    dys : sequence of Tensor or None
        The gradients of its differentiable outputs.
    """
    what, count = call.what, len(call.differentiable)

    def outputs(tensors: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        found = _call(forward, tensors, tensors, what)
        return found[:count], found[count:]

    def gradients(saved: Sequence[Tensor], dys: Sequence[Tensor | None]) -> Gradients:
        given = [dy for dy in dys if dy is not None]
        return _call(backward, [*saved, *given], given, what)

    made = call.later(outputs, gradients if backward else None)
    made.has_dy = which_are_given(dys)
    return made


def _call(
    function: Callable[..., tuple], tensors: Sequence[Tensor], shown: Sequence[Tensor], what: str
) -> tuple:
    """Do recorded calls; an error of PyTorch's is ours, but nobody knows in which operator."""
    try:
        with _below_autograd():
            return function(*tensors)
    except PYTORCH_ERRORS as error:
        if type(error) not in PYTORCH_ERRORS:
            raise
        shapes = {f"input {i}": tuple(t.shape) for i, t in enumerate(shown)}
        error_class, problem = explained(error, shapes, [t.dtype for t in shown])
        raise error_class(f"{what}: {problem}\n  in a recorded call of it") from error
