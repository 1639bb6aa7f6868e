"""Environment variables, GPUs, and the switches of MXNet's NumPy interface."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

import torch

from . import _np_shape
from ._state import this_thread
from .base import ContextError
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


# The switches of MXNet's NumPy interface.


def is_np_shape() -> bool:
    """Whether np_shape semantics are in force in this thread: sizes of 0, and shapes ()."""
    return _np_shape.is_on()


def is_np_array() -> bool:
    """True if Gluon makes arrays of ``mx.np`` in this thread, and Symbols of ``mx.sym.np``."""
    return this_thread.state.np_array


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


def _set_np_array(active: bool) -> bool:
    """Have Gluon make arrays of ``mx.np`` in this thread, or of ``mx.nd``.

    Returns
    -------
    bool
        True if it made arrays of ``mx.np``.
    """
    state = this_thread.state
    before, state.np_array = state.np_array, bool(active)
    return before


def set_np(shape: bool = True, array: bool = True) -> None:
    """Put np_shape semantics, and arrays of ``mx.np``, in force in this thread, or out of force.

    Raises
    ------
    ValueError
        `array` is true, and `shape` is not.
    """
    if array and not shape:
        raise ValueError(
            "set_np: array=True, shape=False\n  expected shape=True with arrays of mx.np"
        )
    set_np_shape(shape)
    _set_np_array(array)


def reset_np() -> None:
    """Put np_shape semantics and arrays of ``mx.np`` out of force."""
    set_np(shape=False, array=False)


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
    """What `np_array` returns: a ``with`` statement has Gluon make arrays of ``mx.np``, or not."""

    def __init__(self, is_np_array: bool | None):
        self._is_np_array = is_np_array
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(is_np_array())
        if self._is_np_array is not None:
            _set_np_array(self._is_np_array)

    def __exit__(self, *_) -> None:
        _set_np_array(self._before.pop())


def np_array(active: bool | None = True) -> _NumpyArrayScope:
    """A scope in which Gluon makes arrays of ``mx.np``, or of ``mx.nd``; see `set_np`."""
    return _NumpyArrayScope(active)


def _run_inside(scope: Callable, func: Any, name: str) -> Any:
    """Have a function, or all methods and properties of a class, run inside ``scope(True)``."""
    if isinstance(func, type):
        members = [m for cls in reversed(func.__mro__[:-1]) for m in vars(cls).items()]
        for key, member in dict(members).items():
            if isinstance(member, FunctionType):
                setattr(func, key, _run_inside(scope, member, name))
            elif isinstance(member, (staticmethod, classmethod)):
                setattr(func, key, type(member)(_run_inside(scope, member.__func__, name)))
            elif isinstance(member, property):
                parts = (member.fget, member.fset, member.fdel)
                setattr(func, key, property(*[p and _run_inside(scope, p, name) for p in parts]))
        return func
    if not callable(func):
        raise TypeError(f"{name}: {func!r}\n  expected a function or a class")

    @wraps(func)
    def inside(*args, **kwargs):
        with scope(True):
            return func(*args, **kwargs)

    return inside


def use_np_shape(func):
    """Have a function, or the methods and properties of a class, run with np_shape semantics.

    Raises
    ------
    TypeError
        `func` is neither.
    """
    return _run_inside(np_shape, func, "use_np_shape")


def use_np_array(func):
    """Have a function, or the methods and properties of a class, make arrays of ``mx.np``.

    Raises
    ------
    TypeError
        `func` is neither.
    """
    return _run_inside(np_array, func, "use_np_array")


class _NumpyScope:
    """A scope of both: np_shape semantics, and arrays of ``mx.np``."""

    def __init__(self, active: bool):
        self._parts = np_shape(active), np_array(active)

    def __enter__(self) -> None:
        for part in self._parts:
            part.__enter__()

    def __exit__(self, *_) -> None:
        for part in reversed(self._parts):
            part.__exit__()


def use_np(func):
    """Have a function, or the methods and properties of a class, run with both switches on.

    These are np_shape semantics, and arrays of ``mx.np``.

    Raises
    ------
    TypeError
        `func` is neither.
    """
    return _run_inside(_NumpyScope, func, "use_np")
