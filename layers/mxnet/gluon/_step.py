"""A whole training step in one call."""

from __future__ import annotations

from .. import autograd
from ..base import ArgumentError, ContextError, RecordingError
from ..ndarray import NDArray
from ..symbol._backend import chosen
from ..symbol._compiled import WithGradients
from ._graph import Graph, trace
from ._nest import BlockError, _flatten
from ._parameter import Parameter
from .block import Block, HybridBlock
from .trainer import Trainer

__all__ = ["Step"]


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
        self._backend, self._options = chosen("compiled_step", backend, options)
        self._blocks = _structure(self._block)
        self._graphs: dict[str, Graph] = {}
        self._runs: dict[tuple[str, tuple[int, ...]], WithGradients] = {}

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
        if self._blocks != (blocks := _structure(self._block)):  # one was added, or replaced
            self._blocks, self._graphs, self._runs = blocks, {}, {}
        context = flat[0]._context
        key = str(nesting)
        graph = self._graphs.get(key) or self._trace(key, args)
        tensors = graph.tensors(context, flat)
        wanted = tuple([i for i, p in enumerate(graph.sources) if _is_trained(p)])
        run = self._runs.get((key, wanted)) or self._prepare(key, graph, wanted)
        with autograd.record():
            results = run(tensors, context)
        count = len(results) - len(wanted)
        for i, gradient in zip(wanted, results[count:]):
            graph.sources[i].data(context)._leaf.take(gradient)
        self.trainer.step(flat[0].shape[0] if batch_size is None else batch_size)
        return graph.regrouped(results[:count], context)

    def _trace(self, key: str, args: tuple) -> Graph:
        graph = self._graphs[key] = trace(self._block, args)
        return graph

    def _prepare(self, key: str, graph: Graph, wanted: tuple[int, ...]) -> WithGradients:
        what = f"the step of {self._block.net.name or type(self._block.net).__name__}"
        run = WithGradients(graph.program, list(wanted), self._backend, what=what, **self._options)
        self._runs[key, wanted] = run
        return run


def _structure(block: Block) -> list:
    return [id(block), *[_structure(child) for child in block._children.values()]]


def _is_trained(source: int | Parameter) -> bool:
    return isinstance(source, Parameter) and source.grad_req != "null"


class _Losses(HybridBlock):
    """The losses of what a net gives for all inputs but the last, which is the label."""

    def __init__(self, net: HybridBlock, loss: HybridBlock):
        super().__init__(prefix="")
        self.net, self.loss = net, loss

    def hybrid_forward(self, F, *args):
        return self.loss(self.net(*args[:-1]), args[-1])
