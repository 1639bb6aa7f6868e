"""Changes of an image together with the boxes of the objects in it, and batches of both.

A label is an array (objects, 5 or more): the class, xmin, ymin, xmax, ymax as parts of the image's
width and height, and whatever else a data set has.
"""

from __future__ import annotations

import logging
import os
import random
import warnings
from collections.abc import Iterator
from contextlib import suppress
from math import sqrt
from typing import Any

import numpy as np

from .. import ndarray as nd
from .. import recordio
from ..base import ArgumentError, MXNetError, UnsupportedError
from ..io import DataDesc
from ..ndarray import NDArray
from ._augmenters import (
    MEAN,
    STD,
    Augmenter,
    CastAug,
    ColorNormalizeAug,
    Dumped,
    ForceResizeAug,
    ResizeAug,
    channel_values,
    check_data_shape,
    colour_augmenters,
)
from ._boxes import bad_label, split_label
from ._functions import copyMakeBorder, fixed_crop
from ._iterator import ImageIter, InvalidImageError

__all__ = [
    "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter",
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
    "ImageDetIter",
]

Box = tuple[int, int, int, int]  # x, y, width, height in pixels


class DetAugmenter(Dumped):
    """The base of changes: ``augmenter(src, label)`` gives the changed image and label.

    Parameters
    ----------
    kwargs
        What `dumps` tells.
    """

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        raise NotImplementedError(f"{type(self).__name__}.__call__")


class DetBorrowAug(DetAugmenter):
    """An augmenter of images that leaves objects where they are.

    Raises
    ------
    ArgumentError
        It is no augmenter.
    """

    def __init__(self, augmenter: Augmenter):
        if not isinstance(augmenter, Augmenter):
            raise ArgumentError(f"DetBorrowAug: {augmenter!r}\n  expected an Augmenter")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> list:
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters, drawn for each image; or none.

    Parameters
    ----------
    aug_list : DetAugmenter or list of DetAugmenter
    skip_prob : float
        The probability of none.

    Raises
    ------
    ArgumentError
        Something else is in the list.
    """

    def __init__(self, aug_list, skip_prob: float = 0):
        super().__init__(skip_prob=skip_prob)
        aug_list = aug_list if isinstance(aug_list, (list, tuple)) else [aug_list]
        for augmenter in aug_list:
            if not isinstance(augmenter, DetAugmenter):
                raise ArgumentError(
                    f"DetRandomSelectAug: {augmenter!r} is in the list\n  expected DetAugmenter"
                )
        self.aug_list = list(aug_list)
        self.skip_prob = skip_prob if aug_list else 1

    def dumps(self) -> list:
        return [type(self).__name__.lower(), [each.dumps() for each in self.aug_list]]

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """The image mirrored left to right, with probability `p`; the label is written into."""

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        if random.random() < self.p:
            src = nd.flip(src, axis=1)
            label[:, [1, 3]] = 1.0 - label[:, [3, 1]]
        return src, label


def _areas(boxes: np.ndarray) -> np.ndarray:
    """The areas (n,) of boxes (n, 4): xmin, ymin, xmax, ymax."""
    return np.maximum(0, boxes[:, 2] - boxes[:, 0]) * np.maximum(0, boxes[:, 3] - boxes[:, 1])


def _pair(value, name: str) -> tuple[float, float]:
    """A range; a number is both ends of it."""
    if isinstance(value, (tuple, list)):
        return tuple(value)
    logging.info("Using fixed %s: %s", name, value)
    return (value, value)


class _RandomBox(DetAugmenter):
    """Draws a box, with an area and proportions between limits, until one fits."""

    least_area = 0.0  # the largest area of the range has to be above

    def __init__(self, aspect_ratio_range, area_range, max_attempts: int, **others):
        aspect_ratio_range = _pair(aspect_ratio_range, "aspect ratio")
        area_range = _pair(area_range, "area range")
        ranges = {"aspect_ratio_range": aspect_ratio_range, "area_range": area_range}
        super().__init__(**self._in_order(max_attempts=max_attempts, **ranges, **others))
        self.aspect_ratio_range, self.area_range = aspect_ratio_range, area_range
        self.max_attempts = max_attempts
        self.enabled = True
        if area_range[1] <= self.least_area or area_range[0] > area_range[1]:
            self._disable("area_range", area_range)
        elif aspect_ratio_range[0] <= 0 or aspect_ratio_range[0] > aspect_ratio_range[1]:
            self._disable("aspect_ratio_range", aspect_ratio_range)

    def _in_order(self, **arguments) -> dict:
        """The arguments in the order in which `dumps` has them."""
        return arguments

    def _disable(self, name: str, value) -> None:
        self.enabled = False
        message = f"{type(self).__name__} is skipped: its {name} is {value}, an invalid one"
        warnings.warn(message, stacklevel=4)

    def _attempts(self, height: int, width: int) -> Iterator[tuple[float, float, float]]:
        """A drawn width by height, and the limits of the area in pixels, for each attempt."""
        if self.enabled and height > 0 and width > 0:
            least, most = (ratio * height * width for ratio in self.area_range)
            for _ in range(self.max_attempts):
                ratio = random.uniform(*self.aspect_ratio_range)
                if ratio > 0:
                    yield ratio, least, most


class DetRandomCropAug(_RandomBox):
    """A part of the image that has enough of the objects; the image where no such part is found.

    Parameters
    ----------
    min_object_covered : float
        The least part of each object that is touched that the crop has to have.
    aspect_ratio_range : (float, float)
        The crop's width by its height.
    area_range : (float, float)
        The crop's part of the image's area.
    min_eject_coverage : float
        An object of which the crop has not more than this part is left out of the label.
    max_attempts : int
    """

    def __init__(
        self,
        min_object_covered=0.1,
        aspect_ratio_range=(0.75, 1.33),
        area_range=(0.05, 1.0),
        min_eject_coverage=0.3,
        max_attempts=50,
    ):
        self.min_object_covered, self.min_eject_coverage = min_object_covered, min_eject_coverage
        super().__init__(aspect_ratio_range, area_range, max_attempts)

    def _in_order(self, **arguments) -> dict:
        return {
            "min_object_covered": self.min_object_covered,
            "aspect_ratio_range": arguments["aspect_ratio_range"],
            "area_range": arguments["area_range"],
            "min_eject_coverage": self.min_eject_coverage,
            "max_attempts": arguments["max_attempts"],
        }

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        height, width = src.shape[:2]
        for ratio, least, most in self._attempts(height, width):
            size = self._size(ratio, least, most, height, width)
            if size is None:
                continue
            w, h = size
            y, x = random.randint(0, height - h), random.randint(0, width - w)
            if self._covers_enough(label, (x, y, w, h), height, width):
                cropped = self._cropped(label, (x, y, w, h), height, width)
                if len(cropped):
                    return fixed_crop(src, x, y, w, h), cropped
        return src, label

    @staticmethod
    def _size(ratio, least, most, height, width) -> tuple[int, int] | None:
        """A drawn width and height; None where what is drawn does not fit."""
        tallest = round(sqrt(most / ratio))
        if round(tallest * ratio) > width:
            tallest = int((width + 0.4999999) / ratio)
        tallest = min(tallest, height)
        h = min(round(sqrt(least / ratio)), tallest)
        if h < tallest:
            h = random.randint(h, tallest)
        if round(h * ratio) * h < least:  # rounded to less than it may have
            h += 1
        if round(h * ratio) * h > most:
            h -= 1
        w = round(h * ratio)
        return (w, h) if least <= w * h <= most and 0 <= w <= width and 0 <= h <= height else None

    def _covers_enough(self, label: np.ndarray, box: Box, height: int, width: int) -> bool:
        x, y, w, h = box
        if w * h < 2:
            return False
        objects = label[:, 1:5]
        objects = objects[_areas(objects) * width * height > 2]
        low = np.maximum(objects[:, :2], (x / width, y / height))
        high = np.minimum(objects[:, 2:], ((x + w) / width, (y + h) / height))
        covered = _areas(np.concatenate([low, high], 1)) / _areas(objects)
        covered = covered[covered > 0]
        return len(covered) > 0 and covered.min() > self.min_object_covered

    def _cropped(self, label: np.ndarray, box: Box, height: int, width: int) -> np.ndarray:
        """The label of a part of the image."""
        x, y, w, h = box[0] / width, box[1] / height, box[2] / width, box[3] / height
        found = label.copy()
        found[:, 1:5] = np.clip((label[:, 1:5] - (x, y, x, y)) / (w, h, w, h), 0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):  # objects without an area
            coverage = _areas(found[:, 1:5]) * (w * h) / _areas(label[:, 1:5])
        return found[(_areas(found[:, 1:5]) > 0) & (coverage > self.min_eject_coverage)]


class DetRandomPadAug(_RandomBox):
    """The image somewhere in a larger one.

    Parameters
    ----------
    aspect_ratio_range : (float, float)
        The larger image's width by its height.
    area_range : (float, float)
        Its area by that of the image.
    max_attempts : int
        Where none of so many draws has room for the image, it stays as it is.
    pad_val : number or sequence of numbers
        What is around the image.
    """

    least_area = 1.0

    def __init__(
        self,
        aspect_ratio_range=(0.75, 1.33),
        area_range=(1.0, 3.0),
        max_attempts=50,
        pad_val=(128, 128, 128),
    ):
        self.pad_val = pad_val
        super().__init__(aspect_ratio_range, area_range, max_attempts)

    def _in_order(self, **arguments) -> dict:
        names = "aspect_ratio_range", "area_range", "max_attempts"
        return {name: arguments[name] for name in names} | {"pad_val": self.pad_val}

    def __call__(self, src: NDArray, label: np.ndarray) -> tuple[NDArray, np.ndarray]:
        height, width = src.shape[:2]
        for ratio, least, most in self._attempts(height, width):
            h, tallest = round(sqrt(least / ratio)), round(sqrt(most / ratio))
            if round(h * ratio) < width:
                h = int((width + 0.499999) / ratio)
            h = min(max(h, height), tallest)
            if h < tallest:
                h = random.randint(h, tallest)
            w = round(h * ratio)
            if h - height < 2 or w - width < 2:  # hardly a border
                continue
            y, x = random.randint(0, h - height), random.randint(0, w - width)
            values = self.pad_val if isinstance(self.pad_val, (tuple, list)) else ()
            value = 0 if values else self.pad_val
            margins = y, h - y - height, x, w - x - width
            padded = label.copy()
            padded[:, [1, 3]] = (label[:, [1, 3]] * width + x) / w
            padded[:, [2, 4]] = (label[:, [2, 4]] * height + y) / h
            return copyMakeBorder(src, *margins, value=value, values=values), padded
        return src, label


def CreateMultiRandCropAugmenter(
    min_object_covered=0.1,
    aspect_ratio_range=(0.75, 1.33),
    area_range=(0.05, 1.0),
    min_eject_coverage=0.3,
    max_attempts=50,
    skip_prob=0,
) -> DetRandomSelectAug:
    """One of several `DetRandomCropAug`, drawn for each image.

    Where an argument is a list, there are as many; what is no list is the same for all.

    Raises
    ------
    ArgumentError
        The lists are not of one length.
    """
    arguments = {
        "min_object_covered": min_object_covered,
        "aspect_ratio_range": aspect_ratio_range,
        "area_range": area_range,
        "min_eject_coverage": min_eject_coverage,
        "max_attempts": max_attempts,
    }
    lists = {name: v if isinstance(v, list) else [v] for name, v in arguments.items()}
    count = max(map(len, lists.values()))
    for name, values in lists.items():
        if len(values) not in (1, count):
            raise ArgumentError(
                f"CreateMultiRandCropAugmenter: {name} has {len(values)} values\n"
                f"  expected 1 or {count}, as another argument has"
            )
    crops = [
        DetRandomCropAug(**{name: values[i % len(values)] for name, values in lists.items()})
        for i in range(count)
    ]
    return DetRandomSelectAug(crops, skip_prob)


def CreateDetAugmenter(
    data_shape,
    resize=0,
    rand_crop=0,
    rand_pad=0,
    rand_gray=0,
    rand_mirror=False,
    mean=None,
    std=None,
    brightness=0,
    contrast=0,
    saturation=0,
    pca_noise=0,
    hue=0,
    inter_method=2,
    min_object_covered=0.1,
    aspect_ratio_range=(0.75, 1.33),
    area_range=(0.05, 3.0),
    min_eject_coverage=0.3,
    max_attempts=50,
    pad_val=(127, 127, 127),
) -> list[DetAugmenter]:
    """The augmenters that make images of `data_shape` (c, h, w), and labels, for a detector.

    Parameters
    ----------
    resize : int
        Resize the shorter side to it first; 0 for not.
    rand_crop, rand_pad : float
        The probabilities of a crop, and of a border.
    rand_gray : float
        The probability of a gray image.
    rand_mirror : bool
        Exchange left and right of every second image.
    mean, std : array, True or None
        To normalize by; True for ImageNet's.
    brightness, contrast, saturation, pca_noise, hue
        As in `CreateAugmenter`.
    inter_method : int
        How to resize.
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        Of crops and borders; lists make several crops of which one is drawn.
    pad_val : sequence of numbers
        What is around an image with a border.

    Raises
    ------
    ArgumentError
        `data_shape` is not three numbers, the lists are not of one length, or `mean` or `std` is
        no such array.
    """
    check_data_shape("CreateDetAugmenter", data_shape)
    augmenters: list[DetAugmenter] = []
    if resize > 0:
        augmenters.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        augmenters.append(
            CreateMultiRandCropAugmenter(
                min_object_covered,
                aspect_ratio_range,
                area_range,
                min_eject_coverage,
                max_attempts,
                skip_prob=1 - rand_crop,
            )
        )
    if rand_mirror:
        augmenters.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        augmenters.append(DetRandomSelectAug([pad], 1 - rand_pad))
    plain: list[Augmenter] = [
        ForceResizeAug((data_shape[2], data_shape[1]), inter_method),
        CastAug(),
        *colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray),
    ]
    mean = channel_values("CreateDetAugmenter: mean", mean, np.array(MEAN))
    std = channel_values("CreateDetAugmenter: std", std, np.array(STD))
    if mean is not None or std is not None:
        plain.append(ColorNormalizeAug(mean, std))
    return augmenters + [DetBorrowAug(each) for each in plain]


class ImageDetIter(ImageIter):
    """Batches of images with the boxes of their objects.

    In a record or a list, a label is: how many numbers its header has (2 or more), how many each
    object has (5 or more), the rest of the header, and the objects. In a batch it is (batch_size,
    the most objects of any image, numbers of an object), -1 where there are no more objects.

    Parameters
    ----------
    aug_list : list of DetAugmenter, optional
        By default what `CreateDetAugmenter` makes of `kwargs`.
    batch_size, data_shape, path_imgrec, path_imglist, path_root, path_imgidx, shuffle, part_index
        As those of `ImageIter`, and the others too.

    Raises
    ------
    ArgumentError
        There are no images, or something else is asked for than is here.
    MXNetError
        An image has no label of this kind.
    """

    def __init__(
        self,
        batch_size,
        data_shape,
        path_imgrec=None,
        path_imglist=None,
        path_root=None,
        path_imgidx=None,
        shuffle=False,
        part_index=0,
        num_parts=1,
        aug_list=None,
        imglist=None,
        data_name="data",
        label_name="label",
        last_batch_handle="pad",
        **kwargs,
    ):
        super().__init__(
            batch_size,
            data_shape,
            path_imgrec=path_imgrec,
            path_imglist=path_imglist,
            path_root=path_root,
            path_imgidx=path_imgidx,
            shuffle=shuffle,
            part_index=part_index,
            num_parts=num_parts,
            aug_list=[],
            imglist=imglist,
            data_name=data_name,
            label_name=label_name,
            last_batch_handle=last_batch_handle,
        )
        self.auglist = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.label_shape = self._largest_label()
        self.provide_label = [DataDesc(label_name, (batch_size, *self.label_shape))]

    def _largest_label(self) -> tuple[int, int]:
        """The most objects of an image, and the numbers of an object."""
        self.reset()
        shapes = [self._parse_label(label).shape for label in self._stored_labels()]
        self.reset()
        if not shapes:
            where = "the list" if self.imgrec is None else repr(os.fsdecode(self.imgrec.uri))
            raise self._wrong(f"there are no images in {where}", "at least one")
        return max(count for count, _ in shapes), shapes[-1][1]

    def _stored_labels(self) -> Iterator[Any]:
        """The label of each image. Images are not read, unless a subclass has a `next_sample`."""
        if type(self).next_sample is not ImageIter.next_sample:
            with suppress(StopIteration):
                while True:
                    yield self.next_sample()[0]
        elif self.seq is not None and self.imglist is not None:
            for key in self.seq:
                self.cur += 1
                yield self.imglist[key][0]
        else:
            reader, index = self.imgrec._reader, self.imgrec
            offsets = reader.offsets() if self.seq is None else [index.idx[k] for k in self.seq]
            for offset in offsets:
                self.cur += 1
                with self._broken_record():
                    header = recordio._header_at(reader, offset)
                yield header.label

    def _parse_label(self, label) -> np.ndarray:
        """The objects (n, numbers of each) that have an area, of a label as it is stored."""
        label = label.asnumpy() if isinstance(label, NDArray) else np.asarray(label)
        _, found = split_label(label, self._label_name(), InvalidImageError)
        found = found[(found[:, 3] > found[:, 1]) & (found[:, 4] > found[:, 2])]
        if not len(found):
            raise self._invalid(label, "an object with an area")
        return found

    def _label_name(self) -> str:
        return f"{type(self).__name__}: {self._located()}"

    def _invalid(self, label: np.ndarray, expected: str) -> MXNetError:
        return bad_label(label, self._label_name(), expected, InvalidImageError)

    def _empty_labels(self) -> np.ndarray:
        return np.full(self.provide_label[0].shape, -1, np.float32)

    def _put(
        self, data: NDArray, label: np.ndarray, at: int, image: NDArray, raw_label: Any
    ) -> None:
        image, objects = self.augmentation_transform(image, self._parse_label(raw_label))
        if (
            objects.ndim != 2
            or objects.shape[1] < 5
            or not (
                (objects[:, 0] >= 0)
                & (objects[:, 3] > objects[:, 1])
                & (objects[:, 4] > objects[:, 2])
            ).any()
        ):
            raise self._invalid(objects, "an object with an area and a class after augmentation")
        most, width = label.shape[1:]
        if len(objects) > most or objects.shape[1] != width:
            raise self._wrong(
                f"{self._located()} has {objects.shape[0]} objects of {objects.shape[1]} numbers",
                f"at most {most} of {width}, as label_shape says",
            )
        data[at] = self.postprocess_data(image)
        label[at] = -1
        label[at, : len(objects)] = objects

    def augmentation_transform(self, data: NDArray, label: np.ndarray):
        """Apply all augmenters to an image and its label."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def reshape(self, data_shape=None, label_shape=None) -> None:
        """Set the shape of images, or of labels, or both.

        Raises
        ------
        ArgumentError
            There is no such shape.
        """
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.data_shape = tuple(data_shape)
            name = self.provide_data[0].name
            self.provide_data = [DataDesc(name, (self.batch_size, *data_shape))]
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.label_shape = tuple(label_shape)
            name = self.provide_label[0].name
            self.provide_label = [DataDesc(name, (self.batch_size, *label_shape))]

    def check_label_shape(self, label_shape) -> None:
        """Check that labels can have a shape.

        Raises
        ------
        ArgumentError
            They cannot: there are images with more objects, or objects have other numbers.
        """
        most, width = self.label_shape
        if len(label_shape) != 2 or label_shape[0] < most or label_shape[1] != width:
            raise self._wrong(
                f"label_shape is {tuple(label_shape)}", f"at least {most} objects of {width}"
            )

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Give this and another iterator the larger label shape of both; returns the other.

        Raises
        ------
        ArgumentError
            The other is no such iterator, or its objects have other numbers.
        """
        if not isinstance(it, ImageDetIter) or it.label_shape[1] != self.label_shape[1]:
            shape = getattr(it, "label_shape", None)
            raise self._wrong(
                f"the other is {type(it).__name__} of label_shape {shape}",
                f"an ImageDetIter with objects of {self.label_shape[1]} numbers",
            )
        shape = max(self.label_shape[0], it.label_shape[0]), self.label_shape[1]
        if verbose and self.label_shape != it.label_shape:
            logging.info("Resized label_shape to (%d, %d).", *shape)
        for each in (self, it):
            each.reshape(None, shape)
        return it

    def draw_next(
        self,
        color=None,
        thickness=2,
        mean=None,
        std=None,
        clip=True,
        waitKey=None,
        window_name="draw_next",
        id2labels=None,
    ) -> Iterator[np.ndarray]:
        """The images, augmented, with the boxes of their objects drawn: (h, w, 3), BGR, of uint8.

        Parameters
        ----------
        color : (int, int, int), optional
            RGB; drawn by `numpy.random` for each box where there is none.
        thickness : int
            In pixels.
        mean, std : array or True, optional
            What images were normalized by.
        clip : bool
            Limit pixels to 0 to 255.
        waitKey : int, optional
            Show each image in a window, for so many milliseconds; 0 until a key is pressed. This
            needs OpenCV.
        window_name : str
        id2labels : dict, optional
            Names of classes to be written into the boxes.

        Raises
        ------
        UnsupportedError
            A window is asked for without OpenCV.
        """
        show = _window(window_name, waitKey) if waitKey is not None else None
        while True:
            try:
                label, encoded = self.next_sample()
            except StopIteration:
                return
            image = self.imdecode(encoded)
            try:
                self._check(image)
                label = self._parse_label(label)
            except InvalidImageError as error:
                logging.debug("Invalid image, skipping:  %s", error)
                continue
            image, label = self.augmentation_transform(image, label)
            pixels = image.asnumpy().astype(np.float32)
            pixels *= np.array(STD if std is True else 1 if std is None else std)
            pixels += np.array(MEAN if mean is True else 0 if mean is None else mean)
            drawn = (pixels.clip(0, 255) if clip else pixels).astype(np.uint8)
            drawn = _with_boxes(drawn, label, color, thickness, id2labels or {})
            drawn = np.ascontiguousarray(drawn[..., ::-1])
            if show is not None:
                show(drawn)
            yield drawn


def _with_boxes(image: np.ndarray, label: np.ndarray, color, thickness: int, names) -> np.ndarray:
    """An image RGB with boxes and names of classes drawn into it."""
    from PIL import Image, ImageDraw

    drawn = Image.fromarray(image)
    draw = ImageDraw.Draw(drawn)
    height, width = image.shape[:2]
    for class_id, *box in label[:, :5]:
        if box[0] < 0:
            continue
        corners = [int(coordinate * size) for coordinate, size in zip(box, (width, height) * 2)]
        chosen = tuple(color) if color else tuple(np.random.randint(0, 255, 3).tolist())
        draw.rectangle(corners, outline=chosen, width=thickness)
        if int(class_id) in names:
            draw.text((corners[0] + 5, corners[1] + 5), str(names[int(class_id)]), (255, 255, 255))
    return np.array(drawn)


def _window(name: str, milliseconds: int):
    """A function that shows an image."""
    try:
        import cv2
    except ImportError as error:
        raise UnsupportedError(
            f"draw_next: {error}\n  expected OpenCV for a window, or waitKey=None"
        ) from None

    def show(image: np.ndarray) -> None:
        cv2.imshow(name, image)
        cv2.waitKey(milliseconds)

    return show
