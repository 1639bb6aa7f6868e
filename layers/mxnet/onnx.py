"""ONNX files of graphs, through PyTorch's exporter: ``mx.onnx.export_model``."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from os import PathLike, fsdecode
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from . import _dtype, ndarray, symbol
from ._files import atomic
from ._own.node import CUSTOM
from ._run.kinds import agree
from ._run.reasons import reason_of
from ._run.tracing import tracing
from .base import ArgumentError, MXNetError
from .context import cpu
from .gluon import SymbolBlock
from .gluon._load import read, unmarked
from .ndarray import NDArray
from .symbol import Symbol
from .symbol._infer import is_known, shapes
from .symbol._node import Node, ordered

__all__ = ["export_model"]

LARGEST = 2**31 - 2**20  # bytes of parameters; more go into files beside an ONNX file


def export_model(
    sym,
    params,
    in_shapes: Sequence[tuple] | None = None,
    in_types: Any = np.float32,
    onnx_file_path: str | PathLike = "model.onnx",
    verbose: bool = False,
    dynamic: bool = False,
    dynamic_input_shapes: Sequence[tuple] | None = None,
    run_shape_inference: bool = False,
    input_type: Any = None,
    input_shape: Sequence[tuple] | None = None,
) -> str:
    """Write a graph and its parameters, for inference, as an ONNX file.

    Custom operators are written as what their forward computes, in NumPy or in nd; each has
    to be traced whole. It needs the packages onnx and onnxscript.

    Parameters
    ----------
    sym : Symbol or path
        The graph, or its ``-symbol.json`` file.
    params : dict of str to NDArray, list of two such dicts, or path
        The parameters, with or without ``arg:`` and ``aux:``; those of the arguments and those of
        the states; or their ``.params`` file.
    in_shapes : list of tuple
        The shape of each input: the variables that have no parameter, in the order of the graph.
        Labels may be left out; their losses do not need them for inference.
    in_types : dtype, or list of them
        Of all inputs, or of each.
    onnx_file_path : path
    verbose : bool
        Print what PyTorch's exporter has to tell.
    dynamic : bool
        Leave sizes open, as far as the graph does.
    dynamic_input_shapes : list of tuple, optional
        Which ones: text or None for a size that is open. By default all.
    run_shape_inference : bool
        The file has all shapes in any case.
    input_type, input_shape : optional
        Old names of `in_types` and `in_shapes`.

    Returns
    -------
    str
        The path of the file.

    Raises
    ------
    ArgumentError
        The number of `in_shapes` is not that of the variables without a parameter.
    MXNetError
        An operator cannot be traced or has no form in ONNX, or a package is missing.
    """
    if missing := [name for name in ("onnx", "onnxscript") if find_spec(name) is None]:
        raise MXNetError(
            f"export_model: not installed: {', '.join(missing)}\n"
            f"  expected pip install {' '.join(missing)}"
        )
    graph = sym if isinstance(sym, Symbol) else symbol.load(sym)
    in_shapes = _shapes(in_shapes or input_shape or ())
    values = _values(params)
    dtypes = in_types if input_type is None else input_type
    open_sizes = _open_sizes(in_shapes, dynamic_input_shapes) if dynamic else None
    program, names = traced(graph, values, in_shapes, dtypes, open_sizes)
    with torch.no_grad():
        try:
            _write(
                program,
                Path(fsdecode(onnx_file_path)),
                input_names=names,
                output_names=graph.list_outputs(),
                dynamic_shapes=open_sizes,
                external_data=_bytes(values) > LARGEST,
                verbose=verbose,
            )
        except _Formless as error:
            raise _formless(error, graph, dict(zip(names, in_shapes))) from error.__cause__
    return onnx_file_path


def traced(
    graph: Symbol, values: dict, in_shapes: list[tuple], in_types: Any, open_sizes: tuple | None
) -> tuple[torch.export.ExportedProgram, list[str]]:
    """A graph and its parameters, traced by `torch.export`; and the names of its inputs.

    Raises
    ------
    ArgumentError
        The number of `in_shapes` is not that of the variables without a parameter.
    MXNetError
        An operator cannot be traced.
    """
    names, values = _inputs(graph, values, in_shapes)
    dtypes = in_types if isinstance(in_types, (list, tuple)) else [in_types] * len(names)
    module = _block(graph, names, values).to_torch().eval()
    args = tuple([_example(s, _dtype.to_torch(d)) for s, d in zip(in_shapes, dtypes)])
    own = [n for n in ordered(graph._entries) if n.op is CUSTOM]
    if open_sizes:
        _expect_open(own)
    with torch.no_grad():
        try:
            program = _traced(module, args, bool(own), dynamic_shapes=open_sizes)
        except Exception as error:  # of the tracer, of any kind
            raise _untraced(error, graph, dict(zip(names, in_shapes))) from error
        if own:
            _compare(program, module, args)
    return program, names


def _shapes(given: Sequence) -> list[tuple]:
    if not all(isinstance(shape, (list, tuple)) for shape in given):
        raise ArgumentError(
            f"export_model: in_shapes is {given!r}\n  expected a list of tuples, one for each input"
        )
    return [tuple(shape) for shape in given]


def _values(params) -> dict[str, NDArray]:
    """Parameters and states by the names of their variables."""
    if isinstance(params, (str, PathLike)):
        return read(params)
    parts = params if isinstance(params, (list, tuple)) else [params]
    return unmarked({name: value for part in parts for name, value in part.items()})


def _bytes(values: dict[str, NDArray]) -> int:
    return sum(value.size * np.dtype(value.dtype).itemsize for value in values.values())


def _inputs(graph: Symbol, values: dict, in_shapes: list[tuple]) -> tuple[list[str], dict]:
    """The names of the inputs; and the parameters, with zeros for labels that are left out."""
    names = [n for n in dict.fromkeys(graph.list_inputs()) if n not in values]
    labels = [n for n in names if n.endswith("label")]
    if len(in_shapes) == len(names) - len(labels):
        names = [n for n in names if n not in labels]
    elif len(in_shapes) != len(names):
        raise ArgumentError(
            f"export_model: {len(in_shapes)} in_shapes, but {len(names)} variables have no "
            f"parameter\n  expected one for each of {', '.join(names)}"
        )
    else:
        return names, values
    found = shapes(graph._entries, dict(zip(names, in_shapes)))
    told = {node.name: shape for (node, _), shape in found.items() if node.op is None}
    if unknown := [n for n in labels if n not in told]:
        raise ArgumentError(
            f"export_model: the shape of {unknown[0]} is not known\n  expected it in in_shapes"
        )
    return names, values | {n: ndarray.zeros(told[n]) for n in labels}


def _block(graph: Symbol, names: list[str], values: dict[str, NDArray]) -> SymbolBlock:
    block = SymbolBlock(graph, [symbol.var(name) for name in names])
    for parameter in block._reg_params.values():
        value = values[parameter.name]
        parameter.shape = value.shape
        parameter.cast(value.dtype)
        parameter._load_init(value, cpu())
    return block


def _example(shape: tuple, dtype: torch.dtype) -> torch.Tensor:
    """Random values, but zeros for integers, which are indices of anything."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(0)).to(dtype)


def _open_sizes(in_shapes: list[tuple], told) -> tuple:
    """What `torch.export` is told of the sizes of the inputs."""
    named: dict[str, Any] = {}

    def size(value) -> Any:
        if isinstance(value, str):
            return named.setdefault(value, torch.export.Dim(value))
        return torch.export.Dim.AUTO if value is None else torch.export.Dim.STATIC

    told = told or [(None,) * len(shape) for shape in in_shapes]
    return (tuple([{i: size(n) for i, n in enumerate(shape)} for shape in told]),)


def _expect_open(own: list[Node]) -> None:
    for node in own:
        op_type = node.attributes["op_type"]
        if not CUSTOM.any_shape(node.attributes):
            raise MXNetError(
                f"export_model: dynamic=True, but operator {op_type!r} is a CustomOp, made for the "
                "shapes of its inputs\n  expected dynamic=False, or an operator of layers.ops\n"
                f"  in {node.name!r} of the graph"
            )


def _compare(program, module, args: tuple) -> None:
    """Whether what was traced gives what the graph gives."""
    found, expected = program.module()(*args), module(*args)
    if not isinstance(found, (list, tuple)):
        found, expected = [found], [expected]
    if not agree(expected, found):
        raise MXNetError("export_model: traced, the graph gives other values")


def _write(program, path: Path | None, **options) -> None:
    """Bring a traced graph into ONNX, and into a file, which appears whole or not at all."""
    with _without_asides(), TemporaryDirectory() as folder:
        try:
            file = path and Path(folder, path.name)
            torch.onnx.export(program, f=file, **options)
        except torch.onnx.OnnxExporterError as error:
            raise _Formless(reason_of(error.__cause__ or error)) from error  # itself a heading
        if path is not None:  # a large model has its parameters in files beside it
            made = sorted(Path(folder).iterdir())
            atomic.write({path.with_name(file.name): _pieces(file) for file in made})


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        yield from iter(lambda: opened.read(1 << 24), b"")


class _Formless(Exception):
    """A traced graph has no form in ONNX."""


@contextmanager
def _without_asides() -> Iterator[None]:
    """Without what PyTorch tells about itself: what it deprecates, and packages that it misses."""
    log = logging.getLogger("torch.onnx._internal.exporter._registration")
    log.addFilter(_is_no_aside)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
            yield
    finally:
        log.removeFilter(_is_no_aside)


def _is_no_aside(record: logging.LogRecord) -> bool:
    return "torchvision is not installed" not in record.getMessage()


def _untraced(error: Exception, graph: Symbol, given: dict) -> MXNetError:
    """The error with the operator that cannot be traced, where it is one alone."""
    suspects = [n for n in ordered(graph._entries) if n.op is not None and not n.op.traceable]
    found = shapes(graph._entries, given)
    node, reason = _culprit(suspects, found, _traced, Exception) or (None, error)
    if node is None:
        return MXNetError(f"export_model: the graph cannot be traced: {reason_of(error)}")
    return MXNetError(
        f"export_model: operator {_name(node)!r} cannot be traced: {reason_of(reason)}\n"
        f"  in {node.name!r} of the graph"
    )


def _formless(error: _Formless, graph: Symbol, given: dict) -> MXNetError:
    """The error with the operator that has no form in ONNX, where it is one alone."""
    suspects = {_name(n): n for n in ordered(graph._entries) if n.op is not None}.values()

    def written(*given) -> None:
        _write(_traced(*given), None, verbose=False)

    found = shapes(graph._entries, given)
    node, reason = _culprit(suspects, found, written, _Formless) or (None, error)
    what = "the graph" if node is None else f"operator {_name(node)!r}"
    where = "" if node is None else f"\n  in {node.name!r} of the graph"
    return MXNetError(f"export_model: {what} has no form in ONNX: {reason}{where}")


def _traced(
    module: torch.nn.Module, args: tuple, own: bool, **options
) -> torch.export.ExportedProgram:
    with tracing(cpu()):
        return torch.export.export(module, args, strict=own, **options)


def _name(node: Node) -> str:
    return node.attributes["op_type"] if node.op is CUSTOM else node.op.name


def _culprit(
    suspects: Iterable[Node], found: dict, attempt: Callable, error_class: type[Exception]
) -> tuple[Node, Exception] | None:
    """The first node of which ``attempt(module, inputs, whether own)`` raises `error_class`."""
    for node in suspects:
        if not all(is_known(found.get(entry)) for entry in node.inputs):
            continue
        variables = [symbol.var(f"input{i}") for i in range(len(node.inputs))]
        alone = Node(node.op, node.name, [v._entries[0] for v in variables], node.attributes)
        block = SymbolBlock(Symbol([(alone, 0)]), variables)
        args = tuple([torch.rand(found[entry]) for entry in node.inputs])
        try:
            attempt(block.to_torch().eval(), args, node.op is CUSTOM)
        except error_class as reason:
            return node, reason
        except Exception:  # of any kind: alone, on values that are made up, it may fail otherwise
            continue
    return None
