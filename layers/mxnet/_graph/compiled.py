"""A graph compiled by PyTorch: once for each kind of call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import RLock

import torch

from .._draws import draws_restored, generator_states
from .._state import this_thread
from ..autograd import inside
from ..base import UnsupportedError
from ..context import Context
from ..symbol._node import Node
from .direct import Whole, code_alone
from .kinds import Kind, Kinds, Run, agree, log, warn
from .program import Program
from .torch_compile import by_the_tracer, compile_function, parts
from .tracing import as_it_is, on, reason_of, traced_function, tracing, try_tracing

Tensor = torch.Tensor
MOST_KINDS = 16  # each may take many seconds
# Compiling sets what holds for the whole process: one graph after the other.
_one_by_one = RLock()


def compiled(program: Program, backend: str, what: str = "a graph", **options) -> Kinds:
    """Return what compiles a program at the first call of each kind.

    Where there are custom operators, that call runs the program as it is. Those that PyTorch's
    tracer takes whole are compiled, the others run as they are between compiled parts. Where all
    are, the compiled code then does the same call, and has to agree; no user's Python runs in it.
    Its results are then those of the call, so that a call rounds as those after it do.

    Parameters
    ----------
    program : Program
    backend : str
        Of `torch.compile`.
    what : str
        The graph, as messages name it.
    **options
        `mode` and `options` of `torch.compile`.
    """
    way = partial(_first_call, partial(compile_function, backend=backend, **options))
    return Kinds(program, way, "compiled", MOST_KINDS, what)


def _first_call(
    compile: Callable, kinds: Kinds, kind: Kind, tensors: Sequence[Tensor], context: Context
) -> list[Tensor]:
    with _one_by_one:
        if kind in kinds.runs:  # another thread has made it
            return kinds.runs[kind](tensors, context)
        custom = [n for n in kinds.program.nodes if n.op.own]
        first = partial(_run_and_compile, custom) if custom else _compile_and_run
        return first(compile, kinds, kind, tensors, context)


def _compile_and_run(
    compile: Callable, kinds: Kinds, kind: Kind, tensors: Sequence[Tensor], context: Context
) -> list[Tensor]:
    """Return the outputs by compiled code."""
    program = kinds.program
    changed = [tensors[i] for i in program.changed(len(tensors))]
    before = _copies(changed)
    try:
        run = _runner(compile, kinds, {}, context)
        with tracing(context, program.settings):
            results = run(tensors, context)
    except Exception as error:  # of the compiler, of any kind
        _write(changed, before)
        results = kinds.plain(tensors, context)  # if this fails too, it is the caller's error
        kinds.refuse(kind, reason_of(error))
        return results
    kinds.keep(kind, partial(_later_call, kinds, kind, run))
    return results


def _run_and_compile(
    custom: list[Node],
    compile: Callable,
    kinds: Kinds,
    kind: Kind,
    tensors: Sequence[Tensor],
    context: Context,
) -> list[Tensor]:
    """Return the outputs by the program as it is, or by compiled code that agrees with it."""
    program = kinds.program
    changed = [tensors[i] for i in program.changed(len(tensors))]
    before, generators = _copies(changed), generator_states(context)
    inputs: dict[Node, list[Tensor]] = {}
    watched = program.bound({n: _watched(n, inputs) for n in custom})
    results = program.run(watched, tensors, context, this_thread.state.recording)
    try:
        functions, outside = _functions(inputs, context)
        run = _runner(compile, kinds, functions, context)
        if _is_whole(program, functions):
            after = _copies(changed)
            try:
                with _undone(outside), draws_restored(context, generators):
                    _write(changed, before)
                    with tracing(context, program.settings):
                        found = run(tensors, context)
                if not agree(results, found):
                    raise UnsupportedError("it gives other values")
            except BaseException:
                _write(changed, after)
                raise
            results = found  # as later calls round
    except Exception as error:  # of the operator's author or the compiler, of any kind
        kinds.refuse(kind, reason_of(error))
    else:
        kinds.keep(kind, partial(_later_call, kinds, kind, run))
    return results


def _later_call(
    kinds: Kinds, kind: Kind, run: Run, tensors: Sequence[Tensor], context: Context
) -> list[Tensor]:
    try:
        return run(tensors, context)
    except Exception as error:
        if not by_the_tracer(error):  # which an array from outside, of another kind, calls
            raise
        results = kinds.plain(tensors, context)
        kinds.refuse(kind, reason_of(error))
        return results


def _functions(
    inputs: dict[Node, list[Tensor]], context: Context
) -> tuple[dict[Node, Callable], list[Tensor]]:
    """Return the functions of custom operators in the graph, and the arrays from outside they read.

    `inputs` are those of all custom operators.
    """
    functions: dict[Node, Callable] = {}
    outside: list[Tensor] = []
    for node, tensors in inputs.items():
        operation, given = node.op.prepare(tensors, node.attributes, context)
        refusal, read = try_tracing(operation, given)
        outside += read
        if refusal:
            warn(f"{operation.what} is not compiled, and runs as it is: {refusal}")
        else:
            log.info("%s is compiled", operation.what)
            functions[node] = traced_function(operation, given)
    return functions, outside


def _is_whole(program: Program, functions: dict[Node, Callable]) -> bool:
    return all(n in functions or n.op.traceable for n in program.nodes)


def _runner(
    compile: Callable, kinds: Kinds, functions: dict[Node, Callable], context: Context
) -> Run:
    """Return what runs the compiled graph, with these functions for custom operators."""
    program, state = kinds.program, this_thread.state
    recording, training = state.recording, state.training
    whole = _is_whole(program, functions)
    apart = [n for n in program.nodes if n not in functions and not n.op.traceable]
    functions = functions | {n: as_it_is(n, recording) for n in apart}
    through = partial(compile, whole=whole, device=context.device.type)
    if whole:
        function = through(program.bound(functions))
    else:
        function = program.bound(functions, through)

    def run(tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        if direct := getattr(function, "direct", None):  # no Python of an operator runs in it
            return program.run(direct, tensors, context, recording)
        with inside(context, training), on(context), parts(whole):
            return program.run(function, tensors, context, recording)

    if recording and isinstance(function, Whole) and function.is_inductors:
        return code_alone(program, kinds.what, function, run)
    return run


def _watched(node: Node, inputs: dict[Node, list[Tensor]]) -> Callable:
    """Return a function that runs a node, and records its inputs."""

    def run(*tensors: Tensor, **supplied):
        inputs[node] = list(tensors)
        return node.op.run(*tensors, **supplied)

    return run


def _copies(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [t.detach().clone() for t in tensors]


def _write(tensors: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    for tensor, value in zip(tensors, values):
        if not torch.equal(tensor, value):  # it may be an array that nobody may write into
            tensor.detach().copy_(value)


@contextmanager
def _undone(tensors: Sequence[Tensor]) -> Iterator[None]:
    """``with _undone(tensors):`` what is written into them inside is forgotten."""
    values = _copies(tensors)
    try:
        yield
    finally:
        _write(tensors, values)
