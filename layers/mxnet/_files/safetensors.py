"""Arrays in ``.safetensors`` files, which many other libraries read and write."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch

from .. import _dtype
from .._tensor import copy_if_aliased
from ..base import DTypeError, MXNetError
from .params import ParamsFileError

SUFFIX = ".safetensors"


def named(path: str | os.PathLike) -> bool:
    """Whether a file of this name is one."""
    return os.fsdecode(path).endswith(SUFFIX)


def read(path: str | os.PathLike) -> tuple[list[torch.Tensor], list[str]]:
    """The tensors of a file, on the CPU, and their names.

    Raises ParamsFileError for a file that is damaged, or has a type that NDArrays have not, and
    OSError.
    """
    library = _library()
    try:
        with library.safe_open(path, "pt") as file:
            names = list(file.keys())
            tensors = [file.get_tensor(n).clone() for n in names]  # they were the file's memory
    except library.SafetensorError as error:
        raise ParamsFileError(f"{path}: {error}\n  expected a whole {SUFFIX} file") from None
    for name, tensor in zip(names, tensors):
        try:
            _dtype.to_torch(tensor.dtype)
        except DTypeError as error:
            raise ParamsFileError(f"{path}: {name!r}: {error}") from None
    return tensors, names


def pieces(target: str, tensors: Sequence[torch.Tensor], names: Sequence[str]) -> list[bytes]:
    """The bytes of a file of tensors, each with a name. Errors name `target` as the file."""
    if len(names) != len(tensors):
        raise ParamsFileError(f"{target}: arrays without names\n  expected a dict of arrays")
    _library()
    from safetensors.torch import save

    own = copy_if_aliased([t.detach().cpu().contiguous() for t in tensors], [])
    return [save(dict(zip(names, own)), {"format": "pt"})]


def _library() -> Any:
    try:
        import safetensors
    except ImportError:
        raise MXNetError(
            f"{SUFFIX} files need the package safetensors\n  expected pip install safetensors"
        ) from None
    return safetensors
