"""Group normalization by PyTorch's own, which reads x once."""

from __future__ import annotations

import torch

from . import are_alike, wide

_backward = torch.ops.aten.native_group_norm_backward.default


class group_norm:
    saves = ("mean", "rstd")

    def fits(x, gamma, beta, num_groups, epsilon):
        parameters = x.shape[1:2] == gamma.shape == beta.shape and are_alike(x, gamma, beta)
        return (
            parameters
            and x.dim() > 1
            and num_groups > 0
            and not x.shape[1] % num_groups
            and x.numel()
        )

    def forward(x, gamma, beta, *, num_groups, epsilon):
        n, c, *places = x.shape
        size = x.numel() // (n * c)
        y, mean, rstd = torch.native_group_norm(
            wide(x).contiguous(), wide(gamma), wide(beta), n, c, size, num_groups, epsilon
        )
        return y.to(x.dtype), mean, rstd

    def backward(dy, x, gamma, beta, num_groups, mean, rstd):
        n, c, *places = x.shape
        size = x.numel() // (n * c)
        head, data = wide(dy).contiguous(), wide(x).contiguous()
        all_of_them = [True, True, True]
        found = _backward(head, data, mean, rstd, wide(gamma), n, c, size, num_groups, all_of_them)
        return dict(zip(("x", "gamma", "beta"), [t.to(x.dtype) for t in found]))
