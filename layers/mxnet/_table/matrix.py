"""Products of matrices, and linear algebra on the last two axes."""

from __future__ import annotations

import math
from typing import Literal

import torch

from .._dtype import name as dtype_name
from ..base import ArgumentError, DTypeError, ShapeError
from .product import bmm, mm
from .registry import Tensor, op

Storage = Literal["csr", "default", "row_sparse"] | None


@op
def dot(
    lhs: Tensor,
    rhs: Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Storage = None,
) -> Tensor:
    """The sum over the last axis of lhs and the first of rhs.

    lhs : (..., k)      rhs : (k, ...)      y : (..., ...)

    `transpose_a` sums over the first axis of lhs, `transpose_b` over the last of rhs. Two vectors
    give (1,).
    """
    matrices = lhs.dim() == rhs.dim() == 2
    a = lhs if matrices else _first(lhs) if transpose_a else _last(lhs)
    b = rhs if matrices else _last(rhs) if transpose_b else _first(rhs)
    a = a.t() if transpose_a else a
    b = b.t() if transpose_b else b
    if a.size(1) != b.size(0) or lhs.dtype is not rhs.dtype:
        raise _unfit("dot", lhs, rhs, transpose_a, transpose_b, "one size and dtype to sum over")
    y = mm(a, b)
    if matrices:
        return y
    left = lhs.shape[1:] if transpose_a else lhs.shape[:-1]
    right = rhs.shape[:-1] if transpose_b else rhs.shape[1:]
    return y.reshape((*left, *right) or (1,))


def _first(x):
    """A matrix whose rows are the first axis."""
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


def _last(x):
    """A matrix whose columns are the last axis."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _unfit(name, a, b, transpose_a, transpose_b, expected):
    error = ShapeError if a.dtype is b.dtype else DTypeError
    flags = [
        f"{n}=True" for n, on in (("transpose_a", transpose_a), ("transpose_b", transpose_b)) if on
    ]
    return error(
        f"{name}: lhs is {tuple(a.shape)} {dtype_name(a.dtype)}, "
        f"rhs is {tuple(b.shape)} {dtype_name(b.dtype)}"
        + "".join(f", {flag}" for flag in flags)
        + f"\n  expected {expected}"
    )


@op
def batch_dot(
    lhs: Tensor,
    rhs: Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: Storage = None,
) -> Tensor:
    """The product of each pair of matrices.

    lhs : (..., n, k)      rhs : (..., k, m)      y : (..., n, m)
    """
    a = lhs.mT if transpose_a else lhs
    b = rhs.mT if transpose_b else rhs
    if lhs.dim() < 3 or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        expected = "(..., n, k) and (..., k, m) of 3 axes or more"
        raise _unfit("batch_dot", lhs, rhs, transpose_a, transpose_b, expected)
    return _matmul(a, b)


def _matmul(a, b):
    """The product over the last two axes of arrays whose other axes are the same."""
    if a.dim() == 2:
        return mm(a, b)
    if a.dim() == 3:
        return bmm(a, b)
    y = bmm(a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:]))
    return y.reshape(*a.shape[:-1], b.shape[-1])


@op("linalg_gemm2")
def _linalg_gemm2(
    A: Tensor,
    B: Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    axis: int = -2,
) -> Tensor:
    """alpha A B, for matrices whose rows are along `axis` and whose columns are the last axis."""
    a, b = A.movedim(axis, -2), B.movedim(axis, -2)
    a = a.mT if transpose_a else a
    b = b.mT if transpose_b else b
    if a.shape[:-2] != b.shape[:-2]:
        expected = "one size on the axes that are not of the matrices"
        raise _unfit("_linalg_gemm2", A, B, transpose_a, transpose_b, expected)
    y = _matmul(a, b)
    return (y if alpha == 1 else alpha * y).movedim(-2, axis)


@op("linalg_gemm")
def _linalg_gemm(
    A: Tensor,
    B: Tensor,
    C: Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    axis: int = -2,
) -> Tensor:
    """alpha A B + beta C, for matrices whose rows are along `axis`, their columns the last axis."""
    return _linalg_gemm2.run(A, B, transpose_a, transpose_b, alpha, axis) + beta * C


@op("linalg_potrf", same=True)
def _linalg_potrf(A: Tensor) -> Tensor:
    """The lower triangular L with L Lᵀ = A; A is symmetric, and its lower triangle is read."""
    return torch.linalg.cholesky(A)


@op("linalg_syrk")
def _linalg_syrk(A: Tensor, transpose: bool = False, alpha: float = 1.0) -> Tensor:
    """alpha A Aᵀ, with `transpose` alpha Aᵀ A."""
    a, b = (A.mT, A) if transpose else (A, A.mT)
    return alpha * _matmul(a, b)


@op("linalg_trsm")
def _linalg_trsm(
    A: Tensor,
    B: Tensor,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> Tensor:
    """X with A X = alpha B for a triangular A; with `rightside` X A = alpha B.

    `lower` says which triangle of A is read, `transpose` takes Aᵀ for A.
    """
    if B.dim() != A.dim():
        raise ArgumentError(f"_linalg_trsm: A is {tuple(A.shape)}, B is {tuple(B.shape)}")
    a, upper = (A.mT, lower) if transpose else (A, not lower)
    return torch.linalg.solve_triangular(a, alpha * B, upper=upper, left=not rightside)
