"""Storage types in a graph: of its variables, of their gradients, and whether nodes make sparse."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from ..symbol._node import Entry, Node, ordered

__all__ = ["makes_sparse", "storage_types"]

NUMBERS = {str(i): stype for i, stype in enumerate(("default", "row_sparse", "csr"))}  # in files


def makes_sparse(node: Node) -> bool:
    """Whether a node makes a sparse array of dense ones."""
    return node.op is not None and node.op.stores_sparse(node.attributes)


def storage_types(
    entries: list[Entry], given: dict[str, str] | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """The storage types of a graph's variables, and those of their gradients, by name.

    A variable has the one that is given, or that it was made with. A gradient has rows where the
    variable has, and where all operators that take the variable send it rows.
    """
    nodes = ordered(entries)
    variables = [n for n in nodes if n.op is None]
    made = {n.name: NUMBERS.get(n.attrs.get("__storage_type__", "")) for n in variables}
    stypes = {name: stype for name, stype in made.items() if stype} | (given or {})
    has_rows: dict[str, bool] = {}
    for name, rows in chain.from_iterable(_gradients_sent(node, stypes) for node in nodes):
        has_rows[name] = has_rows.get(name, True) and rows
    has_rows |= {node.name: False for node, _ in entries if node.op is None}
    of_gradients = {
        name: "row_sparse" if rows or stypes.get(name) == "row_sparse" else "default"
        for name, rows in has_rows.items()
    }
    return stypes, of_gradients


def _gradients_sent(node: Node, stypes: dict[str, str]) -> Iterator[tuple[str, bool]]:
    """The variables that a node takes, and whether the gradient that it sends them has rows."""
    if node.op is None:
        return
    sources = {name: source for name, (source, _) in zip(node.input_names, node.inputs)}
    variables = {name: source.name for name, source in sources.items() if source.op is None}
    of_inputs = dict.fromkeys(sources, "default")
    of_inputs |= {n: stypes[variable] for n, variable in variables.items() if variable in stypes}
    rows = node.op.row_gradients(of_inputs, node.attributes)
    for name, variable in variables.items():
        yield variable, name in rows
