"""Functions of a compiled library with a C interface, called with NumPy arrays.

Every function has the same interface::

    extern "C" int f(int nparam, void** params, int* ndims, int64_t** shapes,
                     const char** dtypes, void* stream, void* extra);

``params`` are the inputs, the outputs, filled with zeros, and the workspaces. The function returns
0 on success, writes only to outputs and workspaces, and may be called by several threads at once.
``include/custom_aot_extra.h`` documents `extra`, and the functions that may accompany it.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import platform
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ...engine import mxnet_error
from . import guards
from .toolchain import INCLUDE, SOURCES, LibraryError, build

__all__ = ["Library", "LibraryError"]

MOST_KERNELS = 256  # in a library's cache, for different shapes, dtypes and attributes
MOST_AXES = 64  # of an inferred shape


class Library:
    """A function in a compiled library, or in a source file, which is compiled once.

    Parameters
    ----------
    text : str
        ``"path:function"``. The path names a library (.so), or a source in C (.c), C++ (.cc, .cpp,
        .cxx) or CUDA (.cu). A source is built by ``$CC``, ``$CXX`` or ``$NVCC`` with ``$CFLAGS``,
        ``$CXXFLAGS`` or ``$NVCCFLAGS``, or else by the usual compilers. The result stays in
        ``$LAYERS_CACHE`` (``~/.cache/layers``), and is built again when the source, its headers or
        the flags change.

    Attributes
    ----------
    path, function : str
        The two parts of `text`; the path is absolute.
    device : {'cpu', 'gpu'}
        The device of its arrays: 'gpu' if the source is in CUDA or the library has code for a GPU.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    LibraryError
        The library cannot be built or loaded, or has no such function.
    TypeError, ValueError
        `text` is no text, or is not of this form.
    """

    def __init__(self, text: str):
        path, self.function = _split_text(text)
        self.path = os.path.abspath(os.path.expanduser(path))
        if not os.path.isfile(self.path):
            raise FileNotFoundError(
                f"{self}: there is no such file\n  expected a library or source"
            )
        source = SOURCES.get(Path(self.path).suffix)
        with self._name_in_errors():
            self._symbols = _load(build(self.path) if source else self.path)
        self.device = source.device if source else _device(self.path)
        function, init = self._symbol(self.function), self._symbol(f"{self.function}Init")
        if function is None:
            raise LibraryError(
                f"{self}: it has no function {self.function!r}\n"
                f'  expected extern "C" int {self.function}(int nparam, void** params, ...)'
            )
        bridge = self._bridge()
        self._message = bridge and bridge.layers_aot_message
        self._call = partial(bridge.layers_aot_call, _pointer(function)) if bridge else function
        self._init = init and partial(bridge.layers_aot_init, _pointer(init)) if bridge else init
        self._kernels: dict[tuple, _Kernel] = {}
        self._lock = threading.Lock()
        _lock_owners.add(self)

    @contextmanager
    def _name_in_errors(self) -> Iterator[None]:
        try:
            yield
        except LibraryError as error:
            raise LibraryError(f"{self}: {error}") from error.__cause__

    def _symbol(self, name: str) -> Any:
        try:
            return self._symbols[name]
        except AttributeError:
            return None

    def _bridge(self) -> Any:
        """Return the library that catches exceptions if this one is in C++, else None."""
        if self._symbol("__cxa_throw") is None:
            return None
        try:
            return _bridge()
        except LibraryError as error:
            text = f"{self}: an exception in it would end the process, for {error}"
            warnings.warn(text, RuntimeWarning, stacklevel=3)
            return None

    def expect(self, device: str) -> None:
        """Refuse arrays on the CPU if the library computes on a GPU.

        Raises
        ------
        LibraryError
            The arrays are on the CPU.
        """
        if self.device == "gpu" and device != "gpu":
            raise LibraryError(
                f"{self}: CUDA was given arrays of the CPU\n  expected a GPU context"
            )

    def run(
        self,
        inputs: Sequence[np.ndarray],
        shapes: Sequence[tuple[int, ...]],
        dtypes: Sequence[Any],
        attributes: dict[str, Any] | None = None,
    ) -> list[np.ndarray]:
        """Call the function on NumPy arrays.

        An input is copied if it is not contiguous, not aligned or of another byte order. The
        function gets the memory of the other inputs, and must not write to it.

        Parameters
        ----------
        shapes, dtypes
            One of each for each output.
        attributes : dict
            Values of bool, int, float, str, and lists of int or float, or of such lists; None is
            left out.

        Returns
        -------
        list of arrays
            The outputs, in new memory.

        Raises
        ------
        LibraryError
            The function did not return 0, or it threw an exception.
        TypeError
            An array or an attribute is of a type that libraries do not take.
        """
        self.expect("cpu")
        arrays = [_contiguous(a) for a in inputs]
        outputs = [np.zeros(s, t) for s, t in zip(shapes, dtypes, strict=True)]
        arrays += outputs
        kernel = self._kernel([a.shape for a in arrays], [a.dtype for a in arrays], attributes)
        self._launch(kernel, [a.ctypes.data for a in arrays], None, _allocate)
        return outputs

    def run_device(
        self,
        pointers: Sequence[int],
        shapes: Sequence[tuple[int, ...]],
        dtypes: Sequence[Any],
        attributes: dict[str, Any] | None = None,
        stream: int | None = None,
        allocate: Callable[[int], tuple[int, Any]] | None = None,
    ) -> None:
        """Call the function on memory that the caller allocated, such as a GPU's.

        Parameters
        ----------
        pointers, shapes, dtypes
            One of each for each input, then for each output.
        stream : int, optional
            The handle of a CUDA stream.
        allocate : callable, optional
            ``allocate(bytes) -> (pointer, owner)`` allocates the memory of workspaces.

        Raises
        ------
        LibraryError
            See `run`; or the function has workspaces, and there is no `allocate`.
        TypeError
            See `run`.
        ValueError
            The numbers of pointers, shapes and dtypes differ.
        """
        if not len(pointers) == len(shapes) == len(dtypes):
            raise mxnet_error(
                ValueError,
                f"{self}: {len(pointers)} pointers, {len(shapes)} shapes, {len(dtypes)} dtypes\n"
                "  expected one of each for every input and output",
            )
        kernel = self._kernel(shapes, dtypes, attributes)
        if kernel.workspaces and allocate is None:
            raise LibraryError(
                f"{self}: it has workspaces of {kernel.workspaces} bytes\n  expected `allocate`"
            )
        self._launch(kernel, pointers, ctypes.c_void_p(stream), allocate)

    def infer_shape(
        self,
        shapes: Sequence[tuple[int, ...]],
        attributes: dict[str, Any] | None = None,
    ) -> tuple[int, ...] | None:
        """Return the output's shape from the inputs' shapes; None without ``<function>InferShape``.

        Raises
        ------
        LibraryError
            That function did not return 0, threw an exception, or set no shape.
        """
        rule = self._symbol(f"{self.function}InferShape")
        if rule is None:
            return None
        with self._name_in_errors():
            bridge = _bridge()
        extra = _extra(self, _as_python_values(attributes))
        found, count = (ctypes.c_int64 * MOST_AXES)(), ctypes.c_int64()
        layout = _layout(shapes, ())[:2]
        code = bridge.layers_aot_infer_shape(
            _pointer(rule), *layout, ctypes.byref(extra), found, MOST_AXES, ctypes.byref(count)
        )
        extra.free()
        where = f"for {', '.join(map(str, shapes))}"
        if code:
            message = bridge.layers_aot_message
            raise self._error(f"{self.function}InferShape", code, where, message)
        shape = tuple(found[: count.value])
        if count.value > MOST_AXES or any(n < 0 for n in shape):
            raise LibraryError(
                f"{self}: {self.function}InferShape gave {count.value} sizes, {shape}\n"
                f"  expected at most {MOST_AXES}, none of them negative\n  {where}"
            )
        return shape

    def _kernel(self, shapes: Sequence, dtypes: Sequence, attributes: dict | None) -> _Kernel:
        """Return the kernel for these shapes, dtypes and attributes; only one thread makes it."""
        values = _as_python_values(attributes)
        key = (*shapes, *dtypes, repr(values))  # text, because 1, 1.0 and True are equal
        if (kernel := self._kernels.get(key)) is None:
            with self._lock:
                if (kernel := self._kernels.get(key)) is None:
                    kernel = _Kernel(self, shapes, [np.dtype(t) for t in dtypes], values)
                    if len(self._kernels) >= MOST_KERNELS:
                        del self._kernels[next(iter(self._kernels))]
                    self._kernels[key] = kernel
        return kernel

    def _launch(self, kernel: _Kernel, pointers: Sequence[int], stream: Any, allocate: Any) -> None:
        workspaces = [allocate(n) for n in kernel.workspaces]
        pointers = [*pointers, *[pointer for pointer, _ in workspaces]]
        watch = guards.current if self.device == "cpu" else None
        copies = watch and watch.copies(pointers, kernel.arrays)
        arrays = kernel.pointers(*([one.pointer for one in copies] if copies else pointers))
        with kernel._lock:
            code = self._call(len(arrays), arrays, *kernel.layout, stream, kernel.extra)
        if copies:
            watch.put_back(str(self), copies)
        if code:
            raise self._error(self.function, code, f"for {kernel}", self._message)

    def _error(self, function: str, code: int, where: str, message: Any) -> LibraryError:
        if thrown := message and message().decode(errors="replace"):
            return LibraryError(f"{self}: {function} threw an exception: {thrown}\n  {where}")
        return LibraryError(f"{self}: {function} returned {code}\n  expected 0\n  {where}")

    def __str__(self) -> str:
        return f"library '{self.path}:{self.function}'"

    def __repr__(self) -> str:
        return f"<{self}>"

    def __reduce__(self) -> tuple:
        return Library, (f"{self.path}:{self.function}",)


class _Kernel:
    """Prepared arguments of a function, except its arrays, for certain shapes and attributes."""

    def __init__(self, library: Library, shapes: Sequence, dtypes: Sequence, attributes: dict):
        names = [_dtype_name(library, t) for t in dtypes]
        arrays = [f"{name} {tuple(shape)}" for name, shape in zip(names, shapes)]
        self.text = ", ".join(arrays) or "no arrays"
        extra = _extra(library, attributes)
        self.extra = ctypes.byref(extra)
        if library._init:
            code = library._init(*_layout(shapes, names), self.extra)
            weakref.finalize(self, extra.free).atexit = False
            if code:
                init = f"{library.function}Init"
                raise library._error(init, code, f"for {self}", library._message)
        self.workspaces = [extra.workspaces[i] for i in range(extra.workspace_count)]
        shapes = [*shapes, *((n,) for n in self.workspaces)]
        sized = zip(shapes, [*dtypes, *[np.dtype("uint8")] * len(self.workspaces)])
        self.arrays = [(math.prod(s), t) for s, t in sized]
        self.layout = _layout(shapes, [*names, *("uint8" for _ in self.workspaces)])
        self.pointers = ctypes.c_void_p * len(shapes)
        self._lock: Any = nullcontext()
        if extra.data:  # a call may write to it
            self._lock = threading.Lock()
            _lock_owners.add(self)

    def __str__(self) -> str:
        return self.text


# Structures that the header declares


class _Attribute(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_int32),
        ("depth", ctypes.c_int32),
        ("rows", ctypes.c_int64),
        ("lengths", ctypes.c_void_p),
        ("values", ctypes.c_void_p),
    )


class _Extra(ctypes.Structure):
    _fields_ = (
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_size_t),
        ("workspaces", ctypes.POINTER(ctypes.c_size_t)),
        ("workspace_count", ctypes.c_size_t),
        ("data", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
    )

    def free(self) -> None:
        """Free the data that the library has stored in it."""
        if self.release:
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.release)(ctypes.addressof(self))


def _extra(library: Library, attributes: dict[str, Any]) -> _Extra:
    pairs = [_attribute(library, n, v) for n, v in attributes.items()]
    extra = _Extra((_Attribute * len(pairs))(*(a for a, _ in pairs)), len(pairs))
    extra.memory = pairs
    return extra


def _attribute(library: Library, name: str, value: Any) -> tuple[_Attribute, Any]:
    """Return an attribute, and the arrays that it points to, which must live as long."""
    depth, rows = _nested_rows(value)
    lengths = [len(row) for row in rows] or [0]
    flat = list(chain.from_iterable(rows))
    if isinstance(value, str):
        kind, values = "s", ctypes.create_string_buffer(value.encode())
        lengths = [len(values) - 1]
    else:
        kind = _type_letter(flat)
        if kind is None or (kind == "b" and depth) or (kind == "i" and not _all_fit(flat)):
            raise mxnet_error(
                TypeError,
                f"{library}: the attribute {name} is {value!r}\n  expected bool, int of 64 bits, "
                "float, str, or a list of int or float, or of such lists",
            )
        values = ((ctypes.c_double if kind == "f" else ctypes.c_int64) * len(flat))(*flat)
    sizes = (ctypes.c_int64 * len(lengths))(*lengths)
    memory = ctypes.addressof(sizes), ctypes.addressof(values)
    return _Attribute(name.encode(), ord(kind), depth, len(rows), *memory), (sizes, values)


def _nested_rows(value: Any) -> tuple[int, list[list]]:
    """Return the depth of a value's nested lists, 0 to 2, and their rows."""
    if not isinstance(value, list):
        return 0, [[value]]
    if value and all(isinstance(row, list) for row in value):
        return 2, value
    return 1, [value] if value else []


def _type_letter(values: list) -> str | None:
    """Return the letter for the type of all values, ' ' if there are none; None if types differ."""
    kinds = {next((k for k, t in _TYPE_LETTERS.items() if isinstance(v, t)), None) for v in values}
    if kinds == {"i", "f"}:
        return "f"
    return kinds.pop() if len(kinds) == 1 else None if kinds else " "


_TYPE_LETTERS = {"b": bool, "i": int, "f": float}


def _all_fit(values: list[int]) -> bool:
    return all(-(2**63) <= v < 2**63 for v in values)


def _as_python_values(attributes: dict[str, Any] | None) -> dict[str, Any]:
    """Return the attributes that are not None, as Python's numbers, text and lists."""
    return {n: _as_lists(v) for n, v in (attributes or {}).items() if v is not None}


def _as_lists(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [_as_lists(v) for v in value] if isinstance(value, (list, tuple)) else value


def _layout(shapes: Sequence, names: Sequence[str]) -> tuple:
    """Return the arguments ndims, shapes and dtypes; sizes are padded with zeros to 8 axes."""
    sizes = [(ctypes.c_int64 * max(len(s), 8))(*s) for s in shapes]
    return (
        (ctypes.c_int * len(shapes))(*(len(s) for s in shapes)),
        (ctypes.POINTER(ctypes.c_int64) * len(shapes))(*sizes),
        (ctypes.c_char_p * len(names))(*(n.encode() for n in names)),
    )


def _dtype_name(library: Library, dtype: np.dtype) -> str:
    if dtype.kind not in "biufc" and dtype.name != "bfloat16":
        told = f"{library}: an array is {dtype.name}\n  expected numbers or bool"
        raise mxnet_error(TypeError, told)
    return dtype.name


# Arrays and memory


def _contiguous(a: Any) -> np.ndarray:
    a = np.asarray(a)
    if a.flags.c_contiguous and a.flags.aligned and a.dtype.isnative:
        return a
    return np.array(a, dtype=a.dtype.newbyteorder("="), order="C")


def _allocate(size: int) -> tuple[int, Any]:
    memory = np.empty(size, np.uint8)
    return memory.ctypes.data, memory


# Libraries


def _split_text(text: str) -> tuple[str, str]:
    if not isinstance(text, str):
        raise mxnet_error(TypeError, f"library {text!r}: it is no text\n  expected 'path:function'")
    path, _, function = text.partition(":")
    if not path or not function or ":" in function:
        told = f"library {text!r}: it is no path and function\n  expected 'path:function'"
        raise mxnet_error(ValueError, told)
    return path, function


def _load(path: str | Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise LibraryError(
            f"it cannot be loaded: {error}\n"
            f"  expected a shared library for {platform.system()} on {platform.machine()}, "
            f"or a source ({', '.join(SOURCES)})"
        ) from error


def _device(path: str) -> str:
    """Return the device of a library: 'gpu' if it has a section that CUDA's compiler makes."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return "cpu" if content.find(b".nv_fatbin") < 0 else "gpu"


@cache
def _bridge() -> ctypes.CDLL:
    """Return the library that calls C++ functions and catches their exceptions; build it once."""
    bridge = _load(build(INCLUDE / "aot_bridge.cc"))
    bridge.layers_aot_message.restype = ctypes.c_char_p
    return bridge


def _pointer(function: Any) -> ctypes.c_void_p:
    return ctypes.cast(function, ctypes.c_void_p)


_lock_owners: weakref.WeakSet = weakref.WeakSet()


def _renew_locks() -> None:
    """Make new locks after a fork: the threads that may hold the old ones are not in the child."""
    for owner in _lock_owners:
        owner._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
