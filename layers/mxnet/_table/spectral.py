"""Fourier transforms of the last axis, and sketches of it."""

from __future__ import annotations

import torch

from ..base import ShapeError
from .registry import REQUIRED, Tensor, op


@op
def _contrib_fft(data: Tensor, compute_size: int = 128) -> Tensor:
    """Σₙ x[n] exp(-2πi k n / d): (..., d) to (..., 2 d), the real and imaginary parts in turn.

    `compute_size` has no effect.
    """
    return torch.view_as_real(torch.fft.fft(data)).flatten(-2)


@op
def _contrib_ifft(data: Tensor, compute_size: int = 128) -> Tensor:
    """The real part of Σₖ x[k] exp(2πi k n / d): (..., 2 d) to (..., d).

    That is d times the inverse of fft. `compute_size` has no effect.
    """
    if data.shape[-1] % 2:
        raise ShapeError(
            f"_contrib_ifft: data is {tuple(data.shape)}\n"
            "  expected real and imaginary parts in turn, (..., 2 d)"
        )
    pairs = torch.view_as_complex(data.unflatten(-1, (-1, 2)).contiguous())
    return torch.fft.ifft(pairs, norm="forward").real.contiguous()


@op
def _contrib_count_sketch(
    data: Tensor,
    h: Tensor,
    s: Tensor,
    out_dim: int = REQUIRED,
    processing_batch_size: int = 32,
) -> Tensor:
    """y[:, h[i]] += s[i] data[:, i]: a projection to `out_dim` numbers that keeps products.

    data : (n, d)      h : (1, d), indices      s : (1, d), signs      y : (n, out_dim)

    Indices are not checked: one below 0 is taken as 0, one of `out_dim` or more as `out_dim` - 1.
    `processing_batch_size` has no effect.
    """
    if data.dim() < 2 or {h.numel(), s.numel()} != {data.shape[-1]}:
        raise ShapeError(
            f"_contrib_count_sketch: data is {tuple(data.shape)}, h is {tuple(h.shape)}, "
            f"s is {tuple(s.shape)}\n  expected (n, d), (1, d) and (1, d)"
        )
    at = h.reshape(-1).long().clamp(0, out_dim - 1)
    return data.new_zeros((*data.shape[:-1], out_dim)).index_add(-1, at, data * s.reshape(-1))


@_contrib_count_sketch.infer
def _(data):
    return {"h": (1, data[-1]), "s": (1, data[-1])}
