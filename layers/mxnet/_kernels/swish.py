"""Swish with β = 1 in one pass each."""

from __future__ import annotations

import torch
import torch.nn.functional as F

_silu_backward = torch.ops.aten.silu_backward.default


class swish:
    def fits(x, beta):
        return beta == 1 and x.is_floating_point()

    def forward(x, *, beta):
        return F.silu(x)

    def dx(dy, x):
        return _silu_backward(dy, x)
