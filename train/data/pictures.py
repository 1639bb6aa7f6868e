"""Files of images: in folders, in RecordIO, or single ones."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from layers.engine import gluon, mx

from .. import Refused
from ..screen import one_line
from .arrays import refusing_damage
from .images import DEEP, image_shape, pillow
from .samples import Reading, Samples, listed

__all__ = ["SUFFIXES", "images_in", "read_folder", "read_images", "read_rec"]

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP")  # no other decoder of Pillow is used
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
GRAY = ("1", "L", "LA")
GRAY_16 = ("I;16", "I;16B", "I;16L")
COLOURED = ("P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
MOST_PIXELS = 1 << 26  # of one image
TOLD = 20  # names of broken images in a message

# Folders that divide images, before those of the classes; of the second the first that is there.
LEARNED, HELD_OUT = ("train", "training"), ("val", "valid", "validation", "test", "testing")
OF_SYSTEMS = ("__MACOSX", "Thumbs.db", "desktop.ini")

Sources = Mapping[str, Callable[[], bytes]]  # what reads an image's file, by its name in messages


def read_folder(root: Path, how: Reading) -> Samples:
    """Read the images in a folder, which has a folder for each class.

    These may be in `train`, and those to hold out in `val`, `valid`, `validation` or `test`.

    Raises
    ------
    Refused
        There are none, one is damaged or of another size, or numbers are asked for.
    """
    if how.regression:
        raise Refused("a folder of images has classes; expected --task classification")
    with refusing_damage(root):
        folders = {p.name.lower(): p for p in visible(root) if p.is_dir()}
        learned = next((folders[name] for name in LEARNED if name in folders), None)
        kept = next((folders[name] for name in HELD_OUT if name in folders), None)
        if not learned or not kept or not is_divided(learned):
            return read_classes(root, how)
        unused = sorted(set(root.iterdir()) - {learned, kept})
    samples = read_classes(learned, how)
    as_those = replace(how, shape=samples.x.shape[1:], white=samples.pixels)
    samples.held_out = read_classes(kept, as_those)
    samples.notes += samples.held_out.notes
    samples.notes.append(
        f"{root}: learned from is {learned.name}, held out is {kept.name}"
        + f"; not used is {listed([p.name for p in unused])}" * bool(unused)
    )
    return samples


def is_divided(folder: Path) -> bool:
    """True if a folder has folders, and no images beside them."""
    found = visible(folder)
    return any(p.is_dir() for p in found) and not any(map(is_image, found))


def read_classes(root: Path, how: Reading) -> Samples:
    """Read the images in the folders of classes.

    Raises
    ------
    Refused
        There are none, or one is damaged or of another size.
    """
    with refusing_damage(root):
        folders = [p for p in visible(root) if p.is_dir()]
        files = [p for folder in folders for p in sorted(folder.iterdir())]
        images = [p for p in files if is_image(p)]
        used = {*images, *(p.parent for p in images)}
        unused = sorted({*root.iterdir(), *files} - used)
    if not images:
        forms = sorted(
            {p.suffix.lower() or p.name for p in files if p.is_file() and not is_hidden(p.name)}
        )
        raise Refused(
            f"{root} has folders, and in them no images of a known form, but {listed(forms)}; "
            f"expected {', '.join(SUFFIXES)}"
            if forms
            else f"{root} has no folders of images; expected one for each class"
        )
    samples = read_images(sources_of(images), how)
    samples.y = np.array([Path(file).parent.name for file in samples.files])
    samples.y_name = "the folder"
    if unused:
        more = f" and {len(unused) - 1} more" if len(unused) > 1 else ""
        expected = f"expected {', '.join(SUFFIXES)}, in a folder of its class"
        samples.notes.append(f"{unused[0]}{more}: left out; {expected}")
    return samples


def images_in(folder: Path) -> Sources:
    """Return the images in a folder and its folders, without those that are hidden."""
    found = sorted(p for p in folder.rglob("*") if is_image(p))
    return sources_of(p for p in found if not any(map(is_hidden, p.relative_to(folder).parts)))


def sources_of(paths: Iterable[Path]) -> Sources:
    return {str(path): path.read_bytes for path in paths}


def visible(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if not is_hidden(p.name))


def is_hidden(name: str) -> bool:
    """True if a file or folder is hidden, by a dot, or is one that systems make."""
    return name.startswith(".") or name in OF_SYSTEMS


def is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not is_hidden(path.name) and path.is_file()


def read_rec(path: Path, how: Reading) -> Samples:
    """Read the images in a RecordIO file, whose index is beside it; their labels are numbers.

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

        names = {f"record {i}": i for i in range(len(file))}
        labels = {name: record(i)[0].label for name, i in names.items()}
        for name, label in labels.items():
            if np.ndim(label):
                raise Refused(f"{name} has {len(label)} labels; expected one")
        samples = read_images({name: lambda i=i: record(i)[1] for name, i in names.items()}, how)
    samples.y, samples.y_name = np.array([labels[name] for name in samples.files]), "label"
    return samples


def read_images(sources: Sources, how: Reading) -> Samples:
    """Read images as arrays of the shape asked for, or of (h, w) if all are gray, else (h, w, 3).

    They are upright: turned as their EXIF data says. Gray ones of 16 bits stay so where all images
    are gray, and become uint8 beside coloured ones.

    Raises
    ------
    Refused
        There are none, some are damaged, or one is of another size than the first.
    """
    if not sources:
        raise Refused("it has no images")
    channels, *size = (image_shape(how.shape) if how.shape else None) or (None,)
    found, broken = decode_all(sources, channels == 1, tuple(size) or how.size, how)
    notes = broken_note(broken, len(sources), how)
    if not found and how.shape:
        return Samples(np.zeros((0, *how.shape)), None, skipped=broken)
    names, white = tuple(found), how.white or white_in([*found.values()])
    x = stacked(found, channels or max(1 if p.ndim == 2 else 3 for p in found.values()), white)
    if how.shape and len(how.shape) == 3:
        x = x.reshape(*x.shape[:3], -1)
        x = np.moveaxis(x, 3, 1) if how.shape[2] > 4 else x  # the channels are before the height
    if white not in (255, DEEP):
        x = x * np.float32(white / 255)
    return Samples(
        x, None, "the images", pixels=white, resized=how.size is not None, files=names,
        skipped=broken, notes=notes,
    )  # fmt: skip


def decode_all(
    sources: Sources, gray: bool, size: tuple[int, ...] | None, how: Reading
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the images by name, and for each unreadable one the reason.

    Raises
    ------
    Refused
        One has another height and width than `size`, or than the first.
    """
    pillow()
    found, broken = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Pillow, about what is odd in a file, and MOST_PIXELS
        for name, read in sources.items():
            try:
                pixels = decoded(name, read, gray, size if how.size else None)
            except Broken as error:
                broken[name] = str(error)
                continue
            size = size or pixels.shape[:2]
            if pixels.shape[:2] != size:
                raise Refused(wrong_size(name, pixels, size, how))
            found[name] = pixels
    return found, broken


class Broken(Refused):
    """The bytes of one file are no image, or a damaged one."""


def decoded(name: str, read: Callable, gray: bool, size: tuple[int, ...] | None) -> np.ndarray:
    """Return an upright image (h, w) or (h, w, 3) of uint8, or (h, w) of uint16.

    Raises
    ------
    Broken
        The file is no image of a known form, is damaged, or has too many pixels or other ones.
    """
    Image, ImageOps = pillow()
    try:
        with Image.open(io.BytesIO(read()), formats=FORMATS) as image:
            expect_pixels(name, image)
            ImageOps.exif_transpose(image, in_place=True)
            if image.mode not in GRAY_16:
                image = image.convert("L" if gray or image.mode in GRAY else "RGB")
            if size and image.size != size[::-1]:
                image = image.resize(size[::-1], Image.Resampling.BICUBIC)
            pixels = np.array(image)
            return pixels.astype("uint16") if image.mode in GRAY_16 else pixels
    except (Broken, MemoryError):
        raise
    except Image.UnidentifiedImageError as error:
        raise Broken(f"{name} is no image; expected one of {', '.join(FORMATS)}") from error
    except Image.DecompressionBombError as error:
        raise Broken(f"{name}: {error}") from error
    except Exception as error:  # Pillow raises many kinds for damaged files
        reason = getattr(error, "strerror", None) or one_line(error, 200) or type(error).__name__
        raise Broken(f"{name} cannot be read: {reason}") from error


def expect_pixels(name: str, image: Any) -> None:
    """Refuse an image by the head of its file, before anything else is decoded.

    Raises
    ------
    Broken
        It has too many pixels, or pixels of a kind that is not read.
    """
    if image.width * image.height > MOST_PIXELS:
        raise Broken(
            f"{name} says that it has {image.width} x {image.height} pixels; expected up to "
            f"{MOST_PIXELS:,}"
        )
    if image.mode not in GRAY + GRAY_16 + COLOURED:
        raise Broken(
            f"{name} has pixels of kind {image.mode}; expected 8 bits for each colour, "
            "or 16 of gray"
        )


def wrong_size(name: str, pixels: np.ndarray, expected: tuple[int, ...], how: Reading) -> str:
    (height, width), (rows, columns) = pixels.shape[:2], expected
    reason = (
        "as the others; or --image-size, to which all are resized"
        if how.labelled
        else "as the network was trained with; it would resize images if it had been trained with "
        "--image-size"
    )
    return f"{name} has {width} x {height} pixels; expected {columns} x {rows}, {reason}"


def broken_note(broken: Mapping[str, str], count: int, how: Reading) -> list[str]:
    """Return a line about the images that are left out, if there are some.

    Raises
    ------
    Refused
        There are some, which are not to be left out, or no others.
    """
    if not broken:
        return []
    first, *others = broken.values()
    if how.skip_broken and not how.labelled:
        return []  # of a prediction, which tells it of all images together
    if how.skip_broken and len(broken) < count:
        more = f" and {len(others)} more" if others else ""
        return [f"{len(broken)} of {count} images are broken and left out, as config.json lists: "
                f"{next(iter(broken))}{more}"]  # fmt: skip
    hint = "; --skip-broken leaves them out" * (len(broken) < count)
    if not others:
        raise Refused(first + hint.replace("them", "it"))
    more = f" and {len(broken) - TOLD} more" if len(broken) > TOLD else ""
    names = ", ".join([*broken][:TOLD]) + more
    raise Refused(f"{len(broken)} of {count} images are broken: {names}: {first}{hint}")


def white_in(found: list[np.ndarray]) -> int:
    deep = all(p.ndim == 2 for p in found) and any(p.dtype == np.uint16 for p in found)
    return DEEP if deep else 255


def stacked(found: dict[str, np.ndarray], channels: int, white: int) -> np.ndarray:
    """Return the images as one array; they leave `found`, so that none is in memory twice."""
    first = next(iter(found.values()))
    shape = (*first.shape[:2], channels)[: 2 if channels == 1 else 3]
    x = np.empty((len(found), *shape), "uint16" if white == DEEP else "uint8")
    for i, name in enumerate([*found]):
        pixels = found.pop(name)
        if pixels.dtype != x.dtype:
            pixels = pixels // 257 if x.dtype == np.uint8 else pixels.astype("uint16") * 257
        x[i] = pixels if pixels.ndim == len(shape) else pixels[..., None]
    return x
