"""A graph on several contexts: each node where its group is, as `group2ctx` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor

from ..base import ArgumentError, quoted
from ..context import Context
from ..symbol._node import Entry, Node, ordered
from .program import Program


def contexts(
    entries: list[Entry],
    groups: dict[str, Context] | None,
    default: Context,
    given: Mapping[str, Context] | None = None,
) -> dict[Node, Context]:
    """The context of each node of a graph; none where all compute on the default.

    Parameters
    ----------
    entries : list of (Node, int)
        The outputs.
    groups : dict of str to Context, optional
        For each value of the attribute ``ctx_group``.
    default : Context
        That of variables and of operators without inputs, where they have no group. Another
        operator without a group is where its first input is.
    given : mapping of str to Context, optional
        Of variables that have arrays already.

    Raises
    ------
    ArgumentError
        A group has no context.
    """
    found: dict[Node, Context] = {}
    for node in ordered(entries) if groups else ():
        group = node.attrs.get("__ctx_group__")
        if node.op is None and given and node.name in given:
            found[node] = given[node.name]
        elif group is not None:
            if group not in groups:
                raise ArgumentError(
                    f"group2ctx: there is no context for ctx_group {quoted(group)} of "
                    f"{quoted(node.name)}\n  expected one beside those for {list(groups)}"
                )
            found[node] = groups[group]
        else:
            found[node] = found[node.inputs[0][0]] if node.inputs else default
    return found


def of_variables(places: dict[Node, Context]) -> dict[str, Context]:
    """The contexts of variables, by name."""
    return {node.name: context for node, context in places.items() if node.op is None}


def functions(
    program: Program,
    own: dict[Node, Callable],
    places: dict[Node, Context],
    default: Context,
) -> dict[Node, Callable]:
    """The functions of a program's nodes that compute on other contexts than `default`.

    `own` has the functions of some nodes that are in place of the operators'.
    """
    known = program.functions | own
    elsewhere = [
        node
        for node in program.nodes
        if {places[node], *[places[source] for source, _ in node.inputs]} != {default}
    ]
    return own | {node: _on(places[node], known[node]) for node in elsewhere}


def _on(context: Context, function: Callable) -> Callable:
    """The function on a context, to whose device its inputs are copied."""

    def run(*tensors: Tensor | None, **options):
        device = context.device
        here = {"context": context, "device": device}
        moved = [t if t is None else t.to(device) for t in tensors]
        return function(*moved, **options | {k: v for k, v in here.items() if k in options})

    return run
