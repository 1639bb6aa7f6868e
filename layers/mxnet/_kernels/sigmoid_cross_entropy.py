"""The cross entropy of yes or no in fewer passes."""

from __future__ import annotations

import torch
import torch.nn.functional as F


class sigmoid_cross_entropy:
    def fits(x, t):
        return x.shape == t.shape and x.dtype in (torch.float32, torch.float64)

    def forward(x, t):
        return F.binary_cross_entropy_with_logits(x, t.to(x.dtype), reduction="none")

    def dx(dy, x, t):
        return torch.sigmoid(x).sub_(t.to(x.dtype)).mul_(dy)

    def dt(dy, x, t):
        return (x * dy).neg_().to(t.dtype)
