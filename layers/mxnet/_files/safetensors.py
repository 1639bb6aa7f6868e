"""Arrays in ``.safetensors`` files, which many other libraries read and write."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch

from ..._arrays import ArraysError, read_safetensors
from .. import _dtype
from .._tensor import copy_if_aliased
from ..base import DTypeError, MXNetError, quoted
from .opening import open_file
from .params import ParamsFileError

SUFFIX = ".safetensors"


def has_suffix(path: str | os.PathLike) -> bool:
    """Whether the name of a file ends in ``.safetensors``."""
    return os.fsdecode(path).endswith(SUFFIX)


def read(path: str | os.PathLike) -> tuple[list[torch.Tensor], list[str]]:
    """The tensors of a file, on the CPU, and their names.

    Raises ParamsFileError for a file that is damaged, or has a type that NDArrays do not have; and
    OSError.
    """
    library = _library()
    with open_file(path):  # whose errors name the file
        pass
    # The library's errors, and PyTorch's of shapes and types that the library accepts.
    damage = library.SafetensorError, RuntimeError, TypeError, ValueError, OverflowError
    try:
        found = read_safetensors(path, "pt")
    except ArraysError as error:
        raise ParamsFileError(f"{path}: {error}") from None
    except damage as error:
        problem = str(error).partition("\n")[0][:200]
        raise ParamsFileError(f"{path}: {problem}\n  expected a whole {SUFFIX} file") from None
    for name, tensor in found.items():
        try:
            _dtype.to_torch(tensor.dtype)
        except DTypeError as error:
            raise ParamsFileError(f"{path}: {quoted(name)}: {error}") from None
        if tensor.dtype == torch.bool:
            tensor.view(torch.uint8).ne_(0)  # other bytes than 0 and 1 are undefined in a bool
    return list(found.values()), list(found)


def pieces(target: str, tensors: Sequence[torch.Tensor], names: Sequence[str]) -> list[bytes]:
    """The bytes of a file of tensors, each with a name. Errors name `target` as the file."""
    if len(names) != len(tensors):
        raise ParamsFileError(f"{target}: arrays without names\n  expected a dict of arrays")
    _library()
    from safetensors.torch import save

    separate = copy_if_aliased([t.detach().cpu().contiguous() for t in tensors], [])
    return [save(dict(zip(names, separate)), {"format": "pt"})]


def _library() -> Any:
    try:
        import safetensors
    except ImportError:
        raise MXNetError(
            f"{SUFFIX} files need the package safetensors\n  expected pip install safetensors"
        ) from None
    return safetensors
