"""Batches: of arrays, or of whatever yields them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sized
from typing import Any, Protocol

import numpy as np

from .. import Refused

__all__ = ["Arrays", "Batches", "Stream", "batches", "batches_of", "steps"]


HASHED = 1000  # samples, evenly spaced


class Batches(Protocol):
    """The samples of a training, again for each epoch."""

    @property
    def samples(self) -> int | None: ...  # None where it is not known

    @property
    def steps(self) -> int | None: ...  # batches of an epoch

    @property
    def description(self) -> str: ...  # differs for other samples, as far as they are known

    def batches(self, rng: np.random.Generator | None = None) -> Iterator: ...


class Arrays:
    """Batches of arrays, in an order that is drawn for each epoch."""

    def __init__(self, x: Any, y: Any, size: int):
        self.x, self.y, self.size = x, y, size
        self.samples, self.steps = len(x), steps(len(x), size)

    @property
    def description(self) -> str:
        """The numbers of samples and batches, and a hash of some samples."""
        rows = np.unique(np.linspace(0, len(self.x) - 1, HASHED).astype(int))
        found = hashlib.sha256()
        for part in (self.x[rows], self.y[rows]):
            found.update(
                f"{part.dtype}{part.shape}".encode() + np.ascontiguousarray(part).tobytes()
            )
        return f"{self.samples} samples ({found.hexdigest()[:12]}) in {many(self.steps)}"

    def batches(self, rng: np.random.Generator | None = None) -> Iterator:
        return batches(self.x, self.y, self.size, rng)


class Stream:
    """The (x, y) that an iterable yields, a DataLoader for example, in its own order."""

    def __init__(self, pairs: Iterable):
        self.pairs, self.samples = pairs, None
        self.steps = len(pairs) if isinstance(pairs, Sized) else None

    @property
    def description(self) -> str:
        """The number of batches, if it is known."""
        return "batches" if self.steps is None else many(self.steps)

    def batches(self, rng: np.random.Generator | None = None) -> Iterator:
        for pair in self.pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise Refused(f"data: a batch is {type(pair).__name__}; expected a pair (x, y)")
            yield pair


def many(batches: int) -> str:
    return f"{batches} batch{'es' * (batches != 1)}"


def batches_of(data: Any, size: int) -> Batches:
    """The batches of a pair of arrays, or of an iterable of (x, y).

    Raises
    ------
    Refused
        It is neither; or x and y have different lengths, or none.
    """
    if isinstance(data, tuple | list) and len(data) == 2:
        x, y = (part.asnumpy() if hasattr(part, "asnumpy") else np.asarray(part) for part in data)
        if not len(x) or len(x) != len(y):
            raise Refused(f"data: x has {len(x)} samples, y {len(y)}; expected as many, and some")
        return Arrays(x, y, size)
    if isinstance(data, Iterator):
        raise Refused("data: an iterator ends after one epoch; expected a list, or a DataLoader")
    if not isinstance(data, Iterable):
        raise Refused(f"data: {type(data).__name__}; expected (x, y), or an iterable of (x, y)")
    return Stream(data)


def steps(samples: int, batch_size: int) -> int:
    """The number of batches of at most `batch_size` samples."""
    return -(-samples // batch_size)


def batches(
    x: np.ndarray, y: np.ndarray, size: int, rng: np.random.Generator | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batches of at most `size` samples, in an order that `rng` draws.

    Their sizes differ by one at most: in a small last batch each sample would count for more.
    """
    order = np.arange(len(x)) if rng is None else rng.permutation(len(x))
    for rows in np.array_split(order, steps(len(x), size)):
        yield x[rows], y[rows]
