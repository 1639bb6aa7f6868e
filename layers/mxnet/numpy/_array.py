"""``mx.np.ndarray``, and `F`, the functions of it."""

from __future__ import annotations

from typing import Any

import numpy as _np
import torch

from .. import _dtype
from .._np import arithmetic, methods, others, random  # noqa: F401 - they register functions
from .._np import functions as _functions  # noqa: F401 - as they do
from .._np.front import Functions
from .._table.registry import Op
from .._tensor import as_tensor, call_recorded, copy_to
from ..base import ArgumentError, DeferredInitializationError, describe_value
from ..context import Context, current_context
from ..ndarray.ndarray import NDArray
from ..ndarray.register import Pending, eager
from ..util import is_np_array

__all__ = ["F", "array", "in_kind", "ndarray"]


class ndarray(NDArray):
    """A multi-dimensional array on a device, with NumPy's rules.

    Made by `array`, `zeros` and the other functions of ``mx.np``, not by calling the class.
    """

    __slots__ = ()
    _records_integers = True

    # Shape and values

    @property
    def dtype(self):
        """NumPy's dtype of the elements, such as ``numpy.dtype('float32')``."""
        return _np.dtype(_dtype.to_numpy(self._tensor.dtype))

    @property
    def T(self) -> ndarray:
        """A copy with the axes reversed; the array itself where it has one axis."""
        return self if self.ndim < 2 else self.transpose()

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self._tensor.shape[0]

    def __iter__(self):
        if not self.ndim:
            raise TypeError("iteration over an array of the shape ()")
        return (self[i] for i in range(len(self)))

    def item(self, *args):
        """Return one element as a number of Python: the only one, or that at an index."""
        return self.asnumpy().item(*args)

    def tolist(self):
        """Return the elements as numbers of Python, in nested lists."""
        return self.asnumpy().tolist()

    def __repr__(self) -> str:
        values = self.asnumpy()
        text = _np.array2string(values, separator=", ", prefix="array(") if values.size else "[]"
        parts = [text]
        if not values.size and values.shape != (0,):
            parts.append(f"shape={values.shape}")
        if values.dtype not in (_np.float32, _np.bool_):
            parts.append(f"dtype={values.dtype}")
        if self._context.device_type != "cpu":
            parts.append(f"ctx={self._context}")
        return f"array({', '.join(parts)})"

    def __str__(self) -> str:
        place = f" @{self._context}" if self._context.device_type != "cpu" else ""
        return f"{self.asnumpy()!s}{place}"

    def __format__(self, spec: str) -> str:
        if not self.ndim:
            return format(self.item(), spec)
        if spec:
            raise TypeError(f"format {spec!r} of an array {self.shape}\n  expected no format")
        return str(self)

    # The other kind of arrays, and copies

    def as_np_ndarray(self) -> ndarray:
        """Return the array itself."""
        return self

    def as_nd_ndarray(self) -> NDArray:
        """Return an array of ``mx.nd`` in the same memory, with the same gradient."""
        return _in_same_memory(self, NDArray)

    @property
    def grad(self) -> ndarray | None:
        """The gradient that `backward` computed, None without `attach_grad`."""
        leaf = self._leaf
        return None if leaf is None or leaf.req == "null" else leaf.grad.as_np_ndarray()

    def as_in_ctx(self, ctx: Context) -> ndarray:
        """Return the array itself if it is on that context already, else a copy there."""
        return self.as_in_context(ctx)

    def copy(self, order: str = "C") -> ndarray:
        """Return a copy on the same context.

        Raises
        ------
        NotImplementedError
            `order` is not 'C'.
        """
        if order != "C":
            raise NotImplementedError(f"copy: order is {order!r}\n  expected 'C'")
        return self.copyto(self._context)

    def astype(
        self, dtype, order: str = "K", casting: str = "unsafe", subok: bool = True, copy=True
    ) -> ndarray:
        """Return a copy with another dtype; with ``copy=False`` itself if it has this dtype."""
        target = methods.checked_astype("astype", dtype or "float64", order, casting, subok)
        return super().astype(target, copy)

    def reshape_view(self, *shape, **kwargs) -> ndarray:
        """Return the same memory in another shape, as `NDArray.reshape` does."""
        return NDArray.reshape(self, *shape, **kwargs)

    # Indices

    def __getitem__(self, key) -> ndarray:
        if type(key) is int:
            if not self._tensor.dim():
                raise IndexError("scalar tensor can only accept `()` as index")
            return self._item(key, True)
        if type(key) is tuple and not key or key is Ellipsis:
            return self if not self.ndim else self._item(..., True)
        return self._item(_with_masks(key), True)

    def __setitem__(self, key, value) -> None:
        if type(key) is not int:
            key = _with_masks(key)
        if isinstance(value, (list, tuple)):
            value = array(value)
        super().__setitem__(key, value)


ndarray._array_class = ndarray
ndarray.__module__ = __package__  # where programs look it up


def _with_masks(key: Any) -> Any:
    """Return a key with masks of the shape () in place of bools, which NDArray takes for ints."""
    if isinstance(key, tuple):
        return tuple(map(_with_masks, key))
    return _np.asarray(key) if isinstance(key, (bool, _np.bool_)) else key


def _in_same_memory(array: NDArray, array_class: type[NDArray]) -> NDArray:
    """Return an array of another class; each sees writes into the other, and its gradient."""
    array._share()
    view = array_class(array._tensor, array._context, array._held)
    view._leaf, view._origin = array._leaf, array._origin
    return view


def _as_np_ndarray(self: NDArray) -> ndarray:
    """Return an array of ``mx.np`` in the same memory, with the same gradient."""
    return _in_same_memory(self, ndarray)


_as_np_ndarray.__name__ = "as_np_ndarray"
NDArray.as_np_ndarray = _as_np_ndarray


def array(object, dtype=None, ctx: Context | None = None) -> ndarray:
    """Return an array with a copy of the values, by default on the current context.

    Parameters
    ----------
    object : array of mx.np or mx.nd, numpy.ndarray, number or nested list of them
    dtype : optional
        By default that of an array or a numpy.ndarray, else float32.
    ctx : Context, optional
    """
    context = current_context() if ctx is None else ctx
    if isinstance(object, (NDArray, torch.Tensor)):
        tensor = object._tensor if isinstance(object, NDArray) else object.detach()
        target = tensor.dtype if dtype is None else _dtype.to_torch(dtype)
        return ndarray(call_recorded(copy_to, tensor, context.device, target), context)
    if dtype is None:
        is_array = isinstance(object, (_np.ndarray, _np.generic))
        dtype = object.dtype if is_array and object.dtype.kind in "biuf" else _np.float32
    if isinstance(object, (list, tuple)):
        object = _np.asarray(_as_numpy(object))
    tensor = as_tensor("array", object, _dtype.to_torch(dtype))
    return ndarray(tensor if context.device.type == "cpu" else tensor.to(context.device), context)


def in_kind(array: Any) -> Any:
    """Return a new array as one of ``mx.np`` where Gluon is to make these; others as they are."""
    if is_np_array() and type(array) is NDArray:
        return ndarray(array._tensor, array._context, array._held)
    return array


def _as_numpy(values: Any) -> Any:
    """Return nested lists with NumPy's arrays in place of arrays."""
    if isinstance(values, (list, tuple)):
        return [_as_numpy(value) for value in values]
    return values.asnumpy() if isinstance(values, NDArray) else values


class _OfArrays(Functions):
    """The functions of ``mx.np``, for arrays."""

    are_symbols = False

    @staticmethod
    def context(ctx: Context | None) -> str:
        """Return the text of a context, by default of the current one."""
        return str(current_context() if ctx is None else ctx)

    @staticmethod
    def as_operand(name: str, value: Any, like: ndarray | None) -> ndarray:
        """Return an operand as an array: of NumPy's arrays and lists a copy beside `like`.

        Raises
        ------
        TypeError
            It is nothing of these.
        """
        if isinstance(value, ndarray):
            return value
        if isinstance(value, NDArray):
            return value.as_np_ndarray()
        if isinstance(value, Pending):
            raise DeferredInitializationError(f"{name}: the shape of {value} is not known yet")
        if not isinstance(value, (_np.ndarray, list, tuple, range, *arithmetic.NUMBERS)):
            raise TypeError(
                f"{name}: an operand is {describe_value(value)}\n  expected an array or a number"
            )
        context = current_context() if like is None else like._context
        is_numpy = isinstance(value, _np.ndarray) and value.dtype in _dtype.NATIVE
        integers = like is None and not is_numpy and _np.asarray(value).dtype.kind in "iu"
        dtype = value.dtype if is_numpy else "int64" if integers else None
        if dtype is None and like is not None:
            dtype = like.dtype
        return array(list(value) if isinstance(value, range) else value, dtype, context)

    @staticmethod
    def as_list(outputs: ndarray | list) -> list:
        """Return the outputs of an operator, of which there may be one."""
        return outputs if isinstance(outputs, list) else [outputs]

    @staticmethod
    def as_rows(x: ndarray) -> tuple[ndarray, ...]:
        """Return the rows of an array."""
        return tuple(x)


def _of_operator(operator: Op, name: str):
    return eager(operator, ndarray)


F = _OfArrays(_of_operator, ndarray)
arithmetic.fill(ndarray, F)
methods.fill(ndarray, F)


def _in_place(name: str):
    """Return the method for x += y, which writes into the array."""

    def method(self, other):
        self._refuse_recorded()
        result = getattr(F, name)(self, other)
        if result.shape != self.shape or (
            result._tensor.dtype.is_floating_point and not self._tensor.dtype.is_floating_point
        ):
            raise ArgumentError(
                f"{name} in place: the array is {self.shape} {self.dtype}\n"
                f"  expected {result.shape} {result.dtype}, as the result is"
            )
        self._replace(result._tensor.to(self._tensor.dtype))
        return self

    return method


for _name, (_, _method) in arithmetic.ROWS.items():
    if _method and _method not in arithmetic.ORDER:
        setattr(ndarray, f"__i{_method}__", _in_place(_name))
