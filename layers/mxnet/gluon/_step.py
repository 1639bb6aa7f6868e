"""A whole training step in one call."""

from __future__ import annotations

from itertools import chain
from operator import is_

import torch

from .. import autograd
from ..base import ArgumentError, ContextError, RecordingError
from ..context import Context
from ..ndarray import NDArray
from ..optimizer._inside import Inside, fits
from ..symbol._backend import chosen
from ..symbol._compiled import WithGradients, warn
from ._graph import Graph, trace
from ._nest import BlockError, _flatten
from ._parameter import Parameter
from .block import Block, HybridBlock
from .trainer import Trainer

__all__ = ["Step"]

WAYS = 8  # that steps are compiled, for what is nested, trained and set; others update outside


class Step:
    """``step(x, ..., label)``: see `layers.compiled_step`."""

    def __init__(self, net, loss, trainer, backend: str = "inductor", **options):
        for block in (net, loss):
            if not isinstance(block, HybridBlock):
                raise BlockError(f"compiled_step: {block!r}\n  expected a HybridBlock")
        if not isinstance(trainer, Trainer):
            raise ArgumentError(f"compiled_step: {trainer!r}\n  expected a Trainer")
        if len(trainer._contexts) > 1:
            raise ContextError(
                f"compiled_step: the parameters are on {trainer._contexts}\n  expected one context"
            )
        parameters = {**net.collect_params(), **loss.collect_params()}
        if not any(p is q for p in trainer._params for q in parameters.values()):
            raise ArgumentError(
                f"compiled_step: the Trainer has {trainer._params[0].name!r}, and no parameter of "
                f"{net.name or type(net).__name__}\n  expected a Trainer of net.collect_params()"
            )
        self.trainer = trainer
        self._block = _Losses(net, loss)
        self._what = f"the step of {net.name or type(net).__name__}"
        self._backend, self._options = chosen("compiled_step", backend, options)
        self._forget()

    def __call__(self, *args: NDArray, batch_size: float | None = None) -> NDArray:
        """The losses before the update, one for each sample."""
        if autograd.is_recording():
            raise RecordingError(
                "step: called inside autograd.record()\n"
                "  expected it outside: it records, goes back and updates by itself"
            )
        if len(args) < 2:
            raise ArgumentError(f"step: given {len(args)} arrays\n  expected inputs, and a label")
        flat, nesting = _flatten(args, "input")
        flat = [array for array in flat if array is not None]
        if [list(children.values()) for children in self._children] != self._blocks:
            self._forget()  # one was added, or replaced
        held = self._held.get(key := str(nesting))
        if held is None or not held.holds(flat[0]._context):
            held = self._hold(key, args, flat)
        batch_size = flat[0].shape[0] if batch_size is None else batch_size
        self.trainer._rescale(batch_size)
        run, begun = self._begin(held)
        try:
            with autograd.record():
                results = run([*held.tensors(flat), *begun], held.context)
        except BaseException:
            if begun:
                held.inside.undo()
            raise
        count = len(results) - len(held.leaves)
        for leaf, gradient in zip(held.leaves, results[count:]):
            leaf.take(gradient)
            leaf.fresh = not begun
        if not begun:
            self.trainer.step(batch_size)
        return held.graph.regrouped(results[:count], held.context)

    def _forget(self) -> None:
        """Begin anew, with the blocks that there are."""
        self._children = [block._children for block in _all(self._block)]
        self._blocks = [list(children.values()) for children in self._children]
        self._graphs: dict[str, Graph] = {}
        self._held: dict[str, _Held] = {}
        self._runs: dict[tuple, WithGradients] = {}

    def _hold(self, key: str, args: tuple, flat: list[NDArray]) -> _Held:
        if key not in self._graphs:
            self._graphs[key] = trace(self._block, args)
        held = _Held(self._graphs[key], flat)
        if not held.wanted:
            raise ArgumentError(
                "step: no parameter is trained, the grad_req of all is 'null'\n"
                "  expected 'write' or 'add' for some"
            )
        if self._backend is not None:
            held.inside = _inside(self.trainer, held)
        self._held[key] = held
        return held

    def _begin(self, held: _Held) -> tuple[WithGradients, list[torch.Tensor]]:
        """What runs, and what it is given for an update that is a part of it."""
        inside = held.inside
        begun = inside.begin() if inside else []
        key = held.graph, held.wanted, inside and inside.key
        run = self._runs.get(key)
        if run is None and inside and len(self._runs) >= WAYS:
            warn(f"{self._what}: the optimizer's settings change often, it updates outside now")
            inside.undo()
            held.inside = None
            return self._begin(held)
        if run is None:
            update = inside and inside.function()
            run = self._runs[key] = WithGradients(
                held.graph.program,
                held.wanted,
                self._backend,
                update,
                what=self._what,
                **self._options,
            )
        return run, begun


class _Held:
    """A graph with the arrays of its parameters, and the tensors of those.

    Attributes
    ----------
    wanted : tuple of int
        Which of the program's inputs are trained; `weights` are their arrays.
    inside : Inside or None
        The update, where the graph makes it.
    """

    def __init__(self, graph: Graph, flat: list[NDArray]):
        self.graph, self.context = graph, flat[0]._context
        self.inside: Inside | None = None
        arrays, states = graph.arrays(self.context, flat), graph.program.states
        owned = {i: p for i, p in enumerate(graph.sources) if isinstance(p, Parameter)}
        self.wanted = tuple([i for i in owned if arrays[i]._tensor.requires_grad])
        self.weights = [arrays[i] for i in self.wanted]
        self.leaves = [w._leaf for w in self.weights]
        self.parameters = list(owned.values())
        self._arrays = [arrays[i] for i in owned]
        self._seen = [p._data for p in self.parameters] + [a._tensor for a in self._arrays]
        self._fixed = [a._tensor.detach() for a in arrays]
        self._moving = [  # inputs, and states, which may have been lent to someone
            (i, arrays[i] if i in owned else source, i in states)
            for i, source in enumerate(graph.sources)
            if i not in owned or i in states
        ]

    def holds(self, context: Context) -> bool:
        """Whether the parameters have the same arrays, and those the same tensors."""
        now = [p._data for p in self.parameters] + [a._tensor for a in self._arrays]
        return context is self.context and all(map(is_, now, self._seen))

    def tensors(self, flat: list[NDArray]) -> list[torch.Tensor]:
        """What the program takes."""
        tensors = self._fixed.copy()
        for i, source, written in self._moving:
            array = flat[source] if isinstance(source, int) else source
            tensors[i] = array._writable() if written else array._tensor
        return tensors


def _inside(trainer: Trainer, held: _Held) -> Inside | None:
    """The Trainer's update, if a graph can make it: of all its parameters and no others."""
    numbers = {id(p): i for i, p in enumerate(trainer._params)}
    index = [numbers.get(id(held.graph.sources[i])) for i in held.wanted]
    if (
        type(trainer) is not Trainer  # it may have another `step`
        or trainer._kvstore
        or None in index
        or not numbers.keys() <= set(map(id, held.graph.sources))
        or any(leaf.req == "add" for leaf in held.leaves)
        or not fits(trainer._updaters[0], index, held.weights)
    ):
        return None
    return Inside(trainer._updaters[0], index, held.weights)


def _all(block: Block) -> list[Block]:
    """The block, and those in it."""
    return [block, *chain.from_iterable(map(_all, block._children.values()))]


class _Losses(HybridBlock):
    """The losses of what a net gives for all inputs but the last, which is the label."""

    def __init__(self, net: HybridBlock, loss: HybridBlock):
        super().__init__(prefix="")
        self.net, self.loss = net, loss

    def hybrid_forward(self, F, *args):
        return self.loss(self.net(*args[:-1]), args[-1])
