"""Symbol: outputs of a graph that is computed later."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from operator import eq
from typing import TYPE_CHECKING, Any

from .. import _dtype, _np_shape
from .._files.opening import open_file, write_files
from ..attribute import AttrScope
from ..base import (
    ArgumentError,
    MXNetError,
    NotImplementedForSymbol,
    ShapeError,
    UnsupportedError,
    legible,
    listed,
    quoted,
)
from ..context import current_context
from . import _infer, _json
from ._node import HIDDEN, Entry, Graph, Node, by_name, copy_graph, with_hidden_names

if TYPE_CHECKING:
    from ._methods import Methods
else:
    Methods = object

__all__ = ["Group", "Symbol", "Variable", "fromjson", "load", "load_json", "var"]


# Attributes of arrays that a Symbol cannot have, and what to write instead of each.
_ALTERNATIVES = {
    "shape": "x.reshape((0, -1)), where 0 keeps a size and -1 is what remains; or x.shape_array()",
    "size": "x.size_array()",
    "T": "x.transpose()",
    "asnumpy": "an operator in nd, or a custom operator that computes in NumPy",
}


# Methods of arrays that MXNet's Symbol has too, and that only raise an error there.
_OF_ARRAYS = ["as_in_context", "asnumpy", "asscalar", "backward", "copy", "detach", "wait_to_read"]


class _OnlyOfArrays(NotImplementedForSymbol, AttributeError):
    pass


class Symbol(Methods):
    """One output, or several, of a graph of operators and variables.

    Made by `Variable`, and by calling the functions of this package on symbols.
    """

    __slots__ = ("__weakref__", "_entries", "_found")
    __array_priority__ = 1000.0  # np.sqrt(2) * x is for Symbols to compute
    _symbol_class: type[Symbol]  # the class of what is computed from it, and of its outputs
    _np_symbol_class: type[Symbol]  # that of ``mx.sym.np``

    def __init__(self, entries: list[Entry]):
        self._entries = entries
        self._found: Graph | None = None

    @property
    def _graph(self) -> Graph:
        if self._found is None:
            self._found = Graph(self._entries)
        return self._found

    # Name, length and outputs

    @property
    def name(self) -> str | None:
        """The name of its node; None for a group."""
        return self._entries[0][0].name if len({id(n) for n, _ in self._entries}) == 1 else None

    def __repr__(self) -> str:
        named = self.name and legible(self.name)
        return f"<Symbol {named or f'group [{listed(symbol.name for symbol in self)}]'}>"

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Symbol]:
        return (self._symbol_class([entry]) for entry in self._entries)

    def __getitem__(self, index: int | str | slice) -> Symbol:
        """One output, by its number or its name."""
        if isinstance(index, slice):
            return self._symbol_class(self._entries[index])
        if isinstance(index, str):
            names = self.list_outputs()
            if names.count(index) != 1:
                problem = "no" if index not in names else "more than one"
                raise ValueError(
                    f"there is {problem} output {quoted(index)}\n  expected one of {quoted(names)}"
                )
            index = names.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"output {index} of a Symbol with {len(self)}")
        return self._symbol_class([self._entries[index]])

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol(
            "the truth of a Symbol is not known before it is computed\n"
            "  expected an operator, such as where, instead of if"
        )

    __hash__ = object.__hash__

    def __array__(self, dtype=None, copy=None):
        raise NotImplementedForSymbol(
            f"NumPy asked for the values of {self!r}, which has none before it is run\n"
            "  expected operators of F, such as F.exp(x) for np.exp(x)"
        )

    def __getattr__(self, name: str):
        instead = _ALTERNATIVES.get(name, "an operator for it")
        text = (
            f"'Symbol' object has no attribute {name!r}: it has no values, and no shape, yet\n"
            f"  expected {instead}"
        )
        if name in _OF_ARRAYS:
            raise _OnlyOfArrays(text)
        # Without `obj`: with it, Python would add a hint at a similar name.
        raise AttributeError(text, name=name)

    def __copy__(self) -> Symbol:
        return self._symbol_class(copy_graph(self._entries, lambda _: None))

    def __deepcopy__(self, memo) -> Symbol:
        return self.__copy__()

    def __reduce__(self):
        return _unpickled, (self.tojson(remove_amp_cast=False), self._symbol_class)

    def __call__(self, /, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> Symbol:
        """A copy of the graph, in which the given symbols replace variables."""
        node = self._entries[0][0]
        if node.op is not None and not node.inputs and not node.name:
            from .register import compose

            return compose(node.op, args, node.attrs | {"name": name} | kwargs, node.op.name)
        arguments = self.list_arguments()
        if args and kwargs:
            raise ArgumentError(
                f"{self}: {len(args)} symbols by position, and {quoted([*kwargs])} by name\n"
                f"  expected all by position, or all by name: {quoted(arguments)}"
            )
        if len(args) > len(arguments):
            raise ArgumentError(f"{self}: {len(args)} is no input\n  expected {quoted(arguments)}")
        made = self._replaced(by_name(str(self), arguments, args) | kwargs)
        if name:
            made._entries[0][0].name = name
        return made

    def _replaced(self, given: dict[str, Symbol]) -> Symbol:
        """A copy of the graph, with these symbols for the variables of these names."""
        for key, symbol in given.items():
            if not isinstance(symbol, Symbol):
                raise ArgumentError(
                    f"{self}: {legible(key)} is {quoted(symbol)}\n  expected a Symbol"
                )
        inputs = {*self.list_inputs()}
        if unknown := [key for key in given if key not in inputs]:
            raise ArgumentError(
                f"{self}: {legible(unknown[0])} is no input\n"
                f"  expected {quoted(self.list_arguments())}"
            )
        entries = copy_graph(
            self._entries,
            lambda node: given[node.name]._entries[0] if node.name in given else None,
        )
        return self._symbol_class(entries)

    def _gen_atomic_symbol(self) -> Symbol:
        """The operator of its node, without a name and inputs; a call gives it both.

        Raises
        ------
        ArgumentError
            Its outputs are of several nodes, or it is a variable.
        """
        node = self._entries[0][0]
        if node.op is None or any(other is not node for other, _ in self._entries):
            raise ArgumentError(f"_gen_atomic_symbol of {self}\n  expected outputs of one operator")
        return Symbol(Node(node.op, "", (), node.attributes, node.attrs).entries)

    # Names

    def list_arguments(self) -> list[str]:
        """Names of the variables that are not states, in the order of the graph."""
        return [node.name for node in self._graph.arguments]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the variables that operators update in place."""
        return [node.name for node in self._graph.states]

    def list_inputs(self) -> list[str]:
        """Names of all variables."""
        return [n.name for n in self._graph.nodes if n.op is None]

    def list_outputs(self) -> list[str]:
        """Names of the outputs: ``fc_output``."""
        return [node.output_name(index) for node, index in self._entries]

    def get_internals(self) -> Symbol:
        """A group of all outputs of all nodes."""
        return Symbol([(node, i) for node in self._graph.nodes for i in range(len(node.outputs))])

    def get_children(self) -> Symbol | None:
        """A group of the inputs of its nodes; None when there are none."""
        nodes = dict.fromkeys(node for node, _ in self._entries)
        children = [entry for node in nodes for entry in node.inputs]
        return Symbol(children) if children else None

    # Attributes

    def attr(self, key: str) -> str | None:
        """An attribute of its node, as text; a group has none."""
        attrs = {} if self.name is None else self._entries[0][0].attrs
        return attrs.get(f"__{key}__" if key in HIDDEN else key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """The attributes of its node.

        Raises
        ------
        UnsupportedError
            `recursive` is True.
        """
        if recursive:
            raise UnsupportedError("list_attr: recursive=True\n  expected attr_dict()")
        return _with_plain_names(self._entries[0][0].attrs)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes of all nodes that have any, by name."""
        return {n.name: _with_plain_names(n.attrs) for n in self._graph.nodes if n.attrs}

    def _set_attr(self, **kwargs: str) -> None:
        for name, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"attribute {legible(name)} is {quoted(value)}\n  expected text")
        self._entries[0][0].attrs.update(with_hidden_names(kwargs))

    # Shapes and dtypes

    def infer_shape(self, /, *args, **kwargs):
        """Shapes of arguments, outputs and states, from some that are known.

        Parameters
        ----------
        *args, **kwargs : tuple of int
            Shapes of arguments, by position or by name; 0 is a size that is not known. With
            np_shape semantics -1 is.

        Returns
        -------
        list of tuple, list of tuple, list of tuple
            Three times None, when the known shapes do not determine all others.

        Raises
        ------
        MXNetError
            The shapes do not fit each other; the message names the node. Or a keyword is the name
            of no argument.
        ArgumentError
            There are more shapes than arguments, or one is no tuple.
        """
        found = self._shapes(args, kwargs)
        if not all(_np_shape.is_known(shape) for shapes in found for shape in shapes):
            return None, None, None
        return found

    def infer_shape_partial(self, /, *args, **kwargs):
        """As `infer_shape`, with () for each unknown shape; with np_shape semantics None.

        Raises
        ------
        MXNetError, ArgumentError
            As of `infer_shape`.
        """
        unknown = None if _np_shape.is_on() else ()
        found = self._shapes(args, kwargs)
        return tuple([unknown if each is None else each for each in shapes] for shapes in found)

    def _shapes(self, args: tuple, kwargs: dict) -> tuple[list, list, list]:
        given = _values_by_name(self, args, kwargs)
        for name, shape in given.items():
            if not isinstance(shape, (tuple, list)):
                raise ArgumentError(
                    f"infer_shape: {legible(name)} is {quoted(shape)}\n  expected a tuple"
                )
            sizes = tuple([n if type(n) is int else int(n) for n in shape])
            given[name] = _infer.with_unknown_sizes(sizes)
        return self._by_role(_infer.shapes(self._graph.nodes, given))

    def infer_type(self, /, *args, **kwargs):
        """Dtypes of arguments, outputs and states, from some that are known.

        Three times None, when the known dtypes do not determine all others.

        Raises
        ------
        ArgumentError
            There are more dtypes than arguments.
        MXNetError
            A keyword is the name of no argument.
        """
        found = self._types(None, args, kwargs)
        if any(dtype is None for dtypes in found for dtype in dtypes):
            return None, None, None
        return found

    def infer_type_partial(self, /, *args, **kwargs):
        """As `infer_type`, with None for each unknown dtype.

        Raises
        ------
        ArgumentError, MXNetError
            As of `infer_type`.
        """
        return self._types(None, args, kwargs)

    def _types(self, default, args: tuple, kwargs: dict) -> tuple[list, list, list]:
        given = {k: _dtype.to_torch(v) for k, v in _values_by_name(self, args, kwargs).items()}
        found = self._by_role(_infer.types(self._graph.nodes, given, default))
        return tuple([d and _dtype.to_numpy(d) for d in dtypes] for dtypes in found)

    def _by_role(self, found: dict[Entry, Any]) -> tuple[list, list, list]:
        arguments = [found.get((node, 0)) for node in self._graph.arguments]
        states = [found.get((node, 0)) for node in self._graph.states]
        return arguments, [found.get(entry) for entry in self._entries], states

    # Computing

    def bind(
        self,
        ctx,
        args,
        args_grad=None,
        grad_req="write",
        aux_states=None,
        group2ctx=None,
        shared_exec=None,
    ):
        """An `Executor` on given arrays.

        Parameters
        ----------
        ctx : Context
        args, args_grad, aux_states : dict of str to NDArray, or list
            Values of the arguments, arrays for their gradients, and the states; in the order of
            the graph where they are lists.
        grad_req : str, or dict or list of them
            'write', 'add' or 'null', for all arguments or for each.
        group2ctx : dict of str to Context, optional
            Where nodes with the attribute ``ctx_group`` compute. An operator without it computes
            where its first input is, and `ctx` is for all else.
        shared_exec : optional
            Ignored: PyTorch shares the memory of what is computed.

        Raises
        ------
        ArgumentError
            `ctx` is no Context, an array is missing, there are too many, `grad_req` is unknown, or
            a group has no context.
        """
        from ..executor import bind

        return bind(self, ctx, args, args_grad, grad_req, aux_states, group2ctx)

    def simple_bind(
        self,
        ctx,
        grad_req="write",
        type_dict=None,
        stype_dict=None,
        group2ctx=None,
        shared_arg_names=None,
        shared_exec=None,
        shared_buffer=None,
        **kwargs,
    ):
        """An `Executor` on new arrays of zeros; `kwargs` are the shapes of arguments.

        Arrays of arguments with the attribute ``ctx_group`` are on the context that `group2ctx`
        has for it; see `bind`. All arrays are new: `shared_arg_names`, `shared_exec` and
        `shared_buffer`, by which MXNet shares memory, are ignored, and `shared_buffer` stays as it
        is. So is what is no shape among `kwargs`, or the name of no argument. `stype_dict` has
        storage types of arguments, beside those that variables were made with; gradients of what is
        looked up in an embedding with `sparse_grad`, or multiplied with a csr matrix from the left,
        are row_sparse.

        Raises
        ------
        ShapeError
            The shapes that are given do not tell those of all arguments.
        MXNetError
            The shapes do not fit each other.
        ArgumentError
            `grad_req` is unknown, or a group has no context.
        """
        from ..executor import simple_bind

        known = {*self.list_arguments(), *self.list_auxiliary_states()}
        shapes = {n: s for n, s in kwargs.items() if n in known and isinstance(s, (tuple, list))}
        try:
            return simple_bind(self, ctx, grad_req, type_dict, stype_dict, group2ctx, **shapes)
        except ShapeError as error:
            if kwargs.keys() <= shapes.keys():
                raise
            ignored = listed(n for n in kwargs if n not in shapes)
            raise ShapeError(
                f"{error}\n  ignored: {ignored}, which name no argument's shape"
            ) from None

    def eval(self, ctx=None, **kwargs):
        """The outputs for given values of all variables, a list of NDArrays."""
        states = {n: kwargs.pop(n) for n in self.list_auxiliary_states() if n in kwargs}
        return self.bind(ctx or current_context(), kwargs, aux_states=states).forward()

    def get_backend_symbol(self, backend: str) -> Symbol:
        """The graph itself; see `optimize_for`."""
        return self.optimize_for(backend)

    def gradient(self, wrt: list[str]) -> Symbol:
        """Refused, as in MXNet.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError(
            f"gradient of {self!r} for {quoted(wrt)}: there is no graph of gradients\n"
            "  expected bind and backward, or autograd.grad"
        )

    def optimize_for(self, backend: str, args=None, aux=None, ctx=None, **kwargs) -> Symbol:
        """The graph itself: MXNet's backends, which rewrite graphs, do not exist here."""
        text = f"optimize_for: there is no backend {quoted(backend)}; the graph stays as it is"
        warnings.warn(text, stacklevel=2)
        return self

    # Files

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph as text, in MXNet's format.

        By default without casts of mixed precision, `amp_cast` and `amp_multicast`.
        """
        return _json.dumps(self._graph.nodes, self._entries, with_casts=not remove_amp_cast)

    def save(self, fname, remove_amp_cast: bool = True) -> None:
        """Write the graph to a file, as `tojson` has it; it appears whole or not at all."""
        write_files({fname: [self.tojson(remove_amp_cast).encode()]})

    def debug_str(self) -> str:
        """The graph as text: its outputs, then each node with its inputs and attributes."""
        if len(self._entries) == 1 and self._entries[0][0].op is None:
            return f"Variable:{self.name}\n"
        lines = ["Symbol Outputs:"]
        lines += [f"\toutput[{i}]={node.name}({k})" for i, (node, k) in enumerate(self._entries)]
        states = {*self.list_auxiliary_states()}
        for node in self._graph.nodes:
            lines += _described(node, states)
        return "".join(f"{line}\n" for line in lines)

    def as_np_ndarray(self) -> Symbol:
        """The same outputs as a Symbol of ``mx.sym.np``, with NumPy's rules."""
        return Symbol._np_symbol_class(self._entries)

    def as_nd_ndarray(self) -> Symbol:
        """Itself."""
        return self


Symbol._symbol_class = Symbol


def _unpickled(text: str, symbol_class: type[Symbol]) -> Symbol:
    return symbol_class(load_json(text)._entries)


def _described(node, states: set[str]) -> list[str]:
    """A node in the lines of `Symbol.debug_str`; a variable that it changes is of version 1."""
    if node.op is None:
        return [f"Variable:{node.name}"]
    lines = ["-" * 20, f"Op:{node.op.name}, Name={node.name}", "Inputs:"]
    for i, (source, k) in enumerate(node.inputs):
        version = f" version={int(source.name in states)}" if source.op is None else ""
        lines.append(f"\targ[{i}]={source.name}({k}){version}")
    attrs = [f"\t{name}={value}" for name, value in sorted(node.attrs.items())]
    return lines + (["Attrs:", *attrs] if attrs else [])


def _with_plain_names(attrs: dict[str, str]) -> dict[str, str]:
    """The attributes, the hidden ones also by their names without underscores."""
    plain = {k.strip("_"): v for k, v in attrs.items() if k.strip("_") in HIDDEN}
    return attrs | plain


def _values_by_name(symbol: Symbol, args: tuple, kwargs: dict) -> dict:
    """The arguments of a call by the names of the variables."""
    arguments = symbol.list_arguments()
    if args and kwargs:
        raise ArgumentError(
            f"{symbol}: {len(args)} values by position, and {quoted([*kwargs])} by name\n"
            f"  expected all by position, or all by name: {quoted(arguments)}"
        )
    if len(args) > len(arguments):
        raise ArgumentError(f"{symbol}: {len(args)} values\n  expected {quoted(arguments)}")
    known = [*arguments, *symbol.list_auxiliary_states()]
    for name in kwargs:
        if name not in known:
            raise MXNetError(
                f"{symbol}: there is no argument {quoted(name)}\n  expected one of {quoted(known)}"
            )
    told = [(name, value) for name, value in zip(arguments, args) if value is not None]
    given = by_name(str(symbol), *zip(*told), same=eq) if told else {}
    return given | {name: value for name, value in kwargs.items() if value is not None}


def var(
    name: str,
    attr: dict[str, str] | None = None,
    shape=None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype=None,
    init=None,
    stype: str | None = None,
    **kwargs: str,
) -> Symbol:
    """A variable: an input of the graph, or a parameter.

    Parameters
    ----------
    name : str
    attr : dict of str to str, optional
        Attributes to attach; also as ``__name__="value"``.
    shape, dtype : optional
        As far as they are known; an unknown size is 0.
    lr_mult, wd_mult : float, optional
        Factors for the learning rate and the weight decay.
    init : Initializer or str, optional
    stype : {'default', 'row_sparse', 'csr'}, optional
        The storage type that `simple_bind` and Module give its array.

    Raises
    ------
    TypeError
        The name is not text.
    ValueError
        A keyword does not begin and end with two underscores.
    """
    if not isinstance(name, str):
        raise TypeError(f"Variable: the name is {quoted(name)}\n  expected text")
    attrs = with_hidden_names(AttrScope.current.get(attr))
    known = {"shape": shape, "lr_mult": lr_mult, "wd_mult": wd_mult}
    if stype is not None:
        known["storage_type"] = ("default", "row_sparse", "csr").index(stype)
    if dtype is not None:
        known["dtype"] = _infer.TYPE_NUMBERS[_dtype.to_torch(dtype)]
    if init is not None:
        known["init"] = init.dumps() if hasattr(init, "dumps") else init
    attrs |= {f"__{k}__": str(v) for k, v in known.items() if v is not None}
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            raise ValueError(
                f"Variable {quoted(name)}: attribute {legible(key)}\n"
                f"  expected two underscores on both sides, __{legible(key)}__"
            )
        attrs[key] = str(value)
    return Symbol([(Node(None, name, attrs=attrs), 0)])


Variable = var


def Group(symbols: list[Symbol], create_fn: Callable | None = None) -> Symbol:
    """Several symbols as one, with all their outputs.

    `create_fn` is without effect: there is one kind of Symbol here.

    Raises
    ------
    TypeError
        They are not Symbols, or there are none.
    """
    symbols = list(symbols)
    if not symbols or not all(isinstance(symbol, Symbol) for symbol in symbols):
        raise TypeError(f"Group: {quoted(symbols)}\n  expected a list of Symbols")
    return Symbol([entry for symbol in symbols for entry in symbol._entries])


def load_json(json_str: str) -> Symbol:
    """The graph that a text in MXNet's format describes.

    Raises
    ------
    MXNetError
        The text is not such a graph; the message says what is wrong, and where.
    """
    return Symbol(_json.loads(json_str))


fromjson = load_json


def load(fname) -> Symbol:
    """The graph in a file that `save`, `export` or MXNet wrote.

    Raises
    ------
    MissingFileError
        There is no such file.
    MXNetError
        It has no such graph; the message says what is wrong, and where.
    """
    with open_file(fname) as file:
        data = file.read()
    try:
        return load_json(data.decode("utf-8"))
    except UnicodeDecodeError:
        problem = "these are bytes\n  expected the text of a graph, as in a -symbol.json file"
    except MXNetError as error:
        problem = str(error)
    raise MXNetError(f"load {str(fname)!r}: {problem}")
