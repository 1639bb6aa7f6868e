"""NDArray: a thin wrapper around a tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .. import _dtype, autograd
from ..base import ArgumentError, MXNetError, RecordingError, ShapeError
from ..context import Context, from_device
from . import _index

if TYPE_CHECKING:
    from ._methods import Methods
else:
    Methods = object

__all__ = ["NDArray", "from_dlpack", "from_torch", "waitall"]

# Who else may hold an array's memory, besides the array itself:
VIEWED = "viewed"  # arrays that are meant to see its writes
LENT = "lent"  # arrays that must not see them
BORROWED = "borrowed"  # the caller of an operator, whose input this is: neither it nor its views


class NDArray(Methods):
    """A multi-dimensional array on a device.

    Made by `array`, `zeros` and the other functions of this package, not by calling the class.
    """

    # _leaf: where the gradient goes, for an array with `attach_grad`. _held: None, or one of above.
    __slots__ = ("__weakref__", "_context", "_held", "_leaf", "_tensor")
    __array_priority__ = 1000.0

    def __init__(self, tensor: torch.Tensor, context: Context):
        self._tensor = tensor
        self._context = context
        self._leaf = None
        self._held = None

    # What it is

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
        """The context that the array lives on."""
        return self._context

    ctx = context

    @property
    def stype(self) -> str:
        """The storage type, always ``'default'``: arrays here are dense."""
        return "default"

    @property
    def writable(self) -> bool:
        return True

    @property
    def T(self) -> NDArray:  # noqa: N802 - MXNet's name
        """A copy with the axes reversed."""
        return self.transpose()

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
            return bool(self._tensor.item())
        if not self.size:
            return False
        raise ValueError(
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

    # Out and in

    def asnumpy(self) -> np.ndarray:
        """A NumPy copy. bfloat16, which NumPy has not, comes as float32."""
        tensor = self._tensor
        if tensor.requires_grad:
            autograd.leave(tensor)
            tensor = tensor.detach()
        if tensor.dtype is torch.bfloat16:
            return tensor.float().cpu().numpy()
        return np.array(tensor.numpy(), order="C") if tensor.is_cpu else tensor.cpu().numpy()

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        values = self.asnumpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def asscalar(self):
        """The only element, as a NumPy scalar. Raises ValueError when there are more."""
        if self.size != 1:
            raise ValueError(f"asscalar: the shape is {self.shape}\n  expected one element")
        return self.asnumpy().reshape(-1)[0]

    def to_torch(self) -> torch.Tensor:
        """The tensor itself, no copy: writes are seen on both sides."""
        self._share()
        return self._tensor

    def __dlpack__(self, **kwargs):
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
        return _restore, (np.array(raw.numpy()), name, self._context)

    def __copy__(self) -> NDArray:
        return self.copy()

    def __deepcopy__(self, memo) -> NDArray:
        return self.copy()

    def copy(self) -> NDArray:
        """A copy on the same context."""
        return self.copyto(self._context)

    def copyto(self, other: NDArray | Context) -> NDArray:
        """Copy to a context, or into another array of the same shape; returns that array."""
        if isinstance(other, Context):
            return NDArray(_recorded(_copy, self._tensor, other.device), other)
        if not isinstance(other, NDArray):
            raise TypeError(f"copyto: the target is {other!r}\n  expected an NDArray or a Context")
        if other is self:
            raise MXNetError("copyto: the target is the array itself")
        if other.shape != self.shape:
            raise ShapeError(f"copyto: the target is {other.shape}\n  expected {self.shape}")
        other[:] = self
        return other

    def as_in_context(self, context: Context) -> NDArray:
        """The array itself when it lives there, else a copy there."""
        return self if context == self._context else self.copyto(context)

    as_in_ctx = as_in_context

    def as_nd_ndarray(self) -> NDArray:
        """The array itself."""
        return self

    def astype(self, dtype, copy: bool = True) -> NDArray:
        """A copy of another dtype. With ``copy=False`` the array itself when it has it."""
        target = _dtype.to_torch(dtype)
        if not copy and target is self._tensor.dtype:
            return self
        return NDArray(_recorded(_cast, self._tensor, target), self._context)

    def tostype(self, stype: str) -> NDArray:
        """The array itself for ``'default'``; there are no sparse arrays."""
        if stype != "default":
            raise ArgumentError(f"tostype: stype is {stype!r}\n  expected 'default'")
        return self

    def reshape(self, *shape, **kwargs) -> NDArray:
        """The same memory in another shape, with MXNet's codes 0, -1, -2, -3, -4.

        ``reshape(2, 3)``, ``reshape((2, 3))``, ``reshape(shape=(2, 3), reverse=False)``. Writing
        to the result writes to the array. Raises ShapeError when the sizes do not fit.
        """
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        target = _index.reshaped(
            self.shape, tuple(shape or kwargs.pop("shape")), kwargs.pop("reverse", False)
        )
        if kwargs:
            raise ArgumentError(f"reshape: unknown argument {next(iter(kwargs))!r}")
        self._share()
        if not self._tensor.is_contiguous():
            self._tensor = _recorded(torch.Tensor.contiguous, self._tensor)
        return self._view(_recorded(torch.Tensor.view, self._tensor, target))

    # Indexing

    def __getitem__(self, key) -> NDArray:
        self._share()
        result, is_view = _recorded(_index.get, self._tensor, _index.plain(key))
        return self._view(result) if is_view else NDArray(result, self._context)

    def __setitem__(self, key, value) -> None:
        if _index.is_everything(key):
            self._fill(value)
            return
        target = self._writable()
        with torch.no_grad():
            _index.put(target, _index.plain(key), self._as_source(value))

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
        """Give the array a gradient, which `backward` overwrites, adds to or leaves alone.

        Parameters
        ----------
        grad_req : {'write', 'add', 'null'}
        """
        grad = NDArray(torch.zeros_like(self._tensor, requires_grad=False), self._context)
        autograd.mark(self, grad, grad_req)

    def detach(self) -> NDArray:
        """The same memory, cut off from what was recorded."""
        self._share()
        return self._view(self._tensor.detach())

    def backward(self, out_grad=None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Compute the gradients of what this array was computed from; see `autograd.backward`."""
        autograd.backward([self], [out_grad], retain_graph, train_mode)

    def wait_to_read(self) -> None:
        """Wait until the array is computed."""
        if self._tensor.is_cuda:
            torch.cuda.current_stream(self._tensor.device).synchronize()

    # Writing. An array that others look at (VIEWED) keeps its memory; one that shares it with
    # who must not see (LENT, BORROWED) takes a copy first; any other may take over a new tensor.

    def _writable(self) -> torch.Tensor:
        """The tensor, to be written in place."""
        if autograd.state.recording and self._tensor.requires_grad:
            raise RecordingError(
                f"writing into an array {self.shape} that is part of the recorded computation\n"
                "  expected x = x + y instead of x += y or x[:] = y inside autograd.record()"
            )
        if self._held is LENT or self._held is BORROWED:
            self._tensor, self._held = self._tensor.clone(), None
        return self._tensor.detach() if self._tensor.requires_grad else self._tensor

    def _share(self) -> None:
        """From now on others may see what is written here."""
        if self._held is BORROWED:
            return
        if self._held is LENT:
            self._tensor = _recorded(torch.clone, self._tensor)
        self._held = VIEWED

    def _view(self, tensor: torch.Tensor) -> NDArray:
        result = NDArray(tensor, self._context)
        result._held = BORROWED if self._held is BORROWED else VIEWED
        return result

    def _replace(self, tensor: torch.Tensor, lent: bool = False) -> None:
        """Take the value of a tensor that nobody else holds, or that is `lent`."""
        if self._held is VIEWED or self._leaf is not None:
            self._writable().copy_(tensor)
        else:
            self._tensor, self._held = tensor, LENT if lent else None

    def _take(self, other: NDArray) -> None:
        """Take the value of another array of the same shape, without a copy where that is safe."""
        same = other._tensor.dtype is self._tensor.dtype and other._context == self._context
        shared = other._held in (VIEWED, BORROWED) or self._held is VIEWED
        if shared or not same or other._leaf or self._leaf:
            target = self._tensor
            self._replace(_recorded(_copy, other._tensor, target.device, target.dtype))
        else:
            self._tensor = other._tensor
            self._held = other._held = LENT

    def _fill(self, value) -> None:
        """x[:] = value"""
        if autograd.state.recording and self._tensor.requires_grad:
            self._writable()
        if isinstance(value, NDArray) and value.shape == self.shape:
            if value is not self:
                self._take(value)
        elif isinstance(value, (int, float, np.generic)):
            if self._held is LENT:
                self._replace(torch.empty_like(self._tensor, requires_grad=False))
            self._writable().fill_(value)
        else:
            with torch.no_grad():
                _index.put(self._writable(), slice(None), self._as_source(value))

    def _as_source(self, value: Any) -> torch.Tensor:
        """A value to be written, as a tensor of this array's dtype and device."""
        if isinstance(value, NDArray):
            if autograd.state.recording and value._tensor.requires_grad:
                raise RecordingError(
                    "x[key] = y where y is part of the recorded computation\n"
                    "  expected an operator, such as where, concat or slice_assign"
                )
            value = value._tensor.detach()
        elif not isinstance(value, torch.Tensor):
            value = torch.as_tensor(np.asarray(value))
        return value.to(self._tensor.device, self._tensor.dtype)


def _recorded(function, *args):
    """Run a function of tensors with PyTorch's grad mode as recording is."""
    if torch.is_grad_enabled() is autograd.state.recording:
        return function(*args)
    with torch.set_grad_enabled(autograd.state.recording):
        return function(*args)


def _copy(tensor: torch.Tensor, device: torch.device, dtype=None) -> torch.Tensor:
    return tensor.to(device, dtype or tensor.dtype, copy=True)


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if dtype is torch.bool or tensor.dtype is not dtype:
        return tensor.to(dtype)
    return tensor.clone()


def _restore(raw: np.ndarray, name: str, context: Context) -> NDArray:
    tensor = torch.from_numpy(raw)
    if name == "bfloat16":
        tensor = tensor.view(torch.bfloat16)
    return NDArray(tensor.to(context.device), context)


def from_torch(tensor: torch.Tensor) -> NDArray:
    """An NDArray of a tensor's own memory, no copy: writes are seen on both sides."""
    _dtype.to_numpy(tensor.dtype)
    result = NDArray(tensor.detach(), from_device(tensor.device))
    result._held = VIEWED
    return result


def from_dlpack(capsule) -> NDArray:
    """An NDArray of another library's memory, no copy; takes a capsule or an array."""
    return from_torch(torch.from_dlpack(capsule))


def waitall() -> None:
    """Wait until everything is computed, on all GPUs."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
