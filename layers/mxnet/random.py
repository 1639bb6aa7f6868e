"""Random numbers: the seed, and the draws under their short names."""

from __future__ import annotations

import torch

from .context import Context
from .ndarray.random import *  # noqa: F403 - MXNet's `mx.random` shows all of `nd.random`
from .ndarray.random import __all__ as _draws

__all__ = ["seed", *_draws]  # noqa: PLE0604 - the names of nd.random


def seed(seed_state: int, ctx: Context | str = "all") -> None:
    """Seed the generators: all of them, or that of one context.

    The same seed gives the same numbers on the same kind of device.
    """
    if ctx == "all":
        torch.manual_seed(seed_state)
    elif ctx.device.type == "cuda":
        with torch.cuda.device(ctx.device):
            torch.cuda.manual_seed(seed_state)
    else:
        torch.default_generator.manual_seed(seed_state)
