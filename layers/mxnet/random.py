"""Random numbers: the seed, and the draws under their short names."""

from __future__ import annotations

import numpy as np
import torch

from .base import ArgumentError
from .context import Context
from .ndarray.random import *
from .ndarray.random import __all__ as _draws

__all__ = ["seed", *_draws]


def seed(seed_state: int, ctx: Context | str = "all") -> None:
    """Seed the generators: all of them, or that of one context.

    The same seed gives the same numbers on the same kind of device. The CPU contexts share one
    generator, which is PyTorch's.

    Raises
    ------
    ArgumentError
        The seed is no integer.
    ContextError
        There is no such context, or not on this machine.
    """
    if not isinstance(seed_state, (int, np.integer)):
        raise ArgumentError(f"seed: seed_state is {seed_state!r}\n  expected an int")
    seed_state = int(seed_state) % 2**64  # what the generators take; others are as good
    if ctx == "all":
        # torch.manual_seed takes 100 times as long, for devices that are no contexts here.
        torch.default_generator.manual_seed(seed_state)
        if torch.backends.cuda.is_built():
            torch.cuda.manual_seed_all(seed_state)
        return
    device = (ctx if isinstance(ctx, Context) else Context(ctx)).device
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed_state)
    else:
        torch.default_generator.manual_seed(seed_state)
