"""What a hybridized block does: its computation, once made a graph, as a function of tensors."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from itertools import chain
from typing import Any

import torch

from .. import symbol
from .._dtype import to_numpy, to_torch
from .._files.opening import write_files
from .._graph.compiled import compiled
from .._graph.program import Program, shown_values, values_of_all
from .._graph.recorded import recorded
from .._op.call import as_output
from .._sparse import by_arrays
from .._sparse.rows import is_sparse
from .._state import this_thread
from ..context import Context
from ..ndarray import NDArray
from ..ndarray._origin import note_origin
from ..ndarray.utils import pieces
from ..numpy._array import ndarray
from ..symbol import Group, Symbol
from ..symbol._infer import shapes, types
from ..symbol._rnn_parts import with_parts
from ..symbol.numpy._functions import _Symbol as NPSymbol
from ._nesting import BlockError, _flatten, _regroup, expect_output
from .parameter import DeferredInitializationError, Parameter

log = logging.getLogger("layers.mxnet.hybridize")


class Graph:
    """A graph whose variables are inputs and parameters.

    Parameters
    ----------
    inputs : list of Symbol
        The variables for the inputs.
    outputs : Symbol, or nested lists of them
    others : dict of str to Parameter or int
        What the other variables are, by their names, and maybe more: parameters, or the number of
        an input.
    what : str
        What messages name it.

    Attributes
    ----------
    inputs : list of Symbol
    symbol : Symbol
        The outputs in one group.
    format : int or list
        How the outputs are nested, as `_flatten` says it.
    of_np : bool
        True if it was made for arrays of ``mx.np``.
    sources : list of int or Parameter
        Where each tensor of the program comes from: the number of an input, or a parameter.
    """

    def __init__(
        self,
        inputs: list[Symbol],
        outputs: Any,
        others: dict[str, Parameter | int],
        what: str = "a graph",
    ):
        self.inputs, self.what = inputs, what
        flat, self.format = _flatten(outputs, "output")
        self.symbol = Group(flat)
        self._is_np = [is_of_np(s) for s in flat for _ in range(len(s))]
        self._has_np = any(map(is_of_np, [*flat, *inputs]))
        self.of_np = self._has_np
        self.program = self.run = Program(with_parts(self.symbol._entries))
        self._of_all: Program | None = None
        numbers = {id(v._entries[0][0]): i for i, v in enumerate(inputs)}
        self.sources: list[int | Parameter] = []
        for node in self.program.variables:
            source = numbers.get(id(node), others.get(node.name))
            if source is None:
                raise BlockError(
                    f"a graph uses {node.name!r}, which is a parameter of no registered block\n"
                    "  expected blocks as attributes, or register_child(); all inputs of operators"
                )
            self.sources.append(source)

    def __call__(self, context: Context, args: list[NDArray]) -> Any:
        """The outputs, nested as they were given, for a list of inputs."""
        arrays, states = self.arrays(context, args), self.program.states
        if is_sparse(*arrays):
            results = by_arrays.compute(self.program, arrays, context)
            return _regroup(results, self.format) if self.format else results[0]
        tensors = [a._state_tensor() if i in states else a._tensor for i, a in enumerate(arrays)]
        outputs = self.run(tensors, context)
        return self.regrouped(outputs, context, arrays)

    def called_with(self, symbols: dict[str, Symbol]) -> Any:
        """The outputs as symbols, nested as they were given, of others in place of variables."""
        outputs = self.symbol._replaced(symbols)
        return _regroup(list(outputs), self.format) if self.format else outputs

    def call_monitored(
        self, context: Context, args: list[NDArray], callback: Callable, everything: bool
    ) -> Any:
        """The outputs; ``callback(name, operator, array)`` is called for those of all nodes."""
        if self._of_all is None:
            self._of_all = Program(self.symbol.get_internals()._entries)
        of_all, states = self._of_all, self.program.states
        arrays = self.arrays(context, args)
        tensors = [a._state_tensor() if i in states else a._tensor for i, a in enumerate(arrays)]
        found = values_of_all(self.program, of_all, lambda x: of_all(x, context), tensors)
        for node, name, entry in shown_values(of_all, everything):
            if node.op is not None:
                shown = NDArray(found[entry].detach(), context)
                callback(name.encode(), node.op.name.encode(), shown)
        return self.regrouped([found[entry] for entry in self.symbol._entries], context, arrays)

    def regrouped(
        self,
        tensors: list[torch.Tensor],
        context: Context,
        inputs: list[NDArray] | None = None,
    ) -> Any:
        """Return the outputs from their tensors, as computed from `inputs` where that is recorded.

        They are arrays of ``mx.np`` where the Symbols are with NumPy's rules, or of a graph that
        has none of them, such as one of a file, if the first input is one.
        """
        wrap = as_output if self.program.keeps else NDArray
        results = [wrap(y, context) for y in tensors]
        if self._has_np or (inputs and is_of_np(inputs[0])):
            is_np = self._is_np if self._has_np else [True] * len(results)
            results = [
                ndarray(y._tensor, context, y._held) if of_np else y
                for of_np, y in zip(is_np, results)
            ]
        if inputs is not None and this_thread.state.recording:
            note_origin(results, self, {}, inputs)
        return _regroup(results, self.format) if self.format else results[0]

    def arrays(self, context: Context, args: list[NDArray]) -> list[NDArray]:
        """The inputs and parameters in the program's order, those of unknown shape made."""
        try:
            return self._arrays(context, args)
        except DeferredInitializationError:
            pass  # and leave the handler, whose error is not the cause of what follows
        self._finish(args)
        return self._arrays(context, args)

    def compile(self, backend: str | None, is_static: bool = False, **options) -> None:
        """Run it compiled from now on, or recorded if `is_static`; else as it is."""
        self.run = self.program
        if backend:
            self.run = compiled(self.program, backend, self.what, **options)
        elif is_static:
            fixed = {i for i, s in enumerate(self.sources) if isinstance(s, Parameter)}
            self.run = recorded(self.program, self.what, fixed)

    def _arrays(self, context: Context, args: list[NDArray]) -> list[NDArray]:
        return [args[s] if isinstance(s, int) else s.data(context) for s in self.sources]

    def tell(self, args: list[NDArray]) -> None:
        """Tell the shapes of all parameters from those of the inputs."""
        given = {v.name: a.shape for v, a in zip(self.inputs, args)}
        found = shapes(self.symbol._graph.nodes, given)
        told = {node.name: shape for (node, _), shape in found.items() if node.op is None}
        for name, parameter in zip(self.program.inputs, self.sources):
            if isinstance(parameter, Parameter) and name in told:
                parameter.shape = told[name]

    def tell_types(self, args: list[NDArray]) -> None:
        """Tell the dtypes of all parameters from those of the inputs."""
        given = {v.name: a._autograd_tensor.dtype for v, a in zip(self.inputs, args)}
        found = types(self.symbol._graph.nodes, given)
        for node, parameter in zip(self.program.variables, self.sources):
            dtype = found.get((node, 0))
            if isinstance(parameter, Parameter) and dtype not in (None, to_torch(parameter.dtype)):
                parameter.cast(to_numpy(dtype))

    def _finish(self, args: list[NDArray]) -> None:
        """Make the parameters that were waiting for their shapes."""
        self.tell(args)
        for parameter in self.sources:
            if isinstance(parameter, Parameter):
                parameter._finish_deferred_init()

    def save(self, symbol_file: str, params_file: str, remove_amp_cast: bool = True) -> None:
        """Write the graph and the parameters: both files appear, or none.

        Raises
        ------
        BlockError
            A parameter has the name of an input: who reads the file could not tell them apart.
        """
        inputs = {v.name for v in self.inputs}
        mixed = next((p.name for p in self.sources if getattr(p, "name", None) in inputs), None)
        if mixed is not None:
            raise BlockError(
                f"export: a parameter has the name of the input {mixed!r}\n"
                "  expected another name, such as one with a prefix"
            )
        values = {n: p._reduce() for n, p in self.named_parameters().items()}
        write_files(
            {
                symbol_file: [self.symbol.tojson(remove_amp_cast).encode()],
                params_file: pieces(params_file, values),
            }
        )

    def named_parameters(self) -> dict[str, Parameter]:
        """The parameters by the names in an exported file, with `arg:` or `aux:` before them."""
        return {
            f"{'aux' if i in self.program.states else 'arg'}:{name}": source
            for i, (name, source) in enumerate(zip(self.program.inputs, self.sources))
            if isinstance(source, Parameter)
        }


def required_inputs(block) -> list[str]:
    """The names of a HybridBlock's inputs that have no default."""
    if block._own_graph:
        return [variable.name for variable in block._graph.inputs]
    function = block.hybrid_forward if block._is_hybrid else block.forward
    parameters = inspect.signature(function).parameters.values()
    names = [
        p.name
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        and p.default is p.empty
        and p.name not in ("F", *block._reg_params)
    ]
    if not names and any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return ["data"]  # as most blocks that take any number
    return names


def graph_of(block, args: tuple) -> Graph:
    """The graph of a HybridBlock, for inputs that are nested as these are."""
    flat, format = _flatten(args, "input")
    count = sum(a is not None for a in flat)
    names = iter(["data"] if count == 1 else [f"data{i}" for i in range(count)])
    variables = [None if a is None else _variable(next(names), a) for a in flat]
    outputs = call_with_symbols(block, *_regroup(variables, format))
    inputs = [v for v in variables if v is not None]
    name = block.name or type(block).__name__
    others = {p.name: p for p in block.collect_params().values()}
    graph = Graph(inputs, outputs, others, f"the graph of {name}")
    # Programs of MXNet's time set the root logger to DEBUG, and expect no more lines than MXNet's.
    if log.level == logging.DEBUG:
        log.debug("%s is traced:\n%s", name, graph.program.source)
    return graph


def _variable(name: str, array: NDArray) -> Symbol:
    """Return the variable for an input: with NumPy's rules for an array of ``mx.np``."""
    variable = symbol.var(name)
    return variable.as_np_ndarray() if is_of_np(array) else variable


def is_of_np(operand: NDArray | Symbol) -> bool:
    """True for an array of ``mx.np``, and for a Symbol with NumPy's rules."""
    return isinstance(operand, (ndarray, NPSymbol))


def parts_of(block) -> list:
    """What is another object when a HybridBlock, or one in it, has changed."""
    children = block._children.values()
    return [block._graphs, *children, *chain.from_iterable(map(parts_of, children))]


def call_with_symbols(block, *args) -> Any:
    """What a block does to Symbols."""
    with block.name_scope():
        parameters = {key: p.var() for key, p in block._reg_params.items()}
        return expect_output(block, block.hybrid_forward(symbol, *args, **parameters))
