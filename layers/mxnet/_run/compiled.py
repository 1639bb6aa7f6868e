"""A graph compiled by PyTorch: once for each kind of call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import RLock

import torch

from .._draws import draws_restored, generator_states
from .._own.node import CUSTOM, prepared
from .._state import this_thread
from ..autograd import inside
from ..base import UnsupportedError
from ..context import Context
from ..symbol._node import Node
from .inductor_code import InductorCode
from .kinds import Kind, Run, Specialized, agree, log, warn
from .program import Program
from .reasons import reason_of
from .torch_compile import by_the_tracer, compiled, parts
from .tracing import as_it_is, on, traced_function, tracing, try_tracing
from .whole import Whole

Tensor = torch.Tensor
# Compiling sets what holds for the whole process: one graph after the other.
_one_by_one = RLock()


class Compiled(Specialized):
    """A program that PyTorch compiles at the first call of a kind.

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

    done, most_kinds = "compiled", 16  # each may take many seconds

    def __init__(self, program: Program, backend: str, what: str = "a graph", **options):
        super().__init__(program, what)
        self._backend, self._options = backend, options

    def first_call(self, kind: Kind, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        with _one_by_one:
            if kind in self._runs:  # another thread has made it
                return self._runs[kind](tensors, context)
            custom = [n for n in self.program.nodes if n.op is CUSTOM]
            if custom:
                return self._run_and_compile(kind, custom, tensors, context)
            return self._compile_and_run(kind, tensors, context)

    def _compile_and_run(
        self, kind: Kind, tensors: Sequence[Tensor], context: Context
    ) -> list[Tensor]:
        """The outputs by compiled code."""
        changed = [tensors[i] for i in self.program.changed(len(tensors))]
        before = _copies(changed)
        try:
            run = self._compile(kind, {}, context)
            with tracing(context, self.program.settings):
                results = run(tensors, context)
        except Exception as error:  # of the compiler, of any kind
            _write(changed, before)
            results = self.plain(tensors, context)  # if this fails too, it is the caller's error
            self.refuse(kind, reason_of(error))
            return results
        self.keep(kind, run)
        return results

    def _run_and_compile(
        self, kind: Kind, custom: list[Node], tensors: Sequence[Tensor], context: Context
    ) -> list[Tensor]:
        """The outputs by the program as it is, or by compiled code that agrees with it."""
        changed = [tensors[i] for i in self.program.changed(len(tensors))]
        before, generators = _copies(changed), generator_states(context)
        inputs: dict[Node, list[Tensor]] = {}
        program = self.program.bound({n: _watched(n, inputs) for n in custom})
        results = self.program.run(program, tensors, context, this_thread.state.recording)
        try:
            functions, outside = self._functions(inputs, context)
            run = self._compile(kind, functions, context)
            if self._is_whole(functions):
                after = _copies(changed)
                try:
                    with _undone(outside), draws_restored(context, generators):
                        _write(changed, before)
                        with tracing(context, self.program.settings):
                            found = run(tensors, context)
                    if not agree(results, found):
                        raise UnsupportedError("it gives other values")
                except BaseException:
                    _write(changed, after)
                    raise
                results = found  # as later calls round
        except Exception as error:  # of the operator's author or the compiler, of any kind
            self.refuse(kind, reason_of(error))
        else:
            self.keep(kind, run)
        return results

    def _functions(
        self, inputs: dict[Node, list[Tensor]], context: Context
    ) -> tuple[dict[Node, Callable], list[Tensor]]:
        """The functions of custom operators in the graph, and the arrays from outside they read."""
        functions: dict[Node, Callable] = {}
        outside: list[Tensor] = []
        for node, tensors in inputs.items():
            operation, given = prepared(tensors, node.attributes, context)
            refusal, read = try_tracing(operation, given)
            outside += read
            if refusal:
                warn(f"{operation.what} is not compiled, and runs as it is: {refusal}")
            else:
                log.info("%s is compiled", operation.what)
                functions[node] = traced_function(operation, given)
        return functions, outside

    def _is_whole(self, functions: dict[Node, Callable]) -> bool:
        return all(n in functions or n.op.traceable for n in self.program.nodes)

    def _compile(self, kind: Kind, functions: dict[Node, Callable], context: Context) -> Run:
        """What runs the compiled graph, with these functions for custom operators."""
        whole, recording, training = (
            self._is_whole(functions),
            this_thread.state.recording,
            this_thread.state.training,
        )
        apart = [n for n in self.program.nodes if n not in functions and not n.op.traceable]
        functions = functions | {n: as_it_is(n, recording) for n in apart}

        def compile(function: Callable) -> Callable:
            device = context.device.type
            return compiled(function, self._backend, whole, device, **self._options)

        if whole:
            function = compile(self.program.bound(functions))
        else:
            function = self.program.bound(functions, compile)

        def run(tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
            if direct := getattr(function, "direct", None):  # no Python of an operator runs in it
                return self.program.run(direct, tensors, context, recording)
            with inside(context, training), on(context), parts(whole):
                return self.program.run(function, tensors, context, recording)

        if recording and self._backend == "inductor" and isinstance(function, Whole):
            return InductorCode(self.program, self.what, context, function, run)
        return run

    def keep(self, kind: Kind, run: Run) -> None:
        def later(tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
            try:
                return run(tensors, context)
            except Exception as error:
                if not by_the_tracer(error):  # which an array from outside, of another kind, calls
                    raise
                results = self.plain(tensors, context)
                self.refuse(kind, reason_of(error))
                return results

        super().keep(kind, later)


def _watched(node: Node, inputs: dict[Node, list[Tensor]]) -> Callable:
    """The function of a node, which puts down what it is given."""

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
