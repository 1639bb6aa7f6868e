"""Images: the published files of MNIST and CIFAR-10, folders of images, RecordIO, single files."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from layers.engine import gluon, mx

from .. import Refused
from .arrays import read_idx, refusing_damage
from .samples import Reading, Samples

__all__ = [
    "CIFAR",
    "FILES",
    "IDX",
    "read_cifar",
    "read_folder",
    "SUFFIXES",
    "file_source",
    "read_idx_files",
    "read_images",
    "read_rec",
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

FORMATS = ("PNG", "JPEG")  # no other decoder of Pillow is used
SUFFIXES = (".png", ".jpg", ".jpeg")
GRAY = ("1", "L", "LA")
COLOURED = ("P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
MOST_PIXELS = 1 << 26  # of one image

Source = tuple[str, Callable[[], bytes]]  # an image's name in messages, and what reads its file


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


def read_folder(root: Path, how: Reading) -> Samples:
    """The images in a folder, which has a folder for each class.

    Raises
    ------
    Refused
        There are none, one is damaged or of another size, or numbers are asked for.
    """
    if how.regression:
        raise Refused("a folder of images has classes; expected --task classification")
    with refusing_damage(root), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is left out, which is told below
        folder = gluon.data.vision.ImageFolderDataset(str(root))
    if not folder.items:
        raise Refused(f"{root} has no folders of images; expected one for each class")
    paths = [path for path, _ in folder.items]
    labels = np.array(folder.synsets)[[label for _, label in folder.items]]
    samples = read_images(list(map(file_source, paths)), how)
    samples.y, samples.y_name = labels, "the folder"
    if unused := left_out(root, folder):
        samples.notes.append(left_out_note(unused))
    return samples


def left_out(root: Path, folder: Any) -> list[str]:
    """What is in a folder of images, and is neither a class nor one of its images."""
    used = {path for path, _ in folder.items}
    unused = [p for p in root.iterdir() if p.name not in folder.synsets]
    unused += [p for c in folder.synsets for p in (root / c).iterdir() if str(p) not in used]
    return sorted(map(str, unused))


def left_out_note(unused: list[str]) -> str:
    """What the engine's warnings say, in one sentence that is the same on both."""
    more = f" and {len(unused) - 1} more" if len(unused) > 1 else ""
    return f"{unused[0]}{more}: left out; expected {', '.join(SUFFIXES)}, in a folder of its class"


def read_rec(path: Path, how: Reading) -> Samples:
    """The images in a RecordIO file, whose index is beside it; their labels are numbers.

    Raises
    ------
    Refused
        A file is missing or damaged, an image is of another size, or a label is not one number.
    """
    index = path.with_suffix(".idx")
    if missing := next((p for p in (path, index) if not p.is_file()), None):
        raise Refused(f"there is no {missing}; expected {path.name} and {index.name}")
    with refusing_damage(path):
        file = gluon.data.RecordFileDataset(str(path))

        def record(i: int) -> tuple[Any, bytes]:
            return mx.recordio.unpack(file[i])

        labels = [record(i)[0].label for i in range(len(file))]
        for i, label in enumerate(labels):
            if np.ndim(label):
                raise Refused(f"record {i} has {len(label)} labels; expected one")
        sources = [(f"record {i}", lambda i=i: record(i)[1]) for i in range(len(file))]
        samples = read_images(sources, how)
    samples.y, samples.y_name = np.array(labels), "label"
    return samples


def file_source(path: str | Path) -> Source:
    return str(path), lambda: Path(path).read_bytes()


def read_images(sources: Sequence[Source], how: Reading) -> Samples:
    """Images as arrays of the shape asked for, or of (h, w) if all are gray, else (h, w, 3).

    Raises
    ------
    Refused
        There are none, or one is damaged, of another size than the first, or of another kind.
    """
    if not sources:
        raise Refused("it has no images")
    if how.shape:
        shape, sizes = how.shape, image_shape(how.shape)
        assert sizes, shape  # it is that of images
        channels, height, width = sizes
    else:
        (height, width), gray = common(sources, how.size)
        channels = 1 if gray else 3
        shape = (height, width) if gray else (height, width, 3)
    pixels, resize = bytearray(), how.size is not None
    for name, read in sources:
        with refusing_damage(name), opened(name, read) as image:
            if image.size != (width, height) and not resize:
                expected = (
                    "as the others; or --image-size, to which all are resized"
                    if how.labelled
                    else "as the network was trained with; it would resize images if it had been "
                    "trained with --image-size"
                )
                raise Refused(
                    f"{name} has {image.size[0]} x {image.size[1]} pixels; expected "
                    f"{width} x {height}, {expected}"
                )
            converted = image.convert("L" if channels == 1 else "RGB")
            if resize:
                converted = converted.resize((width, height))
            pixels += converted.tobytes()
    x = np.frombuffer(pixels, np.uint8).reshape(len(sources), height, width, channels)
    if len(shape) == 3 and shape[2] > 4:  # the channels are before the height
        x = np.moveaxis(x, 3, 1)
    x = x.reshape(len(x), *shape)
    names = tuple(name for name, _ in sources)
    return Samples(x, None, "the images", pixels=255, resized=resize, files=names)


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
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise Refused("Pillow is not installed: pip install pillow") from error
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


def common(sources: Iterable[Source], size: tuple[int, ...] | None) -> tuple[Any, bool]:
    """Height and width of all images, and whether all are gray, from the heads of their files."""
    found, gray = size, True
    for name, read in sources:
        with refusing_damage(name), opened(name, read) as image:
            found = found or (image.height, image.width)
            gray = gray and image.mode in GRAY
    return found, gray


def opened(name: str, read: Callable[[], bytes]) -> Any:
    """An image of which nothing but the head of its file has been decoded.

    Raises
    ------
    Refused
        Pillow is not installed; or the file is no image of a known format, has too many pixels, or
        has pixels of another kind than 8 bits for each colour.
    """
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise Refused("Pillow is not installed: pip install pillow") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # see MOST_PIXELS
        try:
            image = Image.open(io.BytesIO(read()), formats=FORMATS)
        except Image.DecompressionBombError as error:
            raise Refused(f"{name}: {error}") from error
        except Image.UnidentifiedImageError as error:
            raise Refused(f"{name} is no image; expected {' or '.join(FORMATS)}") from error
    if image.width * image.height > MOST_PIXELS:
        raise Refused(
            f"{name} says that it has {image.width} x {image.height} pixels; expected up to "
            f"{MOST_PIXELS:,}"
        )
    if image.mode not in GRAY + COLOURED:
        raise Refused(f"{name} has pixels of kind {image.mode}; expected 8 bits for each colour")
    return image
