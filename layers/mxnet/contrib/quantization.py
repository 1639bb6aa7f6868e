"""Graphs that compute with 8-bit integers, from trained ones, with ranges found by calibration."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from .._old import missing
from .._table import registry
from ..base import ArgumentError, legible, listed, quoted
from ..context import Context, cpu
from ..gluon._graph import required_inputs
from ..gluon._load import nearest
from ..gluon.block import HybridBlock, SymbolBlock
from ..gluon.data import Dataset
from ..io import DataIter
from ..ndarray import contrib as operators
from ..ndarray import zeros
from ..ndarray.ndarray import NDArray
from ..symbol._node import Node, ordered
from ..symbol.symbol import Group, Symbol, var
from . import _calibration, _quantized_graph
from ._calibration import combine_histogram

__all__ = [
    "calib_graph",
    "combine_histogram",
    "quantize_graph",
    "quantize_model",
    "quantize_model_mkldnn",
    "quantize_net",
    "quantize_net_v2",
]

Params = dict[str, NDArray]
DTYPES, MODES = ("int8", "uint8", "auto"), ("smart", "full")
GRANULARITIES = ("tensor-wise", "channel-wise")
ONEDNN = "_sg_mkldnn_"  # begins the names of operators in MXNet's oneDNN graphs; programs name them

# By MXNet's names, which programs take though they are private.
_LayerHistogramCollector = _calibration.LayerHistogramCollector
_LayerOutputMinMaxCollector = _calibration.LayerOutputMinMaxCollector
_get_optimal_thresholds = _calibration.optimal_thresholds


def quantize_graph(
    sym: Symbol,
    arg_params: Params,
    aux_params: Params,
    ctx: Context | None = None,
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str | None = "entropy",
    quantized_dtype: str = "int8",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    LayerOutputCollector=None,
    logger=None,
) -> tuple[Symbol, Params, Params, Any]:
    """The graph on 8-bit integers, its parameters, and what is to look at the graph as it was.

    The collector's `collect(name, array)` wants the outputs that its `include_layer` names;
    `calib_graph` makes ranges of what it has seen.

    Parameters
    ----------
    sym : Symbol
    arg_params, aux_params : dict of str to NDArray
    excluded_sym_names, excluded_op_names : list of str, optional
        Nodes, and operators, that stay as they are. An operator need not be in the graph.
    calib_mode : {'none', 'naive', 'entropy', 'customize'}
        By extremes, or by histograms; 'customize' is for a `LayerOutputCollector`.
    quantized_dtype : {'int8', 'uint8', 'auto'}
        With 'auto' what has nothing below 0 is a uint8.
    quantize_mode : {'full', 'smart'}
        Whatever can be quantized, or convolutions and products and what is between them.
    quantize_granularity : {'tensor-wise', 'channel-wise'}
        Without effect: each array has one range, as outside of MXNet's oneDNN graphs.
    LayerOutputCollector : optional
        A collector of the caller's.

    Raises
    ------
    ArgumentError
        An argument is none of those above.
    """
    _check(calib_mode, quantized_dtype, quantize_mode, quantize_granularity)
    names = _list_of("excluded_sym_names", excluded_sym_names)
    excluded = _operator_names(_list_of("excluded_op_names", excluded_op_names), sym)
    _warn_of_unknown("layer", names, [node.name for node in ordered(sym._entries)])

    def is_excluded(node: Node) -> bool:
        return node.name in names or node.op is not None and node.op.name in excluded

    chosen = _quantized_graph.chosen(sym._entries, is_excluded, quantize_mode)
    quantizer = _quantized_graph.Quantizer(chosen, {*arg_params}, quantized_dtype)
    quantized = Symbol(quantizer.convert(sym._entries))
    collector = _collector(calib_mode, quantized_dtype, LayerOutputCollector, logger)
    if collector is not None:
        collector.include_layer = quantizer.looked_at
    return quantized, _quantized_params(quantized, arg_params), aux_params, collector


def _check(calib_mode, quantized_dtype, quantize_mode, quantize_granularity):
    modes = ("none", "naive", "entropy", "customize")
    for name, given, expected in (
        ("calib_mode", calib_mode or "none", modes),
        ("quantized_dtype", quantized_dtype, DTYPES),
        ("quantize_mode", quantize_mode, MODES),
        ("quantize_granularity", quantize_granularity, GRANULARITIES),
    ):
        if given not in expected:
            raise ArgumentError(f"{name} is {quoted(given)}\n  expected one of {quoted(expected)}")


def _list_of(name: str, given) -> list[str]:
    if given is None:
        return []
    if not isinstance(given, (list, tuple, set)) or not all(isinstance(n, str) for n in given):
        raise ArgumentError(f"{name} is {quoted(given)}\n  expected a list of names")
    return list(given)


def _operator_names(given: list[str], sym: Symbol) -> set[str]:
    """The operators' own names, by which nodes know them; those given may be aliases."""
    known = {name: registry.get(name).name for name in registry.names()}
    here = dict.fromkeys(node.op.name for node in ordered(sym._entries) if node.op)
    asked = [name for name in given if not name.startswith(ONEDNN)]
    _warn_of_unknown("operator", asked, [*known, *here])
    return {known.get(name, name) for name in given}


def _warn_of_unknown(kind: str, names: Iterable[str], known: list[str]) -> None:
    """Warn of names to be excluded that do not exist: programs have lists for whole families."""
    unknown = [name for name in names if name not in known]
    if unknown:
        warnings.warn(
            f"quantization: there is no {kind} {quoted(unknown)}, which is to stay as it is\n"
            f"  expected names such as {nearest(unknown[0], known)}",
            UserWarning,
            stacklevel=4,
        )


def _collector(calib_mode, quantized_dtype, own, logger):
    if own is not None or calib_mode == "customize":
        if own is None:
            raise ArgumentError(
                "calib_mode is 'customize'\n  expected LayerOutputCollector, which has collect"
            )
        return own
    if calib_mode == "naive":
        return _LayerOutputMinMaxCollector(quantized_dtype, logger=logger)
    return _LayerHistogramCollector(logger=logger) if calib_mode == "entropy" else None


def _quantized_params(quantized: Symbol, params: Params) -> Params:
    """The arrays that the graph on integers has as arguments."""
    found: Params = {}
    names = quantized.list_arguments()
    for name in names:
        original = name.removesuffix("_quantize")
        if name in params:
            found[name] = params[name]
        elif original in params and f"{name}_min" in names:
            value = params[original].astype("float32")
            q, low, high = operators.quantize(value, value.min(), value.max(), out_type="int8")
            found |= {name: q, f"{name}_min": low, f"{name}_max": high}
    return found


def calib_graph(
    qsym: Symbol,
    arg_params: Params,
    aux_params: Params,
    collector,
    calib_mode: str = "entropy",
    quantized_dtype: str = "int8",
    logger=logging,
) -> tuple[Symbol, Params, Params]:
    """The graph of `quantize_graph` with the ranges that a collector has found.

    One of the caller's has them in `min_max_dict`, or histograms in `hist_dict`.

    Raises
    ------
    ArgumentError
        An argument is unknown, or the collector has seen nothing.
    """
    _check(calib_mode, quantized_dtype, "full", "tensor-wise")
    ranges = getattr(collector, "min_max_dict", None)
    if ranges is None:
        histograms = getattr(collector, "hist_dict", {})
        ranges = _get_optimal_thresholds(histograms, quantized_dtype, logger=logger)
    if not ranges and getattr(collector, "include_layer", None):
        raise ArgumentError(
            "calib_graph: the collector has seen no outputs\n"
            "  expected collect(name, array) for those that its include_layer names, before this"
        )
    _warn_of_cut(qsym, getattr(collector, "hist_dict", None) or ranges, ranges)
    return Symbol(_quantized_graph.with_ranges(qsym._entries, ranges)), arg_params, aux_params


def _warn_of_cut(qsym: Symbol, seen: dict, ranges: dict) -> None:
    """Warn of outputs whose values below 0 were seen, and are lost as uint8.

    `seen` has the ranges, or the histograms, in which the least value comes third.
    """
    least = {name: found[2] if len(found) > 2 else found[0] for name, found in seen.items()}
    cut = [
        f"{legible(name)} ({least[name]:.4g} to {ranges[name][1]:.4g})"
        for name in _quantized_graph.below_0_as_uint8(qsym._entries)
        if name in ranges and least.get(name, 0) < 0
    ]
    if cut:
        warnings.warn(
            f"quantized_dtype='uint8' has no numbers below 0, which are taken as 0 in "
            f"{listed(cut)}: quantized_dtype='auto' takes int8 for these",
            UserWarning,
            stacklevel=4,
        )


def quantize_model(
    sym: Symbol,
    arg_params: Params,
    aux_params: Params,
    data_names: Sequence[str] = ("data",),
    label_names: Sequence[str] = ("softmax_label",),
    ctx: Context | None = None,
    excluded_sym_names: list[str] | None = None,
    excluded_op_names: list[str] | None = None,
    calib_mode: str | None = "entropy",
    calib_data: DataIter | None = None,
    num_calib_examples: int | None = None,
    quantized_dtype: str = "int8",
    quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise",
    logger=None,
) -> tuple[Symbol, Params, Params]:
    """The graph on 8-bit integers with calibrated ranges, and its parameters.

    Parameters
    ----------
    data_names, label_names : list of str
        The graph's inputs, in the order of `calib_data`.
    ctx : Context, optional
        Where calibration computes; by default the CPU.
    calib_data : DataIter
        Where `calib_mode` is not 'none'.
    num_calib_examples : int, optional
        At least so many samples are looked at; by default all.

    The others are those of `quantize_graph`.

    Raises
    ------
    ArgumentError
        As `quantize_graph`; or `calib_data` is missing.
    """
    _check(calib_mode, quantized_dtype, quantize_mode, quantize_granularity)
    calibrates = calib_mode not in (None, "none")
    if calibrates and not isinstance(calib_data, DataIter):
        raise ArgumentError(
            f"quantize_model: calib_data is {quoted(calib_data)} with calib_mode={calib_mode!r}\n"
            "  expected a DataIter, such as mx.io.NDArrayIter(data, batch_size=32)"
        )
    quantized, args, aux, collector = quantize_graph(
        sym, arg_params, aux_params, ctx, excluded_sym_names, excluded_op_names, calib_mode,
        quantized_dtype, quantize_mode, quantize_granularity, logger=logger,
    )  # fmt: skip
    if not calibrates:
        return quantized, args, aux
    inputs = [*data_names, *(label_names or ())]
    batches = ((zip(inputs, [*b.data, *(b.label or ())]), b.data[0].shape[0]) for b in calib_data)
    _show(sym, arg_params | aux_params, batches, collector, num_calib_examples, ctx or cpu())
    return calib_graph(quantized, args, aux, collector, calib_mode, quantized_dtype, logger)


def _show(sym, params, batches, collector, examples, ctx) -> None:
    """Show a collector the outputs of a graph that it wants, for each batch."""
    internals = sym.get_internals()
    wanted = dict.fromkeys(collector.include_layer)
    outputs = [s for s in internals if s.list_outputs()[0] in wanted]
    if not outputs:
        return
    graph = Group(outputs)
    states = graph.list_auxiliary_states()
    fixed = {n: params[n].as_in_context(ctx) for n in graph.list_inputs() if n in params}
    seen = 0
    for batch, size in batches:
        given = {n: a.as_in_context(ctx) for n, a in batch if n in graph.list_arguments()}
        args = {n: a for n, a in (fixed | given).items() if n not in states}
        executor = graph.bind(ctx, args, aux_states={n: fixed[n] for n in states}, grad_req="null")
        for name, value in zip(graph.list_outputs(), executor.forward(is_train=False)):
            collector.collect(name, value)
        seen += size
        if examples is not None and seen >= examples:
            return


quantize_model_mkldnn = quantize_model  # there are no graphs of oneDNN's own here


def quantize_net_v2(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    quantize_granularity: str = "tensor-wise",
    exclude_layers: list[str] | None = None,
    exclude_layers_match: list[str] | None = None,
    exclude_operators: list[str] | None = None,
    calib_data: Iterable | None = None,
    data_shapes: Sequence | None = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Context | None = None,
    LayerOutputCollector=None,
    logger=None,
) -> SymbolBlock:
    """A block that computes what a network does with 8-bit integers.

    Parameters
    ----------
    network : HybridBlock
        Initialized; its own graph and parameters stay as they are.
    exclude_layers, exclude_layers_match : list of str, optional
        Nodes that stay as they are: by name, and by what occurs in their names.
    exclude_operators : list of str, optional
        Operators whose nodes do.
    calib_data : DataLoader or DataIter
        Where `calib_mode` is not 'none'. The first arrays of a batch are the network's inputs: as
        many as `data_shapes` has, else `calib_data.provide_data`, else what the network's
        `hybrid_forward` has without a default.
    data_shapes : list of DataDesc or of shapes, optional
        Those of the inputs, needed where there is no `calib_data`.

    The others are those of `quantize_graph`.

    Raises
    ------
    ArgumentError
        `network` is no HybridBlock, a mode or a dtype is none of those of `quantize_graph`, what is
        excluded does not exist, neither data nor shapes are given, or a batch has too few arrays.
    """
    if not isinstance(network, HybridBlock):
        raise ArgumentError(f"quantize_net: network is {network!r}\n  expected a HybridBlock")
    _check(calib_mode, quantized_dtype, quantize_mode, quantize_granularity)
    ctx = ctx or cpu()
    calibrates = calib_mode not in (None, "none")
    if isinstance(calib_data, (NDArray, np.ndarray, Dataset)):
        raise ArgumentError(
            f"quantize_net: calib_data is a {type(calib_data).__name__} of "
            f"{getattr(calib_data, 'shape', len(calib_data))}, which has no batches\n  expected a "
            "DataLoader or DataIter, such as mx.io.NDArrayIter(data, batch_size=32)"
        )
    if calib_data is None and (calibrates or data_shapes is None):
        raise ArgumentError(
            f"quantize_net: calib_data is None with calib_mode={calib_mode!r}\n"
            "  expected a DataLoader or DataIter, or data_shapes where calib_mode is 'none'"
        )
    arrays, batches = _first_inputs(network, calib_data, data_shapes, ctx)
    network(*arrays)  # for the shapes of parameters that are not yet known
    inputs = [var("data" if len(arrays) == 1 else f"data{i}") for i in range(len(arrays))]
    outputs = network(*inputs)
    sym = outputs if isinstance(outputs, Symbol) else Group(list(outputs))
    params = {name: p._reduce() for name, p in network.collect_params().items()}
    states = {name: params[name] for name in sym.list_auxiliary_states()}
    args = {name: params[name] for name in sym.list_arguments() if name in params}
    matched = [
        n.name for n in ordered(sym._entries)
        if n.op and any(re.search(m, n.name) for m in exclude_layers_match or ())
    ]  # fmt: skip
    quantized, q_args, aux, collector = quantize_graph(
        sym, args, states, ctx, [*_list_of("exclude_layers", exclude_layers), *matched],
        exclude_operators, calib_mode, quantized_dtype, quantize_mode, quantize_granularity,
        LayerOutputCollector, logger,
    )  # fmt: skip
    if calibrates:
        names = [variable.name for variable in inputs]
        named = ((zip(names, b), b[0].shape[0]) for b in batches)
        _show(sym, params, named, collector, num_calib_examples, ctx)
        quantized, q_args, aux = calib_graph(
            quantized, q_args, aux, collector, calib_mode, quantized_dtype, logger
        )
    return _block(quantized, inputs, q_args | aux, ctx)


def quantize_net(
    network: HybridBlock,
    quantized_dtype: str = "auto",
    quantize_mode: str = "full",
    exclude_layers: list[str] | None = None,
    exclude_layers_match: list[str] | None = None,
    exclude_operators: list[str] | None = None,
    calib_data: Iterable | None = None,
    data_shapes: Sequence | None = None,
    calib_mode: str = "none",
    num_calib_examples: int | None = None,
    ctx: Context | None = None,
    logger=None,
) -> SymbolBlock:
    """`quantize_net_v2` with one range for each array.

    Raises
    ------
    ArgumentError
        See `quantize_net_v2`.
    """
    return quantize_net_v2(
        network, quantized_dtype, quantize_mode, "tensor-wise", exclude_layers,
        exclude_layers_match, exclude_operators, calib_data, data_shapes, calib_mode,
        num_calib_examples, ctx, None, logger,
    )  # fmt: skip


def _batches(calib_data) -> Iterator[list[NDArray]]:
    """The arrays of each batch of a DataLoader or a DataIter."""
    for batch in calib_data:
        arrays = batch.data if hasattr(batch, "data") and hasattr(batch, "pad") else batch
        arrays = list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]
        for array in arrays:
            if not isinstance(array, NDArray):
                raise ArgumentError(
                    f"quantize_net: a batch of calib_data has a {type(array).__name__}\n"
                    "  expected NDArrays, as a DataLoader or a DataIter gives them"
                )
        yield arrays


def _first_inputs(network, calib_data, data_shapes, ctx) -> tuple[list[NDArray], Iterable]:
    """Arrays to call the network with, and all batches: a DataIter would not give the first again.

    A batch may have more arrays, such as labels.
    """
    if calib_data is None:
        return [zeros(getattr(each, "shape", each), ctx) for each in data_shapes], ()
    described = getattr(calib_data, "provide_data", None) if data_shapes is None else data_shapes
    count = len(required_inputs(network) if described is None else described)
    batches = _batches(calib_data)
    first = next(batches, [])
    if len(first) < max(count, 1):
        raise ArgumentError(
            f"quantize_net: the first batch of calib_data has {len(first)} arrays\n"
            f"  expected {max(count, 1)}, the network's inputs; reset() begins a DataIter again"
        )
    return [a.as_in_context(ctx) for a in first[:count]], chain([first], batches)


def _block(quantized: Symbol, inputs: list[Symbol], params: Params, ctx: Context) -> SymbolBlock:
    block = SymbolBlock(quantized, inputs)
    for name, parameter in block.collect_params().items():
        parameter.shape = params[name].shape
        parameter.cast(params[name].dtype)
        parameter.grad_req = "null"
    block.collect_params().load_dict(params, ctx=ctx, ignore_extra=True)
    return block


missing.watch(globals())
