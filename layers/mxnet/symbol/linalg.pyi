"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .symbol import Symbol

Operand = Symbol | float

def gemm2(A: Symbol | None = ..., B: Symbol | None = ..., transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int = -2, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """alpha A B, for matrices whose rows are along `axis` and whose columns are the last axis."""
def gemm(A: Symbol | None = ..., B: Symbol | None = ..., C: Symbol | None = ..., transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int = -2, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """alpha A B + beta C, for matrices whose rows are along `axis`, their columns the last axis."""
def potrf(A: Symbol | None = ..., lower: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The lower triangular L with L Lᵀ = A, or without `lower` the upper one, Lᵀ.

    A is symmetric; that triangle of it is read.
    """
def syrk(A: Symbol | None = ..., transpose: bool = False, alpha: float = 1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """alpha A Aᵀ, with `transpose` alpha Aᵀ A."""
def trsm(A: Symbol | None = ..., B: Symbol | None = ..., transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """X with A X = alpha B for a triangular A; with `rightside` X A = alpha B.

    `lower` says which triangle of A is read, `transpose` takes Aᵀ for A.
    """
def trmm(A: Symbol | None = ..., B: Symbol | None = ..., transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """alpha A B for a triangular A; with `rightside` alpha B A.

    `lower` says which triangle of A is read, `transpose` takes Aᵀ for A.
    """
def potri(A: Symbol | None = ..., lower: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """(A Aᵀ)⁻¹ for a lower triangular A, such as potrf gives; without `lower` (Aᵀ A)⁻¹."""
def inverse(A: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """A⁻¹."""
def det(A: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The determinant of each matrix: (..., n, n) to (...)."""
def slogdet(A: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sign of the determinant of each matrix, and ln |det A|: (..., n, n) to (...) twice."""
def sumlogdiag(A: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum of the logarithms of each matrix's diagonal: (..., n, n) to (...)."""
def extractdiag(A: Symbol | None = ..., offset: int = 0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The diagonal `offset` above the main one: (..., n, n) to (..., n - |offset|)."""
def makediag(A: Symbol | None = ..., offset: int = 0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Matrices of zeros, but for this diagonal: (..., n - |offset|) to (..., n, n)."""
def extracttrian(A: Symbol | None = ..., offset: int = 0, lower: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """A triangle of each matrix as a vector: (..., n, n) to (..., k(k + 1)/2), k = n - |offset|.

    The lower triangle with the diagonal is read row by row, the upper one column by column. With a
    negative `offset` it is what is on and below that diagonal, with a positive one what is on and
    above it, whatever `lower` says.
    """
def maketrian(A: Symbol | None = ..., offset: int = 0, lower: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Matrices of zeros but for a triangle: the inverse of extracttrian."""
def gelqf(A: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Q and L with A = L Q: the rows of Q are orthonormal, L is lower triangular.

    A : (..., m, n), m <= n      Q : (..., m, n)      L : (..., m, m)
    """
def syevd(A: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """U and L with A = Uᵀ diag(L) U for a symmetric A: the rows of U are its eigenvectors.

    A : (..., n, n)      U : (..., n, n)      L : (..., n), ascending

    The lower triangle of A is read. The largest component of each eigenvector is positive.
    """
