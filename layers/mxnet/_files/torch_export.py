"""Graphs with their parameters as `torch.export` traces them: what ONNX files are made from."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from typing import Any

import torch

from .. import _dtype, ndarray, symbol
from .._graph.kinds import agree
from .._graph.tracing import reason_of, tracing
from ..base import ArgumentError, MXNetError
from ..context import cpu
from ..gluon import SymbolBlock
from ..ndarray import NDArray
from ..symbol import Symbol
from ..symbol._infer import is_known, shapes
from ..symbol._node import Node, ordered

__all__ = ["failing_node", "hide_messages", "open_sizes", "trace", "trace_module"]

# What PyTorch logs about itself, or of an error that is raised.
HIDDEN = {
    "torch.fx.experimental.symbolic_shapes": "Unable to find user code",
    "torch._guards": "",
}


def trace(
    graph: Symbol, values: dict, in_shapes: list[tuple], in_types: Any, sizes: tuple | None
) -> tuple[torch.export.ExportedProgram, list[str], dict[str, str]]:
    """Trace a graph and its parameters by `torch.export`.

    Returns
    -------
    program : torch.export.ExportedProgram
        Its names are numbered: PyTorch writes them into source that it runs.
    inputs : list of str
        The names of the variables that the program takes.
    parameters : dict of str to str
        The variables' names of the program's parameters and buffers, by their names in it.

    Raises
    ------
    ArgumentError
        The number of `in_shapes` is not that of the variables without a parameter.
    MXNetError
        An operator cannot be traced.
    """
    names, values = _inputs(graph, values, in_shapes)
    dtypes = in_types if isinstance(in_types, (list, tuple)) else [in_types] * len(names)
    block = _block(graph, names, values)
    module = block.to_torch().eval()
    args = tuple([_example(s, _dtype.to_torch(d)) for s, d in zip(in_shapes, dtypes)])
    custom = [n for n in ordered(graph._entries) if n.op is not None and n.op.own]
    if sizes:
        _expect_any_shape(custom)
    with torch.no_grad():
        try:
            program = trace_module(module, args, bool(custom), dynamic_shapes=sizes)
        except Exception as error:  # of the tracer, of any kind
            raise _untraced(error, graph, dict(zip(names, in_shapes))) from error
        if custom:
            _compare(program, module, args)
    parameters = {own: block._reg_params[name].name for own, name in module.names.items()}
    return program, names, parameters


def open_sizes(in_shapes: list[tuple], told) -> tuple:
    """Return the sizes of the inputs in the form that `torch.export` takes."""
    named: dict[str, Any] = {}

    def size(value) -> Any:
        if isinstance(value, str):
            return named.setdefault(value, torch.export.Dim(value))
        return torch.export.Dim.AUTO if value is None else torch.export.Dim.STATIC

    told = told or [(None,) * len(shape) for shape in in_shapes]
    return (tuple([{i: size(n) for i, n in enumerate(shape)} for shape in told]),)


def trace_module(
    module: torch.nn.Module, args: tuple, has_custom: bool, **options
) -> torch.export.ExportedProgram:
    """Trace a module by `torch.export`; custom operators need its tracer of Python code."""
    with tracing(cpu()), _without_dump():
        return torch.export.export(module, args, strict=has_custom, **options)


@contextmanager
def _without_dump() -> Iterator[None]:
    """Leave out the graph, as far as it came, that PyTorch prints to stderr when it fails."""
    told, dump = StringIO(), ""
    try:
        with hide_messages(HIDDEN), redirect_stderr(told):
            yield
    except Exception as error:
        dump = f"{getattr(error, 'partial_fx_graph', '')}\n"
        raise
    finally:
        sys.stderr.write(told.getvalue().replace(dump, "") if dump else told.getvalue())


@contextmanager
def hide_messages(texts: dict[str, str]) -> Iterator[None]:
    """Hide the log messages that contain a text: `texts` has it by the name of the logger.

    An empty text hides all.
    """

    def is_shown(record: logging.LogRecord) -> bool:
        return texts[record.name] not in record.getMessage()

    logs = [logging.getLogger(name) for name in texts]
    for log in logs:
        log.addFilter(is_shown)
    try:
        yield
    finally:
        for log in logs:
            log.removeFilter(is_shown)


def _inputs(graph: Symbol, values: dict, in_shapes: list[tuple]) -> tuple[list[str], dict]:
    """Return the inputs' names; and the parameters, with zeros for labels that are left out."""
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
    found = shapes(graph._graph.nodes, dict(zip(names, in_shapes)))
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


def _expect_any_shape(custom: list[Node]) -> None:
    for node in custom:
        if not node.op.any_shape:
            raise MXNetError(
                f"export_model: dynamic=True, but operator {node.op.label!r} is a CustomOp, made "
                "for the shapes of its inputs\n"
                "  expected dynamic=False, or an operator of layers.ops\n"
                f"  in {node.name!r} of the graph"
            )


def _compare(program, module, args: tuple) -> None:
    """Refuse a traced program that gives other values than the graph."""
    try:
        expected = module(*args)
    except IndexError:  # an operator takes ids, which are whole
        args = tuple([a.round() for a in args])
        expected = module(*args)
    found = program.module()(*args)
    if not isinstance(found, (list, tuple)):
        found, expected = [found], [expected]
    if not agree(expected, found):
        raise MXNetError("export_model: traced, the graph gives other values")


def _untraced(error: Exception, graph: Symbol, given: dict) -> MXNetError:
    """Return the error with the operator that cannot be traced, where it is one alone."""
    suspects = [n for n in ordered(graph._entries) if n.op is not None and not n.op.traceable]
    found = shapes(graph._graph.nodes, given)
    node, reason = failing_node(suspects, found, trace_module, Exception) or (None, error)
    if node is None:
        return MXNetError(f"export_model: the graph cannot be traced: {reason_of(error)}")
    return MXNetError(
        f"export_model: operator {node.op.label!r} cannot be traced: {reason_of(reason)}\n"
        f"  in {node.name!r} of the graph"
    )


def failing_node(
    suspects: Iterable[Node], found: dict, attempt: Callable, error_class: type[Exception]
) -> tuple[Node, Exception] | None:
    """Return the first node for which ``attempt(module, inputs, has_custom)`` raises this error."""
    for node in suspects:
        if not all(is_known(found.get(entry)) for entry in node.inputs):
            continue
        variables = [symbol.var(f"input{i}") for i in range(len(node.inputs))]
        alone = Node(node.op, node.name, [v._entries[0] for v in variables], node.attributes)
        block = SymbolBlock(Symbol([(alone, 0)]), variables)
        args = tuple([torch.rand(found[entry]) for entry in node.inputs])
        try:
            attempt(block.to_torch().eval(), args, node.op.own)
        except error_class as reason:
            return node, reason
        except Exception:  # of any kind: alone, on values that are made up, it may fail otherwise
            continue
    return None
