"""Making, saving and loading arrays."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike, fsdecode

from torch import Tensor

from .. import _np_shape
from .._files import params, safetensors
from .._files.opening import write_files
from .._sparse.array import BaseSparseNDArray, wrap
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
    write_files({fname: pieces(fname, data)})


def pieces(fname: str | PathLike, data) -> Iterator[bytes | memoryview]:
    """The bytes of the file that `save` writes, in order.

    Raises
    ------
    ArgumentError
        The data is neither an NDArray nor a list or dict of them.
    """
    if isinstance(data, NDArray):
        data = [data]
    if not isinstance(data, (dict, list, tuple)):
        raise ArgumentError(
            f"save {str(fname)!r}: the data is {data!r}\n"
            "  expected an NDArray, a list of them, or a dict"
        )
    names = list(data) if isinstance(data, dict) else []
    arrays = list(data.values()) if isinstance(data, dict) else list(data)
    for i, value in enumerate(arrays):
        if not isinstance(value, NDArray):
            raise ArgumentError(
                f"save {str(fname)!r}: item {names[i] if names else i!r} is {value!r}\n"
                "  expected an NDArray"
            )
    if safetensors.has_suffix(fname):  # which has no sparse arrays
        tensors = [a._as_dense()._tensor.detach() for a in arrays]
        return iter(safetensors.pieces(fsdecode(fname), tensors, names))
    stored = [a._stored if isinstance(a, BaseSparseNDArray) else a._tensor.detach() for a in arrays]
    return params.pieces(fsdecode(fname), stored, names, np_shape=_np_shape.is_on())


def load(fname: str | PathLike):
    """Load a file of `save` or of MXNet: a list of NDArrays, or a dict where they have names.

    A file whose name ends in ``.safetensors`` is read as one.

    Raises
    ------
    MissingFileError
        There is no such file.
    ParamsFileError
        The file is not in its format, or is cut off; the message says where. Or it was written with
        np_shape semantics and is read without them, or the other way round.
    """
    if safetensors.has_suffix(fname):
        return _as_ndarrays(*safetensors.read(fname))
    return _as_ndarrays(*params.read(fname, _np_shape.expected_of_files(), sparse=True))


def load_frombuffer(buf: bytes):
    """Load the bytes of such a file; see `load`."""
    return _as_ndarrays(*params.reads(buf, "buffer", _np_shape.expected_of_files(), sparse=True))


def _as_ndarrays(tensors, names):
    arrays = [NDArray(t, cpu()) if isinstance(t, Tensor) else wrap(t, cpu()) for t in tensors]
    return dict(zip(names, arrays)) if names else arrays
