"""The functions of ``mx.np.linalg`` and ``mx.npx`` whose arguments are not one operator's."""

from __future__ import annotations

import numbers

from . import arithmetic
from .front import front

linalg = front("numpy.linalg")
extension = front("numpy_extension")


@linalg
def pinv(F, a, rcond=1e-15, hermitian=False):
    """Return the pseudo-inverse."""
    if hermitian:
        raise NotImplementedError("pinv: hermitian is True\n  expected False")
    if isinstance(rcond, arithmetic.NUMBERS):
        return F._npi_pinv_scalar_rcond(a, rcond=rcond)
    return F._npi_pinv(a, rcond)


@linalg
def tensorsolve(F, a, b, axes=None):
    """Return the x of tensordot(a, x, axes=x.ndim) = b."""
    return F._npi_tensorsolve(a, b, a_axes=tuple(axes or ()))


@extension
def nonzero(F, a):
    """Return the indices of the elements that are not 0, a row for each."""
    return F._npx_nonzero(a)


@extension
def reshape(F, a, newshape, reverse=False, order="C"):
    """Return the elements in another shape, with the codes of ``npx.reshape``.

    -1 is the size that remains, -2 keeps a size, -3 leaves out one of 1, -4 keeps all that remain,
    -5 joins two, -6 splits one into the two that follow; `reverse` reads all of it from the right.
    """
    shape = (newshape,) if isinstance(newshape, numbers.Integral) else tuple(newshape)
    return F._npx_reshape(a, newshape=shape, reverse=reverse, order=order)
