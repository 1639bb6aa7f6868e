"""Layer normalization by PyTorch's own, which reads x once."""

from __future__ import annotations

import torch

from . import are_alike, wide

_backward = torch.ops.aten.native_layer_norm_backward.default


class layer_norm:
    saves = ("mean", "rstd")

    def fits(x, gamma, beta, epsilon):
        return x.shape[-1:] == gamma.shape == beta.shape and are_alike(x, gamma, beta)

    def forward(x, gamma, beta, *, epsilon):
        y, mean, rstd = torch.native_layer_norm(
            wide(x), gamma.shape, wide(gamma), wide(beta), epsilon
        )
        return y.to(x.dtype), mean, rstd

    def backward(dy, x, gamma, beta, mean, rstd):
        weight, bias = wide(gamma), wide(beta)
        found = _backward(
            wide(dy), wide(x), gamma.shape, mean, rstd, weight, bias, [True, True, True]
        )
        return dict(zip(("x", "gamma", "beta"), [t.to(x.dtype) for t in found]))
