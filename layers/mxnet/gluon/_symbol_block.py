"""A block around a Symbol."""

from __future__ import annotations

from os.path import commonprefix
from typing import Any

from .. import symbol
from .._dtype import to_numpy, to_torch
from ..base import ArgumentError
from ..context import Context, cpu
from ..ndarray import NDArray
from ..symbol import Symbol
from ..symbol._node import ordered
from ._graph import Graph
from ._load import read
from ._nest import _flatten, first_context
from .block import HybridBlock
from .parameter import ParameterDict


class SymbolBlock(HybridBlock):
    """A block that computes a Symbol; its variables that are no inputs are parameters.

    Parameters
    ----------
    outputs : Symbol or list of Symbol
    inputs : Symbol or list of Symbol
        Variables that calls give values to.
    params : ParameterDict, optional
        Parameters to share, by the names of variables.
    """

    def __init__(self, outputs, inputs, params: ParameterDict | None = None):
        super().__init__(prefix="")
        self._params = ParameterDict("", params)
        inputs = [inputs] if isinstance(inputs, Symbol) else list(inputs)
        wrong = [s for s in inputs if not isinstance(s, Symbol) or s._entries[0][0].op is not None]
        if wrong:
            raise ArgumentError(f"SymbolBlock: input {wrong[0]!r}\n  expected a variable")
        if isinstance(outputs, (list, tuple)) and len(outputs) == 1:
            outputs = outputs[0]
        outs = (
            outputs if isinstance(outputs, Symbol) else symbol.Group(_flatten(outputs, "output")[0])
        )
        # An input may be another variable of the same name: sym.var('data').
        own = {n.name: Symbol([(n, 0)]) for n in ordered(outs._entries) if n.op is None}
        inputs = [own.get(s.name, s) for s in inputs]
        names = [s.name for s in inputs]
        for name in outs.list_arguments():
            if name not in names:
                self.params.get(name, allow_deferred_init=True)
        for name in outs.list_auxiliary_states():
            if name not in names:
                self.params.get(name, grad_req="null", allow_deferred_init=True)
        # As in MXNet, the structural names are what follows the common beginning of all names.
        used = [n for n in outs.list_inputs() if n not in names]
        common = commonprefix(used)
        self._reg_params = {n.removeprefix(common) or n: self.params[n] for n in used}
        self._graph = Graph(inputs, outputs, self._reg_params.values())
        self._clear_cached_op()

    @staticmethod
    def imports(
        symbol_file,
        input_names,
        param_file=None,
        ctx: Context | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ):
        """A block from the files that `export` or MXNet wrote.

        Parameters
        ----------
        symbol_file, param_file : path
        input_names : str or list of str
        ctx : Context or list of Context, optional
            By default the CPU.
        allow_missing, ignore_extra : bool
            Whether the file may lack parameters, or have those of no variable.

        Raises
        ------
        MXNetError
            A file is not in MXNet's format, or the two do not fit; the message names it.
        """
        graph = symbol.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        for name in names:
            if name not in graph.list_inputs():
                raise ArgumentError(
                    f"imports {str(symbol_file)!r}: there is no input {name!r}\n"
                    f"  expected of {graph.list_inputs()}"
                )
        internals = graph.get_internals()
        block = SymbolBlock(graph, [internals[name] for name in names])
        if param_file is not None:
            block._load(param_file, ctx or cpu(), allow_missing, ignore_extra)
        return block

    def _load(self, param_file, ctx, allow_missing: bool, ignore_extra: bool) -> None:
        values = read(param_file)
        for name, parameter in self.params.items():
            if name in values:
                parameter.shape = values[name].shape
                parameter.cast(values[name].dtype)
        self.collect_params().load(param_file, ctx, allow_missing, ignore_extra)

    def reset_ctx(self, ctx) -> None:
        """Move all parameters to a context, or to several."""
        self.collect_params().reset_ctx(ctx)

    def cast(self, dtype) -> None:
        """Convert all parameters to another dtype; with 16 bits, those of BatchNorm to float32."""
        super().cast(dtype)
        for node in self._graph.program.nodes:
            if node.op.states:
                held = node.op.input_types({"data": to_torch(dtype)}, node.attributes)
                for key, (source, _) in zip(node.input_names, node.inputs):
                    if key in held and source.name in self.params:
                        self.params[source.name].cast(to_numpy(held[key]))

    def infer_shape(self, *args) -> None:
        """Set the shapes of its parameters that are not known, from inputs."""
        self._graph.tell(_flatten(args, "input")[0])

    def hybridize(self, *args, **kwargs) -> None:
        """Its graph is there already: this says whether, and by what, it is compiled."""
        super().hybridize(*args, **kwargs)
        if self._active:
            self._compile(self._graph)
        else:
            self._graph.compile(None)

    def _clear_cached_op(self) -> None:
        """There is one graph, and it stays."""
        self._graphs = {"": self._graph} if hasattr(self, "_graph") else {}

    def forward(self, x, *args) -> Any:
        """The outputs for values of the inputs."""
        flat, _ = _flatten([x, *args], "input")
        names = [v.name for v in self._graph.inputs]
        if len(flat) != len(names):
            raise ArgumentError(f"SymbolBlock: {len(flat)} inputs\n  expected {names}")
        if isinstance(x, Symbol):
            given = dict(zip(names, flat)) | {p.name: p.var() for p in self._reg_params.values()}
            return self._graph.symbol(**given)
        context = x._context if isinstance(x, NDArray) else first_context(x)
        return self._graph(context, flat)

    def __repr__(self) -> str:
        outputs = self._graph.symbol
        return f"SymbolBlock(\n{outputs!r} : {len(self._graph.inputs)} -> {len(outputs)}\n)"
