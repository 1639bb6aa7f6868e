"""A whole training step in one call."""

from __future__ import annotations

from .. import autograd
from ..base import ArgumentError, ContextError
from ..ndarray import NDArray
from ..symbol._backend import chosen
from ..symbol._compiled import WithGradients
from ._graph import Graph, trace
from ._nest import BlockError
from ._parameter import Parameter
from .block import HybridBlock
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
        self.trainer = trainer
        self._block = _Losses(net, loss)
        self._backend, self._options = chosen("compiled_step", backend, options)
        self._graphs: dict[int, Graph] = {}
        self._runs: dict[tuple[int, ...], WithGradients] = {}

    def __call__(self, *args: NDArray, batch_size: float | None = None) -> NDArray:
        """The losses before the update, one for each sample."""
        if len(args) < 2 or not all(isinstance(a, NDArray) for a in args):
            shown = ", ".join(type(a).__name__ for a in args) or "nothing"
            raise ArgumentError(f"step: given {shown}\n  expected NDArrays: inputs, and a label")
        context = args[0]._context
        graph = self._graphs.get(len(args)) or self._trace(args)
        tensors = graph.tensors(context, list(args))
        wanted = tuple([i for i, p in enumerate(graph.sources) if _is_trained(p)])
        run = self._runs.get((len(args), *wanted)) or self._prepare(graph, wanted)
        with autograd.record():
            results = run(tensors, context)
        count = len(results) - len(wanted)
        for i, gradient in zip(wanted, results[count:]):
            graph.sources[i].data(context)._leaf.take(gradient)
        self.trainer.step(args[0].shape[0] if batch_size is None else batch_size)
        return graph.regrouped(results[:count], context)

    def _trace(self, args: tuple) -> Graph:
        graph = self._graphs[len(args)] = trace(self._block, args)
        return graph

    def _prepare(self, graph: Graph, wanted: tuple[int, ...]) -> WithGradients:
        run = WithGradients(graph.program, list(wanted), self._backend, **self._options)
        self._runs[(len(graph.inputs), *wanted)] = run
        return run


def _is_trained(source: int | Parameter) -> bool:
    return isinstance(source, Parameter) and source.grad_req != "null"


class _Losses(HybridBlock):
    """The losses of what a net gives for all inputs but the last, which is the label."""

    def __init__(self, net: HybridBlock, loss: HybridBlock):
        super().__init__(prefix="")
        self.net, self.loss = net, loss

    def hybrid_forward(self, F, *args):
        return self.loss(self.net(*args[:-1]), args[-1])
