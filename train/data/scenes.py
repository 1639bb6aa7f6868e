"""Scenes to detect objects in: digits and drawn shapes on a canvas, with their boxes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import Refused
from .samples import Samples

__all__ = ["CLASSES", "scenes"]

SIDE = 64  # pixels of a scene's height and width
LEAST, MOST = 14, 30  # pixels of an object's side
OBJECTS = 4  # at most, in a scene
TRIES = 20  # places that are tried for an object
SHARED = 0.1  # of an object's box at most, with another object's

Mask = Callable[[np.ndarray, np.ndarray], np.ndarray]
SHAPES: dict[str, Mask] = {  # how far inside of the shape a point is, of x and y from -1 to 1
    "circle": lambda x, y: 1 - np.hypot(x, y),
    "square": lambda x, y: 1 - np.maximum(np.abs(x), np.abs(y)),
    "triangle": lambda x, y: np.minimum((1 - y), (1 + y) / 2 - np.abs(x)),
}
CLASSES = (*map(str, range(10)), *SHAPES)


def scenes(count: int) -> Samples:
    """So many scenes to learn from and a quarter as many held out, the same ones each time.

    Returns
    -------
    Samples
        x : (count, 64, 64, 3), uint8; y : (count, 4, 5), the class of each object and its box: the
        left, upper, right and lower edge in parts of the side; rows of -1 behind the last object.
        No digit of the scenes to learn from is in one that is held out.

    Raises
    ------
    Refused
        scikit-learn, which brings the digits along, is not installed.
    """
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as error:
        raise Refused(f"{error.name} is not installed: pip install scikit-learn") from error
    images, digits = load_digits(return_X_y=True)
    images, digits = np.reshape(images, (-1, 8, 8)) / 16, np.asarray(digits)
    order = np.random.default_rng(0).permutation(len(images))
    kept = len(images) // 5
    found = [
        drawn(images[rows], digits[rows], n, np.random.default_rng([0, part]))
        for part, (rows, n) in enumerate(
            [(order[kept:], count), (order[:kept], max(1, count // 4))]
        )
    ]
    learned, held_out = (
        Samples(x, y, "scenes", "boxes", classes=CLASSES, pixels=255) for x, y in found
    )
    learned.held_out = held_out
    return learned


def drawn(
    images: np.ndarray, digits: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Scenes and their labels, with objects drawn from these digits and from the shapes."""
    x = np.empty((count, SIDE, SIDE, 3), "uint8")
    y = np.full((count, OBJECTS, 5), -1, "float32")
    for scene, labels in zip(x, y):
        canvas, boxes = background(rng), []
        for _ in range(rng.integers(1, OBJECTS + 1)):
            kind, mask = object_of(images, digits, rng)
            if place := free_place(mask.shape, boxes, rng):
                paint(canvas, mask, place, rng)
                labels[len(boxes)] = kind, *(np.array(place) / SIDE)
                boxes.append(place)
        noise = rng.normal(0, 6, canvas.shape)
        scene[:] = (canvas + noise).clip(0, 255).round()
    return x, y


def background(rng: np.random.Generator) -> np.ndarray:
    """A canvas whose colour changes from one corner to the other."""
    down, across = np.mgrid[:SIDE, :SIDE] / (SIDE - 1)
    share = (down * rng.uniform(-1, 1) + across * rng.uniform(-1, 1))[..., None]
    return rng.uniform(30, 130, 3) + share * rng.uniform(-30, 30, 3)


def object_of(
    images: np.ndarray, digits: np.ndarray, rng: np.random.Generator
) -> tuple[int, np.ndarray]:
    """The class of an object, and how much of each pixel of its box it covers."""
    kind, side = int(rng.integers(len(CLASSES))), int(rng.integers(LEAST, MOST + 1))
    if kind < 10:
        image = images[rng.choice(np.flatnonzero(digits == kind))]
        mask = enlarged(image, side)
    else:
        middle = (np.arange(side) + 0.5) * 2 / side - 1
        inside = SHAPES[CLASSES[kind]](middle[None], middle[:, None])
        mask = (inside * side / 2 + 0.5).clip(0, 1)  # a pixel at the edge is partly covered
    rows, columns = (np.flatnonzero(mask.max(axis=axis) > 0.35) for axis in (1, 0))
    return kind, mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def enlarged(image: np.ndarray, side: int) -> np.ndarray:
    """An image at another size, with values between those of its pixels."""
    at = (np.arange(side) + 0.5) * len(image) / side - 0.5
    known = np.arange(len(image))
    weights = np.array([np.interp(at, known, row) for row in np.eye(len(image))])
    return weights.T @ image @ weights


def free_place(
    shape: tuple[int, ...], boxes: list[tuple[int, ...]], rng: np.random.Generator
) -> tuple[int, ...] | None:
    """The edges of a box that shares little with the others; None where none was found."""
    height, width = shape
    for _ in range(TRIES):
        left, top = rng.integers(0, SIDE - width + 1), rng.integers(0, SIDE - height + 1)
        place = int(left), int(top), int(left) + width, int(top) + height
        if all(shared(place, box) <= SHARED * min(area(place), area(box)) for box in boxes):
            return place
    return None


def shared(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """The pixels that two boxes have in common."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return max(width, 0) * max(height, 0)


def area(box: tuple[int, ...]) -> int:
    return shared(box, box)


def paint(
    canvas: np.ndarray, mask: np.ndarray, place: tuple[int, ...], rng: np.random.Generator
) -> None:
    """Lay an object of a bright colour over its place."""
    left, top, right, bottom = place
    part = canvas[top:bottom, left:right]
    colour = rng.uniform(150, 255, 3)
    part += mask[..., None] * (colour - part)
