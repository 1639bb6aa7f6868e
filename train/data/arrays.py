"""Files of arrays: idx, in which MNIST is published, and NumPy's npy and npz.

A file is not trusted: nothing in it is run, and each length in it is compared with the bytes that
are there before it is used.
"""

from __future__ import annotations

import csv
import gzip
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from layers._arrays import ArraysError, room_of, validate

from .. import Refused
from ..screen import one_line

__all__ = ["read_idx", "read_npy", "read_npz", "refusing_damage"]

CHUNK_SIZE = 1 << 20  # bytes read at once
SIZES = {(1, 0): 2, (2, 0): 4}  # bytes of the length of a header of .npy, by version
LONGEST_HEADER = 1 << 16
HEADER = (
    ("descr", r"'([^']{1,20})'"),
    ("fortran_order", "(True|False)"),
    ("shape", r"\(([0-9L, ]*)\)"),
)
DAMAGE = (
    OSError,
    EOFError,
    IndexError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    csv.Error,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def refusing_damage(name: Any) -> Iterator[None]:
    """Raise the errors of a damaged file as `Refused`, in one line."""
    try:
        yield
    except Refused:
        raise
    except DAMAGE as error:
        reason = getattr(error, "strerror", None) or one_line(error, 200) or type(error).__name__
        raise Refused(f"{name} cannot be read: {reason}") from error


def read_idx(path: Path, axes: int) -> np.ndarray:
    """The bytes in an idx file, or in one with ``.gz`` after its name, as an array.

    Two zero bytes; the type, which is 8 for unsigned bytes; the number of axes; their sizes, in
    4 bytes each, the most significant first; the values.

    Raises
    ------
    Refused
        There is no such file, or its contents do not fit its header.
    """
    packed = path.with_name(f"{path.name}.gz")
    with refusing_damage(path):
        found = next((p for p in (path, packed) if p.is_file()), None)
        if found is None:
            raise Refused(f"there is no {path}, nor {packed.name}")
    with refusing_damage(found), (gzip.open if found == packed else open)(found, "rb") as file:
        size = found.stat().st_size
        most = room_of(size, compressed=True) if found == packed else size
        return idx(file, most, found, axes)


def idx(file: Any, most: int, path: Path, axes: int) -> np.ndarray:
    expected = bytes([0, 0, 8, axes])
    header = file.read(4 + 4 * axes)
    if header[:4] != expected:
        raise Refused(
            (f"{path} begins with {header[:4].hex()}" if header else f"{path} is empty")
            + f"; expected {expected.hex()}, for unsigned bytes with {axes} axes"
        )
    if len(header) < 4 + 4 * axes:
        raise Refused(f"{path} ends within its header")
    shape = struct.unpack(f">{axes}I", header[4:])
    size = math.prod(shape)
    if size > most:
        raise Refused(f"{path} says that it is {shape}; it is too short for that")
    values = read_at_most(file, size + 1)  # one more, which must not be there
    if len(values) != size:
        raise Refused(
            f"{path} says that it is {shape}, {size} bytes; it has "
            + ("more" if len(values) > size else str(len(values)))
        )
    return np.frombuffer(values, np.uint8).reshape(shape)


def read_at_most(file: Any, size: int) -> bytearray:
    """At most this number of bytes; memory is allocated only for bytes that are there."""
    found = bytearray()
    while len(found) < size and (chunk := file.read(min(CHUNK_SIZE, size - len(found)))):
        found += chunk
    return found


def read_npz(
    path: Path, choices: Sequence[tuple[str, ...]]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Arrays in an npz file, by the first choice of names that it has; and its other names.

    Those whose names begin with y have numbers or texts, the others numbers.

    Raises
    ------
    Refused
        There is no such file, it has none of the choices, or an array is damaged or has no numbers.
    """
    with refusing_damage("it"):
        if not path.is_file():
            raise Refused("there is no such file")
        with zipfile.ZipFile(path) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            for names in choices:
                if members.keys() >= {*names}:
                    expect_room([members[name] for name in names], path.stat().st_size)
                    arrays = {name: member(archive, members[name]) for name in names}
                    return arrays, [name for name in members if name not in names]
    expected = ", or ".join(" and ".join(names) for names in choices)
    found = ", ".join([repr(name[:100]) for name in list(members)[:9]])
    raise Refused(f"it has {found or 'no arrays'}; expected {expected}")


def expect_room(infos: list[zipfile.ZipInfo], size: int) -> None:
    """Raise Refused where the members are more than a file of this size may have in it."""
    is_packed = any(info.compress_type != zipfile.ZIP_STORED for info in infos)
    most = room_of(size, compressed=True) if is_packed else size
    unpacked = sum(info.file_size for info in infos)
    if unpacked > most:
        names = " and ".join(info.filename[:100] for info in infos)
        raise Refused(
            f"{names} say that they have {unpacked} bytes; a file of {size} may have {most}, "
            "expected np.savez, which does not compress"
        )


def member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    name = info.filename
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise Refused(f"{name} is packed in a way that NumPy does not use")
    with archive.open(info) as file:
        return npy(file, info.file_size, name, texts=name.startswith("y"))


def read_npy(path: Path, texts: bool = False) -> np.ndarray:
    """The numbers in a npy file, or the texts if they are allowed.

    Raises
    ------
    Refused
        There is no such file, it is damaged, or it has no numbers.
    """
    with refusing_damage(path):
        if not path.is_file():
            raise Refused(f"there is no {path}")
        with open(path, "rb") as file:
            return npy(file, path.stat().st_size, str(path), texts)


def npy(file: Any, length: int, name: str, texts: bool) -> np.ndarray:
    """The array in a file of this length.

    Raises
    ------
    Refused
        The file has more or fewer bytes than its header says.
    """
    shape, by_columns, dtype = npy_header(file, name, texts)
    try:
        size = validate([(name, shape, dtype.itemsize)], length, length)
    except ArraysError as error:
        raise Refused(one_line(error, 300)) from None
    remaining = length - file.tell()
    if size != remaining:
        raise Refused(
            f"{name} says that it is {shape} of {dtype}, {size} bytes; it has {remaining}"
        )
    values = read_at_most(file, size + 1)  # one more: at the end the checksum is compared
    return np.frombuffer(values, dtype).reshape(shape, order="F" if by_columns else "C")


def npy_header(file: Any, name: str, texts: bool) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether it is stored by columns, and dtype.

    The header is a Python dict, which NumPy evaluates, and that may raise any error. Here its three
    values are matched, in the forms that they have for arrays of numbers.

    Raises
    ------
    Refused
        The format is not known, or the header is not that of an array of numbers, or of texts if
        they are allowed.
    """
    version = np.lib.format.read_magic(file)
    if version not in SIZES:
        raise Refused(f"{name} has format {version}; expected an array of numbers")
    size = file.read(SIZES[version])
    header = file.read(min(int.from_bytes(size, "little"), LONGEST_HEADER)).decode("latin1")
    dtype, order, shape = (re.search(rf"'{key}' *: *{form}", header) for key, form in HEADER)
    if not (dtype and order and shape):
        raise Refused(f"{name} begins with {header[:100]!r}; expected an array of numbers")
    sizes = tuple([int(n) for n in re.findall(r"[0-9]+", shape[1])])
    try:
        kinds = "[biuf][0-9]{1,2}|U[1-9][0-9]{0,3}" if texts else "[biuf][0-9]{1,2}"
        if not re.fullmatch(f"[<>|=]?({kinds})", dtype[1]):
            raise TypeError
        return sizes, order[1] == "True", np.dtype(dtype[1])
    except TypeError:
        raise Refused(
            f"{name} has dtype {dtype[1]!r}; expected {'numbers or texts' if texts else 'numbers'}"
        ) from None
