"""Pictures in the page, and the objects that a detector finds in them."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

import numpy as np

from layers.engine import nd

from .. import Refused
from ..detecting import OVERLAP, MeanAveragePrecision
from ..prediction import SURE
from .measured import Measured

__all__ = ["Scene", "average_precision", "counts", "data_uri", "pixels_of", "scenes"]


def data_uri(x: np.ndarray, white: int | None) -> str:
    """Return a picture as PNG, in an address."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels_of(x, white)).save(file, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def pixels_of(x: np.ndarray, white: int | None) -> np.ndarray:
    """Return a picture's bytes; numbers that are no pixels are stretched from black to white."""
    least, most = (0.0, float(white)) if white else (float(x.min()), float(x.max()))
    grey = (x.astype("float64") - least) * (255 / ((most - least) or 1))
    pixels = grey.round().clip(0, 255).astype("uint8")
    if pixels.ndim == 3 and pixels.shape[2] != 3:  # channels before height and width, or others
        pixels = pixels.transpose(1, 2, 0) if pixels.shape[0] <= 4 else pixels
        pixels = pixels if pixels.shape[2] == 3 else pixels.mean(axis=2).astype("uint8")
    return pixels


@dataclass(frozen=True)
class Scene:
    """An image: of each object that is found whether it is right, of each true one whether found.

    found : (k, 6) class, probability, box      right : (k,)
    truth : (m, 5) class, box                   seen : (m,)
    """

    image: int
    found: np.ndarray
    right: np.ndarray
    truth: np.ndarray
    seen: np.ndarray

    @property
    def missed(self) -> np.ndarray:
        return self.truth[~self.seen]

    @property
    def mistakes(self) -> int:
        return int((~self.right).sum()) + len(self.missed)


def scenes(measured: Measured) -> list[Scene]:
    return [scene(measured, i) for i in range(len(measured.x))]


def scene(measured: Measured, i: int) -> Scene:
    """Match what is found in an image with what is there, the surest first."""
    found = measured.values[i]
    found = found[(found[:, 0] >= 0) & (found[:, 1] >= SURE)]
    truth = measured.y[i][measured.y[i][:, 0] >= 0]
    right, seen = np.zeros(len(found), bool), np.zeros(len(truth), bool)
    for row in np.argsort(-found[:, 1], kind="stable"):
        fits = (truth[:, 0] == found[row, 0]) & ~seen
        shares = np.where(fits, overlaps(found[row, 2:], truth[:, 1:]), 0)
        if len(shares) and shares.max() >= OVERLAP:
            right[row] = seen[shares.argmax()] = True
    return Scene(i, found, right, truth, seen)


def overlaps(box: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Return the intersection over union of a box with others, all (left, upper, right, lower)."""
    inner = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    shared = inner.clip(0).prod(axis=1)
    areas = [(each[..., 2:] - each[..., :2]).prod(axis=-1) for each in (box, boxes)]
    return shared / np.maximum(areas[0] + areas[1] - shared, 1e-12)


def counts(scenes: list[Scene], kind: int) -> list[int]:
    """Return how many objects of a class there are, how many are found, and how many are wrong."""
    truth = [each.truth[:, 0] == kind for each in scenes]
    wrong = [(each.found[:, 0] == kind) & ~each.right for each in scenes]
    seen = [(each.seen & mine).sum() for each, mine in zip(scenes, truth)]
    return [int(sum(map(np.sum, truth))), int(sum(seen)), int(sum(map(np.sum, wrong)))]


def average_precision(
    measured: Measured, classes: list[str], shape: list[int]
) -> tuple[dict[str, str], str]:
    """Return that of each class, and why there is none."""
    try:
        metric = MeanAveragePrecision(classes, tuple(shape))
    except Refused as error:
        return {}, str(error)
    metric.update([nd.array(measured.y)], [nd.array(measured.values)])
    return {name: f"{value:.1%}" for name, value in metric.by_class().items()}, ""
