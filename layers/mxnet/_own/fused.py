"""Functions of PyTorch in place of formulas in `nd` that take many passes over memory."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..ndarray.ndarray import NDArray

__all__ = ["fused"]

_attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_attention_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default
_sum_bags = torch.ops.aten._embedding_bag_forward_only.default
_sum_bags_backward = torch.ops.aten._embedding_bag_backward.default
_layer_norm_backward = torch.ops.aten.native_layer_norm_backward.default


def layer_norm_gradients(dy, x, gamma, mean, rstd):
    """The gradients of x, gamma and beta.

    In a second derivative PyTorch takes mean and rstd as functions of x itself.
    """
    weight, statistics = gamma._tensor, [a._tensor.detach() for a in (mean, rstd)]
    found = _layer_norm_backward(
        dy._tensor, x._tensor, weight.shape, *statistics, weight, weight, [True, True, True]
    )
    return [NDArray(t, x._context) for t in found]


# PyTorch's attention has no second derivative: none of it where gradients are recorded.


def attention(q, k, v, allowed, causal, scale):
    """The output of attention, and log Σ eˢ of each query."""
    if torch.is_grad_enabled() or not _fits(q, k, v, causal):
        return NotImplemented
    tensors = [_with_unit_stride(a._tensor) for a in (q, k, v)]
    found = _attention(
        *tensors, 0.0, causal and q.shape[2] > 1, attn_mask=_bias(allowed, q), scale=scale
    )
    return [NDArray(t, q._context) for t in found]


def attention_gradients(dy, q, k, v, allowed, y, level, causal, scale):
    """The gradients of q, k and v."""
    if torch.is_grad_enabled() or not _fits(q, k, v, causal):
        return NotImplemented
    tensors = [_with_unit_stride(a._tensor) for a in (dy, q, k, v, y)]
    causal = causal and q.shape[2] > 1
    found = _attention_backward(
        *tensors, level._tensor, 0.0, causal, attn_mask=_bias(allowed, q), scale=scale
    )
    return [NDArray(t, q._context) for t in found]


def _fits(q, k, v, causal) -> bool:
    """Whether PyTorch's function for a CPU computes it; its causal mask starts at the first key."""
    first_is_last = not causal or q.shape[2] in (1, k.shape[2])
    return q._tensor.device.type == "cpu" and q.shape[3] == v.shape[3] and first_is_last


def _bias(allowed, q) -> torch.Tensor | None:
    """What is added to the scores: 0 for keys that are allowed, else -∞."""
    if allowed is None:
        return None
    bias = torch.zeros(allowed.shape, dtype=q._tensor.dtype, device=q._tensor.device)
    return bias.masked_fill(allowed._tensor == 0, -torch.inf)[:, None, None, :]


def _with_unit_stride(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def weighted_sums(w, numbers, starts, factors):
    """For each bag Σ factor w[number], without an array of the rows."""
    if torch.is_grad_enabled():
        return NotImplemented
    places = numbers._tensor.long(), starts._tensor.long()
    factors = None if factors is None else factors._tensor
    return NDArray(_sum_bags(w._tensor, *places, per_sample_weights=factors)[0], w._context)


def gradient_of_rows(dy, w, numbers, starts, factors):
    """The gradient of w in `weighted_sums`."""
    if torch.is_grad_enabled():
        return NotImplemented
    places = numbers._tensor.long(), starts._tensor.long()
    none = places[1].new_empty(0)  # what PyTorch then computes itself
    factors = None if factors is None else factors._tensor
    found = _sum_bags_backward(
        dy._tensor, *places, none, none, none, len(w._tensor), False, 0, False, factors
    )
    return NDArray(found, w._context)


def add_rows(rows, numbers, count):
    """An array of so many rows, each the sum of the rows that have its number."""
    made = rows._tensor.new_zeros((count, *rows.shape[1:]))
    return NDArray(made.index_add(0, numbers._tensor.long(), rows._tensor), rows._context)


FUSED = {
    "add_rows": add_rows,
    "attention": attention,
    "attention_gradients": attention_gradients,
    "gradient_of_rows": gradient_of_rows,
    "layer_norm_gradients": layer_norm_gradients,
    "weighted_sums": weighted_sums,
}


def fused(name: str, formula: Callable) -> Callable:
    """PyTorch's function of this name, or the formula where there is none, or it does not fit."""
    function = FUSED.get(name)
    if function is None:
        return formula

    def call(*args):
        found = function(*args)
        return formula(*args) if found is NotImplemented else found

    return call
