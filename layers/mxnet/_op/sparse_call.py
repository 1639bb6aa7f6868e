"""Operators of `mx.operator` on sparse arrays, as their Prop's `infer_storage_type` says."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .._differentiable import apply
from .._sparse.array import BaseSparseNDArray, cast, wrap, wrap_gradient, zeros_of
from .._sparse.call import tensor_with_sparse_gradient
from .._sparse.stored import RowSparse
from .._state import this_thread
from ..autograd import refuse_second, saved_tensors
from ..ndarray.ndarray import NDArray
from . import call as own_call
from .call import as_output, take_tensor
from .prop import Output, PropCall, PropOp, Signature, signature_of

__all__ = ["call"]

Tensor, is_grad_enabled = torch.Tensor, torch.is_grad_enabled


def call(op: PropOp, arrays: Sequence[NDArray], states: list[NDArray], context) -> list[NDArray]:
    """Return the outputs of an operator for arrays of any storage types.

    The inputs are cast to the storage types that `infer_storage_type` gives, the outputs have
    them; and so the gradients, as `infer_storage_type_backward` says.
    """
    shapes = tuple(a.shape for a in (*arrays, *states))
    dtypes = tuple(a._autograd_tensor.dtype for a in (*arrays, *states))
    operation = StoredCall(op, signature_of(op, shapes, dtypes, context), states, arrays)
    state = this_thread.state
    if state.recorder is not None:
        state.recorder.note_operator(operation.what, operation.pure)
    if not (state.recording and any(a._requires_grad() for a in arrays)):
        return [_result(y, None, context) for y in operation.compute()]
    with torch.enable_grad():
        handles = apply(operation, [tensor_with_sparse_gradient(a) for a in arrays])
    return [_result(y, handle, context) for y, handle in zip(operation.results, handles)]


class StoredCall(PropCall):
    """A call of a `CustomOp` on arrays of the storage types that its Prop gives."""

    def __init__(
        self, op: PropOp, signature: Signature, states: list[NDArray], arrays: Sequence[NDArray]
    ):
        super().__init__(op, signature, states)
        self.stypes = op.storage_types([a.stype for a in arrays])
        self.arrays = [_as_stored(a.detach(), s) for a, s in zip(arrays, self.stypes[0])]
        self.gradient_stypes = [
            "undefined" if a._leaf is None else a._leaf.grad.stype for a in arrays
        ]
        self.results: list[NDArray] = []

    def record(self, ctx, tensors):
        """Return the outputs; PyTorch knows sparse ones by their handles."""
        ctx.takes_sparse_gradients = True
        self.results = self.compute()
        results = [y if y._is_sparse else take_tensor(y).detach() for y in self.results]
        arrays = *self.arrays, *self.results
        ctx.arrays = [a if a._is_sparse else None for a in arrays]
        ctx.save_for_backward(*[a._tensor for a in arrays if not a._is_sparse])
        self.arrays = []
        return tuple([y if isinstance(y, Tensor) else y._autograd_tensor for y in results])

    def compute(self) -> list[NDArray]:
        """Return the outputs, of the storage types of the Prop."""
        arrays = self.arrays
        shapes, types = self.signature.out_shapes, self.signature.out_types
        outputs = [self._empty(*one) for one in zip(self.stypes[1], shapes, types)]
        self._compute(arrays, outputs)
        if own_call.CHECK_NAN:
            found = {f"output {n}": _stored(y) for n, y in zip(self.outputs, outputs)}
            own_call.expect_finite(self, "forward", [*map(_stored, arrays)], found)
        return outputs

    def differentiate(self, ctx, dys):
        saved = saved_tensors(ctx)
        tensors = iter(saved)
        arrays = [NDArray(next(tensors), self.context) if a is None else a for a in ctx.arrays]
        count = len(self.inputs)
        with torch.no_grad():
            found = self.gradients(arrays[:count], arrays[count:], dys, ctx.needs_input_grad[1:])
        if is_grad_enabled():
            message = f"{self.what} has no second derivative{self.reason}"
            return refuse_second(ctx, found, message, (*dys, *saved))
        return found

    def gradients(self, inputs: list[NDArray], outputs: list[NDArray], dys, asked) -> list:
        """Return the gradients of the inputs as tensors, None where none is asked for."""
        dys = [
            NDArray(dy, self.context)
            if dy.layout is torch.strided
            else wrap_gradient(dy, self.context)
            for dy in dys
        ]
        told = self.op.gradient_storage_types(
            [a.stype for a in dys],
            self.stypes,
            self.gradient_stypes,
            [a.stype for a in self.states],
        )
        dys = [_as_stored(a, s) for a, s in zip(dys, told[0])]
        shapes, types = self.signature.in_shapes, self.signature.dtypes
        gradients = [self._empty(*one) for one in zip(told[3], shapes, types)]
        self._differentiate(dys, inputs, outputs, gradients, asked)
        if own_call.CHECK_NAN:
            names = [f"the gradient of {n}" for n in self.inputs]
            found = {n: _stored(g) for n, g, a in zip(names, gradients, asked) if a}
            given = [*map(_stored, (*inputs, *outputs, *dys))]
            own_call.expect_finite(self, "backward", given, found)
        return [_gradient(g) if a else None for g, a in zip(gradients, asked)]

    def _empty(self, stype: str, shape: Sequence[int], dtype: torch.dtype) -> NDArray:
        if stype == "default":
            return Output(tuple(shape), dtype, self.context)
        like = torch.empty(0, dtype=dtype, device=self.context.device)
        return zeros_of(stype, tuple(shape), like, self.context)


def _stored(array: NDArray):
    """Return the tensor of a dense array, or the stored parts of a sparse one."""
    return array._stored if isinstance(array, BaseSparseNDArray) else array._tensor


def _as_stored(array: NDArray, stype: str) -> NDArray:
    """Return an array in a storage type, itself if it has it."""
    if array.stype == stype:
        return array
    dense = array._as_dense()
    return dense if stype == "default" else cast(dense, stype)


def _result(y: NDArray, handle: Tensor | None, context) -> NDArray:
    """Return an output as the caller sees it."""
    if isinstance(y, BaseSparseNDArray):
        return wrap(y._lend(), context, handle)
    return as_output(take_tensor(y) if handle is None else handle, context)


def _gradient(array: NDArray) -> Tensor:
    """Return a gradient as PyTorch's autograd takes it."""
    if not isinstance(array, BaseSparseNDArray):
        return take_tensor(array)
    stored = array._lend()
    return stored.to_gradient() if isinstance(stored, RowSparse) else stored.to_dense()
