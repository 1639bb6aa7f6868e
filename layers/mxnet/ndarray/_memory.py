"""Writing into an array, whose memory other arrays may share.

Where the others are views, which must see the writes (VIEWED), the array writes into that memory;
so it does where autograd knows the array by its tensor. Where the others must not see the writes
(LENT, BORROWED), the array copies the memory first. Where nothing else has the memory, an array
that is overwritten takes the new tensor in place of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from .. import autograd
from .._state import this_thread
from .._tensor import as_tensor, call_recorded, contiguous_copy, copy_to
from ..base import ArgumentError, RecordingError
from . import _index
from ._again import computed_again
from ._origin import note_written

if TYPE_CHECKING:
    from .ndarray import NDArray

# Values of NDArray._held: who else has the memory.
VIEWED = "viewed"  # arrays that must see the writes
LENT = "lent"  # arrays that must not see them
BORROWED = "borrowed"  # the caller of an operator and its views, which must not see them


class Memory:
    """The base of NDArray with the methods that write."""

    __slots__ = ()

    def _writable(self) -> torch.Tensor:
        """The tensor to write into; refused inside `record` for a recorded array."""
        self._refuse_recorded()
        return self._state_tensor()

    def _state_tensor(self) -> torch.Tensor:
        """The tensor that an operator updates as its state, also of a recorded array."""
        self._copy_if_lent()
        return self._tensor.detach() if self._tensor.requires_grad else self._tensor

    @property
    def _autograd_tensor(self) -> torch.Tensor:
        """The tensor by which autograd knows the array."""
        return self._tensor

    @property
    def _elements(self) -> torch.Tensor:
        """The elements that are stored."""
        return self._tensor

    def _replace_elements(self, tensor: torch.Tensor) -> None:
        """Take others in their places."""
        self._replace(tensor)

    def _computed_again(self, twins: dict[int, torch.Tensor]) -> torch.Tensor | None:
        """The output of the calls that gave the array, made again for `backward`; maybe None."""
        return computed_again(self, twins)

    def _requires_grad(self) -> bool:
        return self._tensor.requires_grad

    def _become_variable(self, tensor: torch.Tensor, leaf: autograd.Leaf | None) -> None:
        """Be known to autograd by a tensor of the same values, with a gradient or none."""
        self._tensor, self._leaf, self._origin = tensor, leaf, None

    def _take_gradient(self, given: torch.Tensor | None, add: bool) -> None:
        """Take a gradient, None for zeros, or add it; an operator may have kept what it gave."""
        if given is None:
            given = torch.zeros_like(self._tensor, requires_grad=False)
        elif given.layout is not torch.strided:
            given = given.to_dense()
        if add:
            self._writable().add_(given)
        else:
            self._replace(given, True)

    def _refuse_recorded(self) -> None:
        if this_thread.state.recording and self._requires_grad():
            raise RecordingError(
                f"writing into an array {self.shape} that is part of the recorded computation\n"
                "  expected x = x + y, not x += y or x[:] = y, inside autograd.record()"
            )

    def _keeps_memory(self) -> bool:
        return self._held is VIEWED or self._tensor.requires_grad

    def _share(self) -> None:
        """Mark the memory as shared with a view, which sees what is written here."""
        if self._held is None or self._held is LENT:
            if self._held is LENT or not self._tensor.is_contiguous():
                self._tensor = call_recorded(contiguous_copy, self._tensor)
            self._held = VIEWED

    def _tensor_to_view(self) -> torch.Tensor:
        """The tensor to make a view of; detached where autograd does not record."""
        detached = self._tensor.requires_grad and not this_thread.state.recording
        return self._tensor.detach() if detached else self._tensor

    def _copy_if_lent(self) -> None:
        """Copy the memory where something else has it that must not see what is written here."""
        if self._held is LENT or self._held is BORROWED:
            with torch.enable_grad():  # an output of an operator stays recorded
                self._tensor, self._held = self._tensor.clone(), None

    def _tensor_to_keep(self) -> torch.Tensor:
        """The tensor, for code that may keep it and must not see what is written here later."""
        if self._held in (VIEWED, BORROWED) or self._leaf is not None:
            return self._tensor.clone()
        self._held = LENT
        return self._tensor

    def _replace(self, tensor: torch.Tensor, lent: bool = False) -> None:
        """Take the values of a new tensor; with `lent`, something else may have its memory."""
        if self._held is VIEWED or self._tensor.requires_grad:
            call_recorded(torch.Tensor.copy_, self._writable(), tensor)
            return
        if this_thread.state.recorder is not None:
            self._note_rebinding()
        self._tensor, self._held, self._origin = tensor, LENT if lent else None, None

    def _note_rebinding(self) -> None:
        """Tell who asks for it that another tensor takes the place of this array's."""
        if (recorder := this_thread.state.recorder) is not None:
            recorder.note_rebinding(self._tensor)

    def _copy_from(self, other: NDArray) -> None:
        """Take the values of an array of the same shape, without a copy where that is safe."""
        tensor, device, dtype = other._tensor, self._context.device, self._tensor.dtype
        if self._keeps_memory():
            call_recorded(torch.Tensor.copy_, self._writable(), self._copy_if_overlapping(other))
            return
        self._note_rebinding()
        self._origin = None
        if (
            other._leaf is not None
            or other._held in (VIEWED, BORROWED)
            or (other._context, tensor.dtype) != (self._context, dtype)
        ):
            self._tensor, self._held = call_recorded(copy_to, tensor, device, dtype), None
        else:
            self._tensor, self._held = other._tensor_to_view(), LENT
            other._held = LENT

    def _fill(self, value) -> None:
        """x[:] = value"""
        self._refuse_recorded()
        if isinstance(value, Memory) and value.shape == self.shape:
            value = value._as_dense()
            if value is not self:
                self._copy_from(value)
                note_written(self, value)
        else:
            if self._held in (LENT, BORROWED) and not self._keeps_memory():
                self._note_rebinding()
                self._tensor, self._held = torch.empty_like(self._tensor), None
            self._put(..., value)

    def _put(self, key, value) -> None:
        """x[key] = value"""
        target = self._writable()
        if not (isinstance(value, (int, float)) and target.is_floating_point()):
            value = self._as_source(value)
        _index.put(target, key, value)

    def _as_source(self, value: Any) -> torch.Tensor:
        """The value to write, as a tensor of this array's dtype and device."""
        if isinstance(value, Memory):
            value = value._as_dense()
            if this_thread.state.recording and value._tensor.requires_grad:
                raise RecordingError(
                    "x[key] = y where y is part of the recorded computation\n"
                    "  expected an operator, such as where, concat or slice_assign"
                )
            value = self._copy_if_overlapping(value).detach()
        elif value is None:  # NaN for NumPy; here, most likely a forgotten return
            raise ArgumentError("x[key] = y: y is None\n  expected an array or a number")
        elif not isinstance(value, torch.Tensor):
            value = as_tensor("x[key] = y", value, self._tensor.dtype)
        return value.to(self._tensor.device, self._tensor.dtype)

    def _copy_if_overlapping(self, other: NDArray) -> torch.Tensor:
        """Another array's tensor; a copy where the two may overlap, as in x[1:] = x[:-1]."""
        if self._held is VIEWED and other._held is VIEWED:
            return other._tensor.clone()
        return other._tensor
