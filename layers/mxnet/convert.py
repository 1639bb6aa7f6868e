"""Convert files of arrays and of graphs; MXNet is not needed.

The names of the files say what they are:

  net.params          arrays, as save_parameters, export and nd.save of MXNet write them
  net.safetensors     arrays
  net.pt, .pth, .bin  arrays, as a state dict of PyTorch
  net.onnx            a graph with its arrays
  net.pt2             the same, for torch.export.load; a TARGET only
  net-symbol.json     a graph, whose arrays are in net-0000.params beside it
  net                 the same, a checkpoint, by the beginning of its name

Arrays are written without the arg: and aux: of checkpoints, except into a checkpoint. An operator
of your own in a graph has to be importable: --import names its module, or the file of it. There
`import mxnet` is this package.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from .._programs import command
from . import _dtype, ndarray, symbol
from ._files import checkpoint, exchange, params, safetensors, state_dict
from ._files.opening import write_files
from ._old.install import install
from .base import ArgumentError, MissingFileError, MXNetError, legible, listed, printable, quoted
from .context import cpu
from .ndarray import NDArray
from .symbol import Symbol

__all__ = ["main"]

GRAPH = "-symbol.json"
GRAPHS = (".onnx", exchange.PROGRAM)
ARRAYS = (".params", safetensors.SUFFIX, *state_dict.SUFFIXES)
EXAMPLES = """\
examples:
  {own} net-0000.params net.safetensors
  {own} net-0000.params net.pt              for module.load_state_dict(torch.load("net.pt"))
  {own} net.pt net.params                   for net.load_parameters("net.params")
  {own} net net.onnx --shape 1x3x224x224    of net-symbol.json and the last net-0000.params
  {own} net.onnx net                        and back
  {own} net net.pt2 --shape 1x3x224x224     for torch.export.load("net.pt2").module()
  {own} net.safetensors net --graph old-symbol.json
  {own} --list net-0000.params net-symbol.json

Names of arrays stay as they are. Exit status: 0 if all is written, 1 if not, 2 for wrong arguments.
"""


class Model(NamedTuple):
    """What is in a file, or in those of a checkpoint."""

    graph: Symbol | None
    arrays: dict[str, NDArray]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; its exit status, 1 where a file cannot be read or written."""
    own = command("layers-mxnet", "layers.mxnet.convert")
    own = f"{own} convert" if own == "layers-mxnet" else own
    parser = _parser(own)
    options = parser.parse_args(arguments)
    if options.shapes and (options.list or not options.files[-1].endswith(GRAPHS)):
        parser.error(f"--shape is for a TARGET that ends in {' or '.join(GRAPHS)}")
    if not options.list and len(options.files) != 2:
        parser.error("expected two files, SOURCE and TARGET; or --list and files")
    try:
        for module in options.modules:
            _import(module)
        if options.list:
            return max([_list(own, path, options) for path in options.files])
        source, target = options.files
        _expect_new(target, options.overwrite)
        _write(target, _read(source, options), options.shapes, source)
    except (MXNetError, OSError) as error:
        return _failed(own, error)
    return 0


def _failed(own: str, error: Exception) -> int:
    """Tell of an error; the exit status."""
    said = f"{error.filename}: {error.strerror}" if getattr(error, "filename", "") else error
    print(printable(f"{own}: {said}", keep="\n"), file=sys.stderr)
    if "is not registered" in str(error):  # an operator of the graph
        print("  in this command: --import MODULE, or --import FILE.py", file=sys.stderr)
    return 1


def _parser(own: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=own,
        usage=f"{own} [options] SOURCE TARGET\n       {own} --list FILE ...",
        description=__doc__,
        epilog=EXAMPLES.format(own=own),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE", help="SOURCE and TARGET; or what --list shows")
    add("--list", action="store_true", help="show what is in files, and write nothing")
    add("--graph", metavar="FILE", help="the graph for the arrays of SOURCE, a -symbol.json")
    add("--epoch", type=int, metavar="N", help="which arrays of a checkpoint (the last)")
    add("--overwrite", action="store_true", help="replace the files of TARGET")
    text = "of an input, for .onnx and .pt2, in the graph's order; once for each"
    many = {"action": "append", "default": []}
    add("--shape", **many, dest="shapes", type=_shape, metavar="1x3x224x224", help=text)
    text = "import a module that defines operators of the graph"
    add("--import", **many, dest="modules", metavar="MODULE|FILE.py", help=text)
    return parser


def _shape(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[1-9][0-9]*(x[1-9][0-9]*)*", text):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a shape such as 1x3x224x224")
    return tuple(int(n) for n in text.split("x"))


def _import(given: str) -> None:
    """Import a module, by its name or its file; its ``import mxnet`` is this package."""
    folder, module = os.getcwd(), given
    if given.endswith(".py"):
        folder, module = os.path.abspath(os.path.dirname(given)), Path(given).stem
    install()
    sys.path.insert(0, folder)
    try:
        import_module(module)
    except ImportError as error:
        raise ArgumentError(f"--import {given}: {error}") from None
    finally:
        sys.path.remove(folder)


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Errors of this package name the file."""
    try:
        yield
    except MXNetError as error:
        if path in str(error) or isinstance(error, OSError):
            raise
        raise MXNetError(f"{path}: {error}") from error


# Reading


def _read(path: str, options: argparse.Namespace) -> Model:
    """The graph and the arrays of a file or a checkpoint."""
    with _naming(path):
        if path.endswith(ARRAYS):
            graph = symbol.load(options.graph) if options.graph else None
            return Model(graph, _unmarked(path, _arrays(path)))
        if options.graph:
            raise ArgumentError(f"{path} has a graph\n  expected no --graph beside it")
        if path.endswith(".onnx"):
            from .contrib.onnx import import_model

            graph, arguments, states = import_model(path)
            return Model(graph, arguments | states)
        prefix = path.removesuffix(GRAPH)
        if not Path(f"{prefix}{GRAPH}").exists():
            raise _unreadable(path, f"there is no {prefix}{GRAPH}")
        graph = symbol.load(f"{prefix}{GRAPH}")
        values = _arrays_beside(prefix, options.epoch, options.list)
        return Model(graph, values)


def _unreadable(path: str, problem: str) -> MXNetError:
    """The error of a SOURCE that is neither a file of a known format nor a checkpoint.

    `problem` says why it is no checkpoint.
    """
    suffix = Path(path).suffix
    kind: type[MXNetError] = ArgumentError
    if suffix == exchange.PROGRAM:
        problem = "a program of torch.export is written and not read"
    elif suffix and Path(path).is_file():
        problem = f"the format {suffix!r} is not known"
    else:
        kind = MissingFileError
    return kind(
        f"{path}: {problem}\n"
        f"  expected a file that ends in {', '.join((*ARRAYS, '.onnx', GRAPH))}, or a checkpoint"
    )


def _arrays_beside(prefix: str, epoch: int | None, may_lack: bool) -> dict[str, NDArray]:
    """The arrays of a checkpoint: of an epoch, or of the last one."""
    folder, name = os.path.split(prefix)
    pattern = re.compile(rf"{re.escape(name)}-(\d{{4,}})\.params")
    matches = [pattern.fullmatch(found) for found in os.listdir(folder or ".")]
    epochs = {int(match[1]): match[0] for match in matches if match}
    if not epochs and may_lack:
        return {}
    epoch = max(epochs, default=0) if epoch is None else epoch
    if epoch not in epochs:
        known = ", ".join(map(str, sorted(epochs)))
        raise MissingFileError(
            f"there is no {prefix}-{epoch:04d}.params\n  expected "
            + (f"--epoch with one of {known}" if known else "a file of arrays beside the graph")
        )
    path = os.path.join(folder, epochs[epoch])
    return _unmarked(path, _arrays(path))


def _arrays(path: str) -> dict[str, NDArray]:
    """The arrays of a file, by name."""
    format = state_dict if state_dict.has_suffix(path) else params
    format = safetensors if safetensors.has_suffix(path) else format
    tensors, names = format.read(path)
    if tensors and not names:
        raise params.ParamsFileError(
            f"{path}: its {len(tensors)} arrays have no names\n  expected a dict of arrays"
        )
    return {name: NDArray(tensor, cpu()) for name, tensor in zip(names, tensors)}


def _unmarked(path: str, arrays: dict[str, NDArray]) -> dict[str, NDArray]:
    """The arrays without arg: and aux: before their names."""
    result: dict[str, NDArray] = {}
    for name, value in arrays.items():
        short = re.sub("^(arg|aux):", "", name)
        if short in result:
            raise params.ParamsFileError(f"{path}: there are two arrays {quoted(short)}")
        result[short] = value
    return result


# Writing


def _expect_new(target: str, overwrite: bool) -> None:
    """Refuse to replace files."""
    files = [target]
    if not target.endswith((*ARRAYS, *GRAPHS)):
        prefix = target.removesuffix(GRAPH)
        files = [f"{prefix}{GRAPH}", f"{prefix}-0000.params"]
    for file in files:
        if not overwrite and Path(file).is_file():
            raise ArgumentError(
                f"{file}: it exists already\n  expected --overwrite, or another name"
            )


def _write(target: str, model: Model, shapes: list[tuple[int, ...]], source: str) -> None:
    """Write the files of `target`, each whole or not at all."""
    if target.endswith(ARRAYS):
        format = state_dict if state_dict.has_suffix(target) else ndarray.utils
        with _naming(target):
            if format is state_dict:
                tensors = [array._as_dense()._tensor for array in model.arrays.values()]
                pieces = format.pieces(target, tensors, list(model.arrays))
            else:
                pieces = format.pieces(target, model.arrays)
            write_files({target: pieces})
        return
    formats = (*ARRAYS, *GRAPHS, GRAPH)
    if Path(target).suffix and not target.endswith(formats):
        raise ArgumentError(
            f"{target}: the format {Path(target).suffix!r} is not known\n"
            f"  expected a name that ends in {', '.join(formats)}, or the beginning of a "
            "checkpoint's"
        )
    if model.graph is None:
        raise ArgumentError(
            f"{target}: {source} has arrays and no graph\n  expected --graph net{GRAPH}"
        )
    _expect_all(model.graph, model.arrays, source)
    if target.endswith(GRAPHS):
        _expect_shapes(target, model, shapes)
        with _naming(target):
            exchange.write(target, model.graph, model.arrays, shapes)
        return
    states = set(model.graph.list_auxiliary_states())
    arguments = {n: a for n, a in model.arrays.items() if n not in states}
    rest = {n: a for n, a in model.arrays.items() if n in states}
    prefix = target.removesuffix(GRAPH)
    checkpoint.save_checkpoint(prefix, 0, model.graph, arguments, rest, remove_amp_cast=False)


def _expect_all(graph: Symbol, arrays: dict[str, NDArray], source: str) -> None:
    """Refuse arrays that the graph has no variables for."""
    known = set(graph.list_inputs())
    if extra := [name for name in arrays if name not in known]:
        free = [name for name in graph.list_inputs() if name not in arrays]
        raise ArgumentError(
            f"{source}: {quoted(extra[0])} is no variable of the graph; {len(extra)} of "
            f"{len(arrays)} arrays have no variable\n"
            f"  expected {'arrays for ' + listed(free, 8) if free else 'no other arrays'}"
        )


def _expect_shapes(target: str, model: Model, shapes: list[tuple[int, ...]]) -> None:
    """Refuse another number of --shape than the graph has inputs, labels aside or not."""
    assert model.graph is not None
    inputs = [n for n in dict.fromkeys(model.graph.list_inputs()) if n not in model.arrays]
    data = [name for name in inputs if not name.endswith("label")]
    if len(shapes) not in (len(inputs), len(data)):
        asked = data or inputs
        example = " ".join(["--shape 1x3x224x224", *["--shape 1x10" for _ in asked[1:16]]])
        raise ArgumentError(
            f"{target}: given {len(shapes)} --shape, and the graph has "
            f"{len(asked)} input{'s' * (len(asked) != 1)}: {listed(asked)}\n"
            f"  expected --shape with the sizes of each, in this order, such as {example}"
        )


# Listing


def _list(own: str, path: str, options: argparse.Namespace) -> int:
    """Show what is in a file; the exit status, 1 where it cannot be read."""
    try:
        if path.endswith(exchange.PROGRAM):
            raise ArgumentError(f"{path}: {exchange.PROGRAM} files cannot be listed")
        _print(path, _read(path, options))
    except (MXNetError, OSError) as error:
        return _failed(own, error)
    return 0


def _print(path: str, model: Model) -> None:
    """Show the names, shapes and dtypes of arrays, and what a graph takes and gives."""
    size = sum(array._elements.nbytes for array in model.arrays.values())
    count = len(model.arrays)
    print(f"{printable(path)}: {count} array{'s' * (count != 1)}, {size:,} bytes")
    names = {name: legible(name) for name in model.arrays}
    width = max(map(len, names.values()), default=0)
    for name, array in model.arrays.items():
        shape = "x".join(map(str, array.shape))
        print(f"  {names[name]:{width}}  {shape or 'number'}  {_dtype.name(array._elements.dtype)}")
    if model.graph is not None:
        free = [name for name in model.graph.list_inputs() if name not in model.arrays]
        print(f"  inputs: {', '.join(map(legible, free)) or 'none'}")
        print(f"  outputs: {', '.join(map(legible, model.graph.list_outputs()))}")


if __name__ == "__main__":
    sys.exit(main())
