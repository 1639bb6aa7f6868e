"""Environment variables, GPUs, and the switches of MXNet's NumPy interface, which stay off."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any

import torch

from .base import ContextError, UnsupportedError
from .context import Context, gpu_memory_info

__all__ = [
    "get_cuda_compute_capability",
    "get_gpu_count",
    "get_gpu_memory",
    "getenv",
    "is_np_array",
    "is_np_shape",
    "np_array",
    "np_shape",
    "reset_np",
    "set_module",
    "set_np",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_shape",
]


def getenv(name: str) -> str | None:
    """The value of an environment variable, None where it is not set."""
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable; None removes it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def get_gpu_count() -> int:
    """The number of GPUs."""
    return torch.cuda.device_count()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """The free and the total memory of a GPU, in bytes.

    Raises
    ------
    ContextError
        There is no such GPU.
    """
    return gpu_memory_info(gpu_dev_id)


def get_cuda_compute_capability(ctx: Context) -> int:
    """The compute capability of a GPU as a number of two digits, 90 for 9.0.

    Raises
    ------
    ContextError
        `ctx` is not a GPU, or there is no such GPU.
    """
    if ctx.device_type != "gpu":
        raise ContextError(f"get_cuda_compute_capability: ctx is {ctx}\n  expected a GPU")
    major, minor = torch.cuda.get_device_capability(ctx.device)
    return 10 * major + minor


def set_module(module: str | None) -> Callable:
    """A decorator that sets the ``__module__`` under which a class or function is shown."""

    def set_it(decorated):
        if module is not None:
            decorated.__module__ = module
        return decorated

    return set_it


# MXNet's NumPy interface. Programs ask whether it is on, and may switch it off.


def _refuse(name: str) -> None:
    raise UnsupportedError(
        f"{name}: MXNet's NumPy interface (mx.np, mx.npx) is not here\n"
        "  use mx.nd and mx.gluon without it"
    )


def is_np_shape() -> bool:
    """Whether shapes with sizes of 0 and without axes are on, which they never are: False."""
    return False


def is_np_array() -> bool:
    """Whether Gluon works on arrays of ``mx.np``, which it never does: False."""
    return False


def set_np_shape(active: bool) -> bool:
    """Switch NumPy's shapes off, which they are; the former state is returned, False.

    Raises
    ------
    UnsupportedError
        They are to be switched on.
    """
    if active:
        _refuse("set_np_shape")
    return False


def set_np(shape: bool = True, array: bool = True) -> None:
    """Switch the NumPy interface off, which it is.

    Raises
    ------
    UnsupportedError
        `shape` or `array` is true.
    """
    if shape or array:
        _refuse("set_np")


def reset_np() -> None:
    """Switch the NumPy interface off, which it is."""


def np_shape(active: bool = True):
    """A scope without NumPy's shapes.

    Raises
    ------
    UnsupportedError
        They are to be switched on.
    """
    if active:
        _refuse("np_shape")
    return nullcontext()


class _NumpyArrayScope:
    """What `np_array` returns: a ``with`` statement refuses to switch the arrays on."""

    def __init__(self, is_np_array: bool):
        self._is_np_array = is_np_array

    def __enter__(self) -> _NumpyArrayScope:
        if self._is_np_array:
            _refuse("np_array")
        return self

    def __exit__(self, *_) -> None:
        pass


def np_array(active: bool = True) -> _NumpyArrayScope:
    """A scope without arrays of ``mx.np``.

    Raises
    ------
    UnsupportedError
        They are to be switched on.
    """
    if active:
        _refuse("np_array")
    return _NumpyArrayScope(active)


def _refuse_when_used(name: str) -> Callable[[Any], Any]:
    def decorate(func):
        if isinstance(func, type):
            init = wraps(func.__init__)(lambda self, *args, **kwargs: _refuse(name))
            return type(func)(func.__name__, (func,), {"__init__": init})
        return wraps(func)(lambda *args, **kwargs: _refuse(name))

    decorate.__name__ = decorate.__qualname__ = name
    decorate.__doc__ = """Mark a function or a class as one for the NumPy interface.

    Raises
    ------
    UnsupportedError
        The function is called, or an object of the class is made.
    """
    return decorate


use_np_shape = _refuse_when_used("use_np_shape")
use_np_array = _refuse_when_used("use_np_array")
use_np = _refuse_when_used("use_np")
