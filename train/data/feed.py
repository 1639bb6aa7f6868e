"""Batches: of arrays, or of whatever yields them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, Protocol

import numpy as np

from .. import Refused
from ..messages import one_line
from .samples import describe_not_finite, rows_not_finite

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
    """The (x, y) that an iterable yields, a DataLoader for example, in its own order.

    Labels that are whole numbers or truth values are yielded as float32, as `nd.array` makes them
    of NumPy's: metrics and losses are computed of arrays of one dtype.

    Attributes
    ----------
    inspect : callable, optional
        Called in the first whole epoch with each batch's y, and where it is: ``"batch 3, "``.
    """

    def __init__(self, pairs: Iterable, name: str = "data"):
        self.pairs, self.samples, self.name = pairs, None, name
        self.steps = len(pairs) if isinstance(pairs, Sized) else None
        self.inspect: Callable[[Any, str], None] | None = None

    @property
    def description(self) -> str:
        """The number of batches, if it is known."""
        return "batches" if self.steps is None else many(self.steps)

    def batches(self, rng: np.random.Generator | None = None) -> Iterator:
        for number, pair in enumerate(self.pairs, 1):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                found = type(pair).__name__
                found += f" of {len(pair)}" if isinstance(pair, tuple | list) else ""
                raise Refused(f"{self.name}: a batch is {found}; expected a pair (x, y)")
            x, y = pair
            if self.inspect:
                self.inspect(y, f"batch {number}, ")
            whole = hasattr(y, "asnumpy") and np.dtype(y.dtype).kind in "iub"
            yield x, y.astype("float32") if whole else y
        self.inspect = None


def many(batches: int) -> str:
    return f"{batches} batch{'es' * (batches != 1)}"


def batches_of(data: Any, size: int, name: str = "data") -> Batches:
    """The batches of a pair of arrays, or of an iterable of (x, y), by their name in messages.

    Raises
    ------
    Refused
        It is neither; x or y are no numbers; x has one that is not finite; or they have different
        lengths, or none.
    """
    if isinstance(data, tuple | list) and len(data) == 2 and not all(map(is_pair, data)):
        x, y = (numbers_of(part, f"{name}: {of}") for part, of in zip(data, "xy"))
        if not len(x) or len(x) != len(y):
            raise Refused(f"{name}: x has {len(x)} samples, y {len(y)}; expected as many, and some")
        if (wrong := rows_not_finite(x)).size:
            raise Refused(f"{name}: x[{wrong[0]}] {describe_not_finite(x, wrong)}")
        return Arrays(x, y, size)
    if isinstance(data, Iterator):
        raise Refused(f"{name}: an iterator ends after one epoch; expected a list, or a DataLoader")
    if not isinstance(data, Iterable):
        found = type(data).__name__
        raise Refused(f"{name}: {found}; expected (x, y), or an iterable of (x, y)")
    return Stream(data, name)


def is_pair(value: Any) -> bool:
    """Whether it is a batch (x, y) of arrays, and not a list of samples."""
    return isinstance(value, tuple | list) and len(value) == 2 and hasattr(value[0], "shape")


def numbers_of(values: Any, name: str) -> np.ndarray:
    """An array of numbers, with an axis of samples.

    Raises
    ------
    Refused
        The message has the name, what there is, and what is expected.
    """
    try:
        found = values.asnumpy() if hasattr(values, "asnumpy") else np.asarray(values)
    except Exception as error:
        raise Refused(f"{name} cannot be made an array: {one_line(error, 200)}") from error
    if found.dtype.kind in "USO":
        first = found.flat[0] if found.size else ""
        of_classes = ": of classes those from 0, such as numpy.unique(y, return_inverse=True)[1]"
        raise Refused(
            f"{name} has values such as {str(first)[:50]!r}; expected numbers"
            + of_classes * name.endswith("y")
        )
    if not found.ndim:
        raise Refused(f"{name} is the number {found}; expected an array of samples")
    return found.astype("float32") if found.dtype == bool else found


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
