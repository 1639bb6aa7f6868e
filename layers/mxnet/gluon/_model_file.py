"""The files of `Block.save`: the blocks of a net with their graphs, and the parameters.

The graphs are in ``prefix-model.json``: for each block its name, its children, and, if it has run
as a graph, that graph with its inputs::

    {"net0": {"orig_name": "net", "children": {"net_dense0": "body"}, "hybridized": false,
              "dense1": {"orig_name": "net_dense0", "children": {}, "hybridized": true,
                         "in_format": [0], "out_format": 0, "inputs": [...], "symbol": "..."}}}

A block's key is its class in lower case and its number, counted from the outside to the inside.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from .. import symbol
from .._files.opening import open_file, write_files
from ..base import MXNetError, quoted
from ..ndarray.utils import pieces
from ..symbol import Symbol
from ..symbol._node import ordered
from ._graph import Graph
from ._nesting import BlockError, _regroup

if TYPE_CHECKING:
    from .block import Block
    from .parameter import Parameter

MOST_NESTED = 32  # lists in the inputs or outputs of a block


def write(block: Block, prefix: str) -> None:
    """Write both files, or none."""
    values = {n: p._reduce() for n, p in block._collect_params_with_prefix().items()}
    text = json.dumps(_described(block, count()))
    params_file = f"{prefix}-model.params"
    write_files(
        {
            f"{prefix}-model.json": [text.encode()],
            params_file: pieces(params_file, values),
        }
    )


def read(block: Block, prefix: str) -> None:
    """Load both files into a block that is made as the saved one was.

    Raises
    ------
    BlockError
        The blocks are others, or a graph is none for them; then nothing is changed.
    ParameterError
        The parameters do not fit; then nothing is changed.
    MissingFileError
        A file is missing.
    """
    file = f"{prefix}-model.json"
    with open_file(file) as opened:
        text = opened.read()
    try:
        _, graphs = _restored(block, json.loads(text.decode()), count())
    except (ValueError, RecursionError, MXNetError) as error:
        raise BlockError(f"load {file!r}: {error}") from None
    block.load_parameters(f"{prefix}-model.params")
    for owner, format, graph in graphs:
        owner._clear_cached_op()
        owner._active, owner._graphs[str(format)] = True, graph
        owner._compile(graph)


def _key(block: Block, numbers: Iterator[int]) -> str:
    return f"{type(block).__name__.lower()}{next(numbers)}"


def _described(block: Block, numbers: Iterator[int]) -> dict[str, Any]:
    """The block for the file, under its key."""
    key = _key(block, numbers)
    row: dict[str, Any] = {"orig_name": block.name}
    if hasattr(block, "_graphs"):
        graphs = {} if block._own_graph else block._graphs
        row["hybridized"] = bool(graphs)
        if graphs:
            format, graph = next(reversed(graphs.items()))
            row["in_format"], row["out_format"] = json.loads(format), graph.format
            row["inputs"] = [v.tojson() for v in graph.inputs]
            row["symbol"] = graph.symbol.tojson()
    row["children"] = _children_of(block)
    for child in block._children.values():
        row |= _described(child, numbers)
    return {key: row}


def _children_of(block: Block) -> dict[str, str]:
    """The names that the block has for its children, by their own; only one for those of a name."""
    return {child.name: name for name, child in block._children.items()}


def _restored(block: Block, rows: Any, numbers: Iterator[int]) -> tuple[dict, list]:
    """The parameters of a block and of those inside by their saved names; and the saved graphs.

    Of each graph there is the block, the format of its inputs, and the graph.
    """
    key = _key(block, numbers)
    row = rows.get(key) if isinstance(rows, dict) else None
    if not isinstance(row, dict) or not isinstance(row.get("orig_name"), str):
        raise BlockError(
            f"there is no {quoted(key)} in its place\n"
            f"  expected the net that was saved, whose block there is a {type(block).__name__}"
        )
    saved, made = row.get("children"), [*_children_of(block).values()]
    if not isinstance(saved, dict) or [*saved.values()] != made:
        raise BlockError(
            f"the children of {quoted(key)} there are {quoted(saved)}\n"
            f"  expected {quoted(made)}, which this {type(block).__name__} has"
        )
    separator = "_" if block.prefix.endswith("_") else ""
    named = {
        f"{row['orig_name']}{separator}{parameter.name.removeprefix(block.prefix)}": parameter
        for parameter in block.params.values()
        if parameter.name.startswith(block.prefix)  # else it is shared, and another block's
    }
    graphs = []
    for child in block._children.values():
        inner_named, inner_graphs = _restored(child, row, numbers)
        named |= inner_named
        graphs += inner_graphs
    if "symbol" in row and hasattr(block, "_graphs") and not block._own_graph:
        graphs.append((block, row.get("in_format"), _graph(row, named, f"the graph of {key}")))
    return named, graphs


def _graph(row: dict, parameters: dict[str, Parameter], what: str) -> Graph:
    """A saved graph, with these parameters by their saved names."""
    texts = [row["symbol"], *_list(row.get("inputs"), what)]
    if not all(isinstance(text, str) for text in texts):
        raise BlockError(f"{what} is {quoted(texts)}\n  expected the text of it and of its inputs")
    outputs, *inputs = [symbol.load_json(text) for text in texts]
    if any(v._entries[0][0].op is not None for v in inputs):
        raise BlockError(f"{what} has an input that is no variable\n  expected variables")
    own = {n.name: Symbol([(n, 0)]) for n in ordered(outputs._entries) if n.op is None}
    inputs = [own.get(v.name, v) for v in inputs]
    in_format, out_format = _list(row.get("in_format"), what), row.get("out_format")
    if (_leaves(in_format, -1), _leaves(out_format, 0)) != (len(inputs), len(outputs)):
        raise BlockError(
            f"{what} has {len(inputs)} inputs and {len(outputs)} outputs\n"
            f"  expected as many as in {quoted(in_format)} and {quoted(out_format)}"
        )
    numbers = {v.name: i for i, v in enumerate(inputs)}
    return Graph(inputs, _regroup(list(outputs), out_format), parameters | numbers, what)


def _list(value: Any, what: str) -> list:
    if not isinstance(value, list):
        raise BlockError(f"{what} has {quoted(value)}\n  expected a list")
    return value


def _leaves(format: Any, least: int, depth: int = 0) -> int:
    """How many arrays are nested as this says; -1 stands for None, which is not counted."""
    if isinstance(format, list) and depth < MOST_NESTED:
        return sum(_leaves(part, least, depth + 1) for part in format)
    if type(format) is not int or not least <= format < 1 << 31:
        raise BlockError(
            f"arrays are nested as {quoted(format)}\n"
            "  expected nested lists with a 0 for each array"
        )
    return 0 if format == -1 else max(format, 1)
