"""ONNX files of graphs, through PyTorch's exporter: ``mx.onnx.export_model``."""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterable, Iterator, Sequence
from importlib.util import find_spec
from os import PathLike, fsdecode
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from . import symbol
from ._files.opening import write_files
from ._files.torch_export import (
    failing_node,
    hide_messages,
    open_sizes,
    trace,
    trace_module,
)
from ._graph.tracing import reason_of
from .base import ArgumentError, MXNetError, quoted
from .gluon import Block
from .gluon._load import read, unmarked
from .ndarray import NDArray
from .symbol import Symbol
from .symbol._infer import shapes
from .symbol._node import ordered

__all__ = ["export_model"]

LARGEST = 2**31 - 2**20  # bytes of parameters; more go into files beside an ONNX file
HIDDEN = {  # what PyTorch's exporter logs about packages that it misses, and about its own passes
    "torch.onnx._internal.exporter._registration": "torchvision is not installed",
    "onnx_ir.passes.common.initializer_deduplication": "Skipped deduplication",
}


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
        The number of `in_shapes` is not that of the variables without a parameter, or `sym` is a
        Block.
    MXNetError
        An operator cannot be traced or has no form in ONNX, or a package is missing.
    """
    if missing := [name for name in ("onnx", "onnxscript") if find_spec(name) is None]:
        raise MXNetError(
            f"export_model: not installed: {', '.join(missing)}\n"
            f"  expected pip install {' '.join(missing)}"
        )
    if isinstance(sym, Block):
        raise ArgumentError(
            f"export_model: sym is a {type(sym).__name__}, a Block\n"
            "  expected a Symbol, or its file: block.export('net') writes net-symbol.json and "
            "net-0000.params"
        )
    graph = sym if isinstance(sym, Symbol) else symbol.load(sym)
    in_shapes = _shapes(in_shapes or input_shape or ())
    values = _values(params)
    dtypes = in_types if input_type is None else input_type
    sizes = open_sizes(in_shapes, dynamic_input_shapes) if dynamic else None
    program, names, parameters = trace(graph, values, in_shapes, dtypes, sizes)
    _expect_text([*names, *parameters.values(), *graph.list_outputs()])
    with torch.no_grad():
        try:
            _write(
                program,
                Path(fsdecode(onnx_file_path)),
                input_names=names,
                output_names=_different(graph.list_outputs()),
                parameters=parameters,
                dynamic_shapes=sizes,
                external_data=_bytes(values) > LARGEST,
                verbose=verbose,
            )
        except _Formless as error:
            raise _formless(error, graph, dict(zip(names, in_shapes))) from error.__cause__
    return onnx_file_path


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


def _expect_text(names: Iterable[str]) -> None:
    """Refuse names that a file in UTF-8 cannot have."""
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise MXNetError(
                f"export_model: the graph has the name {quoted(name)}: {error.reason}\n"
                "  expected names that UTF-8 can write"
            ) from None


def _bytes(values: dict[str, NDArray]) -> int:
    return sum(value.size * np.dtype(value.dtype).itemsize for value in values.values())


def _write(
    program,
    path: Path | None,
    external_data: bool = False,
    parameters: dict | None = None,
    **options,
) -> None:
    """Bring a traced graph into ONNX, and into a file, which appears whole or not at all."""
    from onnx_ir.passes.common import NameFixPass  # onnxscript needs it too

    with hide_messages(HIDDEN), warnings.catch_warnings(), TemporaryDirectory() as folder:
        warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
        try:
            exported = torch.onnx.export(program, **options)
        except torch.onnx.OnnxExporterError as error:
            raise _Formless(reason_of(error.__cause__ or error)) from error  # itself a heading
        if path is not None:
            _name(exported.model.graph, parameters or {})
            # PyTorch's exporter may have named another value like an input, val_3 or softmax.
            NameFixPass()(exported.model)
            exported.save(Path(folder, path.name), external_data=external_data)
            # A large model has its parameters in files beside it.
            made = sorted(Path(folder).iterdir())
            write_files({path.with_name(file.name): _pieces(file) for file in made})


def _name(graph, parameters: dict[str, str]) -> None:
    """Give parameters the names of their variables, and constants other names than these."""
    values = graph.initializers
    found = {values.pop(own): name for own, name in parameters.items() if own in values}
    wanted = {*found.values()}
    for constant in list(values.values()):
        if constant.name in wanted:
            constant.name = _free(constant.name, {*wanted, *values})
    for value, name in found.items():
        value.name = _free(name or "p", values)
        values.add(value)


def _different(names: list[str]) -> list[str]:
    found: dict[str, None] = {}
    for name in names:
        found[_free(name, found)] = None
    return list(found)


def _free(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        yield from iter(lambda: opened.read(1 << 24), b"")


class _Formless(Exception):
    """A traced graph has no form in ONNX."""


def _formless(error: _Formless, graph: Symbol, given: dict) -> MXNetError:
    """The error with the operator that has no form in ONNX, where it is one alone."""
    suspects = {n.op.label: n for n in ordered(graph._entries) if n.op is not None}.values()

    def written(*given) -> None:
        _write(trace_module(*given), None, verbose=False)

    found = shapes(graph._graph.nodes, given)
    node, reason = failing_node(suspects, found, written, _Formless) or (None, error)
    what = "the graph" if node is None else f"operator {node.op.label!r}"
    where = "" if node is None else f"\n  in {node.name!r} of the graph"
    return MXNetError(f"export_model: {what} has no form in ONNX: {reason}{where}")
