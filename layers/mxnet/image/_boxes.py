"""The label of an image with objects, as records and lists have it.

It is how many numbers its header has, how many each object has, the rest of the header, and the
objects: class, xmin, ymin, xmax, ymax as parts of the image, and more.
"""

from __future__ import annotations

import numpy as np

from ..base import MXNetError

__all__ = ["bad_label", "split_label"]


def split_label(
    label: np.ndarray, name: str, error: type[MXNetError] = MXNetError
) -> tuple[np.ndarray, np.ndarray]:
    """Copies of the header and of the objects (n, numbers of each), of float32.

    Raises
    ------
    MXNetError
        It is no such label; `name` is what the message calls the image. `error` is another type.
    """
    label = np.array(label, np.float32).ravel()
    if len(label) < 2 or not np.isfinite(label[:2]).all():
        raise bad_label(label, name, "a header of at least 2 numbers", error)
    head, width = int(label[0]), int(label[1])
    if head < 2 or width < 5 or head > label.size or (label.size - head) % width:
        expected = (
            f"whole objects of {width} numbers (5 or more) after a header of {head} (2 or more)"
        )
        raise bad_label(label, name, expected, error)
    return label[:head], label[head:].reshape(-1, width)


def bad_label(
    label: np.ndarray, name: str, expected: str, error: type[MXNetError] = MXNetError
) -> MXNetError:
    """The error of an image with a label that is not what is expected."""
    return error(
        f"{name} has a label of {label.size} numbers, {label.ravel()[:7].tolist()} ...\n"
        f"  expected {expected}"
    )
