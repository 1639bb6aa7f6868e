"""Arrays of images, and the published files of MNIST and CIFAR-10."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import Refused
from .arrays import read_idx, refusing_damage
from .samples import Samples

__all__ = [
    "CIFAR",
    "FILES",
    "IDX",
    "DEEP",
    "image_shape",
    "pillow",
    "read_cifar",
    "read_idx_files",
    "resize",
    "resize_samples",
    "white_of",
]

FILES = {  # the number of axes of each
    "train-images-idx3-ubyte": 3,
    "train-labels-idx1-ubyte": 1,
    "t10k-images-idx3-ubyte": 3,
    "t10k-labels-idx1-ubyte": 1,
}
CLOTHES = "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,Sneaker,Bag,Ankle boot"
KINDS = "airplane,automobile,bird,cat,deer,dog,frog,horse,ship,truck"
# The names of the classes, by the name of the folder that MXNet downloads the files to.
IDX = {"mnist": tuple("0123456789"), "fashion-mnist": tuple(CLOTHES.split(","))}
CIFAR = {"cifar10": tuple(KINDS.split(","))}
CIFAR_FILES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
CIFAR_FOLDER = "cifar-10-batches-bin"  # in the published archive
CIFAR_ROW = 1 + 3 * 32 * 32  # bytes: the class, then the pixels of each colour

DEEP = 65_535  # the value of a white pixel of 16 bits


def image_shape(shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    """Channels, height and width of an image (h, w), (h, w, c) or (c, h, w) with c to 4."""
    if len(shape) == 2:
        return (1, *shape)
    if len(shape) == 3 and shape[2] <= 4:
        return (shape[2], *shape[:2])
    return shape if len(shape) == 3 and shape[0] <= 4 else None


def read_idx_files(root: Path, classes: tuple[str, ...]) -> Samples:
    """The samples of MNIST or of what is published in the same files.

    Raises
    ------
    Refused
        A file is missing or damaged.
    """
    arrays = [(file, read_idx(root / file, axes)) for file, axes in FILES.items()]
    parts = [
        Samples(x, y, x_name, y_name, classes=classes, pixels=255)
        for (x_name, x), (y_name, y) in (arrays[:2], arrays[2:])
    ]
    parts[0].held_out = parts[1]
    return parts[0]


def read_cifar(root: Path, classes: tuple[str, ...]) -> Samples:
    """The samples of CIFAR-10, from its binary version.

    Raises
    ------
    Refused
        A file is missing or damaged.
    """
    folder = root if (root / CIFAR_FILES[0]).is_file() else root / CIFAR_FOLDER
    rows = [cifar_rows(folder / name) for name in CIFAR_FILES]
    parts = []
    for part, name in ((np.concatenate(rows[:-1]), "data_batch"), (rows[-1], "test_batch")):
        x = part[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        parts.append(Samples(x, part[:, 0], name, name, classes=classes, pixels=255))
    parts[0].held_out = parts[1]
    return parts[0]


def cifar_rows(path: Path) -> np.ndarray:
    with refusing_damage(path):
        if not path.is_file():
            raise Refused(f"there is no {path}; expected {', '.join(CIFAR_FILES)}")
        size = path.stat().st_size
        if not size or size % CIFAR_ROW:
            raise Refused(
                f"{path} has {size} bytes; expected a multiple of {CIFAR_ROW}: the binary version"
            )
        return np.fromfile(path, np.uint8).reshape(-1, CIFAR_ROW)


def pillow() -> tuple[Any, Any]:
    """Return Pillow's modules Image and ImageOps.

    Raises
    ------
    Refused
        It is not installed.
    """
    try:
        from PIL import Image, ImageOps
    except ModuleNotFoundError as error:
        raise Refused("Pillow is not installed: pip install pillow") from error
    return Image, ImageOps


def white_of(x: np.ndarray) -> int | None:
    """The value of a white pixel, where arrays are images as in files: of uint8, with a 255.

    They are gray or have three colours. Bytes whose largest value is below 255 may be of another
    scale.
    """
    image = image_shape(x.shape[1:]) if x.dtype == np.uint8 and x.size else None
    return 255 if image and image[0] in (1, 3) and x.max() == 255 else None


def resize_samples(samples: Samples, size: tuple[int, ...]) -> Samples:
    """Samples whose images have another height and width, with those that are held out.

    Raises
    ------
    Refused
        The samples are no images.
    """
    if samples.x.ndim not in (3, 4):
        raise Refused(f"{samples.x_name} is {samples.x.shape}; expected images, for --image-size")
    samples.x, samples.resized = resize(samples.x, size), True
    if samples.held_out:
        resize_samples(samples.held_out, size)
    return samples


def resize(x: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    """Images by bicubic interpolation, as those in files are resized.

    Parameters
    ----------
    x : array (n, h, w), (n, h, w, c) or (n, c, h, w), with c to 4
    size : tuple of int
        The height and width.

    Returns
    -------
    array
        With the axes of x, uint8 where x is, else float32 within the range of x.

    Raises
    ------
    Refused
        Pillow is not installed.
    """
    Image, _ = pillow()
    height, width = size
    last = x.ndim == 4 and x.shape[3] <= 4
    ordered = np.moveaxis(x, 3, 1) if last else x
    dtype = np.uint8 if x.dtype == np.uint8 else np.float32
    planes = np.ascontiguousarray(ordered, dtype).reshape(-1, *ordered.shape[-2:])
    found = np.empty((len(planes), *size), dtype)
    for i, plane in enumerate(planes):
        enlarged = Image.fromarray(plane).resize((width, height), Image.Resampling.BICUBIC)
        found[i] = np.asarray(enlarged)
    if dtype is np.float32:
        np.clip(found, x.min(), x.max(), out=found)
    found = found.reshape(*ordered.shape[:-2], *size)
    return np.moveaxis(found, 1, 3) if last else found
