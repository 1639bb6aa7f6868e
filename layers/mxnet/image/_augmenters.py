"""Changes of an image, most of them drawn by `random`; those that compute need a CastAug before."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .. import ndarray as nd
from .._table import colours
from ..base import ArgumentError, DTypeError
from ..ndarray import NDArray
from ._functions import (
    _get_interp_method,
    center_crop,
    color_normalize,
    imresize,
    random_crop,
    random_size_crop,
    resize_short,
)

__all__ = [
    "Augmenter",
    "BrightnessJitterAug",
    "CastAug",
    "CenterCropAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "CreateAugmenter",
    "ForceResizeAug",
    "HorizontalFlipAug",
    "HueJitterAug",
    "LightingAug",
    "RandomCropAug",
    "RandomGrayAug",
    "RandomOrderAug",
    "RandomSizedCropAug",
    "ResizeAug",
    "SaturationJitterAug",
    "SequentialAug",
]

# Means and standard deviations of ImageNet's pixels.
MEAN, STD = (123.68, 116.28, 103.53), (58.395, 57.12, 57.375)


def described(value: Any) -> Any:
    """An argument as JSON can have it: arrays as lists."""
    value = value.asnumpy() if isinstance(value, NDArray) else value
    return value.tolist() if isinstance(value, np.ndarray) else value


class Dumped:
    """The base of augmenters, of images and of images with objects, which `dumps` describes."""

    def __init__(self, **kwargs):
        self._kwargs = {name: described(value) for name, value in kwargs.items()}

    def dumps(self) -> str:
        """The name of the class and its arguments, as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])


class Augmenter(Dumped):
    """The base of changes of an image: ``augmenter(src)`` gives the changed one.

    Parameters
    ----------
    kwargs
        What `dumps` tells.
    """

    def __call__(self, src: NDArray) -> NDArray:
        raise NotImplementedError(f"{type(self).__name__}.__call__")


class SequentialAug(Augmenter):
    """Augmenters that are applied one after another."""

    def __init__(self, ts):
        super().__init__()
        self.ts = ts

    def dumps(self) -> list:
        return [type(self).__name__.lower(), [each.dumps() for each in self.ts]]

    def __call__(self, src: NDArray) -> NDArray:
        for each in self.ts:
            src = each(src)
        return src


class RandomOrderAug(SequentialAug):
    """Augmenters that are applied in an order that is drawn for each image."""

    def __call__(self, src: NDArray) -> NDArray:
        random.shuffle(self.ts)
        return super().__call__(src)


class ResizeAug(Augmenter):
    """`resize_short` to `size`."""

    def __init__(self, size: int, interp: int = 2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(Augmenter):
    """`imresize` to `size` (w, h), whatever the proportions."""

    def __init__(self, size, interp: int = 2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        w, h = self.size
        return imresize(src, w, h, _get_interp_method(self.interp, (*src.shape[:2], h, w)))


class RandomCropAug(Augmenter):
    """`random_crop` to `size` (w, h)."""

    def __init__(self, size, interp: int = 2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """`random_size_crop` to `size` (w, h).

    Raises
    ------
    ArgumentError
        There is another argument than these and MXNet's older `min_area`.
    """

    def __init__(self, size, area, ratio, interp: int = 2, **kwargs):
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size, self.area, self.ratio, self.interp = size, area, ratio, interp
        if "min_area" in kwargs:
            self.area = kwargs.pop("min_area")
        if kwargs:
            raise ArgumentError(f"RandomSizedCropAug: unexpected keyword arguments {[*kwargs]}")

    def __call__(self, src: NDArray) -> NDArray:
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(Augmenter):
    """`center_crop` to `size` (w, h)."""

    def __init__(self, size, interp: int = 2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: NDArray) -> NDArray:
        return center_crop(src, self.size, self.interp)[0]


def _drawn_factor(span: float) -> float:
    return 1.0 + random.uniform(-span, span)


def _floats(src: NDArray) -> torch.Tensor:
    """The tensor of an image of floats."""
    if not src._tensor.is_floating_point():
        raise DTypeError(
            f"augmenter: the image is of {np.dtype(src.dtype)}\n"
            "  expected float32, which CastAug gives"
        )
    return src._tensor


def _recoloured(src: NDArray, change: Callable, *args) -> NDArray:
    """Write the image with other colours into `src`."""
    src[:] = NDArray(change(_floats(src), *args), src.context)
    return src


class BrightnessJitterAug(Augmenter):
    """src a, written into `src`, with a drawn from 1 - brightness to 1 + brightness.

    Raises
    ------
    DTypeError
        The image is not of floats, which `CastAug` gives.
    """

    def __init__(self, brightness: float):
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: NDArray) -> NDArray:
        return _recoloured(src, colours.brightness, _drawn_factor(self.brightness))


class ContrastJitterAug(Augmenter):
    """src a + (1 - a) g, written into `src`, where g is the image's mean brightness.

    a is drawn from 1 - contrast to 1 + contrast.

    Raises
    ------
    DTypeError
        The image is not of floats, which `CastAug` gives.
    """

    def __init__(self, contrast: float):
        super().__init__(contrast=contrast)
        self.contrast = contrast

    def __call__(self, src: NDArray) -> NDArray:
        return _recoloured(src, colours.contrast, _drawn_factor(self.contrast))


class SaturationJitterAug(Augmenter):
    """src a + (1 - a) g, written into `src`, where g is each pixel's brightness.

    a is drawn from 1 - saturation to 1 + saturation.

    Raises
    ------
    DTypeError
        The image is not of floats, which `CastAug` gives.
    """

    def __init__(self, saturation: float):
        super().__init__(saturation=saturation)
        self.saturation = saturation

    def __call__(self, src: NDArray) -> NDArray:
        return _recoloured(src, colours.saturation, _drawn_factor(self.saturation))


class HueJitterAug(Augmenter):
    """Colours turned about the axis of gray, in YIQ, by pi a, with a from -hue to hue.

    Raises
    ------
    DTypeError
        The image is not of floats, which `CastAug` gives.
    """

    def __init__(self, hue: float):
        super().__init__(hue=hue)
        self.hue = hue

    def __call__(self, src: NDArray) -> NDArray:
        angle = random.uniform(-self.hue, self.hue) * math.pi
        return NDArray(colours.hue_in_yiq(_floats(src), angle), src.context)


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation, in an order that is drawn; those of 0 are left out.

    Raises
    ------
    DTypeError
        The image is not of floats, which `CastAug` gives.
    """

    def __init__(self, brightness: float, contrast: float, saturation: float):
        ts: list[Augmenter] = []
        if brightness > 0:
            ts.append(BrightnessJitterAug(brightness))
        if contrast > 0:
            ts.append(ContrastJitterAug(contrast))
        if saturation > 0:
            ts.append(SaturationJitterAug(saturation))
        super().__init__(ts)


class LightingAug(Augmenter):
    """A colour added to all pixels, written into `src`: eigvec (a eigval).

    a has three numbers that `numpy.random` draws from a normal distribution.

    Parameters
    ----------
    alphastd : float
        Its standard deviation.
    eigval : (3,)
    eigvec : (3, 3)

    Raises
    ------
    DTypeError
        The image is not of floats, which `CastAug` gives.
    """

    def __init__(self, alphastd: float, eigval, eigvec):
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def __call__(self, src: NDArray) -> NDArray:
        alpha = torch.from_numpy(np.random.normal(0, self.alphastd, size=(3,)))
        return _recoloured(src, colours.lighting, alpha, self.eigval, self.eigvec)


class ColorNormalizeAug(Augmenter):
    """`color_normalize`: (src - mean) / std, written into `src`; what is None is left out."""

    def __init__(self, mean, std):
        super().__init__(mean=mean, std=std)
        self.mean = mean if mean is None or isinstance(mean, NDArray) else nd.array(mean)
        self.std = std if std is None or isinstance(std, NDArray) else nd.array(std)

    def __call__(self, src: NDArray) -> NDArray:
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """The image in gray, with probability `p`."""

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3])

    def __call__(self, src: NDArray) -> NDArray:
        return nd.dot(src, self.mat) if random.random() < self.p else src


class HorizontalFlipAug(Augmenter):
    """The image mirrored left to right, with probability `p`."""

    def __init__(self, p: float):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray) -> NDArray:
        return nd.flip(src, axis=1) if random.random() < self.p else src


class CastAug(Augmenter):
    """The image in the dtype `typ`."""

    def __init__(self, typ="float32"):
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: NDArray) -> NDArray:
        return src.astype(self.typ)


def colour_augmenters(
    brightness: float, contrast: float, saturation: float, hue: float, pca_noise: float, gray: float
) -> list[Augmenter]:
    """The augmenters of the colours whose amounts are not 0."""
    found: list[Augmenter] = []
    if brightness or contrast or saturation:
        found.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        found.append(HueJitterAug(hue))
    if pca_noise > 0:
        found.append(LightingAug(pca_noise, np.array(colours.EIGVAL), np.array(colours.EIGVEC)))
    if gray > 0:
        found.append(RandomGrayAug(gray))
    return found


def channel_values(name: str, given, default):
    """An array with a value for each channel, the default for True, None for None."""
    if given is True:
        return default
    shape = getattr(given, "shape", None)
    if given is not None and (
        not isinstance(given, (np.ndarray, NDArray)) or shape[0] not in (1, 3)
    ):
        raise ArgumentError(
            f"{name} is {given!r}\n  expected True, None, or an array of 1 or 3 values"
        )
    return given


def check_data_shape(function: str, data_shape) -> None:
    """Refuse what is not (channels, height, width)."""
    if len(data_shape) != 3:
        raise ArgumentError(
            f"{function}: data_shape is {data_shape}\n"
            "  expected three numbers: channels, height, width"
        )


def CreateAugmenter(
    data_shape,
    resize=0,
    rand_crop=False,
    rand_resize=False,
    rand_mirror=False,
    mean=None,
    std=None,
    brightness=0,
    contrast=0,
    saturation=0,
    hue=0,
    pca_noise=0,
    rand_gray=0,
    inter_method=2,
) -> list[Augmenter]:
    """The augmenters that make images of `data_shape` (c, h, w) for a classifier.

    Parameters
    ----------
    resize : int
        Resize the shorter side to it first; 0 for not.
    rand_crop, rand_resize : bool
        Crop at random, and parts of random sizes too; else the middle.
    rand_mirror : bool
        Exchange left and right of every second image.
    mean, std : array, True or None
        To normalize by; True for ImageNet's.
    brightness, contrast, saturation, hue : float
        How far to change them.
    pca_noise : float
        The standard deviation of `LightingAug`.
    rand_gray : float
        The probability of a gray image.
    inter_method : int
        How to resize.

    Raises
    ------
    ArgumentError
        `data_shape` is not three numbers, `rand_resize` goes without `rand_crop`, or `mean` or
        `std` is no such array.
    """
    check_data_shape("CreateAugmenter", data_shape)
    augmenters: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    size = (data_shape[2], data_shape[1])
    if rand_resize:
        if not rand_crop:
            raise ArgumentError(
                "CreateAugmenter: rand_resize is given without rand_crop\n  expected both"
            )
        ratio = (3.0 / 4.0, 4.0 / 3.0)
        augmenters.append(RandomSizedCropAug(size, 0.08, ratio, inter_method))
    else:
        augmenters.append((RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    if rand_mirror:
        augmenters.append(HorizontalFlipAug(0.5))
    augmenters.append(CastAug())
    augmenters += colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray)
    mean = channel_values("CreateAugmenter: mean", mean, nd.array(MEAN))
    std = channel_values("CreateAugmenter: std", std, nd.array(STD))
    if mean is not None or std is not None:
        augmenters.append(ColorNormalizeAug(mean, std))
    return augmenters
