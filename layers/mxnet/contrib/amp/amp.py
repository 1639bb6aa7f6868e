"""Automatic mixed precision: switching it on, scaling losses, and converting models."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, combinations
from typing import Any

import torch

from ... import optimizer
from ..._dtype import bfloat16 as bfloat16
from ..._dtype import to_torch
from ..._old import missing
from ..._state import State
from ..._table import precision
from ...base import ArgumentError, DTypeError, MXNetError, quoted
from ...context import Context, gpu
from ...gluon import HybridBlock, SymbolBlock
from ...gluon._load import nearest
from ...gluon.trainer import Trainer
from ...module import BucketingModule
from ...ndarray import NDArray
from ...symbol import Symbol
from ...symbol._casts import Converter
from ...symbol._infer import declared_type
from ...symbol._node import ordered
from .lists import symbol_bf16, symbol_fp16
from .loss_scaler import LossScaler

__all__ = [
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "scale_loss",
    "unscale",
]

Conditions = list[tuple[str, str, list[str]]]
# The scaler of losses that scale themselves, such as SoftmaxOutput, and of the first trainer.
_loss_scaler: LossScaler | None = None
_amp_initialized = False
_amp_loss_scale_initialized = False  # whether a trainer has the first scaler


def init(
    target_dtype="float16",
    target_precision_ops: list[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    fp32_ops: list[str] | None = None,
) -> None:
    """Switch mixed precision on, for the rest of the process; a second call has no effect.

    From now on operators of `nd` cast their inputs, and symbols have casts in them: graphs of
    blocks that are hybridized later, too. Parameters stay in float32.

    Parameters
    ----------
    target_dtype : {'float16', 'bfloat16'}
        On a CPU use bfloat16, which it computes in.
    target_precision_ops, fp32_ops : list of str, optional
        Operators whose inputs are cast to `target_dtype`, and to float32; by default those of
        `list_lp16_ops` and `list_fp32_ops`.
    conditional_fp32_ops : list of (str, str, list of str), optional
        Operators whose inputs are cast to float32 if an attribute has one of some values; by
        default those of `list_conditional_fp32_ops`.

    Raises
    ------
    ArgumentError
        `target_dtype` is neither float16 nor bfloat16, or a list has the name of no operator.
    """
    global _amp_initialized, _loss_scaler
    if State.precision is not None:
        return
    chosen = _Lists(target_dtype, target_precision_ops, fp32_ops, conditional_fp32_ops)
    chosen.check_names()
    _loss_scaler = scaler = LossScaler()
    logging.info("Using AMP")
    _amp_initialized = True
    State.precision = chosen.policy(lambda: scaler.loss_scale)


def init_trainer(optimizer_or_trainer: Trainer) -> None:
    """Have a Trainer scale its losses; then its steps leave out gradients that overflow.

    Raises
    ------
    TypeError
        It is no Trainer.
    MXNetError
        `init` was not called.
    """
    global _amp_loss_scale_initialized
    if _loss_scaler is None:
        raise MXNetError("init_trainer: mixed precision is off\n  expected amp.init() before it")
    trainer = _as_trainer("init_trainer", optimizer_or_trainer)
    trainer._amp_loss_scaler = LossScaler() if _amp_loss_scale_initialized else _loss_scaler
    trainer._amp_original_scale = trainer._scale
    _amp_loss_scale_initialized = True


def _as_trainer(name: str, given) -> Trainer:
    if not isinstance(given, Trainer):
        is_optimizer = isinstance(given, optimizer.Optimizer)
        found = "an optimizer" if is_optimizer else f"of type {type(given).__name__}"
        raise ArgumentError(f"{name}: the trainer is {found}\n  expected a gluon.Trainer")
    return given


def _with_scaler(name: str, given) -> Trainer:
    trainer = _as_trainer(name, given)
    if trainer._amp_loss_scaler is None:
        raise MXNetError(f"{name}: no scaler\n  expected amp.init_trainer(trainer) before it")
    return trainer


@contextmanager
def scale_loss(loss, optimizer_or_trainer: Trainer) -> Iterator:
    """The loss times the trainer's factor; its next step divides the gradients by that.

    ``with amp.scale_loss(loss, trainer) as scaled: autograd.backward(scaled)``, inside of
    ``autograd.record()``.

    Parameters
    ----------
    loss : NDArray or list of NDArray
    optimizer_or_trainer : Trainer

    Raises
    ------
    TypeError
        It is no Trainer.
    MXNetError
        `init_trainer` was not called with the trainer.
    """
    trainer = _with_scaler("scale_loss", optimizer_or_trainer)
    factor = trainer._amp_loss_scaler.loss_scale
    trainer._scale = trainer._amp_original_scale / factor
    yield [part * factor for part in loss] if isinstance(loss, (list, tuple)) else loss * factor


def unscale(optimizer_or_trainer: Trainer) -> None:
    """Divide the gradients by the factor now, to change them before the step: to clip them, say.

    Raises
    ------
    TypeError
        It is no Trainer.
    MXNetError
        `init_trainer` was not called with the trainer.
    """
    trainer = _with_scaler("unscale", optimizer_or_trainer)
    for parameter in trainer._params:
        for gradient in parameter._grad or ():
            gradient[:] = gradient * trainer._scale
    trainer._scale = 1.0


# Models


def convert_symbol(
    sym: Symbol,
    target_dtype="float16",
    target_dtype_ops: list[str] | None = None,
    fp32_ops: list[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: list[str] | None = None,
    data_names: list[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """The graph with casts in it: some operators compute in 16 bits.

    Parameters
    ----------
    sym : Symbol
    target_dtype : {'float16', 'bfloat16'}
    target_dtype_ops, fp32_ops, conditional_fp32_ops : list, optional
        See `init`.
    excluded_sym_names : list of str, optional
        Nodes that compute in float32.
    data_names : list of str, optional
        The inputs; all other variables are parameters. By default those without a dtype.
    cast_optional_params : bool
        Parameters that are only used in 16 bits get this dtype, and no cast.

    Raises
    ------
    ArgumentError
        `sym` is no Symbol, `target_dtype` is neither float16 nor bfloat16, an operator is in two
        lists, or in none of MXNet's, or the graph has no node, or variable, of a name.
    """
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"convert_symbol: sym is {sym!r}\n  expected a Symbol")
    chosen = _Lists(target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)
    chosen.check_names()
    chosen.check_overlap()
    variables = [node for node in ordered(sym._entries) if node.op is None]
    if data_names is None:
        data_names = [node.name for node in variables if declared_type(node) is None]
    names = [node.name for node in variables]
    parameters = {*names} - _known("data_names", data_names, names, "variable")
    excluded = _excluded(excluded_sym_names, _node_names(sym))
    converter = Converter(chosen.policy(), excluded, parameters, cast_optional_params)
    return Symbol(converter.convert(sym._entries))


def _node_names(sym: Symbol) -> list[str]:
    return [node.name for node in ordered(sym._entries)]


def _names(argument: str, given) -> list[str]:
    is_list = isinstance(given, Iterable) and not isinstance(given, str)
    names = [*given] if is_list else []
    if not is_list or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"amp: {argument} is {quoted(given)}\n  expected a list of names")
    return names


def _excluded(given, known: list[str]) -> set[str]:
    """Return the names of nodes to leave alone; of one that does not exist it warns."""
    names = _names("excluded_sym_names", given or ())
    unknown = [name for name in names if name not in known]
    if unknown:
        warnings.warn(
            f"amp: excluded_sym_names has {quoted(unknown)}, which is no node of the graph\n"
            f"  expected names such as {nearest(unknown[0], known)}",
            UserWarning,
            stacklevel=3,
        )
    return {*names}


def _known(argument: str, given, known: list[str], kind: str) -> set[str]:
    """The names that a caller gives, each of them one that the graph has."""
    names = _names(argument, given)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ArgumentError(
            f"amp: {argument} has {quoted(unknown[0])}, which is no {kind} of the graph\n"
            f"  expected names of {nearest(unknown[0], known)}"
        )
    return {*names}


def convert_model(
    sym: Symbol,
    arg_params: dict[str, NDArray],
    aux_params: dict[str, NDArray],
    target_dtype="float16",
    target_dtype_ops: list[str] | None = None,
    fp32_ops: list[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: list[str] | None = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """A graph with casts, and its parameters in the dtypes that it wants: see `convert_symbol`.

    Raises
    ------
    ArgumentError
        See `convert_symbol`.
    """
    lists = target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names
    data = [n for n in sym.list_inputs() if n not in arg_params and n not in aux_params]
    converted = convert_symbol(sym, target_dtype, *lists, data, cast_optional_params)
    return converted, _cast_to(converted, arg_params), _cast_to(converted, aux_params)


def _cast_to(sym: Symbol, params: dict[str, NDArray]) -> dict[str, NDArray]:
    """Parameters in the dtypes that a graph declares."""
    declared = {n.name: declared_type(n) for n in ordered(sym._entries) if n.op is None}
    return {
        name: array if declared.get(name) is None else array.astype(declared[name], copy=False)
        for name, array in params.items()
    }


def convert_hybrid_block(
    block: HybridBlock,
    target_dtype="float16",
    target_dtype_ops: list[str] | None = None,
    fp32_ops: list[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: list[str] | None = None,
    ctx: Context | None = None,
    cast_optional_params: bool = False,
) -> SymbolBlock:
    """A block of the same graph with casts in it: see `convert_symbol`.

    Parameters
    ----------
    block : HybridBlock
        It was hybridized, and called.
    ctx : Context
        Where its parameters are to be; by default on the first GPU.

    Raises
    ------
    ArgumentError
        `block` is none; see `convert_symbol`.
    MXNetError
        There is no graph.
    """
    if not isinstance(block, HybridBlock):
        raise ArgumentError(f"convert_hybrid_block: {block!r}\n  expected a HybridBlock")
    if not block._graphs:
        raise MXNetError(
            f"convert_hybrid_block: {type(block).__name__} has no graph\n"
            "  expected hybridize(), and one call, before it"
        )
    graph = next(reversed(block._graphs.values()))
    used = {*graph.symbol.list_inputs()}
    names = [variable.name for variable in graph.inputs if variable.name in used]
    lists = target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names
    converted = convert_symbol(graph.symbol, target_dtype, *lists, names, cast_optional_params)
    found = SymbolBlock(converted, graph.inputs)
    values = {p.name: p._reduce() for p in block.collect_params().values()}
    values = {name: a for name, a in _cast_to(converted, values).items() if name in found.params}
    for name, parameter in found.collect_params().items():
        parameter.cast(values[name].dtype)
    found.collect_params().load_dict(values, ctx=gpu(0) if ctx is None else ctx)
    return found


def convert_bucketing_module(
    bucketing_mod: BucketingModule,
    target_dtype="float16",
    target_dtype_ops: list[str] | None = None,
    fp32_ops: list[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: list[str] | None = None,
    cast_optional_params: bool = False,
) -> BucketingModule:
    """A module of the same graphs, those that are bound, with casts in them: see `convert_symbol`.

    Raises
    ------
    ArgumentError
        It is no BucketingModule; see `convert_symbol`.
    MXNetError
        It has no parameters yet.
    """
    if not isinstance(bucketing_mod, BucketingModule):
        raise ArgumentError(
            f"convert_bucketing_module: {bucketing_mod!r}\n  expected a BucketingModule"
        )
    lists = target_dtype_ops, fp32_ops, conditional_fp32_ops
    params = bucketing_mod.get_params()
    nodes = {key: _node_names(module.symbol) for key, module in bucketing_mod._buckets.items()}
    known = [*dict.fromkeys(chain.from_iterable(nodes.values()))]
    excluded = _excluded(excluded_sym_names, known)
    found = {
        key: convert_model(
            module.symbol,
            *params,
            target_dtype,
            *lists,
            [*excluded.intersection(nodes[key])],
            cast_optional_params,
        )
        for key, module in bucketing_mod._buckets.items()
    }
    symbols = {key: sym for key, (sym, _, _) in found.items()}
    key = bucketing_mod._default_bucket_key
    return BucketingModule.load_dict(
        symbols, bucketing_mod._sym_gen, key, *found[key][1:], **bucketing_mod._options
    )


# The lists


class _Lists:
    """The lists of a dtype, some of them replaced by a caller's."""

    def __init__(self, target_dtype, low, full, conditional):
        self.dtype = _low_precision(target_dtype)
        for row in conditional or ():
            if isinstance(row, str) or len(row) != 3:
                raise ArgumentError(
                    f"amp: {row!r} is in conditional_fp32_ops\n"
                    "  expected (operator, attribute, list of its values)"
                )
        self.given = {*(low or ()), *(full or ()), *(row[0] for row in conditional or ())}
        default = list_conditional_fp32_ops(self.dtype)
        self.low = list_lp16_ops(self.dtype) if low is None else low
        self.full = list_fp32_ops(self.dtype) if full is None else full
        self.conditional = default if conditional is None else conditional

    def check_names(self) -> None:
        """Refuse operators that are in none of MXNet's lists."""
        known = {*list_lp16_ops(self.dtype), *list_fp32_ops(self.dtype)}
        known |= {*list_lp16_fp32_ops(self.dtype), *list_widest_type_cast(self.dtype)}
        known |= {row[0] for row in list_conditional_fp32_ops(self.dtype)}
        unknown = sorted(self.given - known)
        if unknown:
            raise ArgumentError(
                f"amp: the operator {unknown[0]!r} is in none of MXNet's lists\n"
                "  expected one of amp.list_lp16_ops, list_fp32_ops, list_lp16_fp32_ops, "
                "list_conditional_fp32_ops or list_widest_type_cast"
            )

    def check_overlap(self) -> None:
        """Refuse an operator in two lists."""
        parts = {
            "target_dtype_ops": {*self.low},
            "fp32_ops": {*self.full},
            "conditional_fp32_ops": {row[0] for row in self.conditional},
        }
        for (name, part), (other_name, other) in combinations(parts.items(), 2):
            if part & other:
                raise ArgumentError(
                    f"amp: {min(part & other)!r} is in {name} and in {other_name}\n"
                    "  expected it in one of them"
                )

    def policy(self, scale=lambda: 1.0) -> precision.Policy:
        """The policy that casts as these lists say."""
        return precision.Policy(
            self.dtype,
            self.low,
            self.full,
            self.conditional,
            list_widest_type_cast(self.dtype),
            list_loss_output_functions(self.dtype),
            scale,
        )


def _low_precision(dtype: Any) -> torch.dtype:
    try:
        found = to_torch(dtype)
    except DTypeError:
        found = None
    if found not in (torch.float16, torch.bfloat16):
        raise ArgumentError(f"amp: the dtype is {dtype!r}\n  expected 'float16' or 'bfloat16'")
    return found


def _lists_of(dtype):
    return symbol_bf16 if _low_precision(dtype) is torch.bfloat16 else symbol_fp16


def list_lp16_ops(target_dtype) -> list[str]:
    """The operators that compute in float16, or bfloat16.

    Raises
    ------
    ArgumentError
        `target_dtype` is neither float16 nor bfloat16.
    """
    lists = _lists_of(target_dtype)
    return lists.BF16_FUNCS if lists is symbol_bf16 else lists.FP16_FUNCS


def list_fp32_ops(target_dtype) -> list[str]:
    """The operators that compute in float32.

    Raises
    ------
    ArgumentError
        `target_dtype` is neither float16 nor bfloat16.
    """
    return _lists_of(target_dtype).FP32_FUNCS


def list_lp16_fp32_ops(target_dtype) -> list[str]:
    """The operators that compute in what they are given.

    Raises
    ------
    ArgumentError
        `target_dtype` is neither float16 nor bfloat16.
    """
    lists = _lists_of(target_dtype)
    return lists.BF16_FP32_FUNCS if lists is symbol_bf16 else lists.FP16_FP32_FUNCS


def list_conditional_fp32_ops(target_dtype) -> Conditions:
    """The operators that compute in float32 if an attribute has one of some values.

    Raises
    ------
    ArgumentError
        `target_dtype` is neither float16 nor bfloat16.
    """
    return _lists_of(target_dtype).CONDITIONAL_FP32_FUNCS


def list_widest_type_cast(target_dtype) -> list[str]:
    """The operators that compute in the widest dtype of their inputs.

    Raises
    ------
    ArgumentError
        `target_dtype` is neither float16 nor bfloat16.
    """
    return _lists_of(target_dtype).WIDEST_TYPE_CASTS


def list_loss_output_functions(target_dtype) -> list[str]:
    """The losses that compute their own gradient, whose `grad_scale` is multiplied.

    Raises
    ------
    ArgumentError
        `target_dtype` is neither float16 nor bfloat16.
    """
    return _lists_of(target_dtype).LOSS_OUTPUT_FUNCTIONS


def list_lp16_use_fp32_params(target_dtype) -> dict[str, list[str]] | None:
    """The inputs that stay in float32 where an operator computes in bfloat16; None for float16.

    Raises
    ------
    ArgumentError
        `target_dtype` is neither float16 nor bfloat16.
    """
    lists = _lists_of(target_dtype)
    return lists.BF16_USE_FP32_PARAMS if lists is symbol_bf16 else None


missing.watch(globals())
