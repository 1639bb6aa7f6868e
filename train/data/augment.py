"""Batches of images that are changed at random: turned, moved, recoloured, mixed.

Images are (n, c, h, w), of numbers from 0, black, to 1. A strength, from -1 to 1, is one for each.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layers.engine import nd

from .feed import ArrayBatches

__all__ = ["Augmented"]

Array = np.ndarray
Random = np.random.Generator


class Augmented(ArrayBatches):
    """Batches of images that are changed where their order is drawn: for learning, not measuring.

    Parameters
    ----------
    parts : ArrayBatches
        The images as rows.
    shape : tuple of int
        Of an image: (h, w), (h, w, c) or (c, h, w).
    how : sequence of str
        Keys of `CHANGES` and `MIXES`. One of these is drawn for each batch.
    values : tuple of float
        Black and white.
    classes : int
        Labels become rows of so many probabilities; with 0 they stay numbers.
    """

    def __init__(self, parts: ArrayBatches, shape: tuple, how, values: tuple, classes: int):
        super().__init__(parts.x, parts.y, parts.size, parts.weights)
        self.shape, (self.black, self.white), self.classes = shape, values, classes
        self.changes = [CHANGES[name] for name in how if name in CHANGES]
        self.mixes = [MIXES[name] for name in how if name in MIXES]

    def batches(self, rng: Random | None = None) -> Iterator:
        for x, y, *weights in super().batches(rng):
            if self.classes:
                y = (y[:, None] == np.arange(self.classes)).astype("float32")
            yield *((x, y) if rng is None else self.changed(x, y, rng)), *weights

    def changed(self, x: Array, y: Array, rng: Random) -> tuple[Array, Array]:
        last = len(self.shape) == 3 and self.shape[2] <= 4  # the channels are
        images = x.reshape(-1, *self.shape).astype("float32")
        images = np.moveaxis(images, 3, 1) if last else images.reshape(len(x), -1, *self.shape[-2:])
        span = np.float32(self.white - self.black) or np.float32(1)
        images = (images - np.float32(self.black)) / span
        for change in self.changes:
            images = change(images, rng)
        if self.mixes:
            images, y = self.mixes[rng.integers(len(self.mixes))](images, y, rng)
        images = images * span + np.float32(self.black)
        return (np.moveaxis(images, 1, 3) if last else images).reshape(len(x), -1), y


def flip(x: Array, rng: Random) -> Array:
    """Exchange left and right of half of the images."""
    return np.where(rng.random(len(x))[:, None, None, None] < 0.5, x[..., ::-1], x)


def crop(x: Array, rng: Random) -> Array:
    """Move images by up to an eighth of their height and width."""
    return moved(x, *(strengths(x, rng) / 8 for _ in range(2)))


def color(x: Array, rng: Random) -> Array:
    """Change brightness, contrast and saturation."""
    for change in (brightness, contrast, saturation):
        x = change(x, strengths(x, rng))
    return x


def rotate(x: Array, rng: Random) -> Array:
    """Turn images by up to 15 degrees."""
    return rotated(x, strengths(x, rng))


def randaugment(x: Array, rng: Random) -> Array:
    """Change each image by two of the `OPERATIONS`, of strengths that are drawn too.

    E. D. Cubuk et al., RandAugment: Practical automated data augmentation, NeurIPS 2020; the
    strengths as in S. G. Müller and F. Hutter, TrivialAugment, ICCV 2021.
    """
    x = x.copy()
    for _ in range(2):
        chosen, strong = rng.integers(len(OPERATIONS), size=len(x)), strengths(x, rng)
        for i, operation in enumerate(OPERATIONS):
            if (rows := np.flatnonzero(chosen == i)).size:
                x[rows] = operation(x[rows], strong[rows])
    return x


def strengths(x: Array, rng: Random) -> Array:
    return rng.uniform(-1, 1, (len(x), 1, 1, 1)).astype("float32")


# Operations


def moved(x: Array, down: Array, across: Array) -> Array:
    """Move images by shares of their height and width, in whole pixels; edges are repeated."""
    n, channels, height, width = x.shape
    rows = np.arange(height)[:, None] - np.rint(down * height).astype(int)
    columns = np.arange(width) - np.rint(across * width).astype(int)
    image, channel = np.arange(n)[:, None, None, None], np.arange(channels)[:, None, None]
    return x[image, channel, rows.clip(0, height - 1), columns.clip(0, width - 1)]


def rotated(x: Array, strength: Array) -> Array:
    angle, ratio = strength.ravel() * np.pi / 12, x.shape[2] / x.shape[3]
    sine, cosine = np.sin(angle), np.cos(angle)
    return sampled(x, [cosine, -sine * ratio, sine / ratio, cosine])


def sheared(x: Array, strength: Array) -> Array:
    one = np.ones(len(x))
    return sampled(x, [one, 0.3 * strength.ravel(), 0 * one, one])


def sampled(x: Array, matrix: list[Array]) -> Array:
    """Sample images at places that are an affine map's, between pixels; edges are repeated."""
    n, _, height, width = x.shape
    if min(height, width) == 1:  # the engines' grids have no places then
        return x
    a, b, c, d = matrix
    theta = nd.array(np.stack([a, b, 0 * a, c, d, 0 * a], axis=1))
    size = {"transform_type": "affine", "target_shape": (height, width)}
    return nd.BilinearSampler(nd.array(x), nd.GridGenerator(theta, **size).clip(-1, 1)).asnumpy()


def brightness(x: Array, strength: Array) -> Array:
    return (x * (1 + 0.4 * strength)).clip(0, 1)


def contrast(x: Array, strength: Array) -> Array:
    mean = x.mean(axis=(1, 2, 3), keepdims=True)
    return (mean + (x - mean) * (1 + 0.4 * strength)).clip(0, 1)


def saturation(x: Array, strength: Array) -> Array:
    gray = x.mean(axis=1, keepdims=True)
    return (gray + (x - gray) * (1 + 0.4 * strength)).clip(0, 1)


def posterize(x: Array, strength: Array) -> Array:
    """Leave 4 to 64 values of each colour."""
    steps = np.floor(2 ** (6 - 4 * abs(strength))) - 1
    return np.rint(x * steps) / steps


def solarize(x: Array, strength: Array) -> Array:
    """Invert the pixels that are brighter than a threshold."""
    return np.where(x > 1 - abs(strength) / 2, 1 - x, x)


OPERATIONS = (
    rotated, sheared, brightness, contrast, saturation, posterize, solarize,
    lambda x, strength: moved(x, strength / 4, 0 * strength),
    lambda x, strength: moved(x, 0 * strength, strength / 4),
)  # fmt: skip
CHANGES = {each.__name__: each for each in (flip, crop, color, rotate, randaugment)}


# Mixtures, of images and of what they are labelled with


def mixup(x: Array, y: Array, rng: Random) -> tuple[Array, Array]:
    """Mix each image with another, a x + (1 - a) x', with a drawn from Beta(0.2, 0.2).

    H. Zhang et al., mixup: Beyond empirical risk minimization, ICLR 2018.
    """
    share, other = rng.beta(0.2, 0.2, len(x)).astype("float32"), rng.permutation(len(x))
    return mixed(x, x[other], share), mixed(y, y[other], share)


def cutmix(x: Array, y: Array, rng: Random) -> tuple[Array, Array]:
    """Replace a rectangle of each image by that of another; its label has the share of its area.

    S. Yun et al., CutMix: Regularization strategy to train strong classifiers, ICCV 2019.
    """
    n, other = len(x), rng.permutation(len(x))
    side = np.sqrt(rng.random((n, 1)))
    inside = []
    for size in x.shape[2:]:
        length = np.rint(size * side)
        first = np.floor(rng.random((n, 1)) * (size - length + 1))
        inside.append((np.arange(size) >= first) & (np.arange(size) < first + length))
    cut = inside[0][:, :, None] & inside[1][:, None]
    share = 1 - cut.mean(axis=(1, 2), dtype="float32")
    return np.where(cut[:, None], x[other], x), mixed(y, y[other], share)


def mixed(a: Array, b: Array, share: Array) -> Array:
    share = share.reshape(-1, *[1] * (a.ndim - 1))
    return share * a + (1 - share) * b


MIXES = {each.__name__: each for each in (mixup, cutmix)}
