"""What a hybridized block does: its computation, traced once, as a function of tensors."""

from __future__ import annotations

from typing import Any

from .. import symbol
from ..context import Context
from ..ndarray import NDArray
from ..symbol import Group, Symbol
from ..symbol._infer import shapes
from ..symbol._program import Program
from ._nest import _flatten, _regroup
from .parameter import DeferredInitializationError


class Graph:
    """The graph of a HybridBlock, for inputs that are nested as some were.

    Attributes
    ----------
    inputs : list of Symbol
        The variables for the inputs: ``data``, or ``data0``, ``data1`` and so on.
    symbol : Symbol
        The outputs.
    """

    def __init__(self, block, args: tuple):
        flat, self.format = _flatten(args, "input")
        count = sum(a is not None for a in flat)
        names = iter(["data"] if count == 1 else [f"data{i}" for i in range(count)])
        variables = [None if a is None else symbol.var(next(names)) for a in flat]
        self.inputs = [v for v in variables if v is not None]
        with block.name_scope():
            y = block.hybrid_forward(
                symbol,
                *_regroup(variables, self.format),
                **{key: p.var() for key, p in block._reg_params.items()},
            )
        outputs, self._output_format = _flatten(y, "output")
        self.symbol = Group(outputs)
        self.program = Program(self.symbol._entries)
        numbers = {v.name: i for i, v in enumerate(self.inputs)}
        parameters = {p.name: p for p in block.collect_params().values()}
        # Where each tensor of the program comes from: the number of an input, or a parameter.
        self._sources = [numbers.get(n, parameters.get(n)) for n in self.program.inputs]

    def __call__(self, context: Context, args: list[NDArray]) -> Any:
        """The outputs for inputs that were flattened, nested as `hybrid_forward` gives them."""
        try:
            arrays = self._arrays(context, args)
        except DeferredInitializationError:
            arrays = None
        if arrays is None:
            self._finish(args)
            arrays = self._arrays(context, args)
        states = self.program.states
        tensors = [a._writable() if i in states else a._tensor for i, a in enumerate(arrays)]
        results = [NDArray(y, context) for y in self.program(tensors, context)]
        return _regroup(results, self._output_format) if self._output_format else results[0]

    def _arrays(self, context: Context, args: list[NDArray]) -> list[NDArray]:
        return [args[s] if isinstance(s, int) else s.data(context) for s in self._sources]

    def _finish(self, args: list[NDArray]) -> None:
        """Tell the shapes of all parameters from those of the inputs, and make them."""
        found = shapes(self.symbol._entries, {v.name: a.shape for v, a in zip(self.inputs, args)})
        told = {node.name: shape for (node, _), shape in found.items() if node.op is None}
        for source, name in zip(self._sources, self.program.inputs):
            if not isinstance(source, int):
                if name in told:
                    source.shape = told[name]
                source._finish_deferred_init()


def traced(block, x: Symbol, args: tuple) -> Any:
    """The graph of a block on Symbols: a part of the graph of the block around it."""
    with block.name_scope():
        parameters = {key: p.var() for key, p in block._reg_params.items()}
        return block.hybrid_forward(symbol, x, *args, **parameters)
