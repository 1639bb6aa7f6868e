"""Functions of PyTorch in place of whole operators, which PyTorch's autograd differentiates.

An operator names its function as its `native`. A function takes the operator's tensors and
attributes; it returns None where it does not fit them.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .._table.product import linear
from .labels import NO_LABEL, class_numbers, no_class

__all__ = ["NATIVE"]

WIDE = torch.float32, torch.float64  # of 16 bits PyTorch keeps statistics of 16 bits
FEW = 4  # so many blocks of scores take less time to keep than to compute again
SMALL = 2**15  # so many elements take less time than a call of Python for their gradients


def dense(x, w, b, bias):
    """The affine map, without a constant bias."""
    alike = all(t is None or t.dtype == x.dtype for t in (w, b)) and x.is_floating_point()
    shapes = w.dim() == 2 and x.dim() > 0 and x.shape[-1:] == w.shape[1:]
    fits = alike and shapes and not bias and (b is None or b.shape == w.shape[:1])
    return linear(x, w, b) if fits else None


def relu(x):
    return torch.relu(x) if x.is_floating_point() else None


def sigmoid(x):
    return torch.sigmoid(x) if x.is_floating_point() else None


def layer_norm(x, gamma, beta, eps):
    """Layer normalization."""
    size, dtype = gamma.shape, x.dtype
    fits = x.shape[-1:] == size == beta.shape and dtype is gamma.dtype is beta.dtype
    return torch.layer_norm(x, size, gamma, beta, eps) if fits and dtype in WIDE else None


def rms_norm(x, gamma, eps):
    """Root mean square normalization of a small array; a graph that is exported has any size."""
    if torch.compiler.is_exporting() or x.numel() > SMALL:
        return None
    fits = x.shape[-1:] == gamma.shape and x.dtype == gamma.dtype
    return F.rms_norm(x, gamma.shape, gamma, eps) if fits and x.dtype in WIDE else None


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
    """The cross entropy of each sample."""
    rows, dtype = x.shape[:-1], x.dtype
    if not rows or not dtype.is_floating_point or label.shape not in (rows, (*rows, 1)):
        return None
    if dtype not in WIDE:  # its kernels would sum up in 16 bits
        x = x.float()
    if label.dim() == 1:  # nearly always
        y = cross_entropy("softmax_cross_entropy", x, label)
    else:
        y = cross_entropy("softmax_cross_entropy", x.reshape(-1, x.shape[-1]), label.reshape(-1))
        y = y.reshape(rows)
    return y if dtype in WIDE else y.to(dtype)


def cross_entropy(name, scores, label, ignored=None, smoothing=0.0):
    """The cross entropy of each row, whose kernel refuses the numbers of no class."""
    number = class_numbers(label, scores.shape[1], ignored)
    try:
        return F.cross_entropy(
            scores, number, reduction="none", ignore_index=NO_LABEL, label_smoothing=smoothing
        )
    except IndexError:
        raise no_class(name, label, number, scores.shape[1], ignored) from None


def linear_cross_entropy(x, w, label, b, ignore_label, smoothing, z_loss, block):
    """The affine map and the cross entropy, where scores are so few that they may be kept."""
    alike = all(t is None or t.dtype == x.dtype for t in (w, b)) and x.dtype in WIDE
    shapes = w.dim() == 2 and x.dim() > 0 and x.shape[-1:] == w.shape[1:]
    shapes = shapes and label.shape == x.shape[:-1] and (b is None or b.shape == w.shape[:1])
    if not (alike and shapes) or z_loss or label.numel() * w.shape[0] > FEW * block:
        return None
    scores = linear(x.reshape(-1, x.shape[-1]), w, b)
    y = cross_entropy("linear_cross_entropy", scores, label.reshape(-1), ignore_label, smoothing)
    y = y.reshape(label.shape)
    return y if ignore_label is None else y.masked_fill(label == ignore_label, 0)


def info_nce(x, z, temperature, block):
    """The cross entropy of the diagonal, where scores are so few that they may be kept."""
    alike = x.shape == z.shape and x.dtype == z.dtype and x.dtype in WIDE and x.dim() == 2
    if not alike or len(x) ** 2 > FEW * block:
        return None
    scores = linear(x if temperature == 1 else x / temperature, z)
    return F.cross_entropy(scores, torch.arange(len(x), device=x.device), reduction="none")


def sigmoid_cross_entropy(x, t):
    if x.shape != t.shape or x.dtype not in WIDE:
        return None
    t = t if t.dtype == x.dtype else t.to(x.dtype)
    return F.binary_cross_entropy_with_logits(x, t, reduction="none")


NATIVE = {
    "dense": dense,
    "group_norm": group_norm,
    "info_nce": info_nce,
    "layer_norm": layer_norm,
    "linear_cross_entropy": linear_cross_entropy,
    "relu": relu,
    "rms_norm": rms_norm,
    "sigmoid": sigmoid,
    "sigmoid_cross_entropy": sigmoid_cross_entropy,
    "softmax_cross_entropy": softmax_cross_entropy,
    "swiglu": swiglu,
    "swish": swish,
}
