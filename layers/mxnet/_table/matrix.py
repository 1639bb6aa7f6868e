"""Products of matrices, and linear algebra on the last two axes."""

from __future__ import annotations

import math
from typing import Literal

import torch

from .. import _np_shape
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
    if matrices and lhs.dtype is rhs.dtype:  # nearly always
        try:
            return mm(lhs.t() if transpose_a else lhs, rhs.t() if transpose_b else rhs)
        except RuntimeError:
            if lhs.shape[not transpose_a] == rhs.shape[transpose_b]:
                raise  # for another reason than the sizes
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


@dot.stored
def _(forward_stype):
    return forward_stype or "default"


@dot.sends_rows
def _(lhs, transpose_a):
    return ("rhs",) if lhs == "csr" and not transpose_a else ()


@dot.shaped
def _(lhs, rhs, transpose_a, transpose_b):
    if len(lhs) != 2 or len(rhs) != 2 or lhs[not transpose_a] != rhs[transpose_b]:
        return None
    return lhs[transpose_a], rhs[not transpose_b]


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


@batch_dot.shaped
def _(lhs, rhs, transpose_a, transpose_b):
    return _product_shape(lhs, rhs, transpose_a, transpose_b) if len(lhs) > 2 else None


def _product_shape(a, b, transpose_a, transpose_b):
    """The shape of `_matmul`; None where the arrays do not fit."""
    if min(len(a), len(b)) < 2:
        return None
    (*batch, n, k), (*others, m, p) = a, b
    n, k = (k, n) if transpose_a else (n, k)
    m, p = (p, m) if transpose_b else (m, p)
    return (*batch, n, p) if batch == others and k == m else None


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


@_linalg_gemm2.shaped
def _(A, B, transpose_a, transpose_b, axis):
    return _product_shape(A, B, transpose_a, transpose_b) if axis == -2 else None


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


@_linalg_gemm.shaped
def _(A, B, C, transpose_a, transpose_b, axis):
    return C if axis == -2 and _product_shape(A, B, transpose_a, transpose_b) == C else None


@op("linalg_potrf", same=True, names_input=True)
def _linalg_potrf(A: Tensor, lower: bool = True) -> Tensor:
    """The lower triangular L with L Lᵀ = A, or without `lower` the upper one, Lᵀ.

    A is symmetric; that triangle of it is read.
    """
    _square("_linalg_potrf", A)
    return torch.linalg.cholesky(A, upper=not lower)


@op("linalg_syrk", names_input=True)
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


@op("linalg_trmm")
def _linalg_trmm(
    A: Tensor,
    B: Tensor,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> Tensor:
    """alpha A B for a triangular A; with `rightside` alpha B A.

    `lower` says which triangle of A is read, `transpose` takes Aᵀ for A.
    """
    if B.dim() != A.dim():
        raise ArgumentError(f"_linalg_trmm: A is {tuple(A.shape)}, B is {tuple(B.shape)}")
    a = A.tril() if lower else A.triu()
    a = a.mT if transpose else a
    return alpha * (_matmul(B, a) if rightside else _matmul(a, B))


@op("linalg_potri", same=True, names_input=True)
def _linalg_potri(A: Tensor, lower: bool = True) -> Tensor:
    """(A Aᵀ)⁻¹ for a lower triangular A, such as potrf gives; without `lower` (Aᵀ A)⁻¹."""
    _square("_linalg_potri", A)
    triangle = A.tril() if lower else A.triu()  # the gradient is for all that PyTorch is given
    return torch.cholesky_inverse(triangle, upper=not lower)


@op("linalg_inverse", same=True, names_input=True)
def _linalg_inverse(A: Tensor) -> Tensor:
    """A⁻¹."""
    _square("_linalg_inverse", A)
    return torch.linalg.inv(A)


@op("linalg_det", names_input=True)
def _linalg_det(A: Tensor) -> Tensor:
    """The determinant of each matrix: (..., n, n) to (...)."""
    _square("_linalg_det", A)
    return _no_scalar(torch.linalg.det(A))


@op("linalg_slogdet", names_input=True)
def _linalg_slogdet(A: Tensor) -> tuple[Tensor, Tensor]:
    """The sign of the determinant of each matrix, and ln |det A|: (..., n, n) to (...) twice."""
    _square("_linalg_slogdet", A)
    sign, log = torch.linalg.slogdet(A)
    return _no_scalar(sign), _no_scalar(log)


@op("linalg_sumlogdiag", names_input=True)
def _linalg_sumlogdiag(A: Tensor) -> Tensor:
    """The sum of the logarithms of each matrix's diagonal: (..., n, n) to (...)."""
    y = _diagonal("_linalg_sumlogdiag", A, 0).log().sum(-1)
    return y if y.dim() else y.reshape(1)


def _numbers_shape(A):
    return A[:-2] or (1,) if len(A) > 1 and A[-1] == A[-2] else None


_linalg_det.shaped(_numbers_shape)
_linalg_sumlogdiag.shaped(_numbers_shape)


@_linalg_slogdet.shaped
def _(A):
    shape = _numbers_shape(A)
    return shape and [shape, shape]


@op("linalg_extractdiag", names_input=True)
def _linalg_extractdiag(A: Tensor, offset: int = 0) -> Tensor:
    """The diagonal `offset` above the main one: (..., n, n) to (..., n - |offset|)."""
    return _diagonal("_linalg_extractdiag", A, offset).clone()


@op("linalg_makediag", names_input=True)
def _linalg_makediag(A: Tensor, offset: int = 0) -> Tensor:
    """Matrices of zeros, but for this diagonal: (..., n - |offset|) to (..., n, n)."""
    return torch.diag_embed(A, offset)


@op("linalg_extracttrian", names_input=True)
def _linalg_extracttrian(A: Tensor, offset: int = 0, lower: bool = True) -> Tensor:
    """A triangle of each matrix as a vector: (..., n, n) to (..., k(k + 1)/2), k = n - |offset|.

    The lower triangle with the diagonal is read row by row, the upper one column by column. With a
    negative `offset` it is what is on and below that diagonal, with a positive one what is on and
    above it, whatever `lower` says.
    """
    n = _square("_linalg_extracttrian", A)
    _check_offset("_linalg_extracttrian", offset, n)
    return A.flatten(-2)[..., _triangle(n, offset, lower, A.device)]


@op("linalg_maketrian", names_input=True)
def _linalg_maketrian(A: Tensor, offset: int = 0, lower: bool = True) -> Tensor:
    """Matrices of zeros but for a triangle: the inverse of extracttrian."""
    count = A.shape[-1]
    k = (math.isqrt(8 * count + 1) - 1) // 2
    if k * (k + 1) // 2 != count:
        raise ShapeError(
            f"_linalg_maketrian: A is {tuple(A.shape)}\n"
            "  expected 1, 3, 6, 10 ... elements on the last axis: k(k + 1)/2"
        )
    n = k + abs(offset)
    empty = A.new_zeros((*A.shape[:-1], n * n))
    filled = empty.index_copy(-1, _triangle(n, offset, lower, A.device), A)
    return filled.reshape(*A.shape[:-1], n, n)


@op("linalg_gelqf", names_input=True)
def _linalg_gelqf(A: Tensor) -> tuple[Tensor, Tensor]:
    """Q and L with A = L Q: the rows of Q are orthonormal, L is lower triangular.

    A : (..., m, n), m <= n      Q : (..., m, n)      L : (..., m, m)
    """
    if A.dim() < 2 or A.shape[-2] > A.shape[-1]:
        raise ShapeError(f"_linalg_gelqf: A is {tuple(A.shape)}\n  expected (..., m, n), m <= n")
    q, r = torch.linalg.qr(A.mT)
    return q.mT, r.mT


@op(names_input=True)
def _linalg_syevd(A: Tensor) -> tuple[Tensor, Tensor]:
    """U and L with A = Uᵀ diag(L) U for a symmetric A: the rows of U are its eigenvectors.

    A : (..., n, n)      U : (..., n, n)      L : (..., n), ascending

    The lower triangle of A is read. The largest component of each eigenvector is positive.
    """
    values, vectors = torch.linalg.eigh(A)
    largest = vectors.gather(-2, vectors.abs().argmax(-2, keepdim=True))
    return (vectors * largest.detach().sign()).mT, values


@_linalg_slogdet.gives
@_linalg_gelqf.gives
@_linalg_syevd.gives
def _():
    return 2


@op(view=True)
def khatri_rao(*args: Tensor) -> Tensor:
    """The Kronecker product of the columns of matrices: (m, k), (n, k) ... to (m n ..., k).

    Raises
    ------
    ShapeError
        The arrays are not matrices of as many columns.
    """
    if any(x.dim() != 2 or x.shape[1] != args[0].shape[1] for x in args):
        raise ShapeError(
            f"khatri_rao: args are {', '.join(str(tuple(x.shape)) for x in args)}\n"
            "  expected matrices of as many columns"
        )
    y = args[0]
    for x in args[1:]:
        y = (y.unsqueeze(1) * x).flatten(0, 1)
    return y


def _no_scalar(y):
    return y.reshape(1) if y.dim() == 0 and not _np_shape.is_on() else y


def _diagonal(name, a, offset):
    _check_offset(name, offset, _square(name, a))
    return a.diagonal(offset, -2, -1)


def _check_offset(name, offset, n):
    if abs(offset) >= n:
        raise ArgumentError(f"{name}: offset is {offset}\n  expected {1 - n} to {n - 1}")


def _triangle(n, offset, lower, device):
    """Where the elements of a triangle are in a matrix that is read row by row."""
    if offset < 0 or (offset == 0 and lower):
        rows, columns = torch.tril_indices(n, n, offset, device=device)
    else:
        columns, rows = torch.tril_indices(n, n, -offset, device=device)
    return rows * n + columns


def _square(name, a):
    if a.dim() < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"{name}: A is {tuple(a.shape)}\n  expected square matrices, (..., n, n)")
    return a.shape[-1]
