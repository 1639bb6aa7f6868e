"""PyTorch's generators of random numbers: what was drawn in one run is drawn again in another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from .context import Context


def generator_states(context: Context) -> list[torch.Tensor]:
    """The states of the generators that a computation on a context draws from."""
    device = context.device
    on_gpu = [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
    return [torch.get_rng_state(), *on_gpu]


@contextmanager
def draws_restored(context: Context, states: list[torch.Tensor] | None = None) -> Iterator[None]:
    """``with draws_restored(context):`` the generators are afterwards where they were before.

    Inside they begin at `states`, where some are given.
    """
    device = context.device
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        if states:
            torch.set_rng_state(states[0])
        if states and device.type == "cuda":
            torch.cuda.set_rng_state(states[1], device)
        yield
