"""Arrays in PyTorch's files of state dicts: ``torch.save(module.state_dict(), "net.pt")``.

They are pickles, of which PyTorch's reader takes tensors and containers alone: nothing in them
runs.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from io import BytesIO
from pickle import FRAME
from typing import IO, Any

import torch

from .. import _dtype
from ..base import DTypeError, quoted
from .opening import open_file
from .params import ParamsFileError

SUFFIXES = (".pt", ".pth", ".bin")
ZIP = b"PK\x03\x04"  # begins a file of torch.save; one of before PyTorch 1.6 is a plain pickle


def has_suffix(path: str | os.PathLike) -> bool:
    """Whether the name of a file ends in one of `SUFFIXES`."""
    return os.fsdecode(path).endswith(SUFFIXES)


def read(path: str | os.PathLike) -> tuple[list[torch.Tensor], list[str]]:
    """The tensors of a file, on the CPU, and their names.

    Raises ParamsFileError where it is damaged, has anything but tensors by name, or a tensor that
    is no NDArray's; and OSError.
    """
    found = _loaded(path)
    if not isinstance(found, dict):
        raise ParamsFileError(
            f"{os.fsdecode(path)}: a {type(found).__name__}\n  expected a dict of tensors by name"
        )
    for name, tensor in found.items():
        if not isinstance(name, str):
            raise ParamsFileError(
                f"{os.fsdecode(path)}: the name {quoted(name)} is of type {type(name).__name__}\n"
                "  expected text: save module.state_dict()"
            )
        if not isinstance(tensor, torch.Tensor):
            raise ParamsFileError(
                f"{os.fsdecode(path)}: {quoted(name)} is of type {type(tensor).__name__}\n"
                "  expected a tensor: save module.state_dict() alone"
            )
        try:
            _dtype.to_torch(tensor.dtype)
        except DTypeError as error:
            raise ParamsFileError(f"{os.fsdecode(path)}: {quoted(name)}: {error}") from None
        if tensor.layout != torch.strided or tensor.device.type != "cpu":
            raise ParamsFileError(
                f"{os.fsdecode(path)}: {quoted(name)} is {tensor.layout} on {tensor.device}\n"
                "  expected a dense tensor with values"
            )
    return [tensor.detach().clone() for tensor in found.values()], list(found)


def _loaded(path: str | os.PathLike) -> Any:
    with open_file(path) as file:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # which are about the program that wrote the file
                return torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # of many kinds: the file may be anything
            raise ParamsFileError(
                f"{os.fsdecode(path)}: {_problem(error, file)}\n"
                "  expected a whole file of torch.save(module.state_dict(), ...)"
            ) from None


def _problem(error: Exception, file: IO[bytes]) -> str:
    """What PyTorch's reader met, without its advice on files that are trusted."""
    text, at_end = str(error), not file.read(1)
    file.seek(0)
    if not (start := file.read(len(ZIP))):
        return "it is empty"
    if not text or at_end and start != ZIP:  # the name of an object may be cut then
        return "it ends too early"
    if found := re.search(r"Unsupported global: GLOBAL (\S+)", text):
        return f"it has an object of {quoted(found[1])}, and only tensors and containers are read"
    if "TorchScript archives" in text:
        return "it is a program of TorchScript"
    if f"Unsupported operand {FRAME[0]}\n" in text:  # which begins pickles of protocol 4 and 5
        return (
            "it is pickled with a protocol that PyTorch's reader of tensors does not know: save it "
            "with pickle_protocol=2"
        )
    if text.startswith("Weights only load failed"):
        return "it has something that PyTorch's reader of tensors does not know"
    sentence = re.split(r"(?<=\w)\.\s|\n", text)[0][:200]
    return f"{type(error).__name__}: {sentence}"


def pieces(target: str, tensors: Sequence[torch.Tensor], names: Sequence[str]) -> list[memoryview]:
    """The bytes of a file of plain tensors by name. Errors name `target` as the file."""
    if len(names) != len(tensors):
        raise ParamsFileError(f"{target}: arrays without names\n  expected a dict of arrays")
    buffer = BytesIO()
    torch.save({n: t.detach().cpu().clone() for n, t in zip(names, tensors)}, buffer)
    return [buffer.getbuffer()]
