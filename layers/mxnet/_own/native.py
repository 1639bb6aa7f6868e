"""Functions of PyTorch in place of whole operators, which PyTorch's autograd differentiates.

A function takes the operator's tensors and attributes; it returns None where it does not fit them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

__all__ = ["NATIVE"]

WIDE = torch.float32, torch.float64  # of 16 bits PyTorch keeps statistics of 16 bits


def layer_norm(x, gamma, beta, eps):
    """Layer normalization."""
    fits = x.shape[-1:] == gamma.shape == beta.shape and x.dtype == gamma.dtype == beta.dtype
    return F.layer_norm(x, gamma.shape, gamma, beta, eps) if fits and x.dtype in WIDE else None


def swiglu(gate, value):
    """The gated unit, which keeps its activation too, for time; a GPU computes it again."""
    fits = gate.shape == value.shape and gate.dtype == value.dtype and gate.is_cpu and value.is_cpu
    return F.silu(gate) * value if fits else None


def swish(x, beta):
    return F.silu(x) if beta == 1 and x.is_floating_point() else None


def group_norm(x, gamma, beta, groups, eps):
    """Group normalization."""
    parameters = x.shape[1:2] == gamma.shape == beta.shape and x.dtype == gamma.dtype == beta.dtype
    fits = parameters and x.dim() > 1 and groups > 0 and x.shape[1] % groups == 0
    return F.group_norm(x, groups, gamma, beta, eps) if fits and x.dtype in WIDE else None


def softmax_cross_entropy(x, label):
    """The cross entropy of each sample, with labels as `pick` clips them."""
    fits = x.dim() == 2 and label.shape == x.shape[:1] and x.dtype in WIDE
    if not fits:
        return None
    return F.cross_entropy(x, label.long().clamp(0, x.shape[1] - 1), reduction="none")


def sigmoid_cross_entropy(x, t):
    fits = x.shape == t.shape and x.dtype == t.dtype and x.dtype in WIDE
    return F.binary_cross_entropy_with_logits(x, t, reduction="none") if fits else None


NATIVE = {
    "layers.group_norm": group_norm,
    "layers.layer_norm": layer_norm,
    "layers.sigmoid_cross_entropy": sigmoid_cross_entropy,
    "layers.softmax_cross_entropy": softmax_cross_entropy,
    "layers.swiglu": swiglu,
    "layers.swish": swish,
}
