"""A whole training step in one call."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import ClassVar

import torch

from .. import autograd
from .._tensor import copy_if_aliased
from ..base import ArgumentError, ContextError, RecordingError, note
from ..context import Context
from ..gluon._error_path import shown_input
from ..gluon._graph import Graph, graph_of, parts_of
from ..gluon._nesting import BlockError, _flatten
from ..gluon._sparse_parameters import sparse_parts
from ..gluon.block import HybridBlock
from ..gluon.nn import HybridLambda
from ..gluon.parameter import Parameter
from ..gluon.trainer import Trainer
from ..ndarray import NDArray
from ..symbol._node import Node
from .compiled import compiled
from .kinds import Kind, kind_of, warn
from .program import Program
from .torch_compile import chosen
from .tracing import renewed
from .update import GraphUpdate, fits

__all__ = ["Step"]

Tensor = torch.Tensor
Update = Callable[[list, list, list], None]
# Graphs of a step: one for each nesting of the inputs, parameters that are trained, and settings of
# the optimizer. With other settings the update comes after the graph.
MOST_GRAPHS = 8


class Step:
    """``step(x, ..., label)``: see `layers.compiled_step`."""

    def __init__(self, net, loss, trainer, labels: int = 1, backend: str = "inductor", **options):
        for block in (net, loss):
            if not isinstance(block, HybridBlock):
                raise BlockError(f"compiled_step: {block!r}\n  expected a HybridBlock")
        if not isinstance(trainer, Trainer):
            raise ArgumentError(f"compiled_step: {trainer!r}\n  expected a Trainer")
        if isinstance(labels, bool) or not isinstance(labels, int) or labels < 1:
            raise ArgumentError(
                f"compiled_step: labels is {labels!r}\n"
                "  expected how many arrays the loss takes beside the net's output, 1 or more"
            )
        if len(trainer.list_ctx()) > 1:
            raise ContextError(
                f"compiled_step: the parameters are on {trainer.list_ctx()}\n  expected one context"
            )
        parameters = {**net.collect_params(), **loss.collect_params()}
        if sparse := [p.name for p in parameters.values() if sparse_parts([p])]:
            raise ArgumentError(
                f"compiled_step: {sparse[0]!r} or its gradient is sparse\n"
                "  expected sparse_grad=False; hybridize(backend=...) compiles sparse gradients"
            )
        trained = trainer.list_params()
        if not any(p is q for p in trained for q in parameters.values()):
            raise ArgumentError(
                f"compiled_step: the Trainer has {trained[0].name!r}, and no parameter of "
                f"{net.name or type(net).__name__}\n  expected a Trainer of net.collect_params()"
            )
        self.trainer, self._labels = trainer, labels
        self._block = _losses(net, loss, labels)
        self._what = f"the step of {net.name or type(net).__name__}"
        self._backend, self._options = chosen("compiled_step", backend, options)
        self._forget()

    def __call__(self, *args: NDArray, batch_size: float | None = None) -> NDArray:
        """Return the losses before the update, one for each sample."""
        if autograd.is_recording():
            raise RecordingError(
                "step: called inside autograd.record()\n"
                "  expected it outside: it records, goes back and updates by itself"
            )
        if len(args) <= self._labels:
            label = "a label" if self._labels == 1 else f"{self._labels} arrays for the loss"
            raise ArgumentError(f"step: given {len(args)} arrays\n  expected inputs, and {label}")
        if args[-self._labels] is None:
            place = "comes last" if self._labels == 1 else "follows the inputs"
            raise ArgumentError(f"step: the label, which {place}, is None\n  expected an NDArray")
        flat, nesting = _flatten(args, "input")
        flat = [array for array in flat if array is not None]
        if HybridBlock.changes != self._changes:  # a block was added, replaced, hybridized again
            self._forget_changed()
        batch_size = flat[0].shape[0] if batch_size is None else batch_size
        if not batch_size > 0:
            raise ArgumentError(f"step: batch_size is {batch_size}\n  expected a number above 0")
        try:
            bound = self._bound.get(key := str(nesting))
            if bound is None or not bound.is_current(flat[0]._context):
                bound = self._bind(key, args, flat)
            return self._run(bound, flat, batch_size)
        except Exception as error:
            shown = list(map(shown_input, args))
            inputs, label = (", ".join(p) for p in (shown[: -self._labels], shown[-self._labels :]))
            note(error, f"  in {self._what} (inputs {inputs}, label {label})")
            raise

    def _forget_changed(self) -> None:
        """Drop all graphs if it was one of these blocks that has changed."""
        self._changes = HybridBlock.changes
        if not _same(parts_of(self._block), self._seen):
            self._forget()

    def _forget(self) -> None:
        """Drop all graphs, and remember the blocks as they are now."""
        self._changes, self._seen = HybridBlock.changes, parts_of(self._block)
        self._graphs: dict[str, Graph] = {}
        self._bound: dict[str, _BoundGraph] = {}
        self._runs: dict[tuple, Callable[..., list[torch.Tensor]]] = {}
        self._layouts: dict[Kind, int] = {}

    def _bind(self, key: str, args: tuple, flat: list[NDArray]) -> _BoundGraph:
        if key not in self._graphs:
            self._graphs[key] = graph_of(self._block, args)
        bound = _BoundGraph(self._graphs[key], flat, self._layouts)
        if not bound.wanted:
            raise ArgumentError(
                "step: no parameter is trained, the grad_req of all is 'null'\n"
                "  expected 'write' or 'add' for some"
            )
        if self._backend is not None:
            bound.update = _graph_update(self.trainer, bound)
        self._bound[key] = bound
        return bound

    def _run(self, bound: _BoundGraph, flat: list[NDArray], batch_size: float) -> NDArray:
        """Step, and give the losses."""
        if bound.update and not bound.update.is_current():
            bound.update = _graph_update(self.trainer, bound)
        run, update = self._run_of(bound), bound.update
        given = []
        if update:
            given = update.begin(batch_size)
            bound.forget_gradients()
        try:
            with autograd.record():
                tensors = [*bound.tensors(flat), *given]
                results = run(tensors, bound.context, bound.kind(tensors))
        except BaseException:
            if update:
                update.undo()
            raise
        count = len(results) - len(bound.leaves)
        if update:
            bound.set_used_gradients(results[count:])
        else:
            for leaf, gradient in zip(bound.leaves, results[count:]):
                leaf.take(gradient)
            self.trainer.step(batch_size)
        return bound.graph.regrouped(results[:count], bound.context)

    def _run_of(self, bound: _BoundGraph) -> Callable[..., list[torch.Tensor]]:
        """Return the function that runs a graph now, with the update in it where that fits."""
        key = bound.update and bound.update.key()
        run = self._runs.get((bound.graph, bound.wanted, key))
        if run is None and key and len(self._runs) >= MOST_GRAPHS:
            warn(f"{self._what}: the optimizer's settings change often, it updates outside now")
            bound.update = None
            return self._run_of(bound)
        if run is None:
            update = bound.update and bound.update.function(key)
            run = WithGradients(bound.graph.program, bound.wanted, update)
            if self._backend is not None:
                run = compiled(run, self._backend, self._what, **self._options)
            self._runs[bound.graph, bound.wanted, key] = run
        return run


class _BoundGraph:
    """A graph with the arrays of its parameters, and the tensors of those.

    `layouts` numbers the shapes, strides and dtypes that its parameters may have.

    Attributes
    ----------
    wanted : tuple of int
        Which of the program's inputs are trained. `weights` are their arrays, `leaves` take their
        gradients.
    update : GraphUpdate or None
        Where the graph updates them too.
    """

    def __init__(self, graph: Graph, flat: list[NDArray], layouts: dict[Kind, int]):
        self.graph, self.context = graph, flat[0]._context
        self.update: GraphUpdate | None = None
        arrays, states = graph.arrays(self.context, flat), graph.program.states
        owned = {i: p for i, p in enumerate(graph.sources) if isinstance(p, Parameter)}
        self.wanted = tuple([i for i in owned if arrays[i]._tensor.requires_grad])
        self.weights = [arrays[i] for i in self.wanted]
        self.leaves = [w._leaf for w in self.weights]
        zeros = [
            torch.zeros((), dtype=w._tensor.dtype, device=w._tensor.device) for w in self.weights
        ]
        self._zeros = [z.expand(w.shape) for z, w in zip(zeros, self.weights)]
        self._parameters = list(owned.values())
        self._arrays = [arrays[i] for i in owned]
        self._seen = self._now()
        self._fixed = [a._tensor.detach() if i in owned else None for i, a in enumerate(arrays)]
        # States may have been lent to someone, who must not see them change.
        self._states = [(i, arrays[i]) for i in owned if i in states]
        sources = enumerate(graph.sources)
        self._inputs = [(i, number, i in states) for i, number in sources if i not in owned]
        fixed = [i for i in owned if i not in states]
        self._others = sorted({*range(len(arrays))} - {*fixed})
        layout = kind_of([self._fixed[i] for i in fixed], self.context)
        self._layout = layouts.setdefault(layout, len(layouts))

    def _now(self) -> list:
        return [p._data for p in self._parameters] + [a._tensor for a in self._arrays]

    def is_current(self, context: Context) -> bool:
        """True if the parameters have the same arrays, and these the same tensors."""
        return context == self.context and _same(self._now(), self._seen)

    def forget_gradients(self) -> None:
        """Make the gradients zeros that take no memory: what they had is for the next ones.

        Otherwise there would be two of each while a step runs, and a processor's cache would hold
        half as much. They stay zeros where the step fails.
        """
        for leaf, zero in zip(self.leaves, self._zeros):
            leaf.grad._replace(zero, lent=True)

    def set_used_gradients(self, gradients: list[torch.Tensor]) -> None:
        """Show gradients that the graph's update has used already."""
        for leaf, gradient in zip(self.leaves, gradients):
            leaf.grad._replace(gradient, lent=True)
            leaf.fresh = False

    def kind(self, tensors: list[torch.Tensor]) -> Kind:
        """Return the kind of a call; the parameters' tensors are this object's alone, and stay.

        `tensors` are those of the program, and what the update is given.
        """
        others = [tensors[i] for i in self._others] + tensors[len(self._fixed) :]
        return self._layout, *kind_of(others, self.context)

    def tensors(self, flat: list[NDArray]) -> list[torch.Tensor]:
        """Return the inputs of the program."""
        tensors = self._fixed.copy()
        for i, array in self._states:
            tensors[i] = array._state_tensor()
        for i, number, written in self._inputs:
            tensors[i] = flat[number]._state_tensor() if written else flat[number]._tensor
        return tensors


def _graph_update(trainer: Trainer, bound: _BoundGraph) -> GraphUpdate | None:
    """Return the Trainer's update, if a graph can make it: of all its parameters and no others."""
    numbers = {id(p): i for i, p in enumerate(trainer.list_params())}
    index = [numbers.get(id(bound.graph.sources[i])) for i in bound.wanted]
    if (
        not trainer.updates_here
        or None in index
        or not numbers.keys() <= set(map(id, bound.graph.sources))
        or any(leaf.req == "add" for leaf in bound.leaves)
        or not fits(trainer.optimizer, index, bound.weights)
    ):
        return None
    return GraphUpdate(trainer, index, bound.context)


def _same(now: list, before: list) -> bool:
    """True if these are the same objects."""
    return len(now) == len(before) and all(map(is_, now, before))


class WithGradients:
    """A program whose outputs come first, and then the gradients; used as a `Program` is.

    Parameters
    ----------
    program : Program
    wanted : tuple of int
        The inputs whose gradients these are.
    update : callable, optional
        A part of the graph: ``update(inputs, gradients, given)`` changes the wanted inputs, and
        what it is given, which are the tensors after the program's own.
    """

    settings: ClassVar[dict[str, bool]] = {
        "trace_autograd_ops": True,
        "capture_scalar_outputs": True,
    }

    def __init__(self, program: Program, wanted: tuple[int, ...], update: Update | None = None):
        self._program, self._wanted, self._update = program, wanted, update
        self.nodes, self.inputs = program.nodes, program.inputs
        self.function = self.bound({})

    def bound(
        self, functions: dict[Node, Callable], through: Callable[[Callable], Callable] | None = None
    ) -> Callable:
        """Return the function of a step; `through` is applied to the program's."""
        graph = self._program.bound(functions, through)
        wanted, update, count = self._wanted, self._update, len(self.inputs)

        def step(*tensors: Tensor, **supplied) -> list[Tensor]:
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
            results = copy_if_aliased([*[v.detach() for v in values], *gradients], tensors)
            if update:
                with torch.no_grad():
                    update([tensors[i] for i in wanted], results[len(values) :], given)
            return results

        return renewed(step)

    def changed(self, count: int) -> set[int]:
        """Return the places, among so many inputs, of those that the function changes in place."""
        given = range(len(self.inputs), count)
        return self._program.states.union(self._wanted if self._update else (), given)

    def __call__(self, tensors: list[Tensor], context: Context, _: object = None) -> list[Tensor]:
        """Return the outputs and gradients, in memory of their own, for calls of all kinds."""
        return self.run(self.function, tensors, context, True)

    def run(
        self, function: Callable, tensors: list[Tensor], context: Context, recording: bool
    ) -> list[Tensor]:
        """Return the outputs and gradients by `function`, in memory of their own."""
        before = torch.is_grad_enabled()
        autograd._set_grad_enabled(recording)
        try:
            return self._program.results(function, tensors, context)
        finally:
            autograd._set_grad_enabled(before)


def _losses(net: HybridBlock, loss: HybridBlock, labels: int) -> HybridBlock:
    """Return a block of the losses of a net: so many of its last inputs are the labels."""
    block = HybridLambda(
        lambda F, *args: loss(net(*args[:-labels]), *args[-labels:]),
        prefix="",
    )
    block.register_child(net)
    block.register_child(loss)
    return block
