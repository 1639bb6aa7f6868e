"""The matrix product: PyTorch's own, or oneDNN's where that is the faster one.

On AMD processors with AVX-512 PyTorch's product (MKL) keeps to AVX2, oneDNN does not: large float32
products take half the time on Zen 5, and 0.9 of it on Zen 4, which computes 512 bits in two halves.
Without AVX-512, and below the number of multiplications in `LEAST`, MKL wins. The time of oneDNN
over that of MKL, for y = x wᵀ and for dw = dyᵀ x, x of n x k and w of m x k:

    n, k, m          10⁶    Zen 5, 2 threads    Zen 4, 1 thread
    64, 128, 128     1.0    1.23    1.77
    64, 256, 256     4.2                        1.08    1.19
    64, 784, 128     6.4    0.62    0.68        1.05    1.08
    64, 512, 256     8.4                        1.00    1.06
    64, 784, 256    12.8                        0.98    1.02

These are calls after one another, as compiled code makes them. A call from Python costs 10 us more,
and what the product's own gradient costs there; a training step of gluon.nn with a first layer
64, 784, 128, recorded, takes 1.13 times as long with oneDNN on Zen 5 with 2 threads (0.97 with
one), and from 64, 784, 256 on as long or less. So from Python `CALLED` holds too.

Who wins is settled by this rule and not by timing, so that the same seed gives the same numbers on
each run. ``LAYERS_GEMM=mkl`` or ``onednn`` settles it by hand.

A transposed operand comes as a view: ``mm(dy.t(), x)``.
"""

from __future__ import annotations

import os

import torch
import torch.nn.functional as F

from .. import _cpu
from .._differentiable import Call, apply
from ..base import ArgumentError
from .stripes import in_one_stripe, is_faster

Tensor = torch.Tensor

RULES = ("auto", "mkl", "onednn")
# From how many multiplications oneDNN wins, by the family that AMD numbers its processors by: 25 is
# Zen 4, 26 is Zen 5. Later ones are taken as the last of these.
LEAST = {25: 2**23, 26: 6_000_000}
CALLED = 2**23  # at least so many where Python calls it, and not compiled code
WIDE = 256  # rows of w that make up for the copy that oneDNN takes of a transposed x
NEVER = 2**63

# `choose` sets them: the rule, and from which size oneDNN is asked, by Python and by compiled code.
_rule, _least, _least_compiled = "auto", NEVER, NEVER


def linear(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """The affine map, y = x wᵀ + b.

    x : (..., k)      w : (m, k)      b : (m,)      y : (..., m)
    """
    # Asked first: while a graph is traced, sizes may be open.
    if _least == NEVER or torch.compiler.is_compiling():
        return F.linear(x, w, b)
    # The first bound is the looser one, and takes half the time of the second.
    if x.numel() * w.numel() < _least or x.numel() * w.size(0) < _least or not _suits(x, w, b):
        return F.linear(x, w, b)
    rows = x if x.dim() == 2 else x.reshape(-1, x.size(-1))
    y = apply(_linear, (rows, w, b))[0] if torch.is_grad_enabled() else _onednn(rows, w, b)
    return y if x.dim() == 2 else y.view(*x.shape[:-1], -1)


def mm(a: Tensor, b: Tensor) -> Tensor:
    """The product of two matrices, y = a b.

    a : (n, k)      b : (k, m)      y : (n, m)
    """
    if torch.compiler.is_compiling():
        return torch.mm(a, b)
    if _least != NEVER and a.numel() * b.size(-1) >= _least:
        return linear(a, b.t())
    return in_one_stripe(torch.mm, a, b) if is_faster(a) else torch.mm(a, b)


def is_onednns(x: Tensor, w: Tensor) -> bool:
    """Whether the product x wᵀ of these is oneDNN's in compiled code."""
    return x.numel() * w.size(0) >= _least_compiled and _suits(x, w, None)


def bmm(a: Tensor, b: Tensor) -> Tensor:
    """The product of each pair of matrices, y[i] = a[i] b[i].

    a : (batch, n, k)      b : (batch, k, m)      y : (batch, n, m)
    """
    if torch.compiler.is_compiling() or len(a) != len(b):
        return torch.bmm(a, b)
    if a.numel() * b.size(-1) < _least * max(len(a), 1):
        return torch.bmm(a, b)
    return torch.stack([mm(p, q) for p, q in zip(a, b)])


def choose(rule: str | None = None) -> None:
    """Set the rule: ``auto``, ``mkl`` or ``onednn``; by default what ``LAYERS_GEMM`` says.

    Raises
    ------
    ArgumentError
        There is no such rule.
    """
    global _rule, _least, _least_compiled
    given = rule or os.environ.get("LAYERS_GEMM") or "auto"
    if given not in RULES:
        raise ArgumentError(
            f"LAYERS_GEMM: {given!r} is unknown\n  expected one of {', '.join(RULES)}"
        )
    if not _available() or given == "mkl":
        least = NEVER
    elif given == "onednn":
        least = 1
    else:
        wide = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
        least = _least_of_amd() if wide and _cpu.vendor() == "AuthenticAMD" else NEVER
    _rule, _least_compiled = given, least
    _least = max(least, CALLED) if given == "auto" else least


def describe() -> dict:
    """What is in force: the rule, the CPU it looked at, and from which size oneDNN is asked."""
    return {
        "rule": _rule,
        "cpu": f"{_cpu.vendor()} {torch.backends.cpu.get_cpu_capability()}".strip(),
        "onednn_from_multiplications": None if _least == NEVER else _least,
        "onednn_compiled_from": None if _least_compiled == NEVER else _least_compiled,
    }


def _available() -> bool:
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def _least_of_amd() -> int:
    """The number in `LEAST` of this processor."""
    family = _cpu.family()
    return LEAST[max(n for n in LEAST if n == min(LEAST) or family and n <= family)]


def _suits(x: Tensor, w: Tensor, b: Tensor | None) -> bool:
    """Whether oneDNN is to compute this; what it is not made for PyTorch computes, or refuses."""
    return (
        x.dtype is w.dtype is torch.float32
        and x.is_cpu
        and w.is_cpu
        and x.dim() > 0
        and w.dim() == 2
        and x.size(-1) == w.size(1)
        and (b is None or (b.dtype is torch.float32 and b.is_cpu and b.shape == w.shape[:1]))
        and (_rule == "onednn" or _wins(x, w))
    )


def _wins(x: Tensor, w: Tensor) -> bool:
    """Whether oneDNN is the faster one for large operands of these shapes and strides."""
    return x.numel() > x.size(-1) and (x.is_contiguous() or w.size(0) >= WIDE)


def _onednn(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
    b = b if b is None else b.contiguous()  # it takes x and w as they are, but misreads such a bias
    return torch.ops.mkldnn._linear_pointwise(x, w, b, "none", [], "")


class _Linear(Call):
    """oneDNN's product, which has no gradient of its own."""

    what = "the matrix product"

    def forward(self, tensors, specs):
        return (_onednn(*tensors),)

    def saved_for_backward(self, inputs, outputs, asked):
        return inputs[:2]

    def backward(self, saved, dys, specs, asked):
        (x, w), (dy,), (need_x, need_w, need_b) = saved, dys, asked
        return (
            mm(dy, w) if need_x else None,
            mm(dy.t(), x) if need_w else None,
            dy.sum(0) if need_b else None,
        )


_linear = _Linear()

choose()
