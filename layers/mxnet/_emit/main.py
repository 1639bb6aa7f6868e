"""Write a net as plain source of PyTorch: a module that imports torch only.

  net-symbol.json     the graph, as export and save_checkpoint of MXNet write it
  net-0000.params     its arrays, or a .safetensors file of them
  net.py              the source: a torch.nn.Module, and load(path)
  net.safetensors     the weights, written beside it

Without arrays --shape gives the shapes of the inputs, and no weights are written. An operator of
your own has to be importable: --import names its module, or the file of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..._programs import command
from .. import symbol
from ..base import ArgumentError, MXNetError
from ..convert import (
    _arrays,
    _expect_all,
    _failed,
    _import,
    _naming,
    _shape,
    _unmarked,
)
from . import emitters  # noqa: F401  which registers them
from .graph import part_of_graph
from .write import WEIGHTS, source_and_weights, write

EXAMPLES = """\
examples:
  {own} net-symbol.json --params net-0000.params -o net.py
  {own} net-symbol.json --params net-0000.params --shape 1x3x224x224 -o net.py

  from net import load
  net = load("net.safetensors")

With --shape the comments have the shapes of all values. Exit status: 0 if all is written, 1 if not,
2 for wrong arguments.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; its exit status, 1 where the net cannot be read or written."""
    own = command("layers-mxnet", "layers.mxnet")
    own = f"{own} emit"
    options = _parser(own).parse_args(arguments)
    try:
        _emit(options)
    except (MXNetError, OSError) as error:
        return _failed(own, error)
    return 0


def _parser(own: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=own,
        description=__doc__,
        epilog=EXAMPLES.format(own=own),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("graph", metavar="SYMBOL", help="the graph, a -symbol.json")
    add("--params", metavar="FILE", help="the arrays of the graph")
    add("-o", "--output", required=True, metavar="FILE.py", help="the file of source")
    add("--overwrite", action="store_true", help="replace files that exist")
    many = {"action": "append", "default": []}
    text = "of an input, in the graph's order; once for each"
    add("--shape", **many, dest="shapes", type=_shape, metavar="1x3x224x224", help=text)
    text = "import a module that defines operators of the graph"
    add("--import", **many, dest="modules", metavar="MODULE|FILE.py", help=text)
    return parser


def _emit(options: argparse.Namespace) -> None:
    target = Path(options.output)
    if target.suffix != ".py":
        raise ArgumentError(f"{target}: the source is a module\n  expected a name that ends in .py")
    for file in (target, target.with_suffix(WEIGHTS)):
        if file.exists() and not options.overwrite:
            raise ArgumentError(
                f"{file}: it exists already\n  expected --overwrite, or another name"
            )
    for module in options.modules:
        _import(module)
    graph = symbol.load(options.graph)
    arrays = {}
    if options.params:
        with _naming(options.params):
            arrays = _unmarked(options.params, _arrays(options.params))
            _expect_all(graph, arrays, options.params)
    elif not options.shapes:
        raise ArgumentError(
            f"{options.graph}: the shapes of its parameters are not known\n"
            "  expected --params, or --shape of its inputs"
        )
    with _naming(options.graph):
        part, world = part_of_graph(graph, arrays, options.shapes)
        values = {n: arrays[n.name]._as_dense()._tensor for n in world.parameters if arrays}
        source, state, _ = source_and_weights(part, world, values)
        write(target, source, state)


if __name__ == "__main__":
    sys.exit(main())
