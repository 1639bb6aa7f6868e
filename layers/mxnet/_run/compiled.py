"""A graph compiled by PyTorch: once for each training mode, context, shapes and dtypes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from threading import RLock
from typing import Any

import torch

from .._own.call import Call, call
from .._own.node import CUSTOM, prepared
from ..autograd import inside, state
from ..context import Context
from ..ndarray._memory import apart
from ..symbol._node import Node
from .program import Program
from .torch_compile import compiled
from .trial import first_line, on, quiet, refusal, renewed, undisturbed

log = logging.getLogger("layers.mxnet.hybridize")
# Compiling sets what holds for the whole process, and tries operators: one graph after the other.
_one_by_one = RLock()
KINDS = 16  # of calls that a graph is compiled for; each may take many seconds


class Compiled:
    """A program that PyTorch compiles, once for each kind of call.

    Operators of one's own are compiled with it, those that cannot be run as they are. Where there
    are some, the first call of a kind is run as it is, and they are tried with what they were given
    in it; the second is compiled. A graph that cannot be compiled is replayed. What is not compiled
    is logged, with the reason.

    Parameters
    ----------
    program : Program
    backend : str or None
        Of `torch.compile`; None to replay.
    what : str
        The graph, as messages name it.
    **options
        `mode` and `options` of `torch.compile`.
    """

    def __init__(self, program: Program, backend: str | None, what: str = "a graph", **options):
        self.program, self._backend, self._given = program, backend, options
        self.what = what
        self._plain = program.function
        self._functions: dict[tuple, Callable] = {}
        self._tried: dict[tuple, dict[Node, Callable]] = {}  # of kinds that were called once
        self._refused: dict[tuple, str] = {}

    def __call__(self, tensors: list[torch.Tensor], context: Context) -> list[torch.Tensor]:
        """The outputs, in memory of their own, recorded when recording is on."""
        recording, training = state.recording, state.training
        key = (
            recording,
            training,
            context,
            *[(t.shape, t.stride(), t.dtype, t.requires_grad) for t in tensors],
        )
        function = self._functions.get(key)
        if function is None:
            with _one_by_one:
                if key not in self._functions:
                    return self._first(key, tensors, context)
                function = self._functions[key]
        if function is self._plain:
            return self._run(function, tensors, context, recording)
        try:
            with inside(context, training), on(context):
                return self._run(function, tensors, context, recording)
        except Exception as error:
            if not type(error).__module__.startswith("torch._dynamo"):
                raise
            return self._again(key, error, tensors, context)

    def _run(self, function: Callable, tensors: list, context: Context, recording: bool) -> list:
        """What a function of the graph gives, in memory of its own."""
        return self.program.run(function, tensors, context, recording)

    def _first(self, key: tuple, tensors: list, context: Context) -> list[torch.Tensor]:
        """The outputs of a call of a kind that is not compiled yet."""
        nodes = self.program.nodes
        own = [n for n in nodes if n.op is CUSTOM]
        if key in self._tried:
            return self._begin(key, self._tried.pop(key), tensors, context)
        if len(self._functions) + len(self._tried) >= KINDS:
            warn(
                f"{self.what} is compiled for {KINDS} shapes, dtypes and modes, and replayed for "
                "others"
            )
            return self._run(self._plain, tensors, context, state.recording)
        functions = {n: _as_it_is(n, state.recording) for n in nodes if not n.op.traceable}
        if not own or self._backend is None:
            return self._begin(key, functions, tensors, context)
        results, inputs = self._watched(own, tensors, context)
        try:
            with undisturbed(context.device):
                functions |= {n: self._function(n, inputs[n], context) for n in own}
        except Exception as error:  # of the operator's author or the compiler, of any kind
            self._give_up(key, error)
        else:
            self._tried[key] = functions
        return results

    def _watched(self, own: list[Node], tensors: list, context: Context) -> tuple[list, dict]:
        """The outputs of the program as it is, and what some nodes were given."""
        inputs: dict[Node, list] = {}

        def watched(node: Node) -> Callable:
            def run(*tensors, **supplied):
                inputs[node] = list(tensors)
                return node.op.run(*tensors, **supplied)

            return run

        function = self._eager(self.program.bound({n: watched(n) for n in own}))
        return self._run(function, tensors, context, state.recording), inputs

    def _begin(self, key: tuple, functions: dict, tensors: list, context: Context) -> list:
        """The outputs of the first call that is compiled."""
        recording = state.recording
        before = {i: tensors[i].clone() for i in self._changed(len(tensors))}
        try:
            with quiet(), self._settings():
                function = self._compile(functions, context)
                with inside(context, state.training), on(context):
                    results = self._run(function, tensors, context, recording)
        except Exception as error:  # of the compiler, of any kind
            for i, value in before.items():  # a part of the graph may have run
                tensors[i].copy_(value)
            return self._replay(key, error, tensors, context)
        self._functions[key] = function
        return results

    def _changed(self, count: int) -> set[int]:
        """Which of so many inputs may be changed in place."""
        return self.program.states

    def _settings(self) -> AbstractContextManager:
        """What has to be set where PyTorch traces."""
        return nullcontext()

    def _again(self, key: tuple, error: Exception, tensors: list, context: Context) -> list:
        """The outputs when PyTorch could not trace again: attributes change in every call."""
        return self._replay(key, error, tensors, context)

    def __getstate__(self) -> dict:
        fresh = {"_functions": {}, "_tried": {}, "_refused": {}}
        return self.__dict__ | fresh  # a copy compiles for itself

    def _replay(self, key: tuple, error: Exception, tensors: list, context: Context) -> list:
        """The outputs when compiling has failed: from now on by the program as it is."""
        # If this fails too, it is the caller's error.
        results = self._run(self._plain, tensors, context, state.recording)
        self._give_up(key, error)
        return results

    def _give_up(self, key: tuple, error: Exception) -> None:
        warn(f"{self.what} is not compiled, and is replayed: {first_line(error)}")
        self._functions[key] = self._plain

    def _compile(self, functions: dict[Node, Callable], context: Context) -> Callable:
        if self._backend is None:
            return self._plain
        whole = all(isinstance(f, partial) for f in functions.values())
        return self._compiled(self.program.bound(functions), whole, context)

    def _compiled(self, graph: Callable, whole: bool, context: Context) -> Callable:
        return compiled(graph, self._backend, whole, context.device.type, **self._given)

    def _eager(self, graph: Callable) -> Callable:
        """What a graph's function is called through."""
        return graph

    def _function(self, node: Node, tensors: list, context: Context) -> Callable:
        it, places = prepared(tensors, node.attributes, context)
        traced = it.as_traced()
        key = (
            *node.attributes.items(),
            *[(t.shape, t.dtype, t.requires_grad) for t in tensors],
            it.training,
        )
        if key not in self._refused:
            self._refused[key] = reason = refusal(it, traced, places)
            if reason:
                warn(f"{it.what} is not compiled, and runs as it is: {reason}")
            else:
                log.info("%s is compiled", it.what)
        if self._refused[key]:
            return _as_it_is(node, state.recording)
        return partial(_traced, traced, tuple(t is not None for t in places))


class WithGradients(Compiled):
    """A program with the gradients of its outputs' sums, in one graph; its outputs come before.

    Parameters
    ----------
    wanted : tuple of int
        The inputs whose gradients these are.
    update : callable, optional
        A part of the graph: ``update(inputs, gradients, given)`` changes the wanted inputs, and
        what it is given, which are the tensors after the program's own.
    """

    def __init__(
        self,
        program: Program,
        wanted: tuple[int, ...],
        backend: str | None,
        update: Callable[[list, list, list], None] | None = None,
        **options,
    ):
        super().__init__(program, backend, **options)
        self._wanted, self._update = wanted, update
        self._plain = self._eager(program.function)

    def _eager(self, graph: Callable) -> Callable:
        wanted, update, count = self._wanted, self._update, len(self.program.inputs)

        def step(*tensors, **supplied):
            tensors, given = tensors[:count], tensors[count:]
            inputs = [t.detach() for t in tensors]
            for i in wanted:
                inputs[i].requires_grad_()
            values = graph(*inputs, **supplied)
            heads = [v for v in values if v.requires_grad]
            gradients = torch.autograd.grad(
                heads,
                [inputs[i] for i in wanted],
                [torch.ones_like(v) for v in heads],
                materialize_grads=True,
            )
            results = apart([*[v.detach() for v in values], *gradients], tensors)
            if update:
                with torch.no_grad():
                    update([tensors[i] for i in wanted], results[len(values) :], given)
            return results

        return renewed(step)

    def _run(self, function: Callable, tensors: list, context: Context, recording: bool) -> list:
        with torch.set_grad_enabled(recording):  # `step` sees to the memory
            return self.program.results(function, tensors, context)

    def _changed(self, count: int) -> set[int]:
        given = range(len(self.program.inputs), count)
        return super()._changed(count).union(self._wanted if self._update else (), given)

    def _settings(self) -> AbstractContextManager:
        return torch._dynamo.config.patch(trace_autograd_ops=True, capture_scalar_outputs=True)

    def _again(self, key: tuple, error: Exception, tensors: list, context: Context) -> list:
        """The outputs when something has changed: where the settings hold it can be traced."""
        try:
            with _one_by_one, quiet(), self._settings(), inside(context, state.training):
                return self._run(self._functions[key], tensors, context, True)
        except Exception as again:
            return self._replay(key, again, tensors, context)

    def _compiled(self, graph: Callable, whole: bool, context: Context) -> Callable:
        if whole:
            return super()._compiled(self._eager(graph), whole, context)
        return self._eager(super()._compiled(graph, whole, context))


@lru_cache(maxsize=1024)
def warn(text: str) -> None:
    """Say it once, however many graphs and shapes it holds for."""
    log.warning(text)


def _traced(it: Call, given: tuple[bool, ...], *tensors: torch.Tensor, **_) -> Any:
    """A call inside a compiled graph; inputs that were left out are not among the tensors."""
    # One tensor in two places is refused by PyTorch's compiler; a view of it is another tensor.
    apart = [
        t.view_as(t) if any(t is before for before in tensors[:i]) else t
        for i, t in enumerate(tensors)
    ]
    rest = iter(apart)
    results = call(it, [next(rest) if there else None for there in given])
    return results if len(results) > 1 else results[0]


def _as_it_is(node: Node, recording: bool) -> Callable:
    """The function of a node, kept out of the compiler."""

    @torch.compiler.disable
    def run(*tensors, **supplied):
        before, state.recording = state.recording, recording
        try:
            return node.op.run(*tensors, **supplied)
        finally:
            state.recording = before

    return run
