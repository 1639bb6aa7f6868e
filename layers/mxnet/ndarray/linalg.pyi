"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .ndarray import NDArray

Result = Any  # an NDArray, or a list of them
Operand = NDArray | float

def gemm2(A: NDArray, B: NDArray, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int = -2, out: Any = None, name: Any = None) -> NDArray:
    """alpha A B, for matrices whose rows are along `axis` and whose columns are the last axis."""
def gemm(A: NDArray, B: NDArray, C: NDArray, transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int = -2, out: Any = None, name: Any = None) -> NDArray:
    """alpha A B + beta C, for matrices whose rows are along `axis`, their columns the last axis."""
def potrf(A: NDArray, lower: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The lower triangular L with L Lᵀ = A, or without `lower` the upper one, Lᵀ.

    A is symmetric; that triangle of it is read.
    """
def syrk(A: NDArray, transpose: bool = False, alpha: float = 1.0, out: Any = None, name: Any = None) -> NDArray:
    """alpha A Aᵀ, with `transpose` alpha Aᵀ A."""
def trsm(A: NDArray, B: NDArray, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: Any = None, name: Any = None) -> NDArray:
    """X with A X = alpha B for a triangular A; with `rightside` X A = alpha B.

    `lower` says which triangle of A is read, `transpose` takes Aᵀ for A.
    """
def trmm(A: NDArray, B: NDArray, transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: Any = None, name: Any = None) -> NDArray:
    """alpha A B for a triangular A; with `rightside` alpha B A.

    `lower` says which triangle of A is read, `transpose` takes Aᵀ for A.
    """
def potri(A: NDArray, lower: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """(A Aᵀ)⁻¹ for a lower triangular A, such as potrf gives; without `lower` (Aᵀ A)⁻¹."""
def inverse(A: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """A⁻¹."""
def det(A: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The determinant of each matrix: (..., n, n) to (...)."""
def slogdet(A: NDArray, out: Any = None, name: Any = None) -> Result:
    """The sign of the determinant of each matrix, and ln |det A|: (..., n, n) to (...) twice."""
def sumlogdiag(A: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sum of the logarithms of each matrix's diagonal: (..., n, n) to (...)."""
def extractdiag(A: NDArray, offset: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """The diagonal `offset` above the main one: (..., n, n) to (..., n - |offset|)."""
def makediag(A: NDArray, offset: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """Matrices of zeros, but for this diagonal: (..., n - |offset|) to (..., n, n)."""
def extracttrian(A: NDArray, offset: int = 0, lower: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """A triangle of each matrix as a vector: (..., n, n) to (..., k(k + 1)/2), k = n - |offset|.

    The lower triangle with the diagonal is read row by row, the upper one column by column. With a
    negative `offset` it is what is on and below that diagonal, with a positive one what is on and
    above it, whatever `lower` says.
    """
def maketrian(A: NDArray, offset: int = 0, lower: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """Matrices of zeros but for a triangle: the inverse of extracttrian."""
def gelqf(A: NDArray, out: Any = None, name: Any = None) -> Result:
    """Q and L with A = L Q: the rows of Q are orthonormal, L is lower triangular.

    A : (..., m, n), m <= n      Q : (..., m, n)      L : (..., m, m)
    """
def syevd(A: NDArray, out: Any = None, name: Any = None) -> Result:
    """U and L with A = Uᵀ diag(L) U for a symmetric A: the rows of U are its eigenvectors.

    A : (..., n, n)      U : (..., n, n)      L : (..., n), ascending

    The lower triangle of A is read. The largest component of each eigenvector is positive.
    """
