"""Arrays in PyTorch's files of state dicts: ``torch.save(module.state_dict(), "net.pt")``.

They are pickles, of which PyTorch's reader takes tensors and containers alone: nothing in them
runs. But a tensor may show one element many times, a storage may be under many names, and members
of a zip may be compressed or share their bytes. So a file is looked at twice before it is loaded:
the instructions of its pickle, and its tensors on PyTorch's device without memory.
"""

from __future__ import annotations

import os
import pickletools
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from pickle import FRAME
from typing import IO, Any

import torch

from ..._arrays import ArraysError, room_of, validate
from .. import _dtype
from ..base import DTypeError, quoted
from .opening import open_file
from .params import ParamsFileError

SUFFIXES = (".pt", ".pth", ".bin")
ZIP = b"PK\x03\x04"  # begins a file of torch.save; one of before PyTorch 1.6 is plain pickles:
PICKLES = 5  # a number, the version, the system, the values, the keys of the storages behind them
# What the pickle of plain tensors names. PyTorch's reader knows more: calls of those may take
# memory that the file has not.
NAMES = re.compile(
    r"collections OrderedDict|torch\.nn\.parameter Parameter|torch\.storage UntypedStorage"
    r"|torch(\.cuda)? (\w+Storage|u?int\d+|b?float\d+|bool|Tensor)"
    r"|torch\._utils _rebuild_(tensor(_v[23])?|parameter(_with_state)?|meta_tensor_no_storage)"
    r"|torch\._tensor _rebuild_from_type_v2"
)
# An instruction is one byte, and makes an object of 60 and more.
MOST_INSTRUCTIONS = 1 << 18
BYTES_PER_INSTRUCTION = 8
WHOLE = "a whole file of torch.save(module.state_dict(), ...)"


def has_suffix(path: str | os.PathLike) -> bool:
    """Whether the name of a file ends in one of `SUFFIXES`."""
    return os.fsdecode(path).endswith(SUFFIXES)


def read(path: str | os.PathLike) -> tuple[list[torch.Tensor], list[str]]:
    """The tensors of a file, on the CPU, and their names.

    Raises ParamsFileError where it is damaged, has anything but tensors by name, or a tensor that
    is no NDArray's; and OSError.
    """
    name = os.fsdecode(path)
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            _expect_plain(file, size)
            without_memory = _loaded(file, name, "meta")
            _expect_tensors(without_memory, name)
            shapes = ((key, t.shape, t.itemsize) for key, t in without_memory.items())
            validate(shapes, size, room_of(size))
        except ArraysError as error:
            raise ParamsFileError(f"{name}: {error}") from None
        found = _loaded(file, name, "cpu")
    tensors = [_plain(tensor, key, name).detach().clone() for key, tensor in found.items()]
    return tensors, list(found)


def _expect_plain(file: IO[bytes], size: int) -> None:
    """Refuse a zip whose members have more bytes than it has, and pickles of more than tensors."""
    file.seek(0)
    if file.read(len(ZIP)) != ZIP:
        file.seek(0)
        _expect_names(_instructions(file, PICKLES), size)
        return
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if unpacked > size or any(m.compress_type != zipfile.ZIP_STORED for m in members):
                raise ArraysError(
                    f"its members are compressed or overlap: they have {unpacked} bytes",
                    f"at most the file's {size}, as torch.save writes them",
                )
            for member in members:
                if member.filename.lower().endswith(".pkl"):  # PyTorch finds it in capitals, too
                    _expect_names(_instructions(BytesIO(archive.read(member)), 1), size)
    except ArraysError:
        raise
    # Beside its own error, zipfile has those of offsets, names and methods that it trusts.
    except (zipfile.BadZipFile, RuntimeError, EOFError, OSError, ValueError) as error:
        raise ArraysError(f"it is a damaged zip: {str(error)[:200]}", WHOLE) from None


def _instructions(file: IO[bytes], pickles: int) -> Iterator[tuple[str, Any]]:
    """Yield the instructions of pickles one after another, until the first that is none."""
    try:
        for _ in range(pickles):
            for instruction, argument, _ in pickletools.genops(file):
                yield instruction.name, argument
    except (ValueError, IndexError, OverflowError):
        return  # PyTorch's reader ends there too


def _expect_names(instructions: Iterator[tuple[str, Any]], size: int) -> None:
    """Refuse a pickle that names more than plain tensors need, or has too many instructions."""
    most = max(MOST_INSTRUCTIONS, size // BYTES_PER_INSTRUCTION)
    for i, (name, argument) in enumerate(instructions):
        if i == most:
            raise ArraysError(f"its pickle has more than {most} instructions", "tensors by name")
        if name == "EMPTY_SET" or name == "GLOBAL" and not NAMES.fullmatch(argument):
            kind = "set" if name == "EMPTY_SET" else argument.replace(" ", ".")
            raise ArraysError(
                f"it has an object of {quoted(kind)}, and only tensors and containers are read",
                WHOLE,
            )


def _expect_tensors(found: Any, name: str) -> None:
    if not isinstance(found, dict):
        raise ParamsFileError(
            f"{name}: a {type(found).__name__}\n  expected a dict of tensors by name"
        )
    for key, tensor in found.items():
        if not isinstance(key, str):
            raise ParamsFileError(
                f"{name}: the name {quoted(key)} is of type {type(key).__name__}\n"
                "  expected text: save module.state_dict()"
            )
        if not isinstance(tensor, torch.Tensor):
            raise ParamsFileError(
                f"{name}: {quoted(key)} is of type {type(tensor).__name__}\n"
                "  expected a tensor: save module.state_dict() alone"
            )
        try:
            _dtype.to_torch(tensor.dtype)
        except DTypeError as error:
            raise ParamsFileError(f"{name}: {quoted(key)}: {error}") from None


def _plain(tensor: torch.Tensor, key: str, name: str) -> torch.Tensor:
    """Return a tensor; refuse one without values, or with some outside of its storage."""
    if tensor.layout != torch.strided or tensor.device.type != "cpu":
        raise ParamsFileError(
            f"{name}: {quoted(key)} is {tensor.layout} on {tensor.device}\n"
            "  expected a dense tensor with values"
        )
    strides = tensor.stride()
    last = tensor.storage_offset() + sum((n - 1) * s for n, s in zip(tensor.shape, strides))
    most = tensor.untyped_storage().nbytes() // tensor.itemsize
    if tensor.numel() and (min(strides, default=0) < 0 or not 0 <= last < most):
        raise ParamsFileError(
            f"{name}: {quoted(key)} {tuple(tensor.shape)} ends at element {last}\n"
            f"  expected one of the {most} in its storage"
        )
    return tensor


def _loaded(file: IO[bytes], name: str, device: str) -> Any:
    file.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # which are about the program that wrote the file
            return torch.load(file, map_location=device, weights_only=True)
    except Exception as error:  # of many kinds: the file may be anything
        raise ParamsFileError(f"{name}: {_problem(error, file)}\n  expected {WHOLE}") from None


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
