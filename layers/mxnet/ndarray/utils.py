"""Making, saving and loading arrays."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike, fsdecode

from .._files import atomic, params, safetensors
from ..base import ArgumentError
from ..context import cpu
from ._create import array, empty, zeros
from .ndarray import NDArray

__all__ = ["array", "empty", "load", "load_frombuffer", "save", "zeros"]


def save(fname: str | PathLike, data) -> None:
    """Save arrays in MXNet's binary format; the file appears whole or not at all.

    Parameters
    ----------
    fname : path
        Where it ends in ``.safetensors``, that is the format, in which all arrays need names.
    data : NDArray, list of NDArray, or dict of str to NDArray

    Raises
    ------
    ArgumentError
        One of `data` is no NDArray.
    MissingFileError
        There is no folder for the file.
    """
    atomic.write({fname: pieces(fname, data)})


def pieces(fname: str | PathLike, data) -> Iterator[bytes | memoryview]:
    """The bytes of the file that `save` writes, in order."""
    if isinstance(data, NDArray):
        data = [data]
    names = list(data) if isinstance(data, dict) else []
    arrays = list(data.values()) if isinstance(data, dict) else list(data)
    for i, value in enumerate(arrays):
        if not isinstance(value, NDArray):
            raise ArgumentError(
                f"save {str(fname)!r}: item {names[i] if names else i!r} is {value!r}\n"
                "  expected an NDArray"
            )
    format = safetensors if safetensors.has_suffix(fname) else params
    return format.pieces(fsdecode(fname), [a._tensor.detach() for a in arrays], names)


def load(fname: str | PathLike):
    """Load a file of `save` or of MXNet: a list of NDArrays, or a dict where they have names.

    A file whose name ends in ``.safetensors`` is read as one.

    Raises
    ------
    MissingFileError
        There is no such file.
    ParamsFileError
        The file is not in its format, or is cut off; the message says where.
    """
    format = safetensors if safetensors.has_suffix(fname) else params
    return _as_ndarrays(*format.read(fname))


def load_frombuffer(buf: bytes):
    """Load the bytes of such a file; see `load`."""
    return _as_ndarrays(*params.reads(buf, "buffer"))


def _as_ndarrays(tensors, names):
    arrays = [NDArray(t, cpu()) for t in tensors]
    return dict(zip(names, arrays)) if names else arrays
