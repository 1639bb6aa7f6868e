"""``python -m train.export``: a trained network as a file that other programs load."""

from __future__ import annotations

import argparse
import sys

from .command_line import Parser
from .program import Program, add_engine
from .screen import say
from .settings import path

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


def add(parser: Parser) -> None:
    formats = ["onnx", "safetensors", "torch", "mxnet"]
    option = parser.add_argument
    option("run", type=path.parse, metavar="RUN", help="folder of a run: --out of the training")
    option("--to", choices=formats, required=True, metavar="FORMAT", help=", ".join(formats))
    option("--out", type=path.parse, metavar="FILE", help="its name (RUN with the format's suffix)")
    option("--overwrite", action="store_true", help="replace files of that name")
    add_engine(parser)


def work(options: argparse.Namespace) -> None:
    from .exporting import export  # not before the engine

    given = options.run, options.to, options.out, options.operators
    for line in export(*given, overwrite=options.overwrite):
        say(line, sys.stdout)


main = Program("export", DESCRIPTION, MORE, add, work).main

if __name__ == "__main__":
    sys.exit(main())
