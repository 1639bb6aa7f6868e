"""NumPy's products and its functions of matrices; stacks of matrices have theirs as last axes."""

from __future__ import annotations

import math
from typing import Literal

import torch

from ..base import ArgumentError, ShapeError
from .attributes import Axis, Shape
from .np_arithmetic import promoted
from .product import mm
from .registry import REQUIRED, Tensor, family, op


def _in_one_dtype(a, b):
    if a.dtype is b.dtype:
        return a, b
    dtype = promoted(a, b)
    return a.to(dtype), b.to(dtype)


def _misfit(name, a, b, expected):
    return ShapeError(
        f"{name}: a is {tuple(a.shape)}, b is {tuple(b.shape)}\n  expected {expected}"
    )


@op
def _np_dot(a: Tensor, b: Tensor, out=None) -> Tensor:
    """The sum over the last axis of a and the second to last of b, its only one if it has one."""
    a, b = _in_one_dtype(a, b)
    if not a.dim() or not b.dim():
        return a * b
    axis = max(b.dim() - 2, 0)
    if a.shape[-1] != b.shape[axis]:
        raise _misfit("dot", a, b, f"{a.shape[-1]} as the size of axis {axis} of b")
    if a.dim() == b.dim() == 2:
        return mm(a, b)
    return _summed(a, b, (a.dim() - 1,), (axis,))


@_np_dot.back
def _(inputs, output):
    """The size of b over which a and b are summed."""
    a, b = inputs
    if a and b and len(b) == 2:
        return [a, (a[-1], b[1])]
    return inputs


def _summed(a, b, axes_of_a, axes_of_b):
    """Return the sum of products over axes, by one product of matrices."""
    left = [i for i in range(a.dim()) if i not in axes_of_a]
    right = [i for i in range(b.dim()) if i not in axes_of_b]
    count = math.prod(a.shape[i] for i in axes_of_a)
    rows, columns = [a.shape[i] for i in left], [b.shape[i] for i in right]
    x = a.permute(*left, *axes_of_a).reshape(math.prod(rows), count)
    y = b.permute(*axes_of_b, *right).reshape(count, math.prod(columns))
    return mm(x, y).reshape(rows + columns)


@op
def _npi_matmul(a: Tensor, b: Tensor, out=None) -> Tensor:
    """The product of matrices, or of stacks of them, whose other axes broadcast."""
    a, b = _in_one_dtype(a, b)
    fits = a.dim() and b.dim() and a.shape[-1] == b.shape[max(b.dim() - 2, 0)]
    if not fits:
        raise _misfit("matmul", a, b, "matrices whose product there is")
    return mm(a, b) if a.dim() == b.dim() == 2 else torch.matmul(a, b)


@op
def _npi_tensordot(
    a: Tensor,
    b: Tensor,
    a_axes_summed: Shape = REQUIRED,
    b_axes_summed: Shape = REQUIRED,
) -> Tensor:
    """The sum of the products over axes of a and of b."""
    a, b = _in_one_dtype(a, b)
    left, right = ([i % x.dim() for i in s] for x, s in ((a, a_axes_summed), (b, b_axes_summed)))
    if [a.shape[i] for i in left] != [b.shape[i] for i in right]:
        raise _misfit("tensordot", a, b, f"equal sizes of axes {left} of a and {right} of b")
    return _summed(a, b, left, right)


@op
def _npi_tensordot_int_axes(a: Tensor, b: Tensor, axes: int = REQUIRED) -> Tensor:
    """The sum of the products over so many last axes of a and first ones of b."""
    last = tuple(range(a.dim() - axes, a.dim()))
    return _npi_tensordot.function(a, b, last, tuple(range(axes)))


@op
def _npi_einsum(*data: Tensor, subscripts: str = "", optimize: int = 0) -> Tensor:
    """The sum of products that `subscripts` describe: ``'ij,jk->ik'``."""
    first = data[0]
    for x in data[1:]:
        first, _ = _in_one_dtype(first, x)
    return torch.einsum(subscripts, *[x.to(first.dtype) for x in data])


def of_matrix(name, function, doc, *aliases, count=1):
    """Register y = function(a); `count` outputs."""

    def template(function):
        def row(a: Tensor) -> Tensor:
            return function(a)

        return row

    row = family(template, function, f"_npi_{name}", doc, *aliases)
    if count > 1:
        row.gives(lambda: count)
    return row


def _real(a):
    """Return a matrix of floats."""
    return a if a.is_floating_point() else a.float()


def _square(function):
    def compute(a, *rest):
        if a.dim() < 2 or a.shape[-1] != a.shape[-2]:
            raise ShapeError(f"{function.__name__}: a is {tuple(a.shape)}\n  expected (..., n, n)")
        return function(_real(a), *rest)

    return compute


def _svd(a):
    u, s, vt = torch.linalg.svd(a, full_matrices=False)
    return u, s, vt


def _eig(a):
    values, vectors = torch.linalg.eig(a)
    return values.real.contiguous(), vectors.real.contiguous()


of_matrix("inv", _square(torch.linalg.inv), "The inverse.")
of_matrix("det", _square(torch.linalg.det), "The determinant.")
of_matrix("slogdet", _square(torch.linalg.slogdet), "The sign, and ln |det a|.", count=2)
of_matrix("cholesky", _square(torch.linalg.cholesky), "The lower triangular l, a = l lᵀ.")
of_matrix(
    "svd", _svd, "u, s and vᵀ, a = u diag(s) vᵀ, without the columns that s leaves out.", count=3
)
of_matrix("eig", _square(_eig), "The eigenvalues and eigenvectors, which have to be real.", count=2)
of_matrix(
    "eigvals",
    _square(lambda a: torch.linalg.eigvals(a).real.contiguous()),
    "The eigenvalues, which have to be real.",
)


@op
def _npi_eigh(a: Tensor, UPLO: Literal["L", "U"] = "L") -> tuple[Tensor, Tensor]:
    """The eigenvalues and eigenvectors of symmetric matrices, of which one triangle is read."""
    return tuple(torch.linalg.eigh(_real(a), UPLO))


_npi_eigh.gives(lambda: 2)


@op
def _npi_eigvalsh(a: Tensor, UPLO: Literal["L", "U"] = "L") -> Tensor:
    """The eigenvalues of symmetric matrices, of which one triangle is read."""
    return torch.linalg.eigvalsh(_real(a), UPLO)


@op
def _npi_norm(
    x: Tensor, ord: str | None = None, axis: Axis = None, keepdims: bool = False
) -> Tensor:
    """The norm of vectors or matrices, as of `numpy.linalg.norm`."""
    a = x if x.is_floating_point() else x.float()
    if ord is None:
        return torch.linalg.vector_norm(a, 2, axis, keepdims)
    kind = ord if ord in ("fro", "nuc") else float(ord)
    if axis is None and a.dim() > 2:
        raise ArgumentError(f"norm: ord is {ord}, x is {tuple(x.shape)}\n  expected an axis or two")
    if len(axis or a.shape) == 1:
        return torch.linalg.vector_norm(a, kind, axis, keepdims)
    return torch.linalg.matrix_norm(a, kind, axis or (-2, -1), keepdims)


@op
def _npi_solve(a: Tensor, b: Tensor) -> Tensor:
    """The x of a x = b."""
    return torch.linalg.solve(a, b)


@op
def _npi_pinv(a: Tensor, rcond: Tensor, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse; singular values below rcond times the largest are taken as 0."""
    return torch.linalg.pinv(a, rtol=rcond, hermitian=hermitian)


@op
def _npi_pinv_scalar_rcond(a: Tensor, rcond: float = 1e-15, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse; singular values below rcond times the largest are taken as 0."""
    return torch.linalg.pinv(a, rtol=rcond, hermitian=hermitian)


@op
def _npi_tensorinv(a: Tensor, ind: int = 2) -> Tensor:
    """The inverse as to tensordot over `ind` axes."""
    return torch.linalg.tensorinv(a, ind)


@op
def _npi_tensorsolve(a: Tensor, b: Tensor, a_axes: Shape = ()) -> Tensor:
    """The x of tensordot(a, x, axes=x.ndim) = b, with `a_axes` of a moved to its end."""
    axes = [i % a.dim() for i in a_axes]
    a = a.permute([i for i in range(a.dim()) if i not in axes] + axes)
    shape = a.shape[b.dim() :]
    count = math.prod(shape)
    return torch.linalg.solve(a.reshape(b.numel(), count), b.reshape(-1)).reshape(shape)


@op
def _npi_polyval(p: Tensor, x: Tensor) -> Tensor:
    """The polynomial with the coefficients p, the highest power first, at x."""
    p, x = _in_one_dtype(p, x)
    y = torch.zeros_like(x)
    for coefficient in p:
        y = y * x + coefficient
    return y
