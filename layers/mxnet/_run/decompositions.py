"""Kernels of PyTorch in compiled code, where inductor's own code is slower.

Inductor takes operators apart into simpler ones, and fuses these with what is around them. For the
layer normalization of an array that is larger than the processor's cache its code goes over memory
twice, where PyTorch's kernel goes over it once: for x (4096, 768) it takes 1.5 times as long
forward, and 2.4 times backward. So that kernel is called there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

forward = torch.ops.aten.native_layer_norm.default
backward = torch.ops.aten.native_layer_norm_backward.default

LARGE = 2**20  # so many elements are not in the cache of a core
WIDE = 256  # with shorter rows inductor's code is the faster one forward


def decompositions(options: dict[str, Any]) -> dict[Any, Callable] | None:
    """What inductor takes operators apart into, on a CPU; None says that it is to decide alone.

    Parameters
    ----------
    options : dict
        Options of inductor, for the graph that is compiled.
    """
    if not _call_kernels():
        return None
    from torch._inductor import config
    from torch._inductor.decomposition import select_decomp_table

    with config.patch(options):
        known = select_decomp_table()

    def layer_norm(x, shape, *rest):
        if x.numel() >= LARGE and x.shape[-1] >= WIDE:
            return NotImplemented
        return known[forward](x, shape, *rest)

    def layer_norm_backward(dy, x, *rest):
        return NotImplemented if x.numel() >= LARGE else known[backward](dy, x, *rest)

    return {**known, forward: layer_norm, backward: layer_norm_backward}


@cache
def _call_kernels() -> bool:
    """Let inductor call the kernels where it does not take them apart; returns whether it can.

    The functions for this are not public. Where inductor no longer has them, it decides alone.
    """
    try:
        from torch._inductor.lowering import make_fallback, require_contiguous

        for kernel in (forward, backward):
            make_fallback(kernel, require_contiguous, warn=False, override_decomp=True)
    except (ImportError, TypeError):
        return False
    return True
