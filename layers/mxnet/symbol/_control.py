"""Control flow of `sym.contrib`: the nodes that a body makes become a graph inside one node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..attribute import AttrScope
from ..base import ArgumentError
from ..name import NameManager
from ..ndarray._control import pair
from . import op
from ._node import Entry, Node, ordered, serials, with_hidden_names
from ._subgraph import Cond, ControlFlow, Foreach, WhileLoop
from .symbol import Symbol

__all__ = ["cond", "foreach", "while_loop"]


def foreach(body: Callable, data: Any, init_states: Any, name: str = "foreach") -> tuple[Any, Any]:
    """Call ``body(data[i], states)`` for each i, and stack its outputs along a new first axis.

    Parameters
    ----------
    body : callable
        (slices, states) -> (outputs, new states), called once, with variables.
    data, init_states : Symbol, or nested lists of them
        The first axes of `data` have one size. Other Symbols that `body` uses are the same in all
        steps.

    Returns
    -------
    outputs, states
        Nested as `body` returns them; the states are the last ones.

    Raises
    ------
    ArgumentError
        An argument or what a function returns is no Symbol, or nested in another way than it should
        be.
    """
    sources, data_format = _flatten(name, "data", data)
    states, states_format = _flatten(name, "init_states", init_states)
    if not sources:
        raise ArgumentError(f"{name}: data is {data!r}\n  expected at least one Symbol")
    start, data_count = next(serials), len(sources)
    inner = _variables([*sources, *states])
    rest = iter(inner)
    result = body(_unflatten(data_format, rest), _unflatten(states_format, rest))
    outputs, new = pair(name, "body", result)
    outputs, format = _flatten(name, "an output of body", outputs)
    new, new_format = _flatten(name, "a state of body", new)
    if new_format != states_format:
        raise ArgumentError(
            f"{name}: body returns states {_format_text(new_format)}\n"
            f"  expected them nested as init_states, {_format_text(states_format)}"
        )
    entries, outer = _extract(_distinct_heads(name, [*outputs, *new], start, inner), start)
    # The inputs: data, states, and the outputs of other nodes that the body uses.
    variable_entries = [symbol._entries[0] for symbol in inner]
    places = {entry: i for i, entry in enumerate(outer)}
    remain = [entry for entry in outer if entry not in variable_entries]
    results = _node(
        Foreach,
        [entries],
        [s._entries[0] for s in [*sources, *states]] + remain,
        num_outputs=len(entries),
        num_out_data=len(outputs),
        in_data_locs=[places[e] for e in variable_entries[:data_count]],
        in_state_locs=[places[e] for e in variable_entries[data_count:]],
        remain_locs=[places[e] for e in remain],
    )
    return _unflatten(format, results), _unflatten(states_format, results)


def while_loop(
    cond: Callable,
    func: Callable,
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Call ``func(*loop_vars)`` as long as ``cond(*loop_vars)``, and stack its outputs.

    Parameters
    ----------
    cond : callable
        (*loop_vars) -> a number that is not 0, to go on.
    func : callable
        (*loop_vars) -> (outputs of the step, new loop_vars).
    loop_vars : Symbol or list of Symbol
    max_iterations : int
        The greatest number of steps, and the size of the outputs' first axis; rows that no step has
        filled are 0.

    Returns
    -------
    outputs, loop_vars
        The outputs nested as `func` returns them, the loop_vars as in the call.

    Raises
    ------
    ArgumentError
        An argument or what a function returns is no Symbol, or nested in another way than it should
        be. Or `max_iterations` is missing.
    """
    limit = _iteration_limit(name, max_iterations)
    variables, format = _flatten(name, "loop_vars", loop_vars)
    if not variables or any(format or ()):
        raise ArgumentError(
            f"{name}: loop_vars is {loop_vars!r}\n  expected a Symbol, or a list of at least one"
        )
    start, inner = next(serials), _variables(variables)
    test = _expect_single(name, "cond", cond(*inner))
    outputs, new = pair(name, "func", func(*inner))
    outputs, outputs_format = _flatten(name, "an output of func", outputs)
    new, new_format = _flatten(name, "a loop_var of func", new)
    if len(new) != len(variables) or any(new_format or ()):
        raise ArgumentError(
            f"{name}: func returns loop_vars {_format_text(new_format)}\n"
            f"  expected {_format_text(format)}"
        )
    heads = [
        _distinct_heads(name, [test], start),
        _distinct_heads(name, [*outputs, *new], start, inner),
    ]
    graphs, outer = zip(*[_extract(entries, start) for entries in heads])
    variable_entries = [symbol._entries[0] for symbol in inner]
    inputs, indices = _merge_inputs(
        outer, dict(zip(variable_entries, [s._entries[0] for s in variables]))
    )
    results = _node(
        WhileLoop,
        graphs,
        inputs,
        num_outputs=len(heads[1]),
        num_out_data=len(outputs),
        max_iterations=limit,
        cond_input_locs=indices[0],
        func_input_locs=indices[1],
        func_var_locs=[outer[1].index(e) for e in variable_entries],
    )
    return _unflatten(outputs_format, results), _unflatten(format, results)


def cond(pred: Symbol, then_func: Callable, else_func: Callable, name: str = "cond") -> Any:
    """``then_func()`` where `pred`, of one element, is not 0, else ``else_func()``.

    Only one of the two is computed. Both return the same number of outputs, nested in the same way.

    Raises
    ------
    ArgumentError
        An argument or what a function returns is no Symbol, or nested in another way than it should
        be.
    """
    start = next(serials)
    branches, formats = [[_expect_single(name, "pred", pred)]], []
    for what, function in (("then_func", then_func), ("else_func", else_func)):
        outputs, format = _flatten(name, f"an output of {what}", function())
        branches.append(outputs)
        formats.append(format)
    if formats[0] != formats[1]:
        raise ArgumentError(
            f"{name}: then_func returns {_format_text(formats[0])}, and else_func "
            f"{_format_text(formats[1])}\n"
            "  expected outputs nested in the same way"
        )
    graphs = [_extract(_distinct_heads(name, symbols, start), start) for symbols in branches]
    slots: dict[Entry, int] = {}
    indices = [[slots.setdefault(e, len(slots)) for e in outer] for _, outer in graphs]
    results = _node(
        Cond,
        [entries for entries, _ in graphs],
        list(slots),
        num_outputs=len(branches[1]),
        cond_input_locs=indices[0],
        then_input_locs=indices[1],
        else_input_locs=indices[2],
    )
    return _unflatten(formats[0], results)


def _iteration_limit(name: str, value: Any) -> int:
    if value is None:
        raise ArgumentError(f"{name}: max_iterations is missing\n  expected an int")
    try:
        limit = int(value)
    except (TypeError, ValueError):
        limit = 0
    if limit < 1:
        raise ArgumentError(f"{name}: max_iterations is {value!r}\n  expected an int, at least 1")
    return limit


# The arguments of bodies, and what they return


def _flatten(name: str, what: str, value: Any) -> tuple[list[Symbol], Any]:
    """The outputs in nested lists, and how they are nested: None for one, or a list."""
    if isinstance(value, Symbol):
        return list(value), None if len(value) == 1 else [None] * len(value)
    if not isinstance(value, (list, tuple)):
        raise ArgumentError(
            f"{name}: {what} is {value!r} ({type(value).__name__})\n"
            "  expected a Symbol, or nested lists of them"
        )
    parts = [_flatten(name, what, item) for item in value]
    return [symbol for symbols, _ in parts for symbol in symbols], [format for _, format in parts]


def _unflatten(format: Any, symbols: Iterator[Symbol]) -> Any:
    """The inverse of `_flatten`; it takes as many symbols as the format has."""
    if format is None:
        return next(symbols)
    return [_unflatten(item, symbols) for item in format]


def _format_text(format: Any) -> str:
    """The format for a message: ``[Symbol, [Symbol]]``."""
    return "Symbol" if format is None else f"[{', '.join(map(_format_text, format))}]"


def _expect_single(name: str, what: str, value: Any) -> Symbol:
    if not isinstance(value, Symbol) or len(value) != 1:
        raise ArgumentError(
            f"{name}: {what} is {value!r} ({type(value).__name__})\n"
            "  expected a Symbol of one output, of one element"
        )
    return value


# From the Symbols of a body to a graph


def _variables(symbols: list[Symbol]) -> list[Symbol]:
    """Variables that stand for outputs inside a graph."""
    return [Symbol([(Node(None, f"{s.name}-{i}"), 0)]) for i, s in enumerate(symbols)]


def _distinct_heads(name: str, symbols: list[Symbol], start: int, inner=()) -> list[Entry]:
    """The outputs of a graph, each of another node, as MXNet expects them.

    The graph depends on all variables in `inner`, also on those that the body does not use.
    """
    if not symbols:
        raise ArgumentError(f"{name}: the body returns nothing\n  expected an output or a state")
    used = {id(node) for node in ordered([s._entries[0] for s in symbols])}
    first = symbols[0]
    for variable in inner:
        if id(variable._entries[0][0]) not in used:
            first = _depending_on(first, variable)
    entries: list[Entry] = []
    for symbol in [first, *symbols[1:]]:
        node, _ = symbol._entries[0]
        if node.op is None or node.serial < start or node in [n for n, _ in entries]:
            symbol = op.identity(symbol)
        entries.append(symbol._entries[0])
    return entries


def _depending_on(y: Symbol, x: Symbol) -> Symbol:
    """y, by operators that also take x: in MXNet's format a graph has only variables in use."""
    row = op.reshape(y, shape=(1, -1))
    return op.reshape_like(op.where(op.sum(op.zeros_like(x)), row, row), y)


def _extract(heads: list[Entry], start: int) -> tuple[list[Entry], list[Entry]]:
    """Copy the part of a graph that was made since the serial `start`.

    Returns the outputs of the copy; and by its variables, in their order, the outputs outside that
    they stand for.
    """
    copies: dict[Node, Node] = {}
    variables: dict[Entry, Node] = {}

    def inner(entry: Entry) -> Entry:
        node, index = entry
        if node in copies:
            return copies[node], index
        if entry not in variables:
            variables[entry] = Node(None, node.output_name(index))
        return variables[entry], 0

    for node in ordered(heads):
        if node.op is not None and node.serial >= start:
            copies[node] = node.copied(inner(entry) for entry in node.inputs)
    entries = [inner(entry) for entry in heads]
    stands_for = {variable: entry for entry, variable in variables.items()}
    return entries, [stands_for[node] for node in ordered(entries) if node.op is None]


def _merge_inputs(
    outer: Sequence[list[Entry]], loop_vars: dict[Entry, Entry]
) -> tuple[list[Entry], list[list[int]]]:
    """The inputs of a loop; and for each of its graphs, the indices of those that it uses.

    The graphs share the loop_vars, which `loop_vars` maps from the variables in the bodies to the
    entries outside, and no other input.
    """
    slots: dict[Any, int] = {}
    indices = [
        [slots.setdefault(e if e in loop_vars else (part, e), len(slots)) for e in used]
        for part, used in enumerate(outer)
    ]
    return [loop_vars[key] if key in loop_vars else key[1] for key in slots], indices


def _node(
    operator_class: type[ControlFlow],
    graphs: Sequence[list[Entry]],
    inputs: list[Entry],
    **attributes,
) -> Iterator[Symbol]:
    """The outputs of a node with graphs inside."""
    operator = operator_class(graphs, attributes, len(inputs))
    name = NameManager.current.get(None, operator_class.op_name)
    attrs = with_hidden_names(AttrScope.current.get(None)) | {
        k: str(v) for k, v in attributes.items()
    }
    attrs["num_args"] = str(len(inputs) + len(graphs))
    node = Node(operator, name, inputs, operator.read(attributes), attrs)
    return iter([Symbol([(node, i)]) for i in range(len(node.outputs))])
