"""The focal loss in place."""

from __future__ import annotations

import torch
import torch.nn.functional as F


class focal:
    saves = ("entropy",)

    def fits(x, t, gamma, alpha):
        return x.shape == t.shape and x.is_floating_point()

    def forward(x, t, *, gamma, alpha):
        t = t.to(x.dtype)
        z = torch.addcmul(x, x, t, value=-2)
        entropy = F.logsigmoid(-z).neg_()
        y = z.sigmoid_().pow_(gamma).mul_(entropy)
        return balanced(y, t, 1 - alpha, 2 * alpha - 1), entropy

    def dx(dy, x, t, entropy, gamma, alpha):
        t = t.to(x.dtype)
        wrong = torch.addcmul(x, x, t, value=-2).sigmoid_()
        slope = torch.addcmul(entropy, entropy, wrong, value=-1)
        slope.mul_(gamma).add_(wrong).mul_(wrong.pow_(gamma)).mul_(dy)
        return balanced(slope, t, 1 - alpha, -1)


def balanced(y, t, first, more):
    """y (first + more t)"""
    return (y * first).addcmul_(y, t, value=more)
