"""Arrays in ``.safetensors`` files, which many other libraries read and write."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch

from .. import _dtype
from .._tensor import copy_if_aliased
from ..base import DTypeError, MXNetError, quoted
from .params import ParamsFileError, is_countable, max_records

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
    with open(path, "rb") as file:  # for Python's errors, which have the file's name
        size = os.fstat(file.fileno()).st_size
    try:
        with library.safe_open(path, "pt") as file:
            names = list(file.keys())
            _expect_few(path, len(names), max_records(size))
            tensors = [file.get_tensor(n).clone() for n in names]  # they were the file's memory
    except ParamsFileError:
        raise
    except (library.SafetensorError, RuntimeError, TypeError, ValueError, OverflowError) as error:
        # The library's own, and what PyTorch says of a shape or a type that the library let pass.
        told = str(error).partition("\n")[0][:200]
        raise ParamsFileError(f"{path}: {told}\n  expected a whole {SUFFIX} file") from None
    for name, tensor in zip(names, tensors):
        try:
            _dtype.to_torch(tensor.dtype)
        except DTypeError as error:
            raise ParamsFileError(f"{path}: {quoted(name)}: {error}") from None
        if not is_countable(tensor.shape):
            raise ParamsFileError(f"{path}: {quoted(name)} is {tuple(tensor.shape)}")
        if tensor.dtype == torch.bool:
            tensor.view(torch.uint8).ne_(0)  # a bool that is neither 0 nor 1 is undefined
    return tensors, names


def _expect_few(path: str | os.PathLike, count: int, most: int) -> None:
    if count > most:
        raise ParamsFileError(f"{path}: {count} arrays\n  expected at most {most} in this file")


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
