"""``python -m train.export``: a trained network as a file that other programs load."""

from __future__ import annotations

import argparse
import os
import sys

from layers._programs import command

from . import Refused
from .__main__ import fail, start
from .options import Parser, check_utf8
from .predict import add_operators, path, run_operators
from .screen import open_closed_streams, say

__all__ = ["main"]

DESCRIPTION = """\
Write the network of a run as a file that other programs load. Before the file gets its name, it is
loaded in a process of its own and compared with the network.
"""
MORE = """\
examples:
  {command} build/iris --to onnx
  {command} build/iris --to torch --out iris.pt

files, and what is lost in them:
  onnx         FILE.onnx, for onnxruntime and many others: the network with its scaling; the names
               of classes and columns as metadata. It predicts, and cannot be trained further
  torch        FILE.pt2, for torch.export.load: the same. Or with --out FILE.pt the arrays alone, as
               a state dict: the module has to be written, the names are lost
  safetensors  FILE.safetensors, for net.load_parameters and many others: the arrays; the names as
               metadata. The network itself has to be made by a program
  mxnet        FILE-symbol.json and FILE-0000.params, for SymbolBlock.imports: everything; the names
               as attribute __run__ of the input. This library's operators need `import layers.ops`

onnx and torch are written by PyTorch's engine, for runs of both. The network takes features as they
are in the data, and gives scores before softmax where `python -m train` has trained classes, else
probabilities, or numbers in their own unit.

exit status:
  0    written
  2    cannot be done as asked, and nothing is written
  130  interrupted by Ctrl-C"""


def main(argv: list[str] | None = None) -> int:
    """Export; returns the exit status, which ``--help`` explains."""
    open_closed_streams()
    os.environ.setdefault("MXNET_SUBGRAPH_VERBOSE", "0")  # MXNet would name its own parts on stderr
    try:
        options = parse(argv)
        start(options.engine, libraries=())
        run_operators(options.operators)
        from .exporting import export  # not before the engine

        for line in export(options.run, options.to, options.out):
            say(line, sys.stdout)
    except Refused as error:
        return fail("train.export", 2, error)
    except KeyboardInterrupt:
        return fail("train.export", 130, "interrupted")
    return 0


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The options.

    Raises
    ------
    Refused
        One is unknown, has a wrong value, or is not text in UTF-8.
    """
    check_utf8(argv)
    name = command("layers-export", "train.export")
    parser = Parser(
        prog=name,
        description=DESCRIPTION,
        epilog=MORE.format(command=name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add = parser.add_argument
    formats = ["onnx", "safetensors", "torch", "mxnet"]
    add("run", type=path, metavar="RUN", help="folder of a run: --out of the training")
    add("--to", choices=formats, required=True, metavar="FORMAT", help=", ".join(formats))
    add("--out", type=path, metavar="FILE", help="its name (RUN with the format's suffix)")
    add("--engine", choices=["torch", "mxnet"], metavar="NAME", help="torch or mxnet (torch)")
    add_operators(add)
    add("-h", "--help", action="help", help="show this and leave")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
