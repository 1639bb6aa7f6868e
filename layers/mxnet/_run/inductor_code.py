"""Inductor's code of a recorded call, forward and backward, as one node for autograd.

What AOTAutograd does around that code, for views, states and other devices, takes 60 us a call, as
long as a small graph. The first calls of a kind, until there is a backward, see what the code is
given and gives. Where these are nothing but tensors of the call, later calls are of the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..context import Context
from .graph_call import (
    FirstCall,
    Gradients,
    GraphCall,
    autograd_call,
    keeps_graph,
    versions,
    which_are_given,
)
from .kinds import Run
from .program import Program
from .whole import Call, Whole, graphs_watched, only_call, places

Tensor = torch.Tensor
MOST_SAVED = 2**24  # bytes; AOTAutograd frees them while backward runs, autograd at its end
ATTEMPTS = 8  # calls that are watched while no backward follows


def code_alone(program: Program, what: str, function: Whole, run: Run) -> Run:
    """Return what does the recorded calls of a kind: by `run`, then by inductor's code alone.

    Parameters
    ----------
    program : Program
    what : str
        What messages name it.
    function : Whole
        The compiler's function.
    run : callable
        Does a call by that.
    """
    attempts, direct = 0, None

    def watched(tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        nonlocal attempts
        if direct is not None:
            return autograd_call(direct, tensors)
        attempts += 1
        if attempts > ATTEMPTS or not any(t.requires_grad for t in tensors):
            return run(tensors, context)
        ahead: Sequence[Call] = ()
        is_pure = False

        def compute(call: FirstCall) -> list[Tensor]:
            nonlocal ahead, is_pure
            before = versions(tensors)
            with graphs_watched(wait=False) as ahead:
                outputs = run(call.inputs, context)
            is_pure = None not in before and before == versions(tensors)
            return outputs

        def finish(call: FirstCall, dys: Sequence[Tensor | None]) -> Gradients:
            nonlocal direct
            with graphs_watched(wait=False) as behind:
                found = call.gradients(dys)
            # Where the call did nothing beside the code, and its tensors can be told apart.
            if is_pure and function.direct is not None and _are_apart(call, dys):
                direct = _call_of_code(call, ahead, behind, dys, found)
            return found

        call = FirstCall(program, what, context, compute, finish)
        call.draws = call.twice = False  # the program as it is computes nothing of it again
        return call(tensors, context)

    return watched


def _are_apart(call: FirstCall, dys: Sequence[Tensor]) -> bool:
    """True if there are all gradients, and no two of a call's tensors share memory."""
    tensors = [*call.inputs, *call.outputs, *dys]
    return all(which_are_given(dys)) and len({*map(_memory, tensors)}) == len(tensors)


def _call_of_code(
    call: FirstCall,
    ahead: Sequence[Call],
    behind: Sequence[Call],
    dys: Sequence[Tensor],
    gradients: Gradients,
) -> GraphCall | None:
    """Return a later call by the code of this one; None where that takes or gives other tensors.

    `ahead` and `behind` are the calls of inductor's graphs, forward and backward.
    """
    first = only_call(ahead, call.inputs, call.outputs)
    if first is None or len(behind) != 1:
        return None
    forward, inputs, outputs = first
    ((_, _, results),) = ahead
    ((backward, given, found),) = behind
    pool = [*results, *call.inputs]
    taken = _same_elements(given, [*pool, *dys])
    given_back = places([g for g in gradients if g is not None], found)
    if taken is None or given_back is None:
        return None
    # An input or output of which a view is taken is saved too: autograd sees whether it is
    # overwritten.
    memory = {*map(_memory, given)}
    shown = [*outputs, *range(len(results), len(pool))]
    viewed = {i for i in shown if _memory(pool[i]) in memory}
    saved = sorted(viewed.union(i for i in taken if i < len(pool)))
    made = [pool[i] for i in saved if not any(pool[i] is t for t in call.inputs)]
    if sum(t.nbytes for t in made) > MOST_SAVED:
        return None
    order = {i: k for k, i in enumerate([*saved, *range(len(pool), len(pool) + len(dys))])}
    numbers = iter(given_back)
    return _of_code(
        call,
        (forward, inputs, outputs, saved),
        (
            backward,
            [order[i] for i in taken],
            [None if g is None else next(numbers) for g in gradients],
            [(dy.shape, dy.dtype) for dy in dys],
        ),
    )


def _of_code(call: GraphCall, ahead: tuple, behind: tuple) -> GraphCall:
    """Return a later call by inductor's code.

    Parameters
    ----------
    call : GraphCall
        The call before.
    ahead : tuple
        The code, which takes a list of tensors; what it takes of the inputs; which of its results
        are the outputs; and what autograd keeps of its results and the inputs after them.
    behind : tuple
        The code; what it takes of what is kept and the outputs' gradients after that; which of its
        results are the gradients of the inputs that ask for one, None for zeros; and shape and
        dtype of each output that has a gradient.
    """
    program, context = call.program, call.context
    code_ahead, inputs, outputs, kept = ahead
    code_behind, taken, given_back, head_specs = behind

    def run(*tensors: Tensor, **_: Any) -> Sequence[Tensor]:
        return code_ahead([tensors[i] for i in inputs])

    def forward(tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        results = program.results(run, tensors, context)
        pool = [*results, *tensors]
        return [results[i] for i in outputs], [pool[i] for i in kept]

    def backward(saved: Sequence[Tensor], dys: Sequence[Tensor | None]) -> Gradients:
        # The code may write into what is saved, which another backward would find.
        pool = [t.clone() for t in saved] if keeps_graph() else [*saved]
        for dy, (shape, dtype) in zip(dys, head_specs):
            pool.append(torch.zeros(shape, dtype=dtype) if dy is None else dy)
        found = code_behind([pool[i] for i in taken])
        return [None if i is None else found[i] for i in given_back]

    return call.later(forward, backward)


def _same_elements(tensors: Sequence[Any], among: Sequence[Any]) -> list[int] | None:
    """Where each of the tensors, or one of the same elements, is among others; None if not."""
    found = {_elements(t): i for i, t in reversed([*enumerate(among)]) if isinstance(t, Tensor)}
    numbers = [found.get(_elements(t)) if isinstance(t, Tensor) else None for t in tensors]
    return None if None in numbers else numbers


def _elements(tensor: Tensor) -> tuple:
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
