"""ONNX files as graphs; the former place of `mx.onnx`, which writes them."""

from __future__ import annotations

from os import PathLike

from ... import ndarray
from ..._old import missing
from ...context import Context, cpu
from ...gluon import SymbolBlock
from ...ndarray import NDArray
from ...onnx import export_model
from ...symbol import Group, Symbol, var
from ._graph import Graph, load
from ._rows import ROWS

__all__ = ["export_model", "get_model_metadata", "import_model", "import_to_gluon"]

export_model_ = export_model  # MXNet's names of the functions that these were made of


def import_model(
    model_file: str | PathLike,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """A graph and its parameters from an ONNX file: the reverse of `export_model`.

    The file is not trusted: nothing in it runs, and values in other files are not read. What has
    the shape () in ONNX has the shape (1,) here.

    Parameters
    ----------
    model_file : path
        Of a set of operators from 7 on.

    Returns
    -------
    sym : Symbol
    arg_params, aux_params : dict of str to NDArray
        The parameters of the arguments, and of the states.

    Raises
    ------
    MXNetError
        The file is no valid ONNX.
    UnsupportedError
        It has operators, or forms of them, that have no counterpart here, or the package onnx is
        missing.
    """
    return _parts(Graph(model_file, ROWS))


def _parts(graph: Graph) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    sym = graph.outputs[0] if len(graph.outputs) == 1 else Group(graph.outputs)
    values = graph.values()

    def arrays(names: list[str]) -> dict[str, NDArray]:
        return {n: ndarray.array(values[n], dtype=values[n].dtype) for n in names if n in values}

    return sym, arrays(sym.list_arguments()), arrays(sym.list_auxiliary_states())


def import_to_gluon(
    model_file: str | PathLike, ctx: Context | list[Context] | None = None
) -> SymbolBlock:
    """A block from an ONNX file: see `import_model`.

    Parameters
    ----------
    model_file : path
    ctx : Context or list of Context, optional
        Where the parameters are; by default on the CPU.

    Raises
    ------
    MXNetError
        The file is no valid ONNX.
    UnsupportedError
        As of `import_model`.
    """
    graph = Graph(model_file, ROWS)
    sym, arguments, states = _parts(graph)
    block = SymbolBlock(sym, [var(name) for name in graph.inputs])
    for name, value in (arguments | states).items():
        parameter = block.params[name]
        parameter.shape = value.shape
        parameter.cast(value.dtype)
        parameter._load_init(value, ctx or cpu())
    return block


def get_model_metadata(model_file: str | PathLike) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    """The names and the shapes of the inputs and of the outputs in an ONNX file.

    Parameters
    ----------
    model_file : path

    Returns
    -------
    dict
        ``input_tensor_data`` and ``output_tensor_data``: pairs of a name and a shape, in which an
        open size is 0.

    Raises
    ------
    MXNetError
        The file is no valid ONNX.
    UnsupportedError
        The package onnx is missing.
    """
    graph = load(model_file).graph
    values = {tensor.name for tensor in graph.initializer}

    def told(tensors) -> list[tuple[str, tuple[int, ...]]]:
        return [
            (v.name, tuple([d.dim_value for d in v.type.tensor_type.shape.dim]))
            for v in tensors
            if v.name not in values
        ]

    return {"input_tensor_data": told(graph.input), "output_tensor_data": told(graph.output)}


get_model_metadata_, import_model_ = get_model_metadata, import_model
import_to_gluon_ = import_to_gluon
__all__ += ["export_model_", "get_model_metadata_", "import_model_", "import_to_gluon_"]
missing.watch(globals())
