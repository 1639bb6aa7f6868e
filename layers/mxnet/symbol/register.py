"""From the table to the functions of `sym`: called with Symbols, they make nodes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from .._state import State
from .._table import precision, registry
from ..attribute import AttrScope
from ..base import ArgumentError, describe_value, quoted
from ..name import NameManager
from ..ndarray.register import signature
from ._node import HIDDEN, Entry, Node, with_hidden_names
from .symbol import Symbol

__all__ = ["compose", "symbolic"]

log = logging.getLogger("layers.mxnet.amp")

CALL_ARGUMENTS = ("name", "attr", "out")  # every function takes these; they are no attributes


def symbolic(
    operator: registry.Op, name: str, symbol_class: type[Symbol] | None = None
) -> Callable:
    """Return the function of `sym` for an operator, or with its class of Symbols that of `np`.

    Without a class the result is of the first input's.
    """

    def function(*args, **kwargs):
        made = compose(operator, args, kwargs, hint=name)
        return made if symbol_class is None else symbol_class(made._entries)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = operator.__doc__
    function.__signature__ = signature(operator, "Symbol")
    function.operator = operator
    return function


def compose(operator: registry.Op, args: tuple, kwargs: dict[str, Any], hint: str) -> Symbol:
    """A node of an operator. An input that is missing becomes a variable: ``fc_weight``.

    Raises
    ------
    ArgumentError
        An argument is missing, unknown, one too many, or of a wrong type or value; or one says
        another number of inputs than there are.
    """
    if operator.variadic and len(args) == 1 and isinstance(args[0], (list, tuple)):
        args = tuple(args[0])
    symbols = {k: v for k, v in kwargs.items() if isinstance(v, Symbol)}
    given = {k: v for k, v in kwargs.items() if k not in symbols and k not in CALL_ARGUMENTS}
    given |= _positional_attributes(operator, args)
    given.pop("out", None)
    attached = {k: str(given.pop(k)) for k in list(given) if _is_attached(operator, k)}
    given = {k: v for k, v in given.items() if v is not None or operator.owns(k)}
    counts = () if operator.own else ("num_args",)
    used = {k: v for k, v in given.items() if k not in counts and not operator.drops(k)}
    attributes = operator.read(used)
    missing = [n for n in operator.required if n not in attributes]
    if missing:
        raise ArgumentError(f"{operator.name}: {missing[0]} is missing")
    positional = operator.places(attributes, len(args))
    symbols |= {k: v for k, v in zip(positional, args) if v is not None}
    name = NameManager.current.get(kwargs.get("name"), hint.lower())
    if not operator.variadic and len(args) > len(positional) + len(operator.positions):
        raise ArgumentError(
            f"{operator.name} {quoted(name)}: {len(args)} arguments by position\n"
            f"  expected {', '.join([*positional, *operator.positions]) or 'none'}"
        )
    asked = {k: str(v) for k, v in (kwargs.get("attr") or {}).items()}  # as MXNet, an object too
    attrs = with_hidden_names(AttrScope.current.get(asked) | attached)
    attrs |= texts(operator, given, attributes, len(symbols))
    names = operator.input_names(attributes, len(symbols))
    if operator.variadic and not names:
        raise ArgumentError(f"{operator.name}: {operator.inputs[0]} is missing")
    operator.check_count(given, len(symbols))
    if operator.draws and not names:  # as `random.randn(data=x)`, which MXNet draws without x
        symbols = {k: v for k, v in symbols.items() if not isinstance(v, Symbol)}
    _check_inputs(f"{operator.name} {quoted(name)}", symbols, names)
    inputs = _with_variables(operator, name, symbols, names, attrs)
    if State.precision is not None:
        inputs = _with_casts(State.precision, operator, attributes, names, inputs)
    node = Node(operator, name, inputs, attributes, attrs)
    first = next((symbols[n] for n in names if n in symbols), Symbol)
    return first._symbol_class([(node, i) for i in range(len(node.outputs))])


def _with_variables(
    operator: registry.Op, name: str, symbols: dict[str, Symbol], names: list[str], attrs: dict
) -> list[Entry]:
    """The inputs of a node; those that were not given are new variables."""
    inputs = [
        symbols[n]._entries[0]
        if n in symbols
        else (Node(None, f"{name}_{n}", attrs=dict(attrs)), 0)
        for n in names
    ]
    for key, (source, _) in zip(names, inputs):
        if source.op is None and key in operator.inits:
            source.attrs.setdefault("__init__", operator.inits[key])
    return inputs


def texts(
    operator: registry.Op, given: dict[str, Any], attributes: dict[str, Any], count: int
) -> dict[str, str]:
    """The attributes of a node as texts: those that were given, and of how many inputs it is."""
    found = operator.as_texts(given, attributes)
    if operator.variadic and operator.counted is not None:
        found[operator.counted.attribute] = str(count // operator.counted.group)
    return found


def _with_casts(
    policy: precision.Policy,
    operator: registry.Op,
    attributes: dict[str, Any],
    names: list[str],
    inputs: list[Entry],
) -> list[Entry]:
    """The inputs of a node, with the casts of mixed precision."""
    if operator in policy.scaled:
        log.warning("%s: amp.scale_loss does not scale its gradient in a graph", operator.name)
    dtype, fixed = policy.dtype(operator, attributes), operator.state_names(attributes)
    if dtype is not None:
        cast, given = registry.get("amp_cast"), {"dtype": dtype}
        return [
            e if n in fixed else compose(cast, (Symbol([e]),), given, "amp_cast")._entries[0]
            for n, e in zip(names, inputs)
        ]
    if policy.takes_widest(operator):
        cast, given = registry.get("amp_multicast"), {"num_outputs": len(inputs)}
        return compose(cast, tuple([Symbol([e]) for e in inputs]), given, "amp_multicast")._entries
    return inputs


def _is_attached(operator: registry.Op, name: str) -> bool:
    """Whether a keyword is attached to the node, such as lr_mult, and no operator's attribute.

    A custom operator may have attributes of any name.
    """
    return name.startswith("__") or (name in HIDDEN and not operator.own)


def _positional_attributes(operator: registry.Op, args: tuple) -> dict[str, Any]:
    """The attributes among positional arguments, which follow the inputs."""
    if operator.variadic or not operator.inputs:
        return {} if operator.variadic else dict(zip(operator.positions, args))
    return dict(zip(operator.positions, args[len(operator.inputs) :]))


def _check_inputs(where: str, symbols: dict[str, Any], names: list[str]) -> None:
    for key, value in symbols.items():
        if not isinstance(value, Symbol):
            constant = "; in a Block a constant is self.params.get_constant(name, value)"
            raise ArgumentError(
                f"{where}: {key} is {describe_value(value)}\n"
                "  expected a Symbol; sym.var(name) makes one"
                f"{constant if hasattr(value, 'shape') else ''}"
            )
        if key not in names:
            raise ArgumentError(
                f"{where}: there is no input {quoted(key)}\n  expected {quoted(names)}"
            )
        if len(value) != 1:
            raise ArgumentError(
                f"{where}: {key} has {len(value)} outputs\n  expected one of them, as x[0]"
            )
