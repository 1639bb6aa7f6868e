"""Parts of a computation that are computed again in backward, instead of keeping what they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from .._state import this_thread
from ..autograd import record
from ..context import current_context

Tensor = torch.Tensor


def recomputed(
    function: Callable[..., Sequence[Tensor]],
    tensors: Sequence[Tensor],
    states: Sequence[Tensor] = (),
) -> Sequence[Tensor]:
    """What ``function(*tensors)`` returns; of its intermediates nothing is kept for backward.

    There it is called again, with the same random numbers, and with `states`, which it updates in
    place, as they were.
    """
    if not torch.is_grad_enabled():
        return function(*tensors)
    if torch.compiler.is_compiling():
        return checkpoint(function, *tensors, use_reentrant=False)
    is_state = [any(t is s for s in states) for t in tensors]

    def on_others(*others: Tensor) -> Sequence[Tensor]:
        # The states are no arguments: PyTorch would refuse to go back once they are updated.
        rest = iter(others)
        return function(*[t if known else next(rest) for t, known in zip(tensors, is_state)])

    others = [t for t, known in zip(tensors, is_state) if not known]
    again = _Again(states)
    with set_checkpoint_early_stop(False):  # no exception of PyTorch's passes through users' code
        return checkpoint(
            on_others, *others, use_reentrant=False, context_fn=lambda: (_plain_graphs(), again)
        )


class _Again:
    """``with again:``, as often as backward needs it: things are as they were in forward."""

    def __init__(self, states: Sequence[Tensor]):
        self._training, self._context = this_thread.state.training, current_context()
        self._states, self._before = states, _noted(states)
        self._entered: list[ExitStack] = []

    def __enter__(self) -> None:
        with ExitStack() as stack:
            stack.enter_context(self._context)
            stack.enter_context(record(self._training))
            stack.enter_context(_plain_graphs())
            stack.callback(_restore, _noted(self._states))
            _restore(self._before)
            self._entered.append(stack.pop_all())

    def __exit__(self, *error) -> None:
        self._entered.pop().__exit__(*error)


def _noted(tensors: Sequence[Tensor]) -> list[tuple[Tensor, Tensor, int]]:
    """The tensors with their values and their versions, which count the writes."""
    return [(t, t.detach().clone(), t._version) for t in tensors]


def _restore(noted: list[tuple[Tensor, Tensor, int]]) -> None:
    with torch.no_grad():
        for tensor, value, version in noted:
            if tensor._version != version:
                tensor.detach().copy_(value)


@contextmanager
def _plain_graphs() -> Iterator[None]:
    """``with _plain_graphs():`` graphs run as they are: both times they have to save the same."""
    before, this_thread.state.plain = this_thread.state.plain, True
    try:
        yield
    finally:
        this_thread.state.plain = before
