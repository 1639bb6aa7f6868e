"""Sparse arrays: NDArrays that are not one tensor, but what is stored of an array.

Their values are `_stored`, which is replaced; only rows of it that no other array has are written
where they are (`rows.py`). For autograd such an array is
its *handle*, a tensor of zeros in its shape that takes the memory of one element: the gradient of
the handle is that of the array, at all its elements, and takes the form that PyTorch gives it.
"""

from __future__ import annotations

import numpy as np
import torch

from ..._arrays import room_of, validate
from .. import _dtype, autograd
from .._files import params
from .._state import this_thread
from .._tensor import allocate, as_tensor, call_recorded
from ..base import ArgumentError, MXNetError, NotSupportedForSparseNDArray, ShapeError
from ..context import Context
from ..ndarray._memory import LENT
from ..ndarray.ndarray import NDArray
from .stored import (
    CSR,
    RowSparse,
    Stored,
    all_zeros,
    copy_to,
    from_dense,
    from_gradient,
    indptr_of_rows,
    with_values,
)

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "cast",
    "expect_stype",
    "wrap",
    "wrap_gradient",
]


class Handle(torch.autograd.Function):
    """The handle of an array that is computed from x, with the same gradient as x."""

    @staticmethod
    def forward(ctx, x, dtype, device):
        ctx.source = x.dtype, x.device
        return torch.zeros((), dtype=dtype, device=device).expand(x.shape)

    @staticmethod
    def backward(ctx, dy):
        dtype, device = ctx.source
        return dy.to(device, dtype), None, None


class Dense(torch.autograd.Function):
    """All elements of a sparse array, from its handle."""

    @staticmethod
    def forward(ctx, handle, stored):
        return stored.to_dense()

    @staticmethod
    def backward(ctx, dy):
        return dy, None


class BaseSparseNDArray(NDArray):
    """Base class of arrays that store some of their values; the rest is 0.

    `_own` is the values of `_stored` where nothing else keeps them. A call of an operator does not,
    which reads what is stored; who does asks `_lend` for it.
    """

    __slots__ = ("_handle", "_own", "_stored")
    _is_sparse = True

    def __init__(self, stored: Stored, context: Context, handle: torch.Tensor | None = None):
        self._stored, self._context, self._handle = stored, context, handle
        self._leaf = self._origin = self._own = None
        self._held = LENT

    def _lend(self) -> Stored:
        """Return the stored values for another array or tensor, which does not change them."""
        self._own = None
        return self._stored

    @property
    def _tensor(self) -> torch.Tensor:
        raise NotSupportedForSparseNDArray(
            f"an array of storage type {self.stype!r}, {self.shape}, is not one tensor\n"
            "  expected storage type 'default'; x.tostype('default') makes a dense copy"
        )

    # Shape, dtype and values

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole array."""
        return self._stored.shape

    @property
    def dtype(self):
        """NumPy's type of the elements."""
        return _dtype.to_numpy(self._stored.values.dtype)

    @property
    def size(self) -> int:
        """The number of elements, those that are not stored as well."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def stype(self) -> str:
        """The storage type, ``'csr'`` or ``'row_sparse'``."""
        return self._stored.stype

    @property
    def data(self):
        """A copy of the values that are stored."""
        return NDArray(self._stored.values.clone(), self._context)

    @property
    def indices(self):
        """A copy of their indices: of the rows, or for csr of the columns."""
        return NDArray(self._stored.indices[-1].clone(), self._context)

    def _data(self) -> NDArray:
        return self.data

    def _aux_data(self, i: int) -> NDArray:
        return NDArray(self._stored.indices[i].clone(), self._context)

    @property
    def _num_aux(self) -> int:
        return len(self._stored.indices)

    @property
    def _aux_types(self) -> list:
        return [self._aux_type(i) for i in range(self._num_aux)]

    def _aux_type(self, i: int):
        return _dtype.to_numpy(self._stored.indices[i].dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"\n<{type(self).__name__} {shape} @{self._context}>"

    def asnumpy(self) -> np.ndarray:
        """A NumPy array with all elements."""
        return self._as_dense().asnumpy()

    def check_format(self, full_check: bool = True) -> None:
        """Check what is stored: sizes and, with `full_check`, the order and range of each index.

        Raises
        ------
        MXNetError
            Something does not fit.
        """
        problem = self._stored.problem(full_check)
        if problem:
            raise MXNetError(f"check_format: {problem}\n  expected indices that rise, and fit")

    def wait_to_read(self) -> None:
        """Wait until the array is computed."""
        if self._stored.values.is_cuda:
            torch.cuda.current_stream(self._stored.values.device).synchronize()

    # Conversions and copies

    def _as_dense(self) -> NDArray:
        if self._is_recorded():
            return NDArray(call_recorded(Dense.apply, self._handle, self._stored), self._context)
        return NDArray(self._stored.to_dense(), self._context)

    def tostype(self, stype: str) -> NDArray:
        """A copy in another storage type, which is ``'default'`` or the array's own.

        Raises
        ------
        ArgumentError
            `stype` is neither of the two.
        """
        return self._as_dense() if stype == "default" else cast(self, stype)

    def astype(self, dtype, copy: bool = True) -> NDArray:
        """A copy with another dtype; with ``copy=False`` the array itself if it has this dtype."""
        target = _dtype.to_torch(dtype)
        if not copy and target is self._stored.values.dtype:
            return self
        return self._copy(self._context, target)

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copy to a context, or into another array of the same shape; returns that array.

        Raises
        ------
        ArgumentError
            The target is neither, or of another sparse storage type.
        ShapeError
            It is an array of another shape.
        """
        if isinstance(other, Context):
            return self._copy(other, None)
        return super().copyto(other)

    def _copy(self, context: Context, dtype: torch.dtype | None) -> NDArray:
        stored = copy_to(self._stored, context.device, dtype)
        handle = self._handle_for(stored) if self._is_recorded() else None
        return type(self)(stored, context, handle)

    def _is_recorded(self) -> bool:
        return this_thread.state.recording and self._requires_grad()

    def _handle_for(self, stored: Stored) -> torch.Tensor:
        """The handle of an array of the same elements, in the dtype and on the device of these."""
        return call_recorded(Handle.apply, self._handle, stored.values.dtype, stored.values.device)

    def __reduce__(self):
        parts = [self._stored.values, *self._stored.indices]
        arrays = [NDArray(t.cpu(), self._context) for t in parts]
        return _restore, (type(self._stored), self.shape, arrays)

    def __getstate__(self) -> dict:
        """The array as MXNet pickles it: the bytes that a file has of it."""
        return {"handle": bytearray().join(params.record_pieces(self._stored))}

    def reshape(self, *shape, **kwargs) -> NDArray:
        """Refused: there is no form of it for sparse storage.

        Raises
        ------
        NotSupportedForSparseNDArray
            Always.
        """
        raise NotSupportedForSparseNDArray(
            f"reshape: the storage type is {self.stype!r}\n"
            "  expected 'default'; x.tostype('default') makes a dense copy"
        )

    # Writing

    def __setitem__(self, key, value) -> None:
        if not (isinstance(key, slice) and key == slice(None)):
            raise ArgumentError(
                f"x[{key!r}] = value: the storage type is {self.stype!r}\n  expected x[:] = value"
            )
        self._refuse_recorded()
        self._stored = self._converted(value)

    def _converted(self, value) -> Stored:
        """A value to write, stored as this array is, in its dtype and on its device."""
        device, dtype = self._stored.values.device, self._stored.values.dtype
        if isinstance(value, BaseSparseNDArray):
            if value.stype != self.stype:
                raise ArgumentError(
                    f"x[:] = y: the storage types are {self.stype!r} and {value.stype!r}\n"
                    "  expected the same, or a dense y"
                )
            stored = copy_to(value._stored, device, dtype)
        elif isinstance(value, NDArray):
            stored = from_dense(self.stype, value._tensor.detach().to(device, dtype))
        elif isinstance(value, (np.ndarray, np.generic)):
            stored = from_dense(self.stype, as_tensor("x[:] = y", value, dtype).to(device))
        else:
            raise ArgumentError(
                f"x[:] = y: y is {type(value).__name__}, and x of storage type {self.stype!r}\n"
                "  expected an NDArray or a numpy.ndarray"
            )
        if stored.shape != self.shape:
            raise ShapeError(f"x[:] = y: y is {stored.shape}\n  expected {self.shape}")
        return stored

    def _replace(self, tensor: torch.Tensor, lent: bool = False) -> None:
        self._stored = from_dense(self.stype, tensor)

    @property
    def _elements(self) -> torch.Tensor:
        return self._stored.values

    def _replace_elements(self, tensor: torch.Tensor) -> None:
        self._stored = with_values(self._stored, tensor)

    def _state_tensor(self) -> torch.Tensor:
        return self._tensor

    def _copy_if_lent(self) -> None:
        pass

    # Gradients

    def _expect_room(self, name: str) -> None:
        """Raise ArraysError if all elements take far more memory than those that a file stores."""
        stored = self._stored
        size = sum(part.nbytes for part in (stored.values, *stored.indices))
        validate([(name, self.shape, stored.values.itemsize)], size, room_of(size))

    @property
    def _autograd_tensor(self) -> torch.Tensor:
        if self._handle is None:
            return self._stored.values.new_zeros(()).expand(self.shape)
        return self._handle

    def _requires_grad(self) -> bool:
        return self._handle is not None and self._handle.requires_grad

    def _become_variable(self, tensor: torch.Tensor, leaf: autograd.Leaf | None) -> None:
        self._handle, self._leaf, self._origin = tensor, leaf, None

    def _zeros(self, stype: str | None) -> NDArray:
        return zeros_of(stype or self.stype, self.shape, self._stored.values, self._context)

    def _take_gradient(self, given: torch.Tensor | None, add: bool) -> None:
        values = self._stored.values
        if given is None:
            if not add:
                self._stored = all_zeros(self.stype, self.shape, values.dtype, values.device)
            return
        given = given.to(values.device, values.dtype)
        if add and len(values):
            given = self._stored.to_gradient() + given
        self._stored = from_gradient(self.stype, given)

    def _tensor_to_keep(self) -> torch.Tensor:
        return self._stored.to_dense()

    def detach(self) -> NDArray:
        """An array of the same values that is no part of the recorded computation."""
        return type(self)(self._lend(), self._context)


class CSRNDArray(BaseSparseNDArray):
    """A matrix of which single elements are stored, row after row.

    Made by `sparse.csr_matrix`, or by `tostype` of a dense array.
    """

    __slots__ = ()

    @property
    def indptr(self):
        """A copy of where each row begins in `data` and `indices`, and the last one ends."""
        return NDArray(self._stored.indptr.clone(), self._context)

    def asscipy(self):
        """A copy as SciPy's csr_matrix."""
        from scipy.sparse import csr_matrix

        parts = (self.data.asnumpy(), self.indices.asnumpy(), self.indptr.asnumpy())
        return csr_matrix(parts, shape=self.shape, dtype=self.dtype)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key) -> NDArray:
        """One row, or rows that follow each other, as a matrix."""
        if isinstance(key, tuple) and len(key) == 1:
            key = key[0]
        if isinstance(key, (int, np.integer)):
            n = len(self)
            if not -n <= key < n:
                raise IndexError(f"x[{key}] of a matrix of {n} rows")
            key = slice(key % n, key % n + 1)
        if not isinstance(key, slice) or key.step not in (None, 1):
            raise ArgumentError(
                f"x[{key!r}] of storage type 'csr'\n  expected a row, x[1], or rows, x[1:3]"
            )
        begin, end, _ = key.indices(len(self))
        if (begin, end) == (0, len(self)):
            return self
        return operators["slice"](self, begin=(begin,), end=(max(begin, end),))


class RowSparseNDArray(BaseSparseNDArray):
    """An array of which some rows are stored, the indices along its first axis.

    Made by `sparse.row_sparse_array`, or by `tostype` of a dense array. Gradients of embeddings are
    such arrays.
    """

    __slots__ = ()

    def __getitem__(self, key) -> NDArray:
        if isinstance(key, slice) and key == slice(None):
            return self
        raise ArgumentError(
            f"x[{key!r}] of storage type 'row_sparse'\n"
            "  expected x[:], or x.retain(rows), or x.tostype('default')"
        )

    def __setitem__(self, key, value) -> None:
        if isinstance(value, (int, float, np.number)):
            like = self._stored.values
            if value == 0:
                value = zeros_of("row_sparse", self.shape, like, self._context)
            else:
                value = NDArray(like.new_full(self.shape, value), self._context)
        super().__setitem__(key, value)

    def retain(self, *args, **kwargs) -> NDArray:
        """The array with some of its rows; see `sparse.retain`."""
        return operators["retain"](self, *args, **kwargs)


TYPES = {RowSparse: RowSparseNDArray, CSR: CSRNDArray}
operators: dict = {}  # those of `nd` that a method here calls; `nd.sparse` puts them here


def wrap(stored: Stored, context: Context, handle: torch.Tensor | None = None) -> NDArray:
    """The array of what is stored."""
    return TYPES[type(stored)](stored, context, handle)


def zeros_of(stype: str, shape, like: torch.Tensor, context: Context) -> NDArray:
    """An array of zeros in the dtype and on the device of a tensor."""
    if stype == "default":
        return NDArray(allocate("zeros", torch.zeros, shape, like.dtype, like.device), context)
    expect_stype(stype)
    return wrap(all_zeros(stype, shape, like.dtype, like.device), context)


def wrap_gradient(gradient: torch.Tensor, context: Context) -> NDArray:
    """The array of a gradient that PyTorch has as a sparse tensor, of rows or of elements."""
    if gradient.sparse_dim() == 1:
        return wrap(from_gradient("row_sparse", gradient), context)
    gradient = gradient.coalesce()
    rows, columns = gradient.indices()
    indptr = indptr_of_rows(rows, gradient.shape[0])
    return wrap(CSR(tuple(gradient.shape), gradient.values(), indptr, columns), context)


def cast(array: NDArray, stype: str) -> NDArray:
    """A copy of an array as a sparse one; of a sparse one, in its own storage type.

    Raises
    ------
    ArgumentError
        There is no such storage type, or the array is of the other sparse one.
    ShapeError
        `stype` is 'csr', and there are not two axes.
    """
    expect_stype(stype)
    if isinstance(array, BaseSparseNDArray):
        if array.stype != stype:
            raise ArgumentError(
                f"from storage type {array.stype!r} to {stype!r}\n"
                "  expected 'default' in between: x.tostype('default').tostype(...)"
            )
        return array._copy(array._context, None)
    tensor = array._tensor
    stored, handle = from_dense(stype, tensor.detach()), None
    if this_thread.state.recording and tensor.requires_grad:
        handle = call_recorded(Handle.apply, tensor, tensor.dtype, tensor.device)
    return wrap(stored, array._context, handle)


def expect_stype(stype: str) -> None:
    if stype not in ("row_sparse", "csr"):
        raise ArgumentError(f"stype is {stype!r}\n  expected 'default', 'row_sparse' or 'csr'")


def _restore(kind, shape, arrays) -> NDArray:
    """An array, on the context that the arrays of what is stored have found."""
    return wrap(kind(shape, *[a._tensor for a in arrays]), arrays[0]._context)
