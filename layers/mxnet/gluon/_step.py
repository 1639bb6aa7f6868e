"""A whole training step in one call."""

from __future__ import annotations

from .. import autograd
from ..base import ContextError
from ..ndarray import NDArray
from ..symbol._compiled import WithGradients
from ._graph import Graph, trace
from ._nest import BlockError
from ._parameter import Parameter
from .block import HybridBlock

__all__ = ["Step"]


class Step:
    """``step(x, ..., label)``: see `layers.compiled_step`."""

    def __init__(self, net, loss, trainer, backend: str = "inductor", **options):
        for block in (net, loss):
            if not isinstance(block, HybridBlock):
                raise BlockError(f"compiled_step: {block!r}\n  expected a HybridBlock")
        if len(trainer._contexts) > 1:
            raise ContextError(
                f"compiled_step: the parameters are on {trainer._contexts}\n  expected one context"
            )
        self.trainer = trainer
        self._block = _Losses(net, loss)
        self._backend, self._options = backend, options
        self._graphs: dict[int, tuple[Graph, WithGradients, list[Parameter]]] = {}

    def __call__(self, *args: NDArray, batch_size: float | None = None) -> NDArray:
        """The losses before the update, one for each sample."""
        context = args[0]._context
        graph, run, parameters = self._graphs.get(len(args)) or self._trace(args)
        tensors = graph.tensors(context, list(args))
        with autograd.record():
            results = run(tensors, context)
        count = len(results) - len(parameters)
        for parameter, gradient in zip(parameters, results[count:]):
            parameter.data(context)._leaf.take(gradient)
        self.trainer.step(args[0].shape[0] if batch_size is None else batch_size)
        return graph.regrouped(results[:count], context)

    def _trace(self, args: tuple) -> tuple:
        graph = trace(self._block, args)
        wanted = [i for i, p in enumerate(graph.sources) if _is_trained(p)]
        run = WithGradients(graph.program, wanted, self._backend, **self._options)
        parameters = [graph.sources[i] for i in wanted]
        found = self._graphs[len(args)] = graph, run, parameters
        return found


def _is_trained(source: int | Parameter) -> bool:
    return isinstance(source, Parameter) and source.grad_req != "null"


class _Losses(HybridBlock):
    """The losses of what a net gives for all inputs but the last, which is the label."""

    def __init__(self, net: HybridBlock, loss: HybridBlock):
        super().__init__(prefix="")
        self.net, self.loss = net, loss

    def hybrid_forward(self, F, *args):
        return self.loss(self.net(*args[:-1]), args[-1])
