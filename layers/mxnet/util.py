"""Environment variables, GPUs, np_shape semantics, and MXNet's NumPy arrays, which stay off."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from . import _np_shape
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


# The switches of MXNet's NumPy interface, of which only np_shape semantics can be on.


def _refuse(name: str) -> None:
    raise UnsupportedError(
        f"{name}: MXNet's NumPy interface (mx.np, mx.npx) is not here\n"
        "  use mx.nd and mx.gluon without it"
    )


def is_np_shape() -> bool:
    """Whether np_shape semantics are in force in this thread: sizes of 0, and shapes ()."""
    return _np_shape.is_on()


def is_np_array() -> bool:
    """Whether Gluon works on arrays of ``mx.np``, which it never does: False."""
    return False


def set_np_shape(active: bool | int) -> bool:
    """Put np_shape semantics in force in this thread, or out of force.

    With them an array may have a size of 0 or the shape (), and -1 is a size that is not known.
    Without them, which is the default, a size of 0 is not known.

    Parameters
    ----------
    active : bool or int
        2 stands for all threads.

    Returns
    -------
    bool
        Whether they were in force.

    Raises
    ------
    ArgumentError
        `active` is something else.
    """
    return _np_shape.switch(active)


def set_np(shape: bool = True, array: bool = True) -> None:
    """Put np_shape semantics in force in this thread, or out of force, without arrays of ``mx.np``.

    Raises
    ------
    UnsupportedError
        `array` is true.
    """
    if array:
        _refuse("set_np")
    set_np_shape(shape)


def reset_np() -> None:
    """Put np_shape semantics out of force."""
    set_np_shape(False)


class _NumpyShapeScope:
    """What `np_shape` returns: a ``with`` statement has np_shape semantics in force, or not."""

    def __init__(self, is_np_shape: bool | int | None):
        self._is_np_shape = is_np_shape
        self._before: list[bool] = []

    def __enter__(self) -> None:
        now = is_np_shape()
        if self._is_np_shape is not None:
            set_np_shape(self._is_np_shape)
        self._before.append(now)

    def __exit__(self, *_) -> None:
        before = self._before.pop()
        if before != is_np_shape():
            set_np_shape(before)


def np_shape(active: bool | int | None = True) -> _NumpyShapeScope:
    """A scope with np_shape semantics or without them; see `set_np_shape`.

    ``with mx.np_shape(): nd.zeros((0, 3))``
    """
    return _NumpyShapeScope(active)


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


def use_np_shape(func):
    """Have a function, or the methods and properties of a class, run with np_shape semantics.

    Raises
    ------
    TypeError
        `func` is neither.
    """
    if isinstance(func, type):
        for name, member in list(vars(func).items()):
            if callable(member) and not isinstance(member, type):
                setattr(func, name, use_np_shape(member))
            elif isinstance(member, (staticmethod, classmethod)):
                setattr(func, name, type(member)(use_np_shape(member.__func__)))
            elif isinstance(member, property):
                parts = (member.fget, member.fset, member.fdel)
                setattr(func, name, property(*[part and use_np_shape(part) for part in parts]))
        return func
    if not callable(func):
        raise TypeError(f"use_np_shape: {func!r}\n  expected a function or a class")

    @wraps(func)
    def with_np_shape(*args, **kwargs):
        with np_shape(True):
            return func(*args, **kwargs)

    return with_np_shape


use_np_array = _refuse_when_used("use_np_array")
use_np = _refuse_when_used("use_np")
