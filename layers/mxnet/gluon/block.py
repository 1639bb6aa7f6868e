"""Blocks: what a network is made of."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from inspect import unwrap
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

from .. import autograd, ndarray, symbol
from .._dtype import to_numpy, to_torch
from .._graph.torch_compile import chosen, unknown_flag
from ..base import (
    ArgumentError,
    MXNetError,
    UnsupportedError,
    legible,
    listed,
    printable,
    quoted,
)
from ..context import Context, cpu, current_context
from ..ndarray import NDArray
from ..symbol import Symbol
from ..symbol._node import ordered
from ..util import is_np_array
from . import _model_file
from ._error_path import locate
from ._graph import Graph, call_with_symbols, graph_of, is_of_np
from ._load import fill, full_names, read
from ._naming import _BlockScope, refuse_unknown
from ._nesting import (
    BlockError,
    _flatten,
    expect_output,
    first_context,
    leaves,
    refuse_mixed,
    warn_of_unregistered,
)
from ._nesting import _regroup as _regroup  # programs import it from here
from ._summary import indented, summary
from .parameter import DeferredInitializationError, Parameter, ParameterDict, ParameterError
from .utils import HookHandle

__all__ = ["Block", "HybridBlock", "SymbolBlock"]


class Block:
    """The base of all layers and networks.

    A subclass makes its children and parameters in ``__init__``, inside ``with
    self.name_scope():``, and defines ``forward(self, x, ...)``. Children and parameters that are
    assigned to attributes are registered.

    Parameters
    ----------
    prefix : str, optional
        Put before the names of its parameters and children; by default the class and a number.
    params : ParameterDict, optional
        Parameters of another block to share, by their names.
    """

    _in_summary = True  # whether `summary` shows it; Sequential has no line of its own
    _is_hybrid = False  # whether it defines `hybrid_forward`, and not `forward`

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None, **unknown):
        refuse_unknown(self, unknown)
        self._prefix, self._params = _BlockScope.create(prefix, params, self._alias())
        self._name = self._prefix.removesuffix("_")
        self._empty_prefix = prefix == ""
        self._scope = _BlockScope(self)
        self._children: dict[str, Block] = {}
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks: dict[object, Callable] = {}
        self._forward_pre_hooks: dict[object, Callable] = {}

    def _alias(self) -> str:
        """What the block is named after."""
        return type(self).__name__.lower()

    def __repr__(self) -> str:
        rows = "\n".join(
            f"  ({legible(n)}): {indented(child)}" for n, child in self._children.items()
        )
        return f"{type(self).__name__}(\n{rows}\n)"

    def __setattr__(self, key: str, value: Any) -> None:
        there = self.__dict__.get(key)
        if isinstance(there, (Block, Parameter)) and not isinstance(value, type(there)):
            raise ArgumentError(
                f"{type(self).__name__}: attribute {key!r} is set to a {type(value).__name__}"
                f"\n  expected a {type(there).__name__}"
            )
        if isinstance(value, (Block, Parameter)):
            if "_children" not in self.__dict__:
                raise AttributeError(
                    f"{type(self).__name__}: attribute {key!r} is set too early\n"
                    "  expected super().__init__(**kwargs) before it"
                )
            if isinstance(value, Block):
                self.register_child(value, key)
            else:
                self._register_parameter(value, key)
        super().__setattr__(key, value)

    def _register_parameter(self, parameter: Parameter, key: str) -> None:
        if self._reg_params.get(key, parameter) is not parameter:
            raise ParameterError(
                f"{type(self).__name__}: attribute {key!r} is another Parameter already\n"
                "  expected params=other.params where a block is made, to share parameters"
            )
        self._reg_params[key] = parameter

    # What it owns

    @property
    def prefix(self) -> str:
        """What the names of its parameters and children begin with."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without the underscore at its end."""
        return self._name

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without those of its children."""
        return self._params

    def name_scope(self) -> _BlockScope:
        """``with self.name_scope():`` what is made inside is named after this block."""
        return self._scope

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a block a child; by default its name is its number.

        Raises
        ------
        BlockError
            It is no Block, or another child has the name that is its number.
        """
        if not isinstance(block, Block):
            raise BlockError(f"{type(self).__name__}: a child is {block!r}\n  expected a Block")
        if name is None and (name := str(len(self._children))) in self._children:
            raise BlockError(
                f"{type(self).__name__}: there is a child {name!r} already, and the next without "
                "a name is called so\n  expected register_child with a name"
            )
        self._children[name] = block

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Its parameters and those of all children, by full names.

        Parameters
        ----------
        select : str, optional
            A regular expression that the beginning of a name must match: ``'.*weight'``.
        """
        warn_of_unregistered(self, Block)
        pattern = re.compile(select or "")
        found = ParameterDict(self._params.prefix)
        found._params = {key: p for key, p in self._params.items() if pattern.match(key)}
        for child in self._children.values():
            found.update(child.collect_params(select))
        return found

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """All parameters by structural names: ``features.0.weight``.

        Raises
        ------
        ParameterError
            Two have one name, since a child's name has a dot in it: one would be lost in files.
        """
        prefix += "." if prefix else ""
        found = {prefix + key: parameter for key, parameter in self._reg_params.items()}
        for key, child in self._children.items():
            for name, parameter in child._collect_params_with_prefix(prefix + key).items():
                if found.setdefault(name, parameter) is not parameter:
                    raise ParameterError(
                        f"{type(self).__name__} {self.name!r}: two parameters are called "
                        f"{quoted(name)}, by the names of children\n"
                        f"  expected another name than {quoted(key)} for a child"
                    )
        return found

    # Files

    def save_parameters(self, filename, deduplicate: bool = False) -> None:
        """Save all parameters under structural names, such as ``features.0.weight``.

        Parameters
        ----------
        filename : path; where it ends in ``.safetensors``, that is the format
        deduplicate : bool
            Write a parameter that is shared once, not once for each of its names.

        Raises
        ------
        ParameterError, DeferredInitializationError
            A parameter is not initialized.
        """
        parameters = self._collect_params_with_prefix()
        if deduplicate:  # under the last name of each, as MXNet
            names = {id(parameter): key for key, parameter in parameters.items()}
            parameters = {key: parameters[key] for key in names.values()}
        ndarray.save(filename, {key: p._reduce() for key, p in parameters.items()})

    def load_parameters(
        self,
        filename,
        ctx=None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Load what `save_parameters`, `export`, `collect_params().save` or MXNet saved.

        Parameters
        ----------
        filename : path
        ctx : Context or list of Context, optional
            For parameters that are not initialized yet; by default the CPU.
        allow_missing, ignore_extra : bool
            Leave parameters alone that the file has not; leave out what only the file has.
        cast_dtype : bool
            Convert values of another dtype, else they are an error.
        dtype_source : {'current', 'saved'}
            Convert the values to the parameter's dtype, or the parameter to theirs.

        Raises
        ------
        ParameterError
            Names, shapes or dtypes do not fit: then no parameter is changed.
        """
        values, parameters = read(filename), self._collect_params_with_prefix()
        if not any("." in key or key in parameters for key in values):
            parameters = self.collect_params()
            values = full_names(values, parameters, self.prefix)
        source = f"file {str(filename)!r}"
        fill(parameters, values, source, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source)

    def save(self, prefix: str) -> None:
        """Save parameters and graphs: ``prefix-model.params`` and ``prefix-model.json``.

        A graph is there for each block that was called hybridized. Both files appear, or none.
        The graphs are without the casts of `contrib.amp`, so that they compute anywhere, as in
        MXNet: a loaded net computes in 16 bits when it is hybridized again with `amp.init` before.

        Raises
        ------
        ParameterError, DeferredInitializationError
            A parameter is not initialized.
        """
        _model_file.write(self, prefix)

    def load(self, prefix: str) -> None:
        """Load what `save` saved, here or in MXNet, into a block made in the same way.

        The blocks that were saved with a graph compute by it until they are hybridized again.
        The names of blocks and parameters stay; MXNet takes those of the file.

        Raises
        ------
        BlockError
            The file has other blocks, or a graph that does not fit them; then nothing is changed.
        ParameterError
            The parameters do not fit; then nothing is changed.
        MissingFileError
            A file is missing.
        """
        _model_file.read(self, prefix)

    def save_params(self, filename) -> None:
        """Old: save all parameters under full names without the prefix of this block."""
        warnings.warn("save_params is deprecated: use save_parameters", stacklevel=2)
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(
        self, filename, ctx=None, allow_missing: bool = False, ignore_extra: bool = False
    ) -> None:
        """Old: `load_parameters`."""
        warnings.warn("load_params is deprecated: use load_parameters", stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    # What is done to all of it

    def apply(self, fn: Callable[[Block], Any]) -> Block:
        """Call ``fn(block)`` for all children, recursively, then for this block; returns it."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def initialize(
        self, init=None, ctx=None, verbose: bool = False, force_reinit: bool = False
    ) -> None:
        """Initialize all parameters: see `ParameterDict.initialize`."""
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def hybridize(self, active: bool = True, **kwargs) -> None:
        """Hybridize all children that can be: see `HybridBlock.hybridize`."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def cast(self, dtype) -> None:
        """Convert all parameters to another dtype."""
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self.params.values():
            parameter.cast(dtype)

    def to_torch(self):
        """This Block as a `torch.nn.Module` in whose memory its parameters are: no copy is made.

        It is called with tensors; ``help`` of it has the rest.

        Raises
        ------
        ParameterError, DeferredInitializationError
            A parameter is not initialized, or has no shape before a first call of the Block.
        ContextError
            A parameter is on several contexts.
        """
        from ._torch import BlockModule

        return BlockModule(self)

    # Calling it

    def register_forward_pre_hook(self, hook: Callable) -> HookHandle:
        """Have ``hook(block, inputs)`` called before `forward`; `inputs` is a tuple."""
        return _attached(self._forward_pre_hooks, hook)

    def register_forward_hook(self, hook: Callable) -> HookHandle:
        """Have ``hook(block, inputs, output)`` called after `forward`."""
        return _attached(self._forward_hooks, hook)

    def register_op_hook(self, callback: Callable, monitor_all: bool = False) -> None:
        """Have ``callback(name, operator, array)`` called for what the nodes of graphs compute.

        It takes effect in the hybridized blocks inside, which then run their graphs plainly.

        Parameters
        ----------
        callback : callable
            Gets the name of the output and that of the operator, both as bytes, as in MXNet, and
            the NDArray, of which MXNet passes the handle.
        monitor_all : bool
            Whether it is called for the inputs of all nodes too, as ``b"dense0_fwd_weight"``.
        """
        for block in self._children.values():
            block.register_op_hook(callback, monitor_all)

    def __call__(self, *args):
        try:
            if self._forward_pre_hooks:
                for hook in list(self._forward_pre_hooks.values()):
                    hook(self, args)
            output = self.forward(*args)
            if self._forward_hooks:
                for hook in list(self._forward_hooks.values()):
                    hook(self, args, output)
            return output
        except Exception as error:
            locate(error, self, args)
            raise

    def forward(self, *args):
        """The output for the inputs: what a subclass defines.

        Raises
        ------
        UnsupportedError
            The subclass does not define it.
        """
        raise UnsupportedError(f"{type(self).__name__}: forward is not defined")

    def summary(self, *inputs) -> None:
        """Print each layer's output shape and number of parameters, for these inputs.

        Raises StateError where a block is hybridized: call it before.
        """
        print(summary(self, inputs))

    if TYPE_CHECKING:  # a subclass has inputs of its own

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

        def forward(self, *args: Any, **kwargs: Any) -> Any: ...


def _attached(hooks: dict, hook: Callable) -> HookHandle:
    handle = HookHandle()
    handle.attach(hooks, hook)
    return handle


class HybridBlock(Block):
    """A block whose computation can become a graph: see `hybridize`.

    A subclass defines ``hybrid_forward(self, F, x, ..., weight, bias)``: F is `nd` when it computes
    and `sym` when the graph is made; its own parameters come as keyword arguments, by the names of
    the attributes that hold them. All children must be HybridBlocks. One that defines `forward`
    instead is never a graph itself; its children may be.
    """

    changes = 0  # of any block, for which its graphs have to be made anew
    _own_graph = False  # whether it is made of a graph, and not of `hybrid_forward`
    _op_hook: tuple[Callable, bool] | None = None
    # MXNet's names, which programs read: of the last graph, how inputs and outputs are nested, and
    # its variables and outputs.
    _in_format: Any = None
    _out_format: Any = None
    _cached_graph: tuple = ()

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None, **unknown):
        super().__init__(prefix, params, **unknown)
        self._active = False
        self._graphs: dict[str, Graph] = {}
        self._flags: list[tuple[str, Any]] = []
        self._backend: str | None = None
        self._backend_opts: dict[str, Any] = {}

    @property
    def _is_hybrid(self) -> bool:
        return unwrap(type(self).forward) is HybridBlock.forward  # use_np wraps it

    def __getstate__(self) -> dict:
        return self.__dict__ | {"_graphs": {}, "_cached_graph": ()}  # they are made again

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make a HybridBlock a child; by default its name is its number.

        Raises
        ------
        BlockError
            `block` is no HybridBlock.
        """
        if not isinstance(block, HybridBlock):
            raise BlockError(
                f"{type(self).__name__}: a child is {block!r} ({type(block).__name__})\n"
                "  expected children of a HybridBlock to be HybridBlocks: HybridSequential, "
                "not Sequential"
            )
        super().register_child(block, name)
        self._clear_cached_op()

    def hybridize(
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs,
    ) -> None:
        """Compute by a graph from now on, or, with ``active=False``, operator by operator again.

        The next call runs `hybrid_forward` with Symbols; later calls run the graph that this gives,
        and no Python of `hybrid_forward`. The children are hybridized too.

        Parameters
        ----------
        active : bool
        backend : str, optional
            What compiles the graph: ``'inductor'``, or another one of `torch.compile`, whose
            `mode` and `options` may follow. By default what the environment variable
            ``LAYERS_HYBRIDIZE_BACKEND`` says; without that the graph is run as it is.
        clear : bool
            Forget graphs made before, so that the settings hold for all calls.
        static_alloc, static_shape : bool
            With both, the calls of PyTorch that the graph makes are recorded and done again, on a
            GPU as CUDA graphs; see docs/hybridize.md.
        inline_limit, forward_bulk_size, backward_bulk_size
            MXNet's; they make no difference here.

        Raises
        ------
        ArgumentError
            The backend, a flag or an option is unknown, or static_shape comes without static_alloc.
            One of MXNet's own backends, such as MKLDNN, is a warning, and the graph runs as it is.
        """
        flags = {
            "static_alloc": static_alloc,
            "static_shape": static_shape,
            "inline_limit": inline_limit,
            "forward_bulk_size": forward_bulk_size,
            "backward_bulk_size": backward_bulk_size,
        }
        if kwargs and backend is None:
            raise unknown_flag(next(iter(kwargs)), flags)
        if isinstance(active, str):
            raise ArgumentError(f"hybridize: active is {active!r}\n  expected backend={active!r}")
        backend, kwargs = chosen("hybridize", backend, kwargs)
        if static_shape and not static_alloc:
            raise ArgumentError("hybridize: static_shape=True\n  expected static_alloc=True too")
        flags = {flag: value for flag, value in flags.items() if value is not None}
        self._active, self._flags = bool(active), list(flags.items())
        self._backend, self._backend_opts = backend, dict(kwargs)
        if clear:
            self._clear_cached_op()
        kwargs |= {} if backend is None else {"backend": backend}
        kwargs |= {} if clear else {"clear": clear}
        super().hybridize(active, **flags, **kwargs)

    def _clear_cached_op(self) -> None:
        self._graphs, self._cached_graph = {}, ()  # what they were made of has changed
        HybridBlock.changes += 1

    def cast(self, dtype) -> None:
        """Convert all parameters to another dtype."""
        self._clear_cached_op()
        super().cast(dtype)

    def forward(self, x, *args):
        """Call `hybrid_forward` with the parameters, on the context of the first array."""
        if isinstance(x, NDArray):
            context = x._context
        elif any(isinstance(value, Symbol) for value in leaves((x, args))):
            refuse_mixed([*leaves((x, args))])
            return call_with_symbols(self, x, *args)
        else:
            context = first_context(x, *args)
        if self._active:
            return self._call_graph(context, x, *args)
        parameters = self._parameters(context, x, *args) if self._reg_params else {}
        try:
            return expect_output(self, self._call_eagerly(context, x, *args, **parameters))
        except DeferredInitializationError:
            if not is_np_array() or self._is_initialized():
                raise
        # Most functions of mx.np tell no shapes; a graph of them does.
        self._finish_by_graph(x, *args)
        parameters = self._parameters(context, x, *args)
        return expect_output(self, self._call_eagerly(context, x, *args, **parameters))

    def _call_eagerly(self, context, *args, **parameters):
        """Return what `hybrid_forward` computes at once on a context."""
        if context is current_context():
            return self.hybrid_forward(ndarray, *args, **parameters)
        with context:
            return self.hybrid_forward(ndarray, *args, **parameters)

    def _is_initialized(self) -> bool:
        """True if none of its own parameters waits for its shape."""
        return not any(p._deferred_init for p in self._reg_params.values())

    def _finish_by_graph(self, *args) -> None:
        """Make the parameters that wait for their shapes, which the graph tells."""
        self.infer_shape(*args)
        for parameter in self._reg_params.values():
            parameter._finish_deferred_init()

    def _call_graph(self, context, *args):
        flat, format = _flatten(args, "input")
        inputs = [a for a in flat if a is not None]
        graph, of_np = self._graphs.get(str(format)), is_np_array() or is_of_np(inputs[0])
        if graph is None or graph.of_np is not of_np:
            refuse_mixed(inputs)
            graph = self._graphs[str(format)] = graph_of(self, args)
            graph.of_np = of_np
            self._in_format, self._out_format = format, graph.format
            self._cached_graph = graph.inputs, graph.symbol
            self._compile(graph)
        try:
            if self._op_hook:
                return graph.call_monitored(context, inputs, *self._op_hook)
            return graph(context, inputs)
        except AttributeError:  # a Symbol has no tensor
            refuse_mixed(inputs)
            raise

    def register_op_hook(self, callback: Callable, monitor_all: bool = False) -> None:
        self._op_hook = callback, monitor_all
        super().register_op_hook(callback, monitor_all)

    def _compile(self, graph: Graph) -> None:
        graph.compile(self._backend, dict(self._flags).get("static_shape"), **self._backend_opts)

    def _parameters(self, context, *inputs) -> dict[str, Any]:
        """Its parameters on a context; what is still without a shape, the operators will tell."""
        found = {}
        try:
            for key, parameter in self._reg_params.items():
                found[key] = parameter.data(context)
            return found
        except DeferredInitializationError:
            pass  # and leave the handler: what is raised below has no such cause
        if unwrap(type(self).infer_shape) is not HybridBlock.infer_shape:
            self._finish_by_graph(*inputs)
        return {key: p.pending(context) for key, p in self._reg_params.items()}

    def hybrid_forward(self, F, x, *args, **kwargs):
        """The output for the inputs, in the functions of F: what a subclass defines.

        Raises
        ------
        UnsupportedError
            The subclass does not define it.
        """
        raise UnsupportedError(f"{type(self).__name__}: hybrid_forward is not defined")

    def infer_shape(self, *args) -> None:
        """Set the shapes of its parameters that are not known, from inputs.

        A subclass may define it, for parameters whose shapes no operator tells. This one asks the
        graph; for a block that defines `forward`, one forward pass, which also initializes them.
        """
        if self._is_hybrid:
            graph_of(self, args).tell([a for a in _flatten(args, "input")[0] if a is not None])
            return
        with autograd.pause():
            self(*args)

    def infer_type(self, *args) -> None:
        """Set the dtypes of parameters to those that the graph's operators give them.

        A parameter keeps a dtype that it was declared with; `cast` changes it.
        """
        flat, _ = _flatten(args, "input")
        graph_of(self, args).tell_types([a for a in flat if a is not None])

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> tuple[str, str]:
        """Write the graph to ``path-symbol.json`` and the parameters to ``path-0000.params``.

        `SymbolBlock.imports` reads them, here and in MXNet. Both appear, or none. Returns the names
        of the files.

        Raises
        ------
        BlockError
            There is no graph: `hybridize` and a call make it, from `hybrid_forward`.
        """
        if not self._graphs:
            called = "hybridize(), and a call on a batch after it, before export()"
            wanted = called if self._is_hybrid else "hybrid_forward in it"
            raise BlockError(f"export: {type(self).__name__} has no graph yet\n  expected {wanted}")
        graph = next(reversed(self._graphs.values()))
        files = f"{path}-symbol.json", f"{path}-{epoch:04d}.params"
        graph.save(*files, remove_amp_cast)
        return files

    def optimize_for(
        self,
        x,
        *args,
        backend: str | None = None,
        clear: bool = False,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs,
    ) -> None:
        """Hybridize, and compute once for these inputs: see `hybridize`.

        MXNet's own backends do not exist here: with a warning, the graph is run as it is.

        Raises
        ------
        ArgumentError
            There is no `backend`.
        """
        if backend is None:
            raise ArgumentError("optimize_for: backend is missing\n  expected one, as 'inductor'")
        flags = static_alloc, static_shape, inline_limit, forward_bulk_size, backward_bulk_size
        self.hybridize(True, backend, clear, *flags, **kwargs)
        for graph in self._graphs.values():
            self._compile(graph)
        with autograd.pause():
            self(x, *args)

    if TYPE_CHECKING:  # and the inputs of a subclass

        def forward(self, *args: Any, **kwargs: Any) -> Any: ...


class SymbolBlock(HybridBlock):
    """A block that computes a Symbol; its variables that are no inputs are parameters.

    Parameters
    ----------
    outputs : Symbol or list of Symbol
    inputs : Symbol or list of Symbol
        Variables that calls give values to.
    params : ParameterDict, optional
        Parameters to share, by the names of variables.

    Raises
    ------
    ArgumentError
        An input is no variable, or two have one name; or a variable is row_sparse.
    """

    _own_graph = True

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
        for node in ordered(outs._entries):
            if node.attrs.get("__storage_type__") == str(ndarray.ndarray._STORAGE_TYPE_ROW_SPARSE):
                raise ArgumentError(
                    f"SymbolBlock: the variable {quoted(node.name)} has the storage type "
                    "'row_sparse'\n  expected 'default' or 'csr'"
                )
        # An input may be another variable of the same name: sym.var('data').
        own = {n.name: Symbol([(n, 0)]) for n in ordered(outs._entries) if n.op is None}
        inputs = [own.get(s.name, s) for s in inputs]
        names = [s.name for s in inputs]
        if len(set(names)) < len(names):
            raise ArgumentError(
                f"SymbolBlock: the inputs are {listed(names)}\n  expected different names"
            )
        for name in outs.list_arguments():
            if name not in names:
                self.params.get(name, allow_deferred_init=True)
        for name in outs.list_auxiliary_states():
            if name not in names:
                self.params.get(name, grad_req="null", allow_deferred_init=True)
        # As in MXNet, the structural names are what follows the common beginning of all names.
        used = [n for n in outs.list_inputs() if n not in names]
        common = commonprefix(used)
        short = {n: n.removeprefix(common) or n for n in used}
        if len({*short.values()}) < len(used):  # w and ww
            short = {n: n for n in used}
        self._reg_params = {short[n]: self.params[n] for n in used}
        numbers = {name: i for i, name in enumerate(names)}
        self._graph = Graph(inputs, outputs, numbers | {n: self.params[n] for n in used})
        self._in_format, self._cached_graph = [0] * len(inputs), (inputs, outs)
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
        ArgumentError
            The graph has no input of a name.
        """
        graph = symbol.load(symbol_file)
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        known = graph.list_inputs()
        unknown = [name for name in names if name not in known]
        if unknown:
            raise ArgumentError(
                f"imports {str(symbol_file)!r}: there is no input {quoted(unknown[0])}\n"
                f"  expected one of {quoted(known)}"
            )
        try:
            block = SymbolBlock(graph, [symbol.var(name) for name in names])
        except MXNetError as error:
            raise type(error)(f"imports {str(symbol_file)!r}: {error}") from None
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

    @property
    def _out_format(self) -> Any:
        return self._graph.format

    @_out_format.setter
    def _out_format(self, format: Any) -> None:
        self._graph.format = format

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
            self._graph.run = self._graph.program

    def _clear_cached_op(self) -> None:
        """There is one graph, and it stays."""
        self._graphs = {"": self._graph} if hasattr(self, "_graph") else {}

    def forward(self, x, *args) -> Any:
        """The outputs for values of the inputs.

        Raises
        ------
        ArgumentError
            There are more inputs or fewer.
        """
        flat, _ = _flatten([x, *args], "input")
        names = [v.name for v in self._graph.inputs]
        if len(flat) != len(names):
            raise ArgumentError(f"SymbolBlock: {len(flat)} inputs\n  expected {listed(names)}")
        if isinstance(x, Symbol):
            given = dict(zip(names, flat)) | {p.name: p.var() for p in self._reg_params.values()}
            return self._graph.called_with(given)
        context = x._context if isinstance(x, NDArray) else first_context(x)
        return self._graph(context, flat)

    def __repr__(self) -> str:
        outputs, shown = self._graph.symbol, printable(repr(self._graph.symbol))
        return f"SymbolBlock(\n{shown} : {len(self._graph.inputs)} -> {len(outputs)}\n)"
