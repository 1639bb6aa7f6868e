"""Hostile RecordIO files and their indexes, and hostile images in them."""

from __future__ import annotations

import io
import random
import struct
from collections.abc import Callable
from functools import cache

import numpy as np
from PIL import Image

from layers.mxnet._files.records import packed
from layers.mxnet.recordio import pack

from .values import INTS, changed_bytes, text

WITH_EXIF = ("JPEG", "PNG", "TIFF", "WEBP")
MAGIC = struct.pack("<I", 0xCED7230A)


def make(rng: random.Random) -> dict[str, bytes]:
    """A file of some records and its index, a few parts, fields or bytes of them changed."""
    return _file(rng, _record)


def labelled(rng: random.Random) -> dict[str, bytes]:
    """The same, whose records mostly have an image and the label of an object, or of a class."""
    objects = rng.random() < 0.6

    def record(rng: random.Random) -> bytes:
        if rng.random() < 0.1:
            return _record(rng)
        label = [2, 5, 1, 0.1, 0.2, 0.7, 0.9] if objects else [1]
        for _ in range(rng.choice([0, 0, 0, 1])):
            label[rng.randrange(len(label))] = rng.choice([0, -1, 0.5, 7, 1e30, np.nan, np.inf])
        return pack((0, label, 1, 0), image(rng) if rng.random() < 0.3 else _whole("PNG"))

    return _file(rng, record)


def pictures(rng: random.Random) -> dict[str, bytes]:
    """The same with images of one size, mostly, and a class for each."""

    def record(rng: random.Random) -> bytes:
        if rng.random() < 0.02:
            return _record(rng)
        whole = _whole(rng.choice(["PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP"]))
        return pack((0, rng.randrange(2), 1, 0), image(rng) if rng.random() < 0.05 else whole)

    return _file(rng, record, (0, 2, 8, 9, 10))


def _file(rng: random.Random, make_record: Callable, counts=(0, 1, 2, 2, 3, 5)) -> dict[str, bytes]:
    parts, index, at = [], [], 0
    for key in range(rng.choice(counts)):
        record = packed(make_record(rng))
        index.append([str(key), str(at)])
        parts.append(bytearray(record))
        at += len(record)
    for _ in range(rng.choice([0, 1, 1, 2])):
        if parts:
            _change_part(rng, parts, rng.randrange(len(parts)))
        if index and rng.random() < 0.5:
            line = rng.choice(index)
            line[rng.randrange(2)] = rng.choice([text(rng), str(rng.choice(INTS)), "4", "-0", ""])
    content = b"".join(parts)
    lines = "".join(f"{rng.choice(['', ' '])}{key}\t{at}\n" for key, at in index)
    table = lines.encode("utf-8", "surrogatepass")
    if rng.random() < 0.2:
        content = changed_bytes(rng, content)
    if rng.random() < 0.1:
        table = changed_bytes(rng, table)
    return {"a.rec": content, "a.idx": table}


def _record(rng: random.Random) -> bytes:
    """A header with one label or some, and an image or other bytes; the magic number in some."""
    flag = rng.choice([0, 0, 0, 1, 3, rng.choice(INTS) % 2**32])
    header = struct.pack("<IfQQ", flag, 1.5, rng.randrange(9), 0)
    body = rng.choice([b"", MAGIC, rng.randbytes(5), MAGIC + b"ab" + MAGIC * 2, image(rng)])
    return header + struct.pack("<3f", 1, 2, 3)[: 4 * min(flag, 3)] + body


def _change_part(rng: random.Random, parts: list[bytearray], at: int) -> None:
    change = rng.randrange(5)
    if change == 0:
        parts[at] = parts[at][4 * rng.randrange(3) :]
    elif change == 1:
        parts[at][4:8] = struct.pack("<I", rng.choice(INTS) % 2**32)
    elif change == 2:  # another kind of part
        word = struct.unpack("<I", parts[at][4:8])[0]
        kind = rng.randrange(8) << 29
        parts[at][4:8] = struct.pack("<I", word & 0x1FFFFFFF | kind)
    elif change == 3:
        parts[at:at] = [bytearray(MAGIC + struct.pack("<I", 1 << 29))] * rng.choice([1, 50])
    else:
        rng.shuffle(parts)


def images(rng: random.Random) -> dict[str, bytes]:
    """An image of some format, its bytes changed or its size another."""
    return {"a.jpg": image(rng)}


def image(rng: random.Random) -> bytes:
    """The same as bytes; a few are whole."""
    data = bytearray(
        _whole(rng.choice(["JPEG", "JPEG", "PNG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM"]))
    )
    change = rng.randrange(4)
    if change == 0:
        return bytes(data)
    if change == 1 and (at := data.find(struct.pack(">H", 20))) > 0:  # its height
        data[at : at + 2] = rng.choice([0, 1, 19, 255, 5000, 65535]).to_bytes(2, "big")
    if change == 1 and data[:4] == b"\x89PNG":
        data[16:24] = struct.pack(">II", *rng.choices([0, 1, 20, 5000, 2**31 - 1, 2**32 - 1], k=2))
    return changed_bytes(rng, bytes(data))


@cache
def _whole(format: str) -> bytes:
    pixels = np.add.outer(np.arange(20) * 9, np.arange(30) * 2).astype(np.uint8)
    file = io.BytesIO()
    exif = Image.Exif()
    exif[0x112] = 3  # upside down
    picture = Image.fromarray(np.stack([pixels, pixels[::-1], 255 - pixels], -1))
    picture.save(file, format, **{"exif": exif} if format in WITH_EXIF else {})
    return file.getvalue()
