"""NumPy's arrays made of nothing but their attributes, or in the shape of another array."""

from __future__ import annotations

import math

import torch

from ..base import ArgumentError
from .attributes import DType, Shape
from .registry import REQUIRED, Tensor, family, op, zeros


def filled(name, make, doc):
    """Register y = make(shape, dtype, device)."""

    def template(make):
        def row(
            shape: Shape = (), ctx: str = "", dtype: DType = torch.float32, *, device
        ) -> Tensor:
            return make(shape, dtype=dtype, device=device)

        return row

    family(template, make, f"_npi_{name}", doc).shaped(lambda shape: shape)


filled("zeros", torch.zeros, "Zeros.")
filled("ones", torch.ones, "Ones.")
filled(
    "identity",
    lambda shape, **options: torch.eye(*shape, **options),
    "A matrix of ones on the diagonal, and zeros elsewhere.",
)


@op
def _npi_full(
    shape: Shape = (),
    ctx: str = "",
    dtype: DType = torch.float32,
    value: float = REQUIRED,
    *,
    device,
) -> Tensor:
    """One value everywhere."""
    return torch.full(shape, value, dtype=dtype, device=device)


@op
def _npi_full_like(
    a: Tensor,
    fill_value: float = REQUIRED,
    dtype: DType | None = None,
    ctx: str = "",
) -> Tensor:
    """One value everywhere, in the shape of an array."""
    return torch.full_like(a, fill_value, dtype=dtype)


_npi_full_like.types(lambda a, dtype: dtype or a)
_npi_full_like.grad(zeros)


@op
def _npi_arange(
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
    """Values from start up to stop, which is left out; from 0 to start where there is no stop."""
    if stop is None:
        start, stop = 0, start
    if not step:
        raise ArgumentError("arange: step is 0\n  expected another number")
    count = max(math.ceil((stop - start) / step), 0)
    y = torch.arange(count, dtype=torch.float64, device=device).mul_(step).add_(start).to(dtype)
    return y if repeat == 1 else y.repeat_interleave(repeat)


def _spaced(start, stop, num, endpoint, device):
    """Return `num` numbers evenly from start to stop, float64."""
    if num < 0:
        raise ArgumentError(f"linspace: num is {num}\n  expected 0 or more")
    step = (stop - start) / max(num - endpoint, 1)
    y = torch.arange(num, dtype=torch.float64, device=device).mul_(step).add_(start)
    if endpoint and num > 1:
        y[-1] = stop
    return y


@op
def _npi_linspace(
    start: float = REQUIRED,
    stop: float = REQUIRED,
    num: int = 50,
    endpoint: bool = True,
    ctx: str = "",
    dtype: DType = torch.float32,
    *,
    device,
) -> Tensor:
    """`num` values evenly from start to stop, which is left out without `endpoint`."""
    return _spaced(start, stop, num, endpoint, device).to(dtype)


@op
def _npi_logspace(
    start: float = REQUIRED,
    stop: float = REQUIRED,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    ctx: str = "",
    dtype: DType = torch.float32,
    *,
    device,
) -> Tensor:
    """`num` powers of the base, whose exponents are evenly from start to stop."""
    return torch.pow(base, _spaced(start, stop, num, endpoint, device)).to(dtype)


@op
def _npi_eye(
    N: int = REQUIRED,
    M: int | None = None,
    k: int = 0,
    ctx: str = "",
    dtype: DType = torch.float32,
    *,
    device,
) -> Tensor:
    """Ones on the k-th diagonal of an N x M array (N x N without M), zeros elsewhere."""
    columns = N if M is None else M
    y = torch.zeros(N, columns, dtype=dtype, device=device)
    if -N < k < columns:
        y.diagonal(k).fill_(1)
    return y


@op
def _npi_indices(
    dimensions: Shape = REQUIRED, dtype: DType = torch.int32, ctx: str = "", *, device
) -> Tensor:
    """The indices of the elements of an array: along each axis, one after the other."""
    grids = torch.meshgrid(*[torch.arange(n, device=device) for n in dimensions], indexing="ij")
    return torch.stack(grids).to(dtype) if grids else torch.zeros(0, dtype=dtype, device=device)


def window(name, function, doc):
    """Register y = function(M, periodic=False), in float64 first."""

    def template(function):
        def row(
            M: int | None = None, ctx: str = "", dtype: DType = torch.float32, *, device
        ) -> Tensor:
            if not M or M < 1:
                return torch.zeros(0, dtype=dtype, device=device)
            y = function(M, periodic=False, dtype=torch.float64, device=device)
            return y.to(dtype)

        return row

    family(template, function, f"_npi_{name}", doc)


window("hanning", torch.hann_window, "The Hann window of M points.")
window("hamming", torch.hamming_window, "The Hamming window of M points.")
window("blackman", torch.blackman_window, "The Blackman window of M points.")
