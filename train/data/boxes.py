"""Objects in images: of each its class and its box, checked."""

from __future__ import annotations

import numpy as np

from .. import Refused
from .samples import Samples

__all__ = ["boxes", "kinds_of"]


def kinds_of(samples: Samples) -> tuple[str, ...]:
    """The names of the classes, which are numbers from 0 to the greatest that there is.

    Raises
    ------
    Refused
        The labels are no rows of a class and a box, or the greatest class is not from 0 to 999.
    """
    expect_rows(samples)
    greatest = samples.y[..., 0].max()
    if not 0 <= greatest < 1000:
        raise Refused(
            f"{samples.y_name}: the greatest class is {greatest:g}; expected one from 0 to 999"
        )
    return tuple(map(str, range(int(greatest) + 1)))


def boxes(samples: Samples, classes: tuple[str, ...]) -> np.ndarray:
    """The objects of each image as float32: (n, objects, 5).

    Raises
    ------
    Refused
        A class has no name, a box is not within its image, an object is behind a row of -1, or an
        image has no object.
    """
    expect_rows(samples)
    y = samples.y.astype("float32")
    kind, (left, top, right, bottom) = y[..., 0], np.moveaxis(y[..., 1:], 2, 0)
    there = kind != -1
    known = (kind >= 0) & (kind < len(classes)) & (kind == np.floor(kind))
    within = (left >= 0) & (top >= 0) & (left < right) & (top < bottom) & (right <= 1)
    first = np.minimum.accumulate(there, axis=1)
    expect(samples, known | ~there, f"class numbers from 0 to {len(classes) - 1}, or -1")
    expect(
        samples,
        within & (bottom <= 1) | ~there,
        "the left, upper, right and lower edge of a box, in parts of the image, from 0 to 1",
    )
    expect(samples, first | ~there, "no object behind a row with the class -1")
    expect(samples, first.any(axis=1, keepdims=True), "an object in each image")
    return np.where(there[..., None], y, np.float32(-1))


def expect_rows(samples: Samples) -> None:
    shape = np.shape(samples.y)
    fits = len(shape) == 3 and shape[0] == len(samples.x) and shape[1] > 0 and shape[2] == 5
    if not fits or samples.y.dtype.kind not in "iuf":
        raise Refused(
            f"{samples.y_name} is {shape} of {samples.y.dtype}; expected numbers "
            f"({len(samples.x)}, objects, 5): of each object a class and a box"
        )


def expect(samples: Samples, right: np.ndarray | np.bool_, expected: str) -> None:
    """Refuse the first object, (image, row), that is not right.

    Raises
    ------
    Refused
        An object is not right.
    """
    if not right.all():
        image, row = map(int, np.argwhere(~right)[0])
        values = ", ".join(f"{value:g}" for value in samples.y[image, row].tolist())
        raise Refused(f"{samples.y_name}[{image}, {row}] is ({values}); expected {expected}")
