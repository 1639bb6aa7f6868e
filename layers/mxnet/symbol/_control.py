"""Control flow of `sym.contrib`: what is made of a body's Symbols becomes a graph inside a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import attribute
from ..base import ArgumentError
from ..name import NameManager
from ..ndarray._control import pair
from . import op
from ._node import Entry, Node, ordered, serials, with_hidden_names
from ._subgraph import Cond, ControlFlow, Foreach, WhileLoop
from .symbol import Symbol

__all__ = ["cond", "foreach", "while_loop"]


def foreach(body: Callable, data: Any, init_states: Any, name: str = "foreach") -> tuple[Any, Any]:
    """Call ``body(data[i], states)`` for each i, and stack what it gives along a new first axis.

    Parameters
    ----------
    body : callable
        (slices, states) -> (outputs, new states), called once, with variables.
    data, init_states : Symbol, or nested lists of them
        The first axes of `data` are of one size. What else `body` uses is the same in all steps.

    Returns
    -------
    outputs, states
        Nested as `body` gives them; the states are the last ones.
    """
    sources, data_format = _flat(name, "data", data)
    states, states_format = _flat(name, "init_states", init_states)
    if not sources:
        raise ArgumentError(f"{name}: data is {data!r}\n  expected at least one Symbol")
    start, count = next(serials), len(sources)
    inside = _variables([*sources, *states])
    given = iter(inside)
    result = body(_nested(data_format, given), _nested(states_format, given))
    outputs, new = pair(name, "body", result)
    outputs, format = _flat(name, "an output of body", outputs)
    new, new_format = _flat(name, "a state of body", new)
    if new_format != states_format:
        raise ArgumentError(
            f"{name}: body gives states {_shown(new_format)}\n"
            f"  expected them nested as init_states, {_shown(states_format)}"
        )
    entries, origins = _cut(_heads(name, [*outputs, *new], start, inside), start)
    # The inputs: data, states, and what else the body uses.
    own = [symbol._entries[0] for symbol in inside]
    places = {entry: i for i, entry in enumerate(origins)}
    remain = [entry for entry in origins if entry not in own]
    results = _node(
        Foreach,
        [entries],
        [s._entries[0] for s in [*sources, *states]] + remain,
        num_outputs=len(entries),
        num_out_data=len(outputs),
        in_data_locs=[places[e] for e in own[:count]],
        in_state_locs=[places[e] for e in own[count:]],
        remain_locs=[places[e] for e in remain],
    )
    return _nested(format, results), _nested(states_format, results)


def while_loop(
    cond: Callable,
    func: Callable,
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Call ``func(*loop_vars)`` as long as ``cond(*loop_vars)``, and stack what it gives.

    Parameters
    ----------
    cond : callable
        (*loop_vars) -> a number that is not 0, to go on.
    func : callable
        (*loop_vars) -> (outputs of the step, new loop_vars).
    loop_vars : Symbol or list of Symbol
    max_iterations : int
        Steps at most, and the size of the outputs' first axis; what no step has filled is 0.

    Returns
    -------
    outputs, loop_vars
        Nested as `func` gives them, and as they were given.
    """
    limit = _limit(name, max_iterations)
    variables, format = _flat(name, "loop_vars", loop_vars)
    if not variables or any(format or ()):
        raise ArgumentError(
            f"{name}: loop_vars is {loop_vars!r}\n  expected a Symbol, or a list of at least one"
        )
    start, inside = next(serials), _variables(variables)
    test = _one(name, "cond", cond(*inside))
    outputs, new = pair(name, "func", func(*inside))
    outputs, outputs_format = _flat(name, "an output of func", outputs)
    new, new_format = _flat(name, "a loop_var of func", new)
    if len(new) != len(variables) or any(new_format or ()):
        raise ArgumentError(
            f"{name}: func gives loop_vars {_shown(new_format)}\n  expected {_shown(format)}"
        )
    heads = [_heads(name, [test], start), _heads(name, [*outputs, *new], start, inside)]
    graphs, origins = zip(*[_cut(entries, start) for entries in heads])
    own = [symbol._entries[0] for symbol in inside]
    inputs, wires = _wired(origins, dict(zip(own, [s._entries[0] for s in variables])))
    results = _node(
        WhileLoop,
        graphs,
        inputs,
        num_outputs=len(heads[1]),
        num_out_data=len(outputs),
        max_iterations=limit,
        cond_input_locs=wires[0],
        func_input_locs=wires[1],
        func_var_locs=[origins[1].index(e) for e in own],
    )
    return _nested(outputs_format, results), _nested(format, results)


def cond(pred: Symbol, then_func: Callable, else_func: Callable, name: str = "cond") -> Any:
    """``then_func()`` where `pred`, of one element, is not 0, else ``else_func()``.

    Only one of the two is computed. They give as many outputs, nested in one way.
    """
    start = next(serials)
    branches, formats = [[_one(name, "pred", pred)]], []
    for what, function in (("then_func", then_func), ("else_func", else_func)):
        outputs, format = _flat(name, f"an output of {what}", function())
        branches.append(outputs)
        formats.append(format)
    if formats[0] != formats[1]:
        raise ArgumentError(
            f"{name}: then_func gives {_shown(formats[0])}, and else_func {_shown(formats[1])}\n"
            "  expected outputs nested in one way"
        )
    cuts = [_cut(_heads(name, symbols, start), start) for symbols in branches]
    slots: dict[Entry, int] = {}
    wires = [[slots.setdefault(e, len(slots)) for e in origins] for _, origins in cuts]
    results = _node(
        Cond,
        [entries for entries, _ in cuts],
        list(slots),
        num_outputs=len(branches[1]),
        cond_input_locs=wires[0],
        then_input_locs=wires[1],
        else_input_locs=wires[2],
    )
    return _nested(formats[0], results)


def _limit(name: str, given: Any) -> int:
    if given is None:
        raise ArgumentError(f"{name}: max_iterations is missing\n  expected an int")
    try:
        limit = int(given)
    except (TypeError, ValueError):
        limit = 0
    if limit < 1:
        raise ArgumentError(f"{name}: max_iterations is {given!r}\n  expected an int, at least 1")
    return limit


# What bodies take and give


def _flat(name: str, what: str, value: Any) -> tuple[list[Symbol], Any]:
    """The outputs in nested lists, and how they are nested: None for one, or a list."""
    if isinstance(value, Symbol):
        return list(value), None if len(value) == 1 else [None] * len(value)
    if not isinstance(value, (list, tuple)):
        raise ArgumentError(
            f"{name}: {what} is {value!r} ({type(value).__name__})\n"
            "  expected a Symbol, or nested lists of them"
        )
    parts = [_flat(name, what, item) for item in value]
    return [symbol for symbols, _ in parts for symbol in symbols], [format for _, format in parts]


def _nested(format: Any, symbols: Iterator[Symbol]) -> Any:
    """The inverse of `_flat`: takes as many as it needs."""
    if format is None:
        return next(symbols)
    return [_nested(item, symbols) for item in format]


def _shown(format: Any) -> str:
    """How outputs are nested, for a message: ``[Symbol, [Symbol]]``."""
    return "Symbol" if format is None else f"[{', '.join(map(_shown, format))}]"


def _one(name: str, what: str, value: Any) -> Symbol:
    if not isinstance(value, Symbol) or len(value) != 1:
        raise ArgumentError(
            f"{name}: {what} is {value!r} ({type(value).__name__})\n"
            "  expected a Symbol of one output, of one element"
        )
    return value


# From their Symbols to a graph


def _variables(symbols: list[Symbol]) -> list[Symbol]:
    """Variables that stand for outputs inside a graph."""
    return [Symbol([(Node(None, f"{s.name}-{i}"), 0)]) for i, s in enumerate(symbols)]


def _heads(name: str, symbols: list[Symbol], start: int, inside=()) -> list[Entry]:
    """The outputs of a graph, each a node's of its own, for MXNet; `inside` are all used."""
    if not symbols:
        raise ArgumentError(f"{name}: the body gives nothing\n  expected an output or a state")
    used = {id(node) for node in ordered([s._entries[0] for s in symbols])}
    first = symbols[0]
    for variable in inside:
        if id(variable._entries[0][0]) not in used:
            first = _with(first, variable)
    entries: list[Entry] = []
    for symbol in [first, *symbols[1:]]:
        node, _ = symbol._entries[0]
        if node.op is None or node.serial < start or node in [n for n, _ in entries]:
            symbol = op.identity(symbol)
        entries.append(symbol._entries[0])
    return entries


def _with(y: Symbol, x: Symbol) -> Symbol:
    """y, in a graph that has x: a graph in MXNet's format has the variables that it uses."""
    row = op.reshape(y, shape=(1, -1))
    return op.reshape_like(op.where(op.sum(op.zeros_like(x)), row, row), y)


def _cut(heads: list[Entry], start: int) -> tuple[list[Entry], list[Entry]]:
    """A copy of what was made since `start`, and what its variables stand for, in their order."""
    made: dict[Node, Node] = {}
    outside: dict[Entry, Node] = {}

    def inside(entry: Entry) -> Entry:
        node, index = entry
        if node in made:
            return made[node], index
        if entry not in outside:
            outside[entry] = Node(None, node.output_name(index))
        return outside[entry], 0

    for node in ordered(heads):
        if node.op is not None and node.serial >= start:
            inputs = [inside(entry) for entry in node.inputs]
            made[node] = Node(node.op, node.name, inputs, dict(node.attributes), dict(node.attrs))
    entries = [inside(entry) for entry in heads]
    stands_for = {variable: entry for entry, variable in outside.items()}
    return entries, [stands_for[node] for node in ordered(entries) if node.op is None]


def _wired(
    origins: Sequence[list[Entry]], outside: dict[Entry, Entry]
) -> tuple[list[Entry], list[list[int]]]:
    """The inputs of a loop, and which of them the variables of each of its graphs are.

    The graphs share the loop_vars, which are `outside` what they are inside, and nothing else.
    """
    slots: dict[Any, int] = {}
    wires = [
        [slots.setdefault(e if e in outside else (part, e), len(slots)) for e in used]
        for part, used in enumerate(origins)
    ]
    return [outside[key] if key in outside else key[1] for key in slots], wires


def _node(
    kind: type[ControlFlow], graphs: Sequence[list[Entry]], inputs: list[Entry], **attributes
) -> Iterator[Symbol]:
    """The outputs of a node with graphs inside."""
    operator = kind(graphs, attributes, len(inputs))
    name = NameManager._current.value.get(None, kind.kind)
    attrs = with_hidden_names(attribute.current().get(None)) | {
        k: str(v) for k, v in attributes.items()
    }
    attrs["num_args"] = str(len(inputs) + len(graphs))
    node = Node(operator, name, inputs, operator.read(attributes), attrs)
    return iter([Symbol([(node, i)]) for i in range(len(node.outputs))])
