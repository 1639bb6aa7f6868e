"""Parts of a computation that are computed again in backward, instead of keeping what they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

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
    """Return ``function(*tensors)``; keep no intermediate value for backward.

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

    training, context, before = this_thread.state.training, current_context(), _noted(states)
    is_again = False

    def compute(*others: Tensor) -> Sequence[Tensor]:
        nonlocal is_again
        if is_again:  # in backward, maybe more than once: things are as they were in forward
            with context, record(training), _plain_graphs(), _values(states, before):
                return on_others(*others)
        is_again = True
        with _plain_graphs():
            return on_others(*others)

    others = [t for t, known in zip(tensors, is_state) if not known]
    with set_checkpoint_early_stop(False):  # no exception of PyTorch's passes through users' code
        return checkpoint(compute, *others, use_reentrant=False)


def _noted(tensors: Sequence[Tensor]) -> list[tuple[Tensor, Tensor, int]]:
    """Return the tensors with their values and their versions, which count the writes."""
    return [(t, t.detach().clone(), t._version) for t in tensors]


@contextmanager
def _values(tensors: Sequence[Tensor], noted: list[tuple[Tensor, Tensor, int]]) -> Iterator[None]:
    """``with _values(tensors, noted):`` tensors have the values that were noted."""
    now = _noted(tensors)
    _restore(noted)
    try:
        yield
    finally:
        _restore(now)


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
