"""The error tree, and the small things that MXNet programs import from `mxnet.base`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import describe_value as describe_value  # for the modules of this package
from .._errors import legible as legible
from .._errors import listed as listed
from .._errors import note as note
from .._errors import printable as printable
from .._errors import quoted as quoted
from .._errors import showable

__all__ = [
    "ArgumentError",
    "BoundsError",
    "ContextError",
    "DTypeError",
    "DeferredInitializationError",
    "MXNetError",
    "MissingFileError",
    "NotFiniteError",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "ParameterError",
    "RecordingError",
    "ShapeError",
    "StateError",
    "UnsupportedError",
    "classproperty",
    "data_dir",
    "data_dir_default",
    "error_types",
    "py_str",
    "register_error",
    "with_metaclass",
]

mx_real_t = np.float32
string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.integer)


class MXNetError(RuntimeError):
    """The root of every error that this package raises.

    Its text can be shown, whatever is in the names of a file: it has no characters that a terminal
    obeys, and its middle is left out where it is long.
    """

    def __str__(self) -> str:
        return showable(super().__str__())


class ShapeError(MXNetError, AssertionError, ValueError):
    """Shapes do not fit each other, or what was declared; MXNet may assert it."""


class DTypeError(MXNetError, TypeError):
    """A dtype is unknown, or does not fit the others."""


class ArgumentError(MXNetError, AssertionError, TypeError, ValueError):
    """Something was called with a wrong, missing or unreadable argument; MXNet may assert it."""


class BoundsError(ArgumentError, IndexError):
    """An index lies outside of what it is for."""


class StateError(MXNetError, AssertionError):
    """Something was called that does not go with what was done before; MXNet asserts it."""


class ContextError(MXNetError, AssertionError, ValueError):
    """A context does not exist on this machine, or does not fit the others, as MXNet asserts."""


class RecordingError(MXNetError):
    """Something that a recorded computation does not allow."""


class NotFiniteError(MXNetError, FloatingPointError):
    """An operator made NaN or infinity of finite values; looked for with LAYERS_CHECK_NAN=1."""


class ParameterError(MXNetError, AssertionError, ValueError):
    """A parameter and what it is given do not fit; MXNet has AssertionError and ValueError here."""


class DeferredInitializationError(MXNetError):
    """A parameter has no array yet: the first forward pass will tell its shape."""


class MissingFileError(FileNotFoundError, MXNetError):
    """A file or a folder does not exist."""


class UnsupportedError(MXNetError, NotImplementedError):
    """A part of MXNet that does not exist here; the message says why."""


class _UnsupportedFunction(UnsupportedError):
    """A function that some kind of array does not have; in its place it takes the whole message."""

    _kind = ""

    def __init__(self, function: Callable | str, alias: str | None = None, *args):
        if isinstance(function, str):
            super().__init__(function)
            return
        types = ", ".join(type(each).__name__ for each in args)
        also = f" (the operator {alias})" if alias else ""
        super().__init__(
            f"{function.__name__}{also}: {self._kind} have no such function, called with ({types})"
            "\n  expected dense arrays"
        )


class NotSupportedForSparseNDArray(_UnsupportedFunction):
    """A function that has no form for sparse storage."""

    _kind = "sparse arrays"


class NotImplementedForSymbol(_UnsupportedFunction):
    """A function that arrays have and symbols have not: ``NotImplementedForSymbol(f, "f", x)``."""

    _kind = "symbols"


error_types: dict[str, type[Exception]] = {
    each.__name__: each
    for each in (
        NotImplementedForSymbol,
        ValueError,
        TypeError,
        AttributeError,
        IndexError,
        NotImplementedError,
    )
}


def register_error(func_name=None, cls: type[Exception] | None = None) -> Any:
    """Add a type of error to `error_types`, by its own name or another; a decorator too.

    Raises
    ------
    TypeError
        What is registered under a name is not callable.
    """
    if callable(func_name):
        error_types[func_name.__name__] = func_name
        return func_name

    def register(error):
        if not callable(error):
            raise TypeError(f"register_error: {error!r}\n  expected a class")
        error_types[func_name or error.__name__] = error
        return error

    return register if cls is None else register(cls)


# The small things that programs import


class _NullType:
    """The type of `_Null`, which stands for an argument that is left out."""

    def __repr__(self) -> str:
        return "_Null"


_Null = _NullType()


def py_str(x: bytes) -> str:
    """Bytes as text, by UTF-8."""
    return x.decode("utf-8")


def _as_list(obj) -> list | tuple:
    """A list or a tuple as it is, anything else as a list of one."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def data_dir_default() -> str:
    """The folder of data sets and models where MXNET_HOME does not name another."""
    return str(Path.home() / ".mxnet")


def data_dir() -> str:
    """The folder of data sets and models: MXNET_HOME, or ``.mxnet`` in the user's."""
    return os.environ.get("MXNET_HOME") or data_dir_default()


def data_folder(root: str | os.PathLike | None, *names: str) -> Path:
    """`root`, or where it is None the folder of these names in `data_dir`."""
    return Path(data_dir(), *names) if root is None else Path(root).expanduser()


class classproperty:
    """A property of a class: the decorated function gets the class."""

    def __init__(self, func: Callable[[type], Any]):
        self._func = func

    def __get__(self, instance, owner: type) -> Any:
        return self._func(owner)


def with_metaclass(meta: type, *bases: type) -> type:
    """A base class that has `meta` as its metaclass: ``class A(with_metaclass(Meta, Base)):``."""
    return meta("with_metaclass", bases or (object,), {})


_BROADCAST = "sizes that are equal or 1"
# How PyTorch's sentences begin, and what was expected.
_AXIS = "axes, or an `axis`, that fit"  # said by Python, where an operator looks up a size
_SHAPES = {
    "The size of tensor a": _BROADCAST,
    "The expanded size of the tensor": _BROADCAST,
    "Attempting to broadcast a dimension": _BROADCAST,
    "expand(torch.": _BROADCAST,
    "Tensors must have same number of dimensions": "arrays of as many axes each",
    "Sizes of tensors must match": "sizes that are equal on all axes but that of dim",
    "stack expects each tensor": "equal shapes",
    "Calculated padded input size": "a kernel that fits into the padded data",
    "mat1 and mat2 shapes": "as many columns of the one as rows of the other",
    "tuple index out of range": _AXIS,
    "list index out of range": _AXIS,
    "list assignment index out of range": _AXIS,
}
# What operators of ours have in place of an id with a fraction, or NaN.
NOT_WHOLE = -(2**62)
# What errors have in them that are no IndexError, and tell of an index out of bounds.
_BOUNDS = "not in the valid range", "index out of bounds", "a number of no row"
# What they have in them where dtypes do not fit each other.
_DTYPES = "same dtype", "same datatype", "be the same", "scalar type", "mixed dtype", "Found dtype"


def explained(
    error: Exception, shapes: dict[str, tuple[int, ...]], dtypes: Iterable = ()
) -> tuple[type[MXNetError], str]:
    """Which error of ours one of PyTorch is, and what it says, with the inputs where that is known.

    `shapes` and `dtypes` are those of the inputs.
    """
    sentence = str(error).split("\n")[0].replace(f"value {NOT_WHOLE}", "a value that is not whole")
    if sentence == "ZeroDivisionError":
        return ArgumentError, "integers are divided by 0\n  expected other divisors, or floats"
    by_name = {n: str(d).removeprefix("torch.") for n, d in zip(shapes, dtypes)}
    if len({*by_name.values()}) > 1 and any(part in sentence for part in _DTYPES):
        found = ", ".join(f"{name} is {dtype}" for name, dtype in by_name.items())
        return DTypeError, f"{found}\n  expected one dtype; astype changes it"
    if by_name and "not implemented for '" in sentence:
        found = ", ".join(f"{name} is {dtype}" for name, dtype in by_name.items())
        return DTypeError, f"{found}\n  expected another dtype; astype changes it"
    for start, expected in _SHAPES.items():
        if sentence.startswith(start):
            found = ", ".join(f"{name} is {shape}" for name, shape in shapes.items())
            return ShapeError, f"{found}\n  expected {expected}"
    if any(word in sentence.lower() for word in ("size", "shape", "dimension")):
        return ShapeError, sentence
    is_index = isinstance(error, IndexError) or any(part in sentence for part in _BOUNDS)
    return BoundsError if is_index else MXNetError, sentence
