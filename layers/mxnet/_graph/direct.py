"""Compiled code that is called directly, without what PyTorch does around each call of it.

A function that is compiled whole is called without PyTorch's tracer from the second call on. What
the tracer does before each call of compiled code takes 35 us on a CPU, a tenth of a small
training step. So the first call watches what inductor's code, and the compiler's function around
it, are given and give. Where that is nothing but tensors of the call and its results, later calls
are of that code, or of that function, itself.

A recorded call of inductor's code, forward and backward, is one node for autograd. What AOTAutograd
does around that code, for views, states and other devices, takes 60 us a call, as long as a small
graph. The first calls of a kind, until there is a backward, see what the code is given and gives.
Where these are nothing but tensors of the call, later calls are of the code.

Nothing checks such calls. They are right because a `Whole` is called for one kind of call alone:
`kind_of` (`kinds.py`) tells calls apart by all that the tracer has read of the tensors and modes,
and `Kinds` has a `Whole` for each kind.

PyTorch's own means were measured against this, on the step of 784-128-128-10 with a batch of 64
and two threads: all guards filtered away takes 1.46 of the time in `compiled_step`, 1.69 in a
compiled forward and backward and 1.45 in inference, with `set_stance(skip_guard_eval_unsafe=True)`
1.53, 1.78 and 1.57. `aot_compile` cannot save a step with an update in it, nor a graph whose
operators compute in NumPy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from threading import RLock
from typing import Any

import torch
from torch.autograd.graph import increment_version

from .._state import this_thread
from .._table.stripes import Products
from ..autograd import _set_grad_enabled
from ..context import Context
from .graph_call import (
    Gradients,
    GraphCall,
    Run,
    autograd_call,
    first_calls,
    gradients_of_call,
    keeps_graph,
    versions,
)
from .inductor import channels_last_pays, decompositions
from .program import Program

Tensor = torch.Tensor
Call = tuple[Callable, tuple, Sequence]  # a function, what it was given, and what it gave
MOST_SAVED = 2**24  # bytes; AOTAutograd frees them while backward runs, autograd at its end
_watching = RLock()
_restorers: list[Callable[[], None]] = []  # each gives the class the method that it had before


class Whole:
    """A function of tensors, compiled at its first call for the kind of that.

    Parameters
    ----------
    function : callable
        It takes tensors, and by name what is not traced.
    backend : str
        The compiler.
    settings : dict
        Options of the compiler.
    guards : callable
        `guard_filter_fn` of `torch.compile`.

    Attributes
    ----------
    is_inductors : bool
        Whether the compiler is inductor.
    direct : callable or None
        The compiler's code, or its function, from the tensors of a call to its results; None before
        the first call, and where each call needs the tracer.
    """

    def __init__(
        self, function: Callable, backend: str, settings: dict[str, Any], guards: Callable
    ):
        self.direct: Callable[..., list[Tensor]] | None = None
        self._backend, self._settings, self._guards = backend, settings, guards
        self.is_inductors = backend == "inductor"
        self._is_guarded = False
        self._watched: list[Call] | None = []
        self._traced = torch.compile(
            function,
            fullgraph=True,
            dynamic=False,
            backend=self._compile,
            options={"guard_filter_fn": self._filter},
        )

    def __call__(self, *tensors: Tensor, **supplied: Any) -> Sequence[Tensor]:
        """Return the results of the function."""
        if self.direct is not None:
            return self.direct(*tensors, **supplied)
        if self._watched is None:
            return self._traced(*tensors, **supplied)
        before = versions(tensors)
        with graphs_watched() if self.is_inductors else nullcontext([]) as calls_of_graphs:
            results = self._traced(*tensors, **supplied)
        calls, self._watched = self._watched, None
        # Code that PyTorch's wrapper runs with autocast off would cast again, called by itself.
        if not self._is_guarded and not torch.is_autocast_enabled("cpu"):
            if None not in before:
                pairs = zip(before, versions(tensors))
                changed = [i for i, (old, new) in enumerate(pairs) if old != new]
                self.direct = _without_wrappers(calls_of_graphs, tensors, results, changed)
            self.direct = self.direct or _without_tracer(calls, tensors, results)
        return results

    def _filter(self, entries: list) -> list[bool]:
        """Return which guards stay; the tracer looks at these before each call."""
        stay = self._guards(entries)
        self._is_guarded = self._is_guarded or any(stay)
        return stay

    def _compile(self, graph: torch.fx.GraphModule, inputs: Sequence[Tensor]) -> Callable:
        """Return the compiler's function for a graph; its first call is watched."""
        settings = self._settings
        if self.is_inductors:
            from torch._inductor.compile_fx import compile_fx

            settings = {"layout_optimization": channels_last_pays(graph)} | settings
            function = compile_fx(
                graph, inputs, config_patches=settings, decompositions=decompositions(settings)
            )
        else:
            options = {"options": settings} if settings else {}
            function = torch._dynamo.lookup_backend(self._backend)(graph, inputs, **options)

        def run(*tensors):
            results = function(*tensors)
            if self._watched is not None:
                self._watched.append((function, tensors, results))
            return results

        return run


@contextmanager
def graphs_watched(wait: bool = True) -> Iterator[list[Call]]:
    """``with graphs_watched() as calls:`` the calls of inductor's graphs inside are noted.

    The class has another method for that time: PyTorch makes the graphs deep inside of its own
    code, or takes them from its cache on disk. The class is not public; where there is none, no
    call is noted. One thread watches at a time; without `wait`, none is noted while another
    one does.
    """
    calls: list[Call] = []
    try:
        from torch._inductor.output_code import CompiledFxGraph
    except ImportError:
        yield calls
        return
    if not _watching.acquire(blocking=wait):
        yield calls
        return
    original = CompiledFxGraph.__call__

    def watched(self: CompiledFxGraph, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        given = tuple(inputs)  # the list is emptied
        with Products() as products:
            results = original(self, inputs)
        code = products.with_best_stripes(getattr(self, "current_callable", self))
        calls.append((code, given, results))
        return results

    _restorers.append(partial(setattr, CompiledFxGraph, "__call__", original))
    CompiledFxGraph.__call__ = watched
    try:
        yield calls
    finally:
        _restorers.pop()()
        _watching.release()


def _renew() -> None:
    """Let a child of fork watch: it has not the thread that did."""
    global _watching
    _watching = RLock()
    while _restorers:
        _restorers.pop()()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def _without_wrappers(
    calls: list[Call], tensors: Sequence, results: Sequence, changed: list[int]
) -> Callable[..., list[Tensor]] | None:
    """Inductor's code from the tensors of a call to its results, without AOTAutograd's wrappers.

    These take 7 us. None where they do more than to note which tensors are changed in place: where
    autograd is told of the call, where there is no graph or another one, or where what it takes or
    gives is not that of the call.
    """
    is_recorded = any(t is not None and t.requires_grad for t in results)
    only = None if is_recorded else only_call(calls, tensors, results)
    if only is None or len(calls[0][2]) != len(results):
        return None
    code, inputs, outputs = only

    def direct(*tensors: Tensor, **_: Any) -> list[Tensor]:
        enabled = torch.is_grad_enabled()
        _set_grad_enabled(False)
        try:
            found = code([tensors[i] for i in inputs])
        finally:
            _set_grad_enabled(enabled)
        increment_version([tensors[i] for i in changed])
        return [found[i] for i in outputs]

    return direct


def _without_tracer(
    calls: list[Call], tensors: Sequence, results: Sequence
) -> Callable[..., list[Tensor]] | None:
    """Return the compiler's function from the tensors of a call to its results.

    None where the tracer's code does more: where there is no graph or another one, where it is
    given arrays from outside, or where some results are not what it gave.
    """
    only = only_call(calls, tensors, results)
    if only is None:
        return None
    function, inputs, outputs = only

    def direct(*tensors: Tensor, **_: Any) -> list[Tensor]:
        found = function(*[tensors[i] for i in inputs])
        return [found[i] for i in outputs]

    return direct


def only_call(
    calls: list[Call], tensors: Sequence, results: Sequence
) -> tuple[Callable, list[int], list[int]] | None:
    """Return the function that was called, which tensors it takes, and which results are given.

    None where there were other calls, or where it takes or gives something else.
    """
    if len(calls) != 1:
        return None
    ((function, given, found),) = calls
    inputs, outputs = places(given, tensors), places(results, found)
    return None if inputs is None or outputs is None else (function, inputs, outputs)


def places(tensors: Sequence, among: Sequence) -> list[int] | None:
    """Return the place of each tensor among others; None if one is missing."""
    numbers = {id(t): i for i, t in enumerate(among)}
    found = [numbers.get(id(t)) for t in tensors]
    return None if None in found else found


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
    direct: GraphCall | None = None

    def keep(call: GraphCall) -> None:
        nonlocal direct
        direct = call

    watch = partial(_watch, program, what, function, run, keep)
    first = first_calls(program, what, watch, run, again=False)

    def call(tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        if direct is not None:
            return autograd_call(direct, tensors)
        return (first if any(t.requires_grad for t in tensors) else run)(tensors, context)

    return call


def _watch(
    program: Program,
    what: str,
    function: Whole,
    run: Run,
    keep: Callable[[GraphCall], None],
    inputs: Sequence[Tensor],
    context: Context,
) -> Generator:
    """Do a call by `run`, and `keep` one by the code that it has seen; see `first_calls`."""
    training, before = this_thread.state.training, versions(inputs)
    with graphs_watched(wait=False) as ahead:
        outputs = run(inputs, context)
    is_pure = None not in before and before == versions(inputs)
    dys = yield outputs
    with graphs_watched(wait=False) as behind:
        gradients = gradients_of_call(outputs, inputs, dys)
    # Where the call did nothing beside the code, and its tensors can be told apart.
    if is_pure and function.direct is not None and _are_apart([*inputs, *outputs, *dys]):
        found = _code_of(inputs, outputs, dys, gradients, ahead, behind)
        if found is not None:
            made = GraphCall(program, what, context, training, *_by_code(program, context, *found))
            made.differentiable = tuple([y.requires_grad for y in outputs])
            made.draws = made.twice = False  # the program computes nothing of it again
            keep(made)
    return gradients


def _are_apart(tensors: Sequence[Tensor | None]) -> bool:
    """True if there are all tensors, and no two of them share memory."""
    there = [t for t in tensors if t is not None]
    return len(there) == len(tensors) == len({*map(_memory, there)})


def _code_of(
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    dys: Sequence[Tensor],
    gradients: Gradients,
    ahead: Sequence[Call],
    behind: Sequence[Call],
) -> tuple[tuple, tuple] | None:
    """Return the code of a call, see `_by_code`; None where that takes or gives other tensors.

    `ahead` and `behind` are the calls of inductor's graphs, forward and backward.
    """
    first = only_call(ahead, inputs, outputs)
    if first is None or len(behind) != 1:
        return None
    forward, from_inputs, to_outputs = first
    ((_, _, results),) = ahead
    ((backward, given, found),) = behind
    pool = [*results, *inputs]
    taken = _same_elements(given, [*pool, *dys])
    given_back = places([g for g in gradients if g is not None], found)
    if taken is None or given_back is None:
        return None
    # An input or output of which a view is taken is saved too: autograd sees whether it is
    # overwritten.
    memory = {*map(_memory, given)}
    shown = [*to_outputs, *range(len(results), len(pool))]
    viewed = {i for i in shown if _memory(pool[i]) in memory}
    saved = sorted(viewed.union(i for i in taken if i < len(pool)))
    made = [pool[i] for i in saved if not any(pool[i] is t for t in inputs)]
    if sum(t.nbytes for t in made) > MOST_SAVED:
        return None
    order = {i: k for k, i in enumerate([*saved, *range(len(pool), len(pool) + len(dys))])}
    numbers = iter(given_back)
    return (
        (forward, from_inputs, to_outputs, saved),
        (
            backward,
            [order[i] for i in taken],
            [None if g is None else next(numbers) for g in gradients],
            [(dy.shape, dy.dtype) for dy in dys],
        ),
    )


def _by_code(
    program: Program, context: Context, ahead: tuple, behind: tuple
) -> tuple[Callable, Callable]:
    """Return `ahead` and `behind` of a later call, by inductor's code.

    Parameters
    ----------
    program : Program
    context : Context
    ahead : tuple
        The code, which takes a list of tensors; what it takes of the inputs; which of its results
        are the outputs; and what autograd keeps of its results and the inputs after them.
    behind : tuple
        The code; what it takes of what is kept and the outputs' gradients after that; which of its
        results are the gradients of the inputs that ask for one, None for zeros; and shape and
        dtype of each output that has a gradient.
    """
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

    return forward, backward


def _same_elements(tensors: Sequence[Any], among: Sequence[Any]) -> list[int] | None:
    """Return the places of tensors, or of others with their elements; None if one is missing."""
    found = {_elements(t): i for i, t in reversed([*enumerate(among)]) if isinstance(t, Tensor)}
    numbers = [found.get(_elements(t)) if isinstance(t, Tensor) else None for t in tensors]
    return None if None in numbers else numbers


def _elements(tensor: Tensor) -> tuple:
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
