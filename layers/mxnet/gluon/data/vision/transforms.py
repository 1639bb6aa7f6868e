"""What is done with an image before a network gets it: blocks, alone or in a row by `Compose`.

Those that are HybridBlocks are operators of ``nd.image``, and can be a part of a graph.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from itertools import groupby

import numpy as np

from ...._table.colours import around_one
from ....base import ArgumentError, DTypeError
from ...block import Block, HybridBlock
from ...nn import HybridSequential, Lambda, Sequential

__all__ = [
    "Cast",
    "CenterCrop",
    "Compose",
    "CropResize",
    "Normalize",
    "RandomApply",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomHue",
    "RandomLighting",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSaturation",
    "Resize",
    "Rotate",
    "ToTensor",
]


class Compose(Sequential):
    """Transforms in a row. HybridBlocks that follow each other become one graph.

    Parameters
    ----------
    transforms : list of Block or callable
    """

    def __init__(self, transforms: Iterable[Callable]):
        super().__init__()
        for is_hybrid, group in groupby(transforms, lambda t: isinstance(t, HybridBlock)):
            blocks = list(group)
            if is_hybrid and len(blocks) > 1:
                graph = HybridSequential()
                graph.add(*blocks)
                graph.hybridize()
                blocks = [graph]
            self.add(*[b if isinstance(b, Block) else Lambda(b) for b in blocks])


class RandomApply(Sequential):
    """A transform that is applied with a probability, drawn by Python's `random`.

    Parameters
    ----------
    transforms : callable
    p : float
    """

    def __init__(self, transforms: Callable, p: float = 0.5):
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, x):
        """x, transformed or not."""
        return self.transforms(x) if random.random() <= self.p else x


class Cast(HybridBlock):
    """The image in another dtype.

    Parameters
    ----------
    dtype : str or numpy type
    """

    def __init__(self, dtype="float32"):
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F, x):
        """x in the dtype."""
        return F.cast(x, self._dtype)


class ToTensor(HybridBlock):
    """Pixels as a network takes them: the channels first, and from 0 to 1, y = x / 255.

    Inputs: x (h, w, c) or (n, h, w, c).
    Outputs: (c, h, w) or (n, c, h, w), float32.
    """

    def hybrid_forward(self, F, x):
        """The tensor."""
        return F.image.to_tensor(x)


class Normalize(HybridBlock):
    """Channels with other means and deviations, y = (x - mean) / std.

    Parameters
    ----------
    mean, std : float or tuple of float
        One number, or one for each channel.

    Inputs: x (c, h, w) or (n, c, h, w), c is 1 or 3.
    Outputs: as x.
    """

    def __init__(self, mean=0.0, std=1.0):
        super().__init__()
        self._mean, self._std = mean, std

    def hybrid_forward(self, F, x):
        """The normalized x."""
        return F.image.normalize(x, self._mean, self._std)


class Resize(HybridBlock):
    """The image in another size.

    Parameters
    ----------
    size : int or (width, height)
    keep_ratio : bool
        A `size` that is one number is for the shorter side, and the other keeps the proportions.
    interpolation : int
        0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos.

    Inputs: x (h, w, c) or (n, h, w, c), of uint8, float32 or float64.
    Outputs: (height, width, c) or (n, height, width, c).
    """

    def __init__(self, size, keep_ratio: bool = False, interpolation: int = 1):
        super().__init__()
        self._size, self._keep, self._interpolation = size, keep_ratio, interpolation

    def hybrid_forward(self, F, x):
        """The resized x."""
        return F.image.resize(x, self._size, self._keep, self._interpolation)


class CropResize(HybridBlock):
    """A part of the image, in another size if one is given.

    Parameters
    ----------
    x, y : int
        Column and row of the part's upper left pixel.
    width, height : int
    size : int or (width, height), optional
    interpolation : int, optional
        As for `Resize`, bilinear by default.

    Inputs: data (h, w, c) or (n, h, w, c).
    Outputs: (height, width, c) or (n, height, width, c).
    """

    def __init__(self, x: int, y: int, width: int, height: int, size=None, interpolation=None):
        super().__init__()
        self._part = (x, y, width, height)
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def hybrid_forward(self, F, x):
        """The part of x."""
        part = F.image.crop(x, *self._part)
        return (
            part if not self._size else F.image.resize(part, self._size, False, self._interpolation)
        )


def _pair(size) -> tuple[int, int]:
    return (size, size) if isinstance(size, (int, float, np.number)) else tuple(size)


class CenterCrop(Block):
    """The middle of the image. A larger size takes as much as there is, and resizes it.

    Parameters
    ----------
    size : int or (width, height)
    interpolation : int
        As for `Resize`.

    Inputs: x (h, w, c).
    Outputs: (height, width, c).
    """

    def __init__(self, size, interpolation: int = 1):
        super().__init__()
        self._args = (_pair(size), interpolation)

    def forward(self, x):
        """The middle of x."""
        from ....image import center_crop

        return center_crop(x, *self._args)[0]


class RandomResizedCrop(Block):
    """A random part of the image, in one size. `random` draws its area, proportions and place.

    Parameters
    ----------
    size : int or (width, height)
    scale : (float, float)
        The least and the greatest area, as parts of the image's.
    ratio : (float, float)
        The least and the greatest width by height.
    interpolation : int
        As for `Resize`.

    Inputs: x (h, w, c).
    Outputs: (height, width, c).
    """

    def __init__(
        self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0), interpolation: int = 1
    ):
        super().__init__()
        self._args = (_pair(size), scale, ratio, interpolation)

    def forward(self, x):
        """A part of x."""
        from ....image import random_size_crop

        return random_size_crop(x, *self._args)[0]


class Rotate(Block):
    """The image rotated counter-clockwise about its middle; what is outside of it is 0.

    Parameters
    ----------
    rotation_degrees : float
    zoom_in : bool
        Larger, so that no pixel is outside of the image.
    zoom_out : bool
        Smaller, so that all of the image is to be seen.

    Inputs: x (c, h, w) or (n, c, h, w), float32.
    Outputs: as x.

    Raises
    ------
    DTypeError
        x is not of float32.
    """

    def __init__(self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False):
        super().__init__()
        _expect_one_zoom("Rotate", zoom_in, zoom_out)
        self._args = (rotation_degrees, zoom_in, zoom_out)

    def forward(self, x):
        """The rotated x.

        Raises
        ------
        DTypeError
            The image is not of float32.
        """
        from ....image import imrotate

        _expect_float("Rotate", x)
        return imrotate(x, *self._args)


class RandomRotation(Block):
    """The image rotated by an angle that `numpy.random` draws; each image of several by its own.

    Parameters
    ----------
    angle_limits : (float, float)
        The least and the greatest angle, in degrees.
    zoom_in, zoom_out : bool
        As for `Rotate`.
    rotate_with_proba : float
        With which probability it is rotated at all.

    Inputs: x (c, h, w) or (n, c, h, w), float32.
    Outputs: as x.

    Raises
    ------
    ArgumentError
        The angles do not go upwards, or the probability is none.
    DTypeError
        x is not of float32.
    """

    def __init__(
        self,
        angle_limits: tuple[float, float],
        zoom_in: bool = False,
        zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ):
        super().__init__()
        low, high = angle_limits
        if not low < high:
            raise ArgumentError(
                f"RandomRotation: angle_limits is {angle_limits}\n  expected (least, greatest)"
            )
        if not 0 <= rotate_with_proba <= 1:
            raise ArgumentError(
                f"RandomRotation: rotate_with_proba is {rotate_with_proba}\n  expected 0 to 1"
            )
        _expect_one_zoom("RandomRotation", zoom_in, zoom_out)
        self._args = (angle_limits, zoom_in, zoom_out)
        self._rotate_with_proba = rotate_with_proba

    def forward(self, x):
        """x, rotated or not.

        Raises
        ------
        DTypeError
            The image is not of float32.
        """
        from ....image import random_rotate

        if np.random.random() >= self._rotate_with_proba:
            return x
        _expect_float("RandomRotation", x)
        return random_rotate(x, *self._args)


def _expect_one_zoom(name: str, zoom_in: bool, zoom_out: bool) -> None:
    if zoom_in and zoom_out:
        raise ArgumentError(f"{name}: zoom_in and zoom_out are True\n  expected one of them")


def _expect_float(name: str, x) -> None:
    if x.dtype is not np.float32:
        raise DTypeError(
            f"{name}: the image is of {np.dtype(x.dtype)}\n  expected float32, as after ToTensor"
        )


class RandomFlipLeftRight(HybridBlock):
    """The image, mirrored left to right with probability 1/2.

    Inputs: x (h, w, c), c is 1 or 3.
    Outputs: as x.
    """

    def hybrid_forward(self, F, x):
        """x, mirrored or not."""
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(HybridBlock):
    """The image, mirrored top to bottom with probability 1/2.

    Inputs: x (h, w, c), c is 1 or 3.
    Outputs: as x.
    """

    def hybrid_forward(self, F, x):
        """x, mirrored or not."""
        return F.image.random_flip_top_bottom(x)


class RandomBrightness(HybridBlock):
    """The image times a factor that is drawn from [max(0, 1 - brightness), 1 + brightness).

    Parameters
    ----------
    brightness : float

    Inputs: x (h, w, c), c is 1 or 3.
    Outputs: as x.
    """

    def __init__(self, brightness: float):
        super().__init__()
        self._factors = around_one(brightness)

    def hybrid_forward(self, F, x):
        """x, brighter or darker."""
        return F.image.random_brightness(x, *self._factors)


class RandomContrast(HybridBlock):
    """Differences from the mean brightness times a factor from [max(0, 1 - a), 1 + a).

    Parameters
    ----------
    contrast : float
        a above.

    Inputs: x (h, w, c), c is 1 or 3.
    Outputs: as x.
    """

    def __init__(self, contrast: float):
        super().__init__()
        self._factors = around_one(contrast)

    def hybrid_forward(self, F, x):
        """x with another contrast."""
        return F.image.random_contrast(x, *self._factors)


class RandomSaturation(HybridBlock):
    """Differences of channels from the pixel's brightness times one from [max(0, 1 - a), 1 + a).

    Parameters
    ----------
    saturation : float
        a above.

    Inputs: x (h, w, c), c is 1 or 3.
    Outputs: as x.
    """

    def __init__(self, saturation: float):
        super().__init__()
        self._factors = around_one(saturation)

    def hybrid_forward(self, F, x):
        """x with another saturation."""
        return F.image.random_saturation(x, *self._factors)


class RandomHue(HybridBlock):
    """Colours turned by 360 degrees times a factor from [max(0, 1 - hue), 1 + hue).

    Parameters
    ----------
    hue : float

    Inputs: x (h, w, c), c is 1 or 3.
    Outputs: as x.
    """

    def __init__(self, hue: float):
        super().__init__()
        self._factors = around_one(hue)

    def hybrid_forward(self, F, x):
        """x with other colours."""
        return F.image.random_hue(x, *self._factors)


class RandomColorJitter(HybridBlock):
    """Brightness, contrast, saturation and hue changed in random order.

    Parameters
    ----------
    brightness, contrast, saturation, hue : float
        Each as for the transform of its name; one of 0 is left out.

    Inputs: x (h, w, c), c is 1 or 3.
    Outputs: as x.
    """

    def __init__(
        self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0
    ):
        super().__init__()
        self._amounts = (brightness, contrast, saturation, hue)

    def hybrid_forward(self, F, x):
        """x with other colours."""
        return F.image.random_color_jitter(x, *self._amounts)


class RandomLighting(HybridBlock):
    """Another light, as AlexNet adds it: principal components of colours times drawn numbers.

    Parameters
    ----------
    alpha : float
        The deviation of those numbers.

    Inputs: x (h, w, c), c is 1 or 3.
    Outputs: as x.
    """

    def __init__(self, alpha: float):
        super().__init__()
        self._alpha = alpha

    def hybrid_forward(self, F, x):
        """x in another light."""
        return F.image.random_lighting(x, self._alpha)
