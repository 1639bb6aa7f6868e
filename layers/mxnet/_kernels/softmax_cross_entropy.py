"""The cross entropy of softmax without an array of the classes that are right."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .._op.lookups import NO_LABEL, no_class, numbers
from . import wide


class softmax_cross_entropy:
    saves = ("number",)

    def fits(x, label):
        rows = x.shape[:-1]
        return rows and x.shape[-1] and x.is_floating_point() and label.shape in (rows, (*rows, 1))

    def forward(x, label):
        given, count = label.reshape(-1), x.shape[-1]
        number = numbers(given, count)
        log_p = torch.log_softmax(wide(x), -1).reshape(-1, count)
        try:
            y = F.nll_loss(log_p, number, reduction="none", ignore_index=NO_LABEL)
        except IndexError:
            raise no_class("softmax_cross_entropy", given, number, count) from None
        return y.reshape(x.shape[:-1]).to(x.dtype), number

    def dx(dy, x, number):
        p = torch.softmax(wide(x), -1)
        p.reshape(-1, x.shape[-1]).scatter_(1, number.unsqueeze(1), -1, reduce="add")
        return p.mul_(wide(dy).unsqueeze(-1)).to(x.dtype)
