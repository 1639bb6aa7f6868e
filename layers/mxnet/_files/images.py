"""Encoded images (JPEG, PNG, BMP and others) as arrays of pixels and back, by Pillow.

An image is not trusted: which formats are read is said here, and how many pixels it declares is
compared with its bytes before memory is taken for them.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from .._state import this_thread
from ..base import ArgumentError, MXNetError, UnsupportedError

__all__ = ["ImageFileError", "decode", "decode_as_stored", "encode"]

FORMATS = ("JPEG", "PNG", "BMP", "TIFF", "GIF", "WEBP", "PPM")
# Any image may have SMALL pixels. A larger one may have PIXELS_OF_BYTE for each byte of its file: a
# PNG of one colour has about 8000, as 8 pixels fit in a byte and deflate makes 1032 bytes of one.
SMALL = 1 << 20
PIXELS_OF_BYTE = 10_000
JPEG_BEGIN, JPEG_END = b"\xff\xd8", b"\xff\xd9"


class ImageFileError(MXNetError, ValueError):
    """Bytes are no image of a known format, or a damaged one."""


@contextmanager
def _quiet() -> Iterator[None]:
    """``with _quiet():`` what Pillow does in this thread adds no DEBUG lines to a program's log."""
    state = this_thread.state
    state.has_image = True
    try:
        yield
    finally:
        state.has_image = False


def _is_shown(record: logging.LogRecord) -> bool:
    return record.levelno > logging.DEBUG or not this_thread.state.has_image


@cache
def _pillow() -> ModuleType:
    for name in ("Image", "ImageFile", "PngImagePlugin", "TiffImagePlugin"):
        logging.getLogger(f"PIL.{name}").addFilter(_is_shown)
    try:
        import PIL.Image
    except ImportError as error:
        raise UnsupportedError(
            f"images are read and written by Pillow, which cannot be imported: {error}\n"
            "  expected it to be installed: pip install Pillow"
        ) from None
    return PIL.Image


def decode(data: bytes, name: str, gray: bool = False) -> np.ndarray:
    """The pixels (height, width, 3), RGB, or (height, width, 1), of uint8.

    An alpha channel is left out, of 16 bits the high 8 are taken, and an orientation in the image's
    EXIF data is not looked at. A JPEG that ends early is decoded as far as it goes, with a warning.
    `name` is what an error calls the image.

    Raises
    ------
    ImageFileError
        The bytes are no image, a damaged one, or declare more pixels than so few bytes have.
    """
    return _read(data, name, lambda image: _pixels(image, gray))


def decode_as_stored(data: bytes, name: str) -> np.ndarray:
    """The pixels with the channels that they are stored in: (height, width), or with 3 or 4.

    Raises ImageFileError as `decode` does.
    """
    return _read(data, name, _stored)


def decode_upright(data: bytes, name: str, gray: bool) -> np.ndarray:
    """As `decode`, turned as the image's EXIF data says."""

    def turned(image) -> np.ndarray:
        from PIL.ImageOps import exif_transpose

        if gray:
            image.draft("L", image.size)
        return _pixels(exif_transpose(image), gray)

    return _read(data, name, turned)


def _read(data: bytes, name: str, convert) -> np.ndarray:
    try:
        return _opened(data, convert)
    except MXNetError as error:
        raise ImageFileError(f"{name} {error}") from None
    except Exception as error:  # Pillow raises many kinds for damaged files
        pixels = _ended(data, convert) if "truncated" in str(error) else None
        if pixels is not None:
            warnings.warn(f"{name} ends early: a JPEG, decoded as far as it goes", stacklevel=4)
            return pixels
        told = type(error).__name__ if isinstance(error, MemoryError) else str(error)[:200]
        if type(error).__name__ == "UnidentifiedImageError":
            begin = data[:8].hex(" ") or "nothing"
            told = f"{len(data)} bytes that begin with {begin} are no image of a known format"
        raise ImageFileError(
            f"{name} cannot be decoded: {told}\n  expected a whole image: {', '.join(FORMATS)}"
        ) from None


def _ended(data: bytes, convert) -> np.ndarray | None:
    """The pixels of a JPEG whose last bytes are missing, the missing ones gray; None if it is none.

    Data sets have such files, and MXNet decodes them; its missing pixels are of any value.
    """
    if data.startswith(JPEG_BEGIN):
        with suppress(Exception):  # it is damaged in another way: the first error says how
            return _opened(data + JPEG_END, convert)
    return None


def _opened(data: bytes, convert) -> np.ndarray:
    pillow = _pillow()
    with _quiet(), pillow.open(io.BytesIO(data), formats=FORMATS) as image:
        _check_size(image, len(data), pillow.MAX_IMAGE_PIXELS)
        return convert(image)


def _check_size(image: Any, size: int, most: int | None) -> None:
    """Refuse an image that declares more pixels than Pillow allows, or than its bytes can have."""
    pixels = image.width * image.height
    limit = max(SMALL, PIXELS_OF_BYTE * size)
    limit = limit if most is None else min(limit, most)
    if pixels > limit:
        raise MXNetError(
            f"declares {image.width} x {image.height} pixels in {size} bytes\n"
            f"  expected at most {limit} pixels"
        )


def _pixels(image: Any, gray: bool) -> np.ndarray:
    if image.mode[0] in "IF":
        pixels = _eight_bits(image)
        return pixels[..., None] if gray else np.repeat(pixels[..., None], 3, -1)
    if gray:
        image.draft("L", image.size)  # JPEG stores brightness: no need to make it of colours
    mode = "L" if gray else "RGB"
    pixels = np.array(image if image.mode == mode else image.convert(mode))
    return pixels[..., None] if gray else pixels


def _eight_bits(image: Any) -> np.ndarray:
    """The high 8 of 16 bits."""
    if image.mode == "F" or image.format == "TIFF" and image.mode == "I":
        raise MXNetError("has pixels of 32 bits\n  expected 8 or 16 bits")
    return (np.array(image).clip(0, 65535) >> 8).astype(np.uint8)


def _stored(image: Any) -> np.ndarray:
    if image.mode.startswith("I;16"):
        return np.array(image).astype(np.uint16)
    if image.mode in ("1", "L"):
        return np.array(image.convert("L"))
    has_alpha = "A" in image.mode or "transparency" in image.info
    return np.array(image.convert("RGBA" if has_alpha else "RGB"))


def encode(pixels: np.ndarray, format: str, quality: int) -> bytes:
    """The file of an image; pixels are (h, w) gray, (h, w, 3) RGB or (h, w, 4) RGBA, of uint8.

    Parameters
    ----------
    pixels : numpy.ndarray
    format : str
        How the name of such a file ends: ``.jpg``, ``.png``, ...
    quality : int
        Of a JPEG, 1 to 100; how hard a PNG is compressed, 0 to 9. Others are taken as the nearest.

    Raises
    ------
    ArgumentError
        The format is unknown, or has no such pixels.
    """
    pillow = _pillow()
    with _quiet():
        pillow.init()
    file_format = pillow.registered_extensions().get(format.lower())
    if file_format not in FORMATS or file_format not in pillow.SAVE:
        raise ArgumentError(
            f"encode: {format!r} is no format of images that is known\n  expected .jpg or .png"
        )
    options = {}
    if file_format in ("JPEG", "WEBP"):
        options = {"quality": min(max(quality, 1), 100)}
    elif file_format == "PNG":
        options = {"compress_level": min(max(quality, 0), 9)}
    channels = pixels.shape[2] if pixels.ndim == 3 else 1
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or channels not in (1, 3, 4):
        raise ArgumentError(
            f"encode: the image is {pixels.shape} of {pixels.dtype}\n"
            "  expected (h, w), (h, w, 3) or (h, w, 4) of uint8"
        )
    if channels == 1:
        pixels = pixels.reshape(pixels.shape[:2])
    if channels == 4 and file_format in ("JPEG", "BMP", "PPM"):
        pixels = pixels[..., :3]
    file = io.BytesIO()
    try:
        with _quiet():
            pillow.fromarray(np.ascontiguousarray(pixels)).save(file, file_format, **options)
    except (ValueError, OSError) as error:
        raise ArgumentError(f"encode: {error}\n  expected another quality or image") from None
    return file.getvalue()
