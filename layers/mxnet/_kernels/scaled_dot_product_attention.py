"""Attention by PyTorch's own for a CPU, which keeps no matrix of scores."""

from __future__ import annotations

import torch

_forward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default


class scaled_dot_product_attention:
    saves = ("level",)

    def fits(q, k, v, mask, causal, scale):
        if not (q.dim() == k.dim() == v.dim() == 4 and 0 not in (*q.shape, *k.shape, *v.shape)):
            return False
        fit = q.shape[:2] == k.shape[:2] == v.shape[:2] and k.shape[2] == v.shape[2]
        fit = fit and q.shape[3] == k.shape[3] == v.shape[3]
        if mask is not None:
            fit = fit and tuple(mask.shape) in ((len(q),), (len(q), k.shape[2]))
        # Its causal mask starts at the first key, and is -∞ before the scale is multiplied with it.
        if causal and q.shape[2] > 1:
            fit = fit and q.shape[2] == k.shape[2] and (scale is None or scale > 0)
        return fit and q.is_cpu and q.is_floating_point() and q.dtype == k.dtype == v.dtype

    def forward(q, k, v, mask, *, causal, scale):
        y, level = _forward(
            *with_unit_stride(q, k, v),
            0.0,
            causal and q.shape[2] > 1,
            attn_mask=bias(mask, q, k),
            scale=q.shape[-1] ** -0.5 if scale is None else scale,
        )
        zero = q.mean(-1, keepdim=True).mul_(0)  # NaN for a q with NaN, of which y is 0 by itself
        return y.add_(zero), level

    def backward(dy, q, k, v, mask, y, level, causal, scale):
        found = _backward(
            *with_unit_stride(dy, q, k, v, y),
            level,
            0.0,
            causal and q.shape[2] > 1,
            attn_mask=bias(mask, q, k),
            scale=q.shape[-1] ** -0.5 if scale is None else scale,
        )
        return dict(zip(("q", "k", "v"), found))


def bias(mask, q, k):
    """Return the mask that is added to the scores: 0 for allowed keys, else -∞."""
    if mask is None:
        return None
    if mask.dim() == 2:
        allowed = mask != 0
    else:
        places = torch.arange(k.shape[2], device=mask.device, dtype=torch.float32)
        allowed = places < mask.float().unsqueeze(1)
    zeros = torch.zeros(allowed.shape, dtype=q.dtype, device=q.device)
    return zeros.masked_fill(~allowed, -torch.inf)[:, None, None, :]


def with_unit_stride(*tensors):
    return [t if t.stride(-1) == 1 else t.contiguous() for t in tensors]
