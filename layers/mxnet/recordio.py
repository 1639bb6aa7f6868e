"""RecordIO files: a sequence of records, with labels and images packed into them."""

from __future__ import annotations

import os
import struct
from collections import namedtuple
from collections.abc import Callable
from numbers import Number
from typing import Any, BinaryIO

import numpy as np

from ._files import images, records
from ._files.opening import open_file
from ._files.records import RecordFileError
from ._old import missing
from .base import ArgumentError, MXNetError

__all__ = [
    "IRHeader",
    "MXIndexedRecordIO",
    "MXRecordIO",
    "pack",
    "pack_img",
    "unpack",
    "unpack_img",
]


class _RecordKeyError(MXNetError, KeyError):
    """An index lacks a key."""

    __str__ = Exception.__str__  # KeyError would show the message as a string's repr


class MXRecordIO:
    """A RecordIO file, to be read or to be written from its beginning.

    A pickled reader is opened anew, at its first record, where it is unpickled. A process that was
    forked has to `reset` it before it reads on.

    Parameters
    ----------
    uri : path
    flag : {'r', 'w'}
        'w' makes the file empty.

    Attributes
    ----------
    is_open, writable : bool

    Raises
    ------
    MissingFileError, OSError
        The file does not exist, or cannot be opened.
    ArgumentError
        The flag is another.
    """

    is_open = False

    def __init__(self, uri: str | os.PathLike, flag: str):
        self.uri, self.flag = uri, flag
        self.pid: int | None = None
        self.open()

    def open(self) -> None:
        """Open the file.

        Raises
        ------
        MissingFileError, OSError
            It does not exist, or cannot be opened.
        ArgumentError
            The flag is neither 'r' nor 'w'.
        """
        if self.flag not in ("r", "w"):
            raise ArgumentError(
                f"{self._name}: Invalid flag {self.flag!r}\n  expected 'r' to read or 'w' to write"
            )
        self.writable = self.flag == "w"
        self._reader: records.Reader | None = None
        self._file: BinaryIO | None = None
        if self.writable:
            # Without a buffer, whose bytes a forked process would write a second time.
            self._file = open_file(self.uri, "wb", buffering=0)
        else:
            self._reader = records.Reader(self.uri)
        self.pid = os.getpid()
        self.is_open = True

    def close(self) -> None:
        """Close the file; without effect on one that is closed."""
        if self.is_open:
            self.is_open = False
            self.pid = None
            (self._reader or self._file).close()

    def reset(self) -> None:
        """Begin anew: at the first record, or, where the file is written, with an empty file."""
        self.close()
        self.open()

    def __del__(self):
        self.close()

    def __getstate__(self) -> dict:
        if self.is_open and self.writable:
            raise ArgumentError(
                f"{self._name}: it is open for writing\n"
                "  expected a closed file or a reader; unpickled, it would empty the file"
            )
        return vars(self) | {"_reader": None, "_file": None, "pid": None}

    def __setstate__(self, state: dict) -> None:
        is_open = state.pop("is_open", False)
        self.__dict__.update(state)
        if is_open:
            self.open()

    def write(self, buf: bytes) -> None:
        """Append a record.

        Raises
        ------
        ArgumentError
            The file is read, or `buf` is no bytes, or longer than 512 MiB.
        MXNetError
            Another process has opened the file.
        """
        self._check_writable(True)
        self._check_pid()
        if not isinstance(buf, (bytes, bytearray, memoryview)):
            raise ArgumentError(
                f"{self._name}.write: the record is of type {type(buf).__name__}\n  expected bytes"
            )
        data = memoryview(records.packed(bytes(buf)))
        while data:
            data = data[self._file.write(data) :]

    def read(self) -> bytes | None:
        """The next record; None at the end.

        Raises
        ------
        ArgumentError
            The file is written.
        RecordFileError
            What comes is no record; the message says at which offset.
        MXNetError
            Another process has opened the file.
        """
        self._check_writable(False)
        self._check_pid()
        return self._reader.read()

    @property
    def _name(self) -> str:
        return f"{type(self).__name__}({os.fsdecode(self.uri)!r}, {self.flag!r})"

    def _check_open(self) -> None:
        if not self.is_open:
            raise ArgumentError(f"{self._name}: the file is closed\n  expected open() before")

    def _check_writable(self, expected: bool) -> None:
        """Raise an error where the file is closed, or open for the other purpose."""
        self._check_open()
        if self.writable is not expected:
            raise ArgumentError(
                f"{self._name}: the file is open for {'writing' if self.writable else 'reading'}\n"
                f"  expected flag {'w' if expected else 'r'!r}"
            )

    def _check_pid(self, allow_reset: bool = False) -> None:
        """Open the file anew in a forked process, or raise an error: the position is shared."""
        if self.pid == os.getpid():
            return
        if not allow_reset:
            raise MXNetError(
                f"{self._name}: it was opened by process {self.pid}\n"
                "  expected reset() in this process before it goes on"
            )
        self.reset()


class MXIndexedRecordIO(MXRecordIO):
    """A RecordIO file with an index, whose records are found by their keys.

    Parameters
    ----------
    idx_path : path
        The index, a text file.
    uri : path
    flag : {'r', 'w'}
    key_type : callable
        Makes a key of its text.

    Attributes
    ----------
    keys : list
        In the order of the index.
    idx : dict
        The offset of the record of each key.

    Raises
    ------
    MissingFileError, OSError
        A file does not exist, or cannot be opened.
    RecordFileError
        A line of the index is not a key, a tab and an offset.
    """

    fidx: BinaryIO | None = None  # also of an object whose arguments were wrong, for close

    def __init__(
        self,
        idx_path: str | os.PathLike,
        uri: str | os.PathLike,
        flag: str,
        key_type: Callable = int,
    ):
        self.idx_path, self.key_type = idx_path, key_type
        self.idx: dict = {}
        self.keys: list = []
        super().__init__(uri, flag)

    def open(self) -> None:
        self.idx, self.keys, self.fidx = {}, [], None
        super().open()
        try:
            if self.writable:
                self.fidx = open_file(self.idx_path, "wb", buffering=0)
            else:
                self.idx = records.read_index(self.idx_path, self._reader.size, self.key_type)
                self.keys = list(self.idx)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        super().close()
        if self.fidx is not None:
            self.fidx.close()

    def reset(self) -> None:
        """Begin anew: at the first record, or, where the files are written, with empty ones.

        The index that was read stays.
        """
        if self.writable:
            super().reset()
        else:
            self.close()
            super().open()

    def __getstate__(self) -> dict:
        return super().__getstate__() | {"fidx": None}

    def seek(self, idx: Any) -> None:
        """Go to the record of a key, in a forked process too.

        Raises
        ------
        KeyError
            The index has no such key.
        """
        self._check_writable(False)
        self._check_pid(allow_reset=True)
        if idx not in self.idx:
            raise _RecordKeyError(
                f"{self._name}: there is no record {idx!r}\n"
                f"  expected one of the {len(self.keys)} keys of {os.fsdecode(self.idx_path)!r}"
            )
        self._reader.seek(self.idx[idx])

    def tell(self) -> int:
        """The offset at which the next record will be written, or read.

        Raises
        ------
        ArgumentError
            The file is closed.
        """
        self._check_open()
        return self._file.tell() if self.writable else self._reader.tell()

    def read_idx(self, idx: Any) -> bytes:
        """The record of a key.

        Raises
        ------
        KeyError
            The index has no such key.
        RecordFileError
            At its offset is no record.
        """
        self.seek(idx)
        record = self.read()
        if record is None:
            raise RecordFileError(
                f"{self._name}: record {idx!r} is at offset {self.idx[idx]}, the file's end\n"
                "  expected an index of this file"
            )
        return record

    def _record_of(self, idx: Any) -> bytes:
        """`read_idx` for threads and forked processes at the same time."""
        self._check_writable(False)
        return self._reader.read_at(self.idx[idx])

    def write_idx(self, idx: Any, buf: bytes) -> None:
        """Append a record under a key.

        Raises
        ------
        ArgumentError
            As `write`.
        """
        key, offset = self.key_type(idx), self.tell()
        self.write(buf)
        self.fidx.write(f"{key}\t{offset}\n".encode())
        self.idx[key] = offset
        self.keys.append(key)


IRHeader = namedtuple("HEADER", ["flag", "label", "id", "id2"])
IRHeader.__doc__ = """What is known of an image in a record.

flag : how many numbers the label has, where it is an array; 0 where it is one number
label : number or array of float32
id, id2 : the low and the high 64 bits of a number that tells the image from others
"""
_IR_FORMAT = "IfQQ"
_HEADER = struct.Struct(f"<{_IR_FORMAT}")
_IR_SIZE = _HEADER.size


def pack(header: IRHeader, s: bytes) -> bytes:
    """A record of a header and bytes, such as those of an image's file.

    The header's flag is set: 0 for a label that is a number, else how many numbers it has.

    Raises
    ------
    ArgumentError
        The header's numbers do not fit in 32 and 64 bits, or `s` is no bytes.
    """
    header = IRHeader(*header)
    labels = b""
    if isinstance(header.label, Number):
        header = header._replace(flag=0)
    else:
        label = np.asarray(header.label, np.float32)
        labels = label.tobytes()
        header = header._replace(flag=label.size, label=0)
    try:
        return _HEADER.pack(*header) + labels + s
    except (struct.error, TypeError) as error:
        raise ArgumentError(
            f"pack: {header} and {type(s).__name__}: {error}\n  expected a label, ids, and bytes"
        ) from None


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """The header and the bytes of a record that `pack` made.

    Raises
    ------
    RecordFileError
        The record is shorter than its header, or than the labels that this declares.
    """
    if len(s) < _HEADER.size:
        raise RecordFileError(
            f"unpack: the record has {len(s)} bytes\n  expected a header of {_HEADER.size}"
        )
    header, s = IRHeader(*_HEADER.unpack_from(s)), s[_HEADER.size :]
    if header.flag > 0:
        if header.flag * 4 > len(s):
            raise RecordFileError(
                f"unpack: the record has {len(s)} bytes after its header\n"
                f"  expected at least the {header.flag} labels that it declares, 4 bytes each"
            )
        header = header._replace(label=np.frombuffer(s, np.float32, header.flag))
        s = s[header.flag * 4 :]
    return header, s


def _header_at(reader: records.Reader, offset: int) -> IRHeader:
    """The header of the record at an offset, without reading the bytes after it."""
    head = reader.read_at(offset, _HEADER.size)
    if len(head) == _HEADER.size:
        labels = _HEADER.unpack(head)[0]
        head = reader.read_at(offset, _HEADER.size + 4 * labels)
    return unpack(head)[0]


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, np.ndarray]:
    """The header and the image of a record that `pack_img` made.

    Parameters
    ----------
    s : bytes
    iscolor : {-1, 0, 1}
        -1: the channels that are stored, (height, width) or with 3 or 4 of them. 0: gray,
        (height, width). 1: (height, width, 3). Colours are in OpenCV's order, BGR. With 0 and 1
        the image is turned as its EXIF data says.

    Raises
    ------
    RecordFileError
        The record is cut off.
    ImageFileError
        What it has is no image.
    ArgumentError
        `iscolor` is another.
    """
    header, data = unpack(s)
    name = f"unpack_img: the image of id {header.id}"
    if iscolor == -1:
        pixels = images.decode_as_stored(data, name)
    elif iscolor in (0, 1):
        pixels = images.decode_upright(data, name, gray=not iscolor)
    else:
        raise ArgumentError(f"unpack_img: iscolor is {iscolor}\n  expected -1, 0 or 1")
    return header, _swapped(pixels) if pixels.shape[2:] != (1,) else pixels[..., 0]


def pack_img(header: IRHeader, img: np.ndarray, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """A record of a header and an image.

    Parameters
    ----------
    header : IRHeader
    img : numpy.ndarray
        (h, w), (h, w, 3) in OpenCV's order BGR, or (h, w, 4), of uint8.
    quality : int
        Of a JPEG, 1 to 100; how hard a PNG is compressed, 0 to 9.
    img_fmt : str
        ``.jpg``, ``.png`` or another ending of an image's file.

    Raises
    ------
    ArgumentError
        The image or the header cannot be packed.
    """
    return pack(header, images.encode(_swapped(np.asarray(img)), img_fmt, quality))


def _swapped(pixels: np.ndarray) -> np.ndarray:
    """RGB as BGR and back, an alpha channel left where it is."""
    if pixels.ndim == 3 and pixels.shape[2] in (3, 4):
        return np.ascontiguousarray(pixels[..., [2, 1, 0, 3][: pixels.shape[2]]])
    return pixels


missing.watch(globals())
