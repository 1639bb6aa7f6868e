"""Arrays made of nothing but their attributes."""

from __future__ import annotations

from math import ceil

import torch

from ..base import ArgumentError
from .attributes import DType, Shape
from .registry import REQUIRED, Tensor, op


@op
def _zeros(shape: Shape = (), ctx: str = "", dtype: DType = torch.float32, *, device) -> Tensor:
    """Zeros."""
    return torch.zeros(shape or (1,), dtype=dtype, device=device)


@op
def _ones(shape: Shape = (), ctx: str = "", dtype: DType = torch.float32, *, device) -> Tensor:
    """Ones."""
    return torch.ones(shape or (1,), dtype=dtype, device=device)


@op
def _full(
    shape: Shape | None = None,
    ctx: str = "",
    dtype: DType = torch.float32,
    value: float = REQUIRED,
    *,
    device,
) -> Tensor:
    """One value everywhere."""
    return torch.full(shape or (1,), value, dtype=dtype, device=device)


@op
def _eye(
    N: int = REQUIRED,
    M: int = 0,
    k: int = 0,
    ctx: str = "",
    dtype: DType = torch.float32,
    *,
    device,
) -> Tensor:
    """Ones on the k-th diagonal of an N x M array (N x N where M is 0), zeros elsewhere."""
    row = torch.arange(N, device=device)[:, None]
    return (torch.arange(M or N, device=device) - row == k).to(dtype)


@op
def _arange(
    start: float = REQUIRED,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    ctx: str = "",
    dtype: DType = torch.float32,
    *,
    device,
) -> Tensor:
    """Values from start up to stop, which is left out; from 0 to start where there is no stop.

    Each comes `repeat` times.
    """
    if stop is None:
        start, stop = 0, start
    count = ceil((stop - start) / step)
    if count <= 0:
        raise ArgumentError(
            f"_arange: start {start}, stop {stop}, step {step}: there are no values"
        )
    if not dtype.is_floating_point:
        start, step = int(start), int(step)
    y = torch.arange(count, dtype=torch.float64, device=device).mul_(step).add_(start).to(dtype)
    return y if repeat == 1 else y.repeat_interleave(repeat)


@op
def _linspace(
    start: float = REQUIRED,
    stop: float = REQUIRED,
    num: int = REQUIRED,
    endpoint: bool = True,
    ctx: str = "",
    dtype: DType = torch.float32,
    *,
    device,
) -> Tensor:
    """`num` values evenly from start to stop, which is left out without `endpoint`."""
    count = num if endpoint else num + 1
    return torch.linspace(start, stop, count, dtype=torch.float64, device=device)[:num].to(dtype)
