"""A graph whose calls of PyTorch are recorded, forward and backward, and done again as one node.

The first call of a kind runs the program as it is, under a recorder, and so does its backward. The
second runs it as it is once more, and the recorded calls have to give the same of its inputs: so a
value is found that came to the first in a way that the recorder does not see. Later calls of that
kind do the recorded calls, and no other Python. On a GPU they are launched as
CUDA graphs. On a CPU only graphs with custom operators are recorded: where there are none,
PyTorch's autograd does the calls of a backward without Python already, and faster.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial

import torch

from .._draws import draws_restored, generator_states
from .._state import this_thread
from .._tensor import PYTORCH_ERRORS
from ..base import explained
from ..context import Context
from . import cuda_graph
from .graph_call import (
    ATTEMPTS,
    Gradients,
    GraphCall,
    first_calls,
    gradients_of_call,
    versions,
    which_are_given,
)
from .kinds import Kind, Kinds, agree, log
from .program import Program
from .recorder import Recorder

Tensor = torch.Tensor
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
    """Return the outputs of a call of a new kind, and keep what does the calls after it."""
    recorded: GraphCall | None = None

    def keep(call: GraphCall) -> None:
        nonlocal recorded
        recorded = call

    def attempt(inputs: Sequence[Tensor], context: Context) -> Generator:
        if recorded is None:
            return _record(kinds, kind, keep, inputs, context)
        return _compare(kinds, kind, recorded, fixed, inputs, context)

    def otherwise(tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        kinds.refuse(kind, f"no gradient was asked for in {ATTEMPTS} calls")
        return kinds.plain(tensors, context)

    kinds.keep(kind, run := first_calls(kinds.program, kinds.what, attempt, otherwise))
    return run(tensors, context)


def _record(
    kinds: Kinds,
    kind: Kind,
    keep: Callable[[GraphCall], None],
    inputs: Sequence[Tensor],
    context: Context,
) -> Generator:
    """Do a call under a recorder, and `keep` the recorded calls of PyTorch; see `first_calls`."""
    program, training, recorder = kinds.program, this_thread.state.training, Recorder()
    before = versions(inputs)
    recorder.take(inputs)
    with recorder:
        outputs = _outputs(program, inputs, context)
    _refuse_writes(recorder, program, before, versions(inputs))
    recorder.give(outputs)
    dys = yield outputs
    # One tensor may be the gradient of two outputs, and each needs a name of its own.
    dys = [None if dy is None else dy.detach() for dy in dys]
    given = recorder.name_inputs([dy for dy in dys if dy is not None])
    with recorder:
        gradients = gradients_of_call(outputs, inputs, dys)
    if recorder.reason:
        kinds.refuse(kind, recorder.reason)
        return gradients
    functions = recorder.functions(given, gradients)
    ahead, behind = _done_again(*functions, len(outputs), kinds.what)
    made = GraphCall(program, kinds.what, context, training, ahead, behind, draws=recorder.draws)
    made.differentiable = tuple([y.requires_grad for y in outputs])
    made.has_dy = which_are_given(dys)
    keep(made)
    return gradients


def _compare(
    kinds: Kinds,
    kind: Kind,
    recorded: GraphCall,
    fixed: list[int],
    inputs: Sequence[Tensor],
    context: Context,
) -> Generator:
    """Do a call; keep the recorded calls if they give the same, or refuse; see `first_calls`."""
    states = kinds.program.states  # as they are before the call changes them, and draws
    given = [t.clone() if i in states else t for i, t in enumerate(inputs)]
    generators = generator_states(context)
    outputs = _outputs(kinds.program, inputs, context)
    dys = yield outputs
    gradients = gradients_of_call(outputs, inputs, dys)
    if recorded.has_dy != which_are_given(dys):
        # A later call may be differentiated by the outputs that the first one was.
        return gradients
    problem = _disagreement(recorded, given, generators, outputs, dys, gradients)
    if problem:
        kinds.refuse(kind, f"done again, its calls {problem}")
        return gradients
    log.debug("%s is recorded: later calls of this kind run no Python of its operators", kinds.what)
    on_gpu = cuda_graph.can_capture(context)
    kinds.keep(kind, cuda_graph.Launched(recorded, fixed, given) if on_gpu else recorded)
    return gradients


def _outputs(program: Program, inputs: Sequence[Tensor], context: Context) -> list[Tensor]:
    """Return the outputs of the program as it is, for a backward if an input asks for one."""
    for_backward = any(t.requires_grad for t in inputs)
    return program.run(program.static_function(context), inputs, context, for_backward)


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
            outputs, saved = recorded.ahead(given)
            found = recorded.behind(saved, dys) if dys else ()
    except RuntimeError as error:  # a kernel whose backward needs more than tensors: oneDNN's
        return f"raise {str(error).partition(chr(10))[0]}"
    # Apart, for gradients are of another size: large outputs would hide what they lack.
    agreed = agree(expected, outputs) and agree(gradients, found)
    return "" if agreed else "give other values"


def _done_again(
    forward: Callable[..., tuple], backward: Callable[..., tuple] | None, count: int, what: str
) -> tuple[Callable, Callable | None]:
    """Return `ahead` and `behind` of a later call, by the recorded calls.

    Parameters
    ----------
    forward : callable
        From the inputs to so many outputs, and what `backward` needs beside the gradients of those.
    backward : callable or None
        To the gradients of the inputs.
    count : int
    what : str
        What messages name the graph.
    """

    def ahead(tensors: Sequence[Tensor]) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        found = _call(forward, tensors, tensors, what)
        return found[:count], found[count:]

    def behind(saved: Sequence[Tensor], dys: Sequence[Tensor | None]) -> Gradients:
        given = [dy for dy in dys if dy is not None]
        return _call(backward, [*saved, *given], given, what)

    return ahead, behind if backward else None


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
