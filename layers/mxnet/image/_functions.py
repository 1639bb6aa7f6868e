"""Functions of images: decoding, sizes, crops, borders, rotation."""

from __future__ import annotations

import math
import random
from os import PathLike, fsdecode

import numpy as np
import torch

from .._files import images
from .._files.opening import open_file
from ..base import ArgumentError, DTypeError, ShapeError
from ..context import cpu
from ..ndarray import NDArray
from ..ndarray.register import give
from ..numpy._array import in_kind
from . import _resize

__all__ = [
    "center_crop",
    "color_normalize",
    "copyMakeBorder",
    "fixed_crop",
    "imdecode",
    "imread",
    "imresize",
    "imrotate",
    "random_crop",
    "random_rotate",
    "random_size_crop",
    "resize_short",
    "scale_down",
]


def imread(filename: str | PathLike, flag: int = 1, to_rgb: bool = True, out=None) -> NDArray:
    """The image in a file, as `imdecode` gives it.

    Raises
    ------
    MissingFileError
        There is no such file.
    ImageFileError
        It is no image, a damaged one, or declares more pixels than so few bytes have.
    """
    with open_file(filename) as file:
        return _decoded(file.read(), repr(fsdecode(filename)), flag, to_rgb, out)


def imdecode(buf, flag: int = 1, to_rgb: bool = True, out=None) -> NDArray:
    """An image (height, width, channels) of uint8 from the bytes of a file, on the CPU.

    An alpha channel is left out, of 16 bits the high 8 are taken, and an orientation in EXIF data
    is not looked at.

    Parameters
    ----------
    buf : bytes, bytearray, numpy.ndarray or NDArray
    flag : {0, 1}
        0: one channel, gray. 1: three.
    to_rgb : bool
        Channels in the order RGB, else BGR.
    out : NDArray, optional

    Raises
    ------
    ArgumentError
        `buf` has no bytes.
    ImageFileError
        They are no image, a damaged one, or declare more pixels than so few bytes have.
    """
    if isinstance(buf, NDArray):
        buf = buf.asnumpy()
    if isinstance(buf, np.ndarray) and buf.dtype != np.uint8:
        raise ArgumentError(f"imdecode: buf is of {buf.dtype}\n  expected uint8")
    if not isinstance(buf, (bytes, bytearray, memoryview, np.ndarray)):
        raise ArgumentError(
            f"imdecode: buf is of type {type(buf).__name__}\n"
            "  expected bytes, bytearray or numpy.ndarray"
        )
    return _decoded(bytes(buf), "imdecode: the image", flag, to_rgb, out)


def _decoded(data: bytes, name: str, flag: int, to_rgb: bool, out: NDArray | None) -> NDArray:
    if flag not in (0, 1):
        raise ArgumentError(f"imdecode: flag is {flag}\n  expected 0 for gray or 1 for colours")
    pixels = torch.from_numpy(images.decode(data, name, gray=not flag))
    if flag and not to_rgb:
        pixels = pixels.flip(2)
    return _given(pixels, out)


def _given(image: torch.Tensor, out: NDArray | None = None) -> NDArray:
    result = in_kind(NDArray(image, cpu()))
    return result if out is None else give(result, out)


def _tensor(src: NDArray) -> torch.Tensor:
    return src._tensor.detach().cpu()


def imresize(src: NDArray, w: int, h: int, interp: int = 1, out=None) -> NDArray:
    """An image in another size, with the values that OpenCV gives MXNet.

    Parameters
    ----------
    src : NDArray
        (height, width, channels)
    w, h : int
    interp : int
        0 the nearest pixel, 1 linear, 2 cubic, 3 means of areas where the image gets smaller,
        4 Lanczos.
    out : NDArray, optional

    Raises
    ------
    ArgumentError, ShapeError
        `src` is no image, or the size or the method does not exist.
    """
    return _given(_resize.resized(_tensor(src), int(w), int(h), interp), out)


def copyMakeBorder(
    src: NDArray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0.0,
    values=(),
    out=None,
) -> NDArray:
    """An image with margins around it.

    Parameters
    ----------
    src : NDArray
        (height, width, channels)
    top, bot, left, right : int
        In pixels.
    type : int
        0 filled with values, 1 the outermost pixels again, 2 mirrored with them, 3 from the other
        side, 4 mirrored without the outermost pixels.
    value : float
        For all channels.
    values : sequence of float
        For each channel, in place of `value`.
    out : NDArray, optional

    Raises
    ------
    ArgumentError, ShapeError
        `src` is no image, a margin is negative, or there is no such type.
    """
    image = _tensor(src)
    fill = tuple(values) or (value,) * image.shape[-1]
    return _given(_resize.bordered(image, (top, bot, left, right), type, fill), out)


def imrotate(src: NDArray, rotation_degrees, zoom_in=False, zoom_out=False) -> NDArray:
    """Images rotated about their middle; what is outside of them is 0.

    Parameters
    ----------
    src : NDArray
        (channels, height, width) or (n, channels, height, width), of float32.
    rotation_degrees : number or NDArray
        Counter-clockwise; an NDArray has one for each of n images.
    zoom_in : bool
        Larger, so that no pixel is outside of the image.
    zoom_out : bool
        Smaller, so that all of the image is to be seen.

    Raises
    ------
    ArgumentError
        Both are to be done, or `src` is no such array.
    DTypeError
        `src` is not of float32.
    """
    if zoom_in and zoom_out:
        raise ArgumentError("imrotate: zoom_in and zoom_out are True\n  expected one of them")
    if src.dtype != np.float32:
        raise DTypeError(f"imrotate: the image is of {np.dtype(src.dtype)}\n  expected float32")
    images_ = _tensor(src)
    single = images_.dim() == 3
    if single and isinstance(rotation_degrees, NDArray):
        raise ArgumentError(
            f"imrotate: there is one image {src.shape}, and an array of angles "
            f"{rotation_degrees.shape}\n  expected a number"
        )
    if single:
        images_ = images_[None]
    if images_.dim() != 4:
        raise ArgumentError(f"imrotate: src is {src.shape}\n  expected (c, h, w) or (n, c, h, w)")
    if isinstance(rotation_degrees, NDArray):
        degrees = _tensor(rotation_degrees)
    else:
        degrees = torch.full((len(images_),), float(rotation_degrees))
    if degrees.shape != images_.shape[:1]:
        raise ArgumentError(
            f"imrotate: there are {len(images_)} images, and angles {tuple(degrees.shape)}\n"
            f"  expected ({len(images_)},)"
        )
    turned = _resize.rotated(images_, degrees, int(zoom_in) - int(zoom_out))
    return _given(turned[0] if single else turned)


def random_rotate(src: NDArray, angle_limits, zoom_in=False, zoom_out=False) -> NDArray:
    """Images rotated by angles that `numpy.random` draws between two, one for each image."""
    if len(src.shape) == 3:
        degrees = np.random.uniform(*angle_limits)
    else:
        drawn = np.random.uniform(*angle_limits, size=src.shape[0])
        degrees = _given(torch.from_numpy(drawn.astype(np.float32)))
    return imrotate(src, degrees, zoom_in, zoom_out)


def scale_down(src_size, size) -> tuple[int, int]:
    """The largest size that has the proportions of `size` and fits into `src_size`.

    Both are (width, height); a `size` that fits stays as it is. No side becomes 0.
    """
    w, h = size
    most_w, most_h = src_size
    if h > most_h:
        w, h = w * most_h / h, most_h
    if w > most_w:
        w, h = most_w, h * most_w / w
    return max(int(w), min(size[0], most_w, 1)), max(int(h), min(size[1], most_h, 1))


def _size(name: str, src: NDArray) -> tuple[int, int]:
    """The height and the width of an image."""
    if src.ndim not in (2, 3):
        raise ShapeError(f"{name}: the image is {src.shape}\n  expected (height, width, channels)")
    return src.shape[0], src.shape[1]


def _get_interp_method(interp: int, sizes: tuple = (), draw=random) -> int:
    """The method of `imresize` for an `interp` of 0 to 4, 9 or 10.

    `sizes` are the height and width of the image, and those that are wanted. 9 is cubic for a
    larger image and without sizes, areas for a smaller one, else linear; `draw` draws for 10.
    """
    if interp == 9:
        old_h, old_w, h, w = sizes or (0, 0, 1, 1)
        if h > old_h and w > old_w:
            return 2
        return 3 if h < old_h and w < old_w else 1
    if interp == 10:
        return draw.randint(0, 4)
    if interp not in range(5):
        raise ArgumentError(f"resize: interp is {interp}\n  expected 0 to 4, 9 or 10")
    return interp


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """An image whose shorter side has `size` pixels, and the other as many as keep the proportions.

    `interp` is that of `imresize`; 9 for cubic in a larger image, areas in a smaller one, else
    linear; 10 for a method that `random` draws.

    Raises
    ------
    ShapeError
        It would have more than 2^25 pixels, and more than `src`.
    """
    h, w = _size("resize_short", src)
    new = _resize.short_size("resize_short", h, w, size)
    return imresize(src, new[1], new[0], _get_interp_method(interp, (h, w, *new)))


def fixed_crop(
    src: NDArray, x0: int, y0: int, w: int, h: int, size=None, interp: int = 2
) -> NDArray:
    """The part of an image from column `x0` and row `y0`; resized where a `size` (w, h) is given.

    `interp` is that of `resize_short`.
    """
    part = src[y0 : y0 + h, x0 : x0 + w]
    if size is None or (w, h) == tuple(size):
        return part
    return imresize(part, *size, _get_interp_method(interp, (h, w, size[1], size[0])))


def random_crop(src: NDArray, size, interp: int = 2) -> tuple[NDArray, tuple[int, int, int, int]]:
    """A part of `size` (w, h), or of its proportions and then resized, where `random` draws it.

    Returns the image, and (x0, y0, w, h).
    """
    h, w = _size("random_crop", src)
    part = scale_down((w, h), size)
    x0, y0 = random.randint(0, w - part[0]), random.randint(0, h - part[1])
    return fixed_crop(src, x0, y0, *part, size, interp), (x0, y0, *part)


def center_crop(src: NDArray, size, interp: int = 2) -> tuple[NDArray, tuple[int, int, int, int]]:
    """The middle part of `size` (w, h), or of its proportions and then resized.

    Returns the image, and (x0, y0, w, h).
    """
    h, w = _size("center_crop", src)
    part = scale_down((w, h), size)
    x0, y0 = (w - part[0]) // 2, (h - part[1]) // 2
    return fixed_crop(src, x0, y0, *part, size, interp), (x0, y0, *part)


def random_size_crop(
    src: NDArray, size, area, ratio, interp: int = 2, **kwargs
) -> tuple[NDArray, tuple[int, int, int, int]]:
    """A part of an area and with proportions that `random` draws, resized to `size` (w, h).

    Where ten draws do not fit into the image, the middle part is taken.

    Parameters
    ----------
    area : float or (float, float)
        The least and the greatest part of the image's area; a number is the least.
    ratio : (float, float)
        The least and the greatest width by height.

    Raises
    ------
    ArgumentError
        There is another argument than these and MXNet's older `min_area`.
    """
    area = kwargs.pop("min_area", area)
    if kwargs:
        raise ArgumentError(f"random_size_crop: unexpected keyword arguments {[*kwargs]}")
    h, w = _size("random_size_crop", src)
    least, most = area if isinstance(area, (tuple, list)) else (area, 1.0)
    for _ in range(10):
        pixels = random.uniform(least, most) * (h * w)
        shape = math.exp(random.uniform(math.log(ratio[0]), math.log(ratio[1])))
        new_w, new_h = round(math.sqrt(pixels * shape)), round(math.sqrt(pixels / shape))
        if 1 <= new_w <= w and 1 <= new_h <= h:
            x0, y0 = random.randint(0, w - new_w), random.randint(0, h - new_h)
            return fixed_crop(src, x0, y0, new_w, new_h, size, interp), (x0, y0, new_w, new_h)
    return center_crop(src, size, interp)


def color_normalize(src: NDArray, mean, std=None) -> NDArray:
    """(src - mean) / std, written into `src`; what is None is left out."""
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src
