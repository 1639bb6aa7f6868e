"""Hard swish in fewer passes."""

from __future__ import annotations

import torch
import torch.nn.functional as F

_backward = torch.ops.aten.hardswish_backward.default


class hard_swish:
    def fits(x):
        return x.is_floating_point()

    def forward(x):
        return F.hardsigmoid(x).mul_(x)  # F.hardswish is infinite for a large x

    def dx(dy, x):
        return _backward(dy, x).add_(x.clamp(0, 0))  # NaN, where it is dy by itself
