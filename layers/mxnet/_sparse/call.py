"""Operators on sparse arrays: by their rule, or on dense copies."""

from __future__ import annotations

import logging
import os
from typing import Any

import torch

from .._state import this_thread
from .._table import registry
from ..autograd import _set_grad_enabled, saved_tensors
from ..context import Context
from ..ndarray.ndarray import NDArray
from ..ndarray.register import compute
from . import products as products  # its rules
from . import rules, updates
from .array import BaseSparseNDArray, Handle, wrap
from .stored import RowSparse, with_values

__all__ = ["call", "tensor_with_sparse_gradient"]

Tensor = torch.Tensor
log = logging.getLogger("layers.mxnet.storage")
_warned: set[tuple[str, tuple[str, ...]]] = set()


def call(
    operator: registry.Op, arrays: list, attributes: dict, context: Context, out: Any = None
) -> Any:
    """Run an operator on arrays, some of them sparse; None is an input that is left out.

    A weight that is `out` is changed where it is, and is the result.
    """
    given = [a for a in arrays if a is not None]
    stypes = tuple([a.stype for a in given])
    stored = [a._stored if isinstance(a, BaseSparseNDArray) else a._tensor for a in given]
    known = operator.defaults | attributes
    if updates.is_by_rows(operator, given, known):
        return updates.call(operator, arrays, attributes, context, out)
    rule = rules.find(operator, stypes)
    y = None if rule is None else _without_recording(rule.function, operator, stored, known)
    y = y if y is None else _apart(y, stored)
    if rule is None or y is None:
        if {*stypes} != {"default"} and not isinstance(operator, registry.Absent):
            warn_of_dense_copies(operator.name, stypes)
        return _on_dense(operator, arrays, attributes, context)
    if not (this_thread.state.recording and any(a._requires_grad() for a in given)):
        return NDArray(y, context) if isinstance(y, Tensor) else wrap(y, context)
    if rule.gradients:
        with torch.enable_grad():
            tensors = [tensor_with_sparse_gradient(a) for a in given]
            recorded = _ByRule.apply((rule, known, stored, y), *tensors)
        return NDArray(recorded, context) if isinstance(y, Tensor) else wrap(y, context, recorded)
    dense = _on_dense(operator, arrays, attributes, context)
    if isinstance(y, Tensor) or not dense._requires_grad():
        return dense if isinstance(y, Tensor) else wrap(y, context)
    with torch.enable_grad():
        handle = Handle.apply(_Strided.apply(dense._tensor), y.values.dtype, y.values.device)
    return wrap(y, context, handle)


def _on_dense(operator: registry.Op, arrays: list, attributes: dict, context: Context) -> Any:
    """Run an operator on dense copies; states that it writes are copied back."""
    states = operator.state_names(attributes)
    names = operator.places(attributes, len(arrays))
    dense = [None if a is None else a._as_dense() for a in arrays]
    tensors = [
        None if a is None else a._state_tensor() if name in states else a._tensor
        for name, a in zip(names, dense)
    ]
    copied = [i for i, name in enumerate(names) if name in states and dense[i] is not arrays[i]]
    versions = [tensors[i]._version for i in copied]
    y = compute(operator, tensors, attributes, context)
    for i, version in zip(copied, versions):
        if tensors[i]._version != version:
            arrays[i][:] = NDArray(tensors[i], arrays[i].context)
    return y


def warn_of_dense_copies(name: str, stypes: tuple[str, ...]) -> None:
    """Say once for each kind of call that it makes dense copies."""
    if (name, stypes) in _warned or os.environ.get(_QUIET) == "0":
        return
    _warned.add((name, stypes))
    log.warning(
        "%s of storage types %s is computed of dense copies; %s=0 leaves these lines out",
        name,
        ", ".join(stypes),
        _QUIET,
    )


_QUIET = "MXNET_STORAGE_FALLBACK_LOG_VERBOSE"


def _apart(y: Any, stored: list) -> Any:
    """The result of a rule, in memory of its own where it has that of rows that may be written."""
    values = y if isinstance(y, Tensor) else y.values
    memory = values.untyped_storage().data_ptr()
    rows = [x.values for x in stored if isinstance(x, RowSparse)]
    if all(x.untyped_storage().data_ptr() != memory for x in rows):
        return y
    return y.clone() if isinstance(y, Tensor) else with_values(y, values.clone())


def _without_recording(function, operator, given: list, known: dict) -> Any:
    enabled = torch.is_grad_enabled()
    _set_grad_enabled(False)
    try:
        return function(operator, *given, **known)
    finally:
        _set_grad_enabled(enabled)


def tensor_with_sparse_gradient(array: NDArray) -> Tensor:
    """The tensor by which autograd knows an array, which may be sent a sparse gradient."""
    tensor = array._autograd_tensor
    if isinstance(array, BaseSparseNDArray) or tensor.is_leaf:
        return tensor
    return _Strided.apply(tensor)


class _Strided(torch.autograd.Function):
    """x, with a gradient that is dense, for operators that take no other."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, dy):
        return dy.to_dense() if dy.layout is not torch.strided else dy


class _ByRule(torch.autograd.Function):
    """The output of a rule that has gradients, or its handle."""

    @staticmethod
    def forward(ctx, call, *tensors):
        rule, known, stored, y = call
        # The gradient of another input may read the rows of one, which may be written before it.
        wanted = [i for i in rule.gradients if ctx.needs_input_grad[i + 1]]
        kept = [
            with_values(x, x.values.clone()) if isinstance(x, RowSparse) and {*wanted} - {i} else x
            for i, x in enumerate(stored)
        ]
        ctx.call = rule, known, [None if isinstance(x, Tensor) else x for x in kept]
        ctx.save_for_backward(*[x for x in stored if isinstance(x, Tensor)])
        return y if isinstance(y, Tensor) else y.values.new_zeros(()).expand(y.shape)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        rule, known, stored = ctx.call
        tensors = iter(saved_tensors(ctx))
        inputs = [next(tensors) if x is None else x for x in stored]
        dy = dy.to_dense() if dy.layout is not torch.strided else dy
        gradients: list[Tensor | None] = [None] * len(inputs)
        for i, gradient in rule.gradients.items():
            if ctx.needs_input_grad[i + 1]:
                gradients[i] = gradient(dy, *inputs, **known)
        return None, *gradients
