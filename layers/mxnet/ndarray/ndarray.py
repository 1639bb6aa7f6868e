"""NDArray: a thin wrapper around a tensor."""

from __future__ import annotations

import warnings
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .. import _dtype, _np_shape, _threads, autograd
from .._files import params
from .._state import this_thread
from .._tensor import as_tensor, call_recorded, copy_to, is_differentiated, transforms
from ..base import ArgumentError, ContextError, RecordingError, ShapeError, UnsupportedError
from ..context import Context, cpu, from_device
from . import _index
from ._memory import BORROWED, LENT, VIEWED, Memory
from ._origin import note_call, note_item

if TYPE_CHECKING:
    from ._methods import Methods
else:
    Methods = object

__all__ = [
    "NDArray",
    "from_dlpack",
    "from_numpy",
    "from_torch",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "waitall",
]

# MXNet's numbers for kinds of storage, dtypes and grad_req, which programs look up.
_STORAGE_TYPE_UNDEFINED = -1
_STORAGE_TYPE_DEFAULT, _STORAGE_TYPE_ROW_SPARSE, _STORAGE_TYPE_CSR = range(3)
_STORAGE_TYPE_ID_TO_STR = {-1: "undefined", 0: "default", 1: "row_sparse", 2: "csr"}
_STORAGE_TYPE_STR_TO_ID = {name: number for number, name in _STORAGE_TYPE_ID_TO_STR.items()}
_DTYPE_MX_TO_NP = {
    -1: None,
    0: np.float32,
    1: np.float64,
    2: np.float16,
    3: np.uint8,
    4: np.int32,
    5: np.int8,
    6: np.int64,
    7: np.bool_,
    12: _dtype.bfloat16,
}
_DTYPE_NP_TO_MX = {dtype: number for number, dtype in _DTYPE_MX_TO_NP.items()}
py_slice = slice  # MXNet's name for Python's own, beside an operator of that name
_GRAD_REQ_MAP = {"null": 0, "write": 1, "add": 3}


class NDArray(Memory, Methods):
    """A multi-dimensional array on a device.

    Made by `array`, `zeros` and the other functions of this package, not by calling the class.
    """

    # _leaf: has the gradient of an array with `attach_grad`; _held: who else has the memory, see
    # `Memory`; _origin: what it was computed from, where that is recorded.
    __slots__ = ("__weakref__", "_context", "_held", "_leaf", "_origin", "_tensor")
    __array_priority__ = 1000.0
    _is_sparse = False  # whether a part of it is stored, so that it has no `_tensor`
    _records_integers = False  # whether its class differentiates integers: mx.np.ndarray
    _array_class: type[NDArray]  # the class of what is computed from it: NDArray, or mx.np.ndarray

    def __init__(self, tensor: torch.Tensor, context: Context, held: str | None = None):
        self._tensor = tensor
        self._context = context
        self._leaf = None
        self._held = held
        self._origin = None

    # Shape, dtype, context and values

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, a tuple of ints."""
        return tuple(self._tensor.shape)

    @property
    def dtype(self):
        """NumPy's type of the elements, such as ``numpy.float32``."""
        return _dtype.to_numpy(self._tensor.dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._tensor.numel()

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._tensor.dim()

    @property
    def context(self) -> Context:
        """The context whose memory the array is in."""
        return self._context

    ctx = context

    @property
    def stype(self) -> str:
        """The storage type: ``'default'`` of dense arrays, which this class is for."""
        return "default"

    @property
    def writable(self) -> bool:
        """Always True."""
        return True

    @property
    def T(self) -> NDArray:
        """A copy with the axes reversed; the array itself where it has one axis."""
        return self if self.ndim < 2 else self.transpose()

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of an NDArray without axes")
        return self._tensor.shape[0]

    def __repr__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"\n{self.asnumpy()!s}\n<{type(self).__name__} {shape} @{self._context}>"

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        if self.size == 1:
            return bool(self.asscalar())
        if not self.size:
            return False
        raise ShapeError(
            f"the truth value of an NDArray of shape {self.shape} is ambiguous\n"
            "  expected one element"
        )

    def __float__(self) -> float:
        return float(self.asscalar())

    def __int__(self) -> int:
        return int(self.asscalar())

    def __index__(self) -> int:
        if self._tensor.is_floating_point():
            raise TypeError(f"an NDArray of {_dtype.name(self._tensor.dtype)} is not an index")
        return int(self.asscalar())

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    # Conversions and copies

    def asnumpy(self) -> np.ndarray:
        """A NumPy copy; bfloat16, which NumPy does not have, as float32.

        Raises
        ------
        UnsupportedError
            A CUDA graph is being captured, or `torch.vmap` computes a batch at once.
        """
        tensor = self._tensor
        if tensor.requires_grad:
            autograd.expect_no_second_derivative()
            tensor = tensor.detach()
        tensor = tensor.float() if tensor.dtype is torch.bfloat16 else tensor
        if torch.compiler.is_compiling():  # compiled NumPy code runs on a GPU too
            return tensor.numpy().copy()
        _threads.give_to_numpy(tensor.numel())
        if tensor.is_cpu:
            return _as_numpy(tensor).copy()
        if torch.cuda.is_current_stream_capturing():
            raise UnsupportedError(
                "asnumpy() inside a CUDA graph\n  expected operators in nd, or no static_shape"
            )
        return tensor.cpu().numpy()

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        if copy is False:
            raise ValueError("an NDArray as a NumPy array is a copy\n  expected copy=True or None")
        values = self.asnumpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def asscalar(self):
        """The only element, as a NumPy scalar.

        Raises
        ------
        ShapeError
            There are more elements, or none.
        """
        if self.size != 1:
            raise ShapeError(f"asscalar: the shape is {self.shape}\n  expected one element")
        return self.asnumpy().reshape(-1)[0]

    def to_torch(self) -> torch.Tensor:
        """The tensor itself, without a copy: writes are seen on both sides."""
        self._share()
        if self._held is BORROWED:  # share the caller's memory, not the caller's tensor
            self._tensor = self._tensor.detach()
        return self._tensor

    def __dlpack__(self, **kwargs):
        if self._tensor.requires_grad:
            autograd.expect_no_second_derivative("__dlpack__()")
        self._share()
        return self._tensor.detach().__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()

    def to_dlpack_for_read(self):
        """A DLPack capsule of the memory."""
        return self.__dlpack__()

    to_dlpack_for_write = to_dlpack_for_read

    def __reduce__(self):
        tensor = self._tensor.detach().cpu()
        name = _dtype.name(tensor.dtype)
        raw = tensor.view(torch.int16) if name == "bfloat16" else tensor
        return _restore, (raw.numpy().copy(), name, self._context, self._array_class)

    def __getstate__(self) -> dict:
        """The array as MXNet pickles it: the bytes that a file has of it."""
        version = 3 if _np_shape.is_on() or not self.ndim else 2
        return {"handle": bytearray().join(params.array_pieces(self._tensor, version))}

    def __setstate__(self, state: dict) -> None:
        """Become the array of such a state, on the CPU.

        Raises
        ------
        ArgumentError
            It is of an array of another storage type.
        """
        array = params.read_array(bytes(state["handle"]), "__setstate__")
        stype = getattr(array, "stype", "default")
        if stype != self.stype:
            raise ArgumentError(
                f"__setstate__: the state is of storage type {stype!r}\n  expected {self.stype!r}"
            )
        self.__init__(array, cpu())

    def __copy__(self) -> NDArray:
        return self.copy()

    def __deepcopy__(self, memo) -> NDArray:
        return self.copy()

    def copy(self) -> NDArray:
        """A copy on the same context."""
        return self.copyto(self._context)

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copy to a context, or into another array of the same shape; returns that array.

        Raises
        ------
        ArgumentError
            The target is neither a context nor an array.
        ShapeError
            It is an array of another shape.
        """
        if isinstance(other, Context):
            tensor = call_recorded(copy_to, self._tensor, other.device)
            copy = self._array_class(tensor, other)
            if this_thread.state.recording:
                note_call(copy, "identity", {}, self)
            return copy
        if not isinstance(other, NDArray):
            raise ArgumentError(
                f"copyto: the target is {other!r}\n  expected an NDArray or a Context"
            )
        if other is self:
            warnings.warn("copyto: the target is the array itself", RuntimeWarning, stacklevel=2)
        elif other.shape != self.shape:
            raise ShapeError(f"copyto: the target is {other.shape}\n  expected {self.shape}")
        else:
            other[:] = self
        return other

    def as_in_context(self, context: Context) -> NDArray:
        """The array itself where it is on that context already, else a copy there."""
        return self if context == self._context else self.copyto(context)

    as_in_ctx = as_in_context

    def as_nd_ndarray(self) -> NDArray:
        """The array itself."""
        return self

    def astype(self, dtype, copy: bool = True) -> NDArray:
        """A copy with another dtype; with ``copy=False`` the array itself if it has this dtype."""
        target = _dtype.to_torch(dtype)
        if not copy and target is self._tensor.dtype:
            return self
        copy = self._wrap(call_recorded(copy_to, self._tensor, self._tensor.device, target))
        if this_thread.state.recording:
            note_call(copy, "Cast", {"dtype": target}, self)
        return copy

    def tostype(self, stype: str) -> NDArray:
        """A copy in a storage type, ``'default'``, ``'csr'`` or ``'row_sparse'``.

        Raises
        ------
        ArgumentError
            `stype` is none of the three.
        ShapeError
            `stype` is 'csr', and there are not two axes.
        """
        if stype == "default":
            return self.copy()
        from .._sparse.array import cast

        return cast(self, stype)

    def _as_dense(self) -> NDArray:
        """The array, or of a sparse one a dense copy."""
        return self

    def reshape(self, *shape, **kwargs) -> NDArray:
        """The same memory in another shape, with MXNet's codes 0, -1, -2, -3, -4.

        ``reshape(2, 3)``, ``reshape((2, 3))``, ``reshape(shape=(2, 3), reverse=False)``. Writing
        to the result writes to the array.

        Raises
        ------
        ArgumentError
            The shape is missing, or an argument unknown.
        ShapeError
            The sizes do not fit.
        """
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = shape[0]
        elif not shape:
            if "shape" not in kwargs:
                raise ArgumentError(
                    "reshape: no shape\n  expected reshape(2, 3) or reshape((2, 3))"
                )
            shape = kwargs.pop("shape")
        reverse = kwargs.pop("reverse", False)
        if kwargs:
            raise ArgumentError(
                f"reshape: unknown argument {next(iter(kwargs))!r}\n  expected shape, reverse"
            )
        # A size that is open in an exported graph must not go through `index`, which fixes it.
        codes = tuple([n if isinstance(n, int) else index(n) for n in shape])
        target = _index.reshaped(self.shape, codes, bool(reverse))
        self._share()
        view = self._view(call_recorded(torch.Tensor.reshape, self._tensor_to_view(), target))
        if this_thread.state.recording:
            note_call(view, "Reshape", {"shape": target}, self)
        return view

    # Indexing

    def __getitem__(self, key) -> NDArray:
        if type(key) is not int and key is not Ellipsis and _index.is_everything(key):
            return self
        return self._item(key, _np_shape.is_on())

    def _item(self, key: Any, keeps_scalars: bool) -> NDArray:
        """x[key]; one element is of the shape (), or of (1,)."""
        if _index.is_basic(key):
            self._share()
        if self._tensor.requires_grad:
            result, is_view = call_recorded(_index.get, self._tensor_to_view(), key, keeps_scalars)
        else:
            result, is_view = _index.get(self._tensor, key, keeps_scalars)
        array = self._view(result) if is_view else self._wrap(result)
        if this_thread.state.recording:
            note_item(array, self, key)
        return array

    @staticmethod
    def _basic_indexing_slice_is_contiguous(slc_key, shape: tuple[int, ...]) -> bool:
        """Whether a key of ints and slices selects memory without gaps of an array of a shape."""
        return np.empty(shape, np.bool_)[slc_key].flags.c_contiguous

    def _wrap(self, tensor: torch.Tensor) -> NDArray:
        """Make an array of a tensor on the same context."""
        return self._array_class(tensor, self._context)

    def _wrap_gradient(self, tensor: torch.Tensor) -> NDArray:
        """An array of a gradient, whose memory the operator that gave it may keep."""
        if tensor.layout is not torch.strided:
            from .._sparse.array import wrap_gradient

            return wrap_gradient(tensor, self._context)
        result = self._wrap(tensor)
        result._held = LENT
        return result

    def _view(self, tensor: torch.Tensor) -> NDArray:
        """Make an array of a tensor in the same memory; each sees writes into the other."""
        held = BORROWED if self._held is BORROWED else VIEWED
        return self._array_class(tensor, self._context, held)

    def __setitem__(self, key, value) -> None:
        if _index.is_everything(key):
            self._fill(value)
        else:
            self._put(key, value)

    def _at(self, index: int) -> NDArray:
        return self[index]

    # Gradients

    @property
    def grad(self) -> NDArray | None:
        """The gradient that `backward` computed, None without `attach_grad`."""
        return self._leaf and self._leaf.grad

    @property
    def _fresh_grad(self) -> bool:
        """Whether `backward` has written the gradient since this was set to False."""
        return self._leaf is not None and self._leaf.fresh

    @_fresh_grad.setter
    def _fresh_grad(self, value: bool) -> None:
        self._leaf.fresh = value

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Attach a gradient to the array, which `backward` overwrites, adds to or leaves unchanged.

        Parameters
        ----------
        grad_req : {'write', 'add', 'null'}
        stype : {'default', 'row_sparse', 'csr'}, optional
            The storage type of the gradient; by default that of the array.
        """
        autograd.mark(self, self._zeros(stype), grad_req)

    def _zeros(self, stype: str | None = None) -> NDArray:
        """An array of zeros for a gradient, by default of the array's own storage type."""
        if stype in (None, "default"):
            return self._wrap(torch.zeros_like(self._tensor, requires_grad=False))
        from .._sparse.array import zeros_of

        return zeros_of(stype, self.shape, self._tensor, self._context)

    def detach(self) -> NDArray:
        """An array in the same memory that is no part of the recorded computation."""
        self._share()
        return self._view(self._tensor.detach())

    def backward(self, out_grad=None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Compute the gradients of the arrays that this one depends on; see `autograd.backward`."""
        autograd.go_back((self,), (out_grad,), retain_graph, train_mode)

    def wait_to_read(self) -> None:
        """Wait until the array is computed."""
        if self._tensor.is_cuda:
            torch.cuda.current_stream(self._tensor.device).synchronize()


NDArray._array_class = NDArray


def _restore(
    raw: np.ndarray, name: str, context: Context, array_class: type[NDArray] = NDArray
) -> NDArray:
    tensor = torch.from_numpy(raw)
    if name == "bfloat16":
        tensor = tensor.view(torch.bfloat16)
    try:
        device = context.device
    except ContextError:  # saved on a machine that had more GPUs
        context = cpu()
        device = context.device
    return array_class(tensor.to(device), context)


def _as_numpy(tensor: torch.Tensor) -> np.ndarray:
    """The values of a tensor of the CPU, which has some: not inside `torch.vmap`."""
    try:
        return tensor.numpy()
    except RuntimeError as error:
        if "Vmap" not in transforms():
            raise
        raise UnsupportedError(
            "asnumpy() inside torch.vmap, where arrays have no values\n"
            "  expected operators in nd, or no torch.no_grad() around the call of a to_torch() net"
        ) from error


def from_torch(tensor: torch.Tensor) -> NDArray:
    """An NDArray in a tensor's memory, without a copy: writes are seen on both sides.

    Raises
    ------
    DTypeError
        Its dtype is one that MXNet does not have.
    RecordingError
        `torch.func` or forward mode differentiates by it.
    """
    _dtype.to_torch(tensor.dtype)
    if not torch.compiler.is_compiling() and is_differentiated(tensor):
        raise RecordingError(
            "from_torch: a tensor by which torch.func (grad, vjp, jacrev, jvp) or forward mode "
            "differentiates\n  expected net.to_torch()(tensor), which torch.func.grad takes, or "
            "autograd.grad of arrays"
        )
    return NDArray(tensor.detach(), from_device(tensor.device), VIEWED)


def from_numpy(
    ndarray: np.ndarray, zero_copy: bool = True, array_cls: type[NDArray] = NDArray
) -> NDArray:
    """An NDArray of a NumPy array, in its own dtype.

    With `zero_copy` it is the same memory, and the NumPy array becomes read-only.

    Raises
    ------
    ArgumentError
        It is no NumPy array; or `zero_copy` is True, and it is not contiguous; or `array_cls` is
        no class of arrays.
    """
    if array_cls is not getattr(array_cls, "_array_class", None):
        raise ArgumentError(
            f"from_numpy: array_cls is {array_cls!r}\n  expected NDArray or mx.np.ndarray"
        )
    if not isinstance(ndarray, np.ndarray):
        raise ArgumentError(f"from_numpy: {type(ndarray).__name__}\n  expected a numpy.ndarray")
    if torch.compiler.is_compiling():  # the tracer does not see its dtype, and shares no memory
        tensor = torch.as_tensor(ndarray).clone()
        return array_cls(tensor, from_device(tensor.device))
    if not zero_copy:
        dtype = _dtype.to_torch(ndarray.dtype)
        return array_cls(as_tensor("from_numpy", ndarray, dtype), cpu())
    if not ndarray.flags.c_contiguous:
        raise ArgumentError("from_numpy: the array is not contiguous\n  expected zero_copy=False")
    ndarray.flags.writeable = True  # for PyTorch; raises ValueError where the memory is not NumPy's
    result = array_cls(torch.from_numpy(ndarray), cpu(), VIEWED)
    ndarray.flags.writeable = False
    return result


def from_dlpack(dlpack) -> NDArray:
    """An NDArray in another library's memory, without a copy, from a capsule or an array."""
    return from_torch(torch.from_dlpack(dlpack))


def to_dlpack_for_read(data: NDArray):
    """A DLPack capsule of an array's memory."""
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray):
    """A DLPack capsule of an array's memory; the array sees what is written into it."""
    return data.to_dlpack_for_write()


def waitall() -> None:
    """Wait until everything is computed, on all GPUs."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        for i in range(torch.cuda.device_count()):
            torch.cuda.synchronize(i)
