"""Pictures of a graph: a table of its layers, and a drawing."""

from __future__ import annotations

import math
import re
from typing import Any

from .base import ShapeError, legible, listed, quoted
from .symbol import Symbol
from .symbol._node import Node, ordered, states

__all__ = ["plot_network", "print_summary"]

HEADINGS = ("Layer (type)", "Output Shape", "Param #", "Previous Layer")
WEIGHTS = (
    "_alpha",
    "_beta",
    "_bias",
    "_gamma",
    "_moving_mean",
    "_moving_var",
    "_parameters",
    "_running_mean",
    "_running_var",
    "_weight",
)
COLORS = {
    "null": "#8dd3c7",
    "Convolution": "#fb8072",
    "Deconvolution": "#fb8072",
    "FullyConnected": "#fb8072",
    "BatchNorm": "#bebada",
    "Activation": "#ffffb3",
    "LeakyReLU": "#ffffb3",
    "Pooling": "#80b1d3",
    "Concat": "#fdb462",
    "Flatten": "#fdb462",
    "Reshape": "#fdb462",
}
OTHERS = "#fccde5"


def print_summary(
    symbol: Symbol,
    shape: dict[str, tuple[int, ...]] | None = None,
    line_length: int = 120,
    positions: tuple[float, ...] = (0.44, 0.64, 0.74, 1.0),
) -> None:
    """Print a table of the layers: names, output shapes, numbers of parameters, and inputs.

    The shapes are those of one example, without the first axis. Parameters are the variables that
    are neither in `shape`, nor the first, nor a label; each counts where it is first used. (MXNet
    counts by formulas for four operators, which are wrong behind an image, and for groups.)

    Parameters
    ----------
    symbol : Symbol
    shape : dict of str to tuple of int, optional
        Shapes of the inputs; without them no shapes or numbers are shown.
    line_length : int
        Characters in a line.
    positions : sequence of float
        Where the columns end, in parts of the line.

    Raises
    ------
    TypeError
        `symbol` is no Symbol.
    ShapeError
        `shape` does not suffice to tell all shapes.
    """
    nodes = ordered(_checked("print_summary", symbol)._entries)
    data = _data(nodes, shape)
    shapes = _shapes("print_summary", symbol, nodes, shape)
    ends = [int(line_length * p) for p in positions] if positions[-1] <= 1 else list(positions)
    print("_" * line_length)
    print(_line(HEADINGS, ends))
    print("=" * line_length)
    counted, total = states(nodes), 0
    shown = [n for n in nodes if n.op is not None or n.name in data]
    for node in shown:
        weights = [n for n, _ in node.inputs if _is_weight(n, data) and id(n) not in counted]
        counted |= {id(n) for n in weights}
        number = sum(math.prod(shapes[id(n)]) for n in weights if id(n) in shapes)
        total += number
        size = "x".join(map(str, shapes.get(id(node), ())[1:]))
        before = list(dict.fromkeys(n.name for n, _ in node.inputs if n in shown)) or [""]
        operator = node.op.name if node.op else "null"
        print(
            _line((f"{node.name}({operator})", size, str(number if shape else ""), before[0]), ends)
        )
        for name in before[1:]:
            print(_line(("", "", "", name), ends))
        print(("=" if node is shown[-1] else "_") * line_length)
    print(f"Total params: {total if shape else 'known with the shapes of the inputs'}")
    print("_" * line_length)


def _checked(function: str, symbol: Any) -> Symbol:
    if not isinstance(symbol, Symbol):
        raise TypeError(
            f"{function}: {symbol!r} is of type {type(symbol).__name__}\n  expected a Symbol"
        )
    return symbol


def _data(nodes: list[Node], shape: dict | None) -> set[str]:
    """Names of the variables that are inputs and not parameters."""
    first = next((n.name for n in nodes if n.op is None), "")
    return {first, *(shape or {})}


def _is_weight(node: Node, data: set[str]) -> bool:
    return node.op is None and node.name not in data and not node.name.endswith("label")


def _shapes(function: str, symbol: Symbol, nodes: list[Node], shape: dict | None) -> dict:
    """The shape of each node's first output, by the node's id."""
    if not shape:
        return {}
    internals = symbol.get_internals()
    found = internals.infer_shape_partial(**shape)[1]
    missing = [n for n, s in zip(internals.list_outputs(), found) if not s or 0 in s]
    if missing:
        raise ShapeError(
            f"{function}: the shape of {legible(missing[0])} is not told by {quoted(shape)}\n"
            f"  expected the shapes of all inputs of {listed(symbol.list_arguments())}"
        )
    told = zip(internals._entries, found)
    return {id(node): size for (node, index), size in told if index == 0}


def _line(fields: tuple[str, ...], ends: list[int]) -> str:
    """Fields in columns; one that is too long is cut."""
    line = ""
    for field, end in zip(fields, ends):
        line = (line + legible(field))[:end].ljust(end)
    return line


def plot_network(
    symbol: Symbol,
    title: str = "plot",
    save_format: str = "pdf",
    shape: dict[str, tuple[int, ...]] | None = None,
    dtype=None,
    node_attrs: dict[str, str] | None = None,
    hide_weights: bool = True,
):
    """Draw a graph with graphviz: a box for each node, an arrow for each array.

    Parameters
    ----------
    symbol : Symbol
    title : str
        Name of the drawing, and of the file that `render()` writes.
    save_format : str
        Format of that file: 'pdf', 'png', 'svg' ...
    shape : dict of str to tuple of int, optional
        Shapes of the inputs; then the arrows show those of the arrays, without the first axis.
    dtype : optional
        Taken for MXNet's sake; a drawing shows no types.
    node_attrs : dict of str to str, optional
        Graphviz's attributes of all nodes.
    hide_weights : bool
        Whether parameters and states are left out.

    Returns
    -------
    graphviz.Digraph
        ``.render()`` writes the file; a notebook shows it as it is.

    Raises
    ------
    ImportError
        The package graphviz is not installed.
    """
    nodes = ordered(_checked("plot_network", symbol)._entries)
    try:
        from graphviz import Digraph, escape
    except ImportError as error:
        raise ImportError(
            "plot_network draws with the package graphviz, which is not installed\n"
            "  expected it beside this library: pip install graphviz"
        ) from error
    shapes = _shapes("plot_network", symbol, nodes, shape)
    drawing = Digraph(name=title, format=save_format)
    box = {"shape": "box", "fixedsize": "true", "width": "1.3", "height": "0.8034"}
    box |= {"style": "filled"} | (node_attrs or {})
    shown = [n for n in nodes if n.op or not (hide_weights and n.name.endswith(WEIGHTS))]
    ids = _ids(shown)
    for node in shown:
        operator = node.op.name if node.op else "null"
        more = {"shape": "oval"} if node.op is None else {}
        color = COLORS.get(operator, OTHERS)
        drawing.node(ids[node], label=escape(_label(node)), **(box | more), fillcolor=color)
    for node in shown:
        for source, _ in node.inputs:
            if source in shown:
                size = "x".join(map(str, shapes.get(id(source), ())[1:]))
                ends = ids[node], ids[source]
                drawing.edge(*ends, dir="back", arrowtail="open", label=size)
    return drawing


def _ids(nodes: list[Node]) -> dict[Node, str]:
    """Return graphviz's name of each node: a number where its own may be read as source."""
    ids: dict[Node, str] = {}
    taken: set[str] = set()
    for i, node in enumerate(nodes):
        plain = re.fullmatch(r"\w+", node.name, re.ASCII) and node.name not in taken
        ids[node] = node.name if plain else f"node {i}"
        taken.add(node.name)
    return ids


def _label(node: Node) -> str:
    """What stands in a box: the operator and what matters of its attributes."""
    if node.op is None:
        return node.name
    told = node.op.defaults | node.attributes

    def sizes(name: str) -> str:
        value = told.get(name)
        return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)

    if node.op.name in ("Convolution", "Deconvolution"):
        stride = sizes("stride") or "1"
        return f"{node.op.name}\n{sizes('kernel')}/{stride}, {told['num_filter']}"
    if node.op.name == "FullyConnected":
        return f"FullyConnected\n{told['num_hidden']}"
    if node.op.name in ("Activation", "LeakyReLU"):
        return f"{node.op.name}\n{told['act_type']}"
    if node.op.name == "Pooling":
        stride = sizes("stride") or "1"
        return f"Pooling\n{told['pool_type']}, {sizes('kernel')}/{stride}"
    if node.op.own:
        return node.op.label
    return node.op.name if node.name.startswith(node.op.name.lower()) else node.name
