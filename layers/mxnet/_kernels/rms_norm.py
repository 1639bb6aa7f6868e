"""Root mean square normalization, whose gradients are those of layer normalization."""

from __future__ import annotations

import torch

from . import are_alike, wide

_backward = torch.ops.aten.native_layer_norm_backward.default


class rms_norm:
    saves = ("rstd",)

    def fits(x, gamma, epsilon):
        return x.shape[-1:] == gamma.shape and are_alike(x, gamma)

    def forward(x, gamma, *, epsilon):
        data = wide(x)
        size = torch.linalg.vector_norm(data, dim=-1, keepdim=True)
        rstd = size.square_().div_(x.shape[-1]).add_(epsilon).rsqrt_()
        return torch.mul(data, wide(gamma)).mul_(rstd).to(x.dtype), rstd

    def backward(dy, x, gamma, rstd):
        # Layer normalization with the mean 0 takes the mean of dy gamma from dx, beside that.
        head, weight = wide(dy), wide(gamma)
        wanted = [True, True, False]
        dx, dgamma, _ = _backward(
            head, wide(x), gamma.shape, torch.zeros_like(rstd), rstd, weight, None, wanted
        )
        level = (head @ weight).unsqueeze(-1).mul_(rstd).div_(gamma.shape[0])
        return {"x": dx.add_(level).to(x.dtype), "gamma": dgamma.to(x.dtype)}
