"""Batches: of arrays, or of whatever yields them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, Protocol

import numpy as np

from .. import Refused
from ..screen import one_line
from .samples import describe_not_finite, rows_not_finite

__all__ = ["ArrayBatches", "Batches", "Stream", "batches", "batches_of", "steps"]


HASHED = 1000  # samples, evenly spaced
EXPECTED = "expected (x, y), (x, y, weights of samples), or batches of these, as of a DataLoader"


class Batches(Protocol):
    """The samples of a training, again for each epoch."""

    @property
    def samples(self) -> int | None: ...  # None where it is not known

    @property
    def steps(self) -> int | None: ...  # batches of an epoch

    @property
    def description(self) -> str: ...  # differs for other samples, as far as they are known

    def batches(self, rng: np.random.Generator | None = None) -> Iterator: ...


class ArrayBatches:
    """Batches of arrays, with weights of samples or without, in an order drawn for each epoch."""

    def __init__(self, x: Any, y: Any, size: int, weights: Any = None):
        self.x, self.y, self.size, self.weights = x, y, size, weights
        self.parts = (x, y) if weights is None else (x, y, weights)
        self.samples, self.steps = len(x), steps(len(x), size)

    @property
    def description(self) -> str:
        """The numbers of samples and batches, and a hash of some samples."""
        rows = np.unique(np.linspace(0, len(self.x) - 1, HASHED).astype(int))
        found = hashlib.sha256()
        for part in (each[rows] for each in self.parts):
            found.update(
                f"{part.dtype}{part.shape}".encode() + np.ascontiguousarray(part).tobytes()
            )
        return f"{self.samples} samples ({found.hexdigest()[:12]}) in {many(self.steps)}"

    def bad_targets(self) -> str:
        """Return a note on targets that are not finite, the likely cause of such a loss, or ""."""
        wrong = rows_not_finite(self.y)
        return f"; y[{wrong[0]}] {describe_not_finite(self.y, wrong)}" if wrong.size else ""

    def batches(self, rng: np.random.Generator | None = None) -> Iterator:
        return batches(*self.parts[:2], self.size, rng, *self.parts[2:])


class Stream:
    """The (x, y) or (x, y, weights) that an iterable yields, such as a DataLoader, in its order.

    Labels that are whole numbers or truth values are yielded as float32, as `nd.array` makes them
    of NumPy's: metrics and losses are computed of arrays of one dtype.

    Attributes
    ----------
    is_cut : bool
        The epochs end before its end, if it has one.
    inspect : callable, optional
        Called in the first whole epoch with each batch's y, and where it is: ``"batch 3, "``.
    """

    def __init__(self, parts: Iterable, name: str = "data", is_cut: bool = False):
        self.parts, self.samples, self.name, self.is_cut = parts, None, name, is_cut
        self.steps = len(parts) if isinstance(parts, Sized) else None
        self.inspect: Callable[[Any, str], None] | None = None

    @property
    def description(self) -> str:
        """The number of batches, if it is known."""
        return "batches" if self.steps is None else many(self.steps)

    def batches(self, rng: np.random.Generator | None = None) -> Iterator:
        for number, batch in enumerate(self.parts, 1):
            if self.steps is not None and number > self.steps and not self.is_cut:
                raise Refused(
                    f"{self.name}: it yields more batches than its len(), {self.steps}; expected "
                    f"steps_per_epoch={self.steps} for a source without an end"
                )
            if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
                found = type(batch).__name__
                found += f" of {len(batch)}" if isinstance(batch, tuple | list) else ""
                raise Refused(f"{self.name}: a batch is {found}; {EXPECTED}")
            x, y, *weights = batch
            expect_one_array(self.name, x, y)
            for each in weights:
                expect_weights(f"{self.name}: batch {number}, weights", each, len(y))
            if self.inspect:
                self.inspect(y, f"batch {number}, ")
            whole = hasattr(y, "asnumpy") and np.dtype(y.dtype).kind in "iub"
            yield x, y.astype("float32") if whole else y, *weights
        self.inspect = None


def many(batches: int) -> str:
    return f"{batches} batch{'es' * (batches != 1)}"


def batches_of(data: Any, size: int, name: str = "data", steps: int | None = None) -> Batches:
    """The batches of arrays (x, y) or (x, y, weights), or of an iterable of these, by their name.

    Raises
    ------
    Refused
        It is neither; x or y are no numbers, or several arrays; x has one that is not finite; they
        have different lengths, or none; or weights are not a finite number for each sample.
    """
    if isinstance(data, tuple | list) and len(data) in (2, 3) and not all(map(is_batch, data)):
        expect_one_array(name, *data[:2])
        x, y, *weights = (
            numbers_of(part, f"{name}: {of}") for part, of in zip(data, ("x", "y", "weights"))
        )
        if not len(x) or len(x) != len(y):
            raise Refused(f"{name}: x has {len(x)} samples, y {len(y)}; expected as many, and some")
        if (wrong := rows_not_finite(x)).size:
            raise Refused(f"{name}: x[{wrong[0]}] {describe_not_finite(x, wrong)}")
        for each in weights:
            expect_weights(f"{name}: weights", each, len(y))
            if (wrong := rows_not_finite(each)).size:
                raise Refused(f"{name}: weights[{wrong[0]}] {describe_not_finite(each, wrong)}")
        return ArrayBatches(x, y, size, *weights)
    if isinstance(data, Iterator):
        raise Refused(f"{name}: an iterator ends after one epoch; expected a list, or a DataLoader")
    if not isinstance(data, Iterable) or hasattr(data, "shape"):
        raise Refused(f"{name}: {type(data).__name__}; {EXPECTED}")
    return Stream(data, name, is_cut=steps is not None)


def is_batch(value: Any) -> bool:
    """Whether it is a batch of arrays, and not a list of samples."""
    is_some = isinstance(value, tuple | list) and len(value) in (2, 3)
    return is_some and any(hasattr(each, "shape") for each in value)


def expect_one_array(name: str, x: Any, y: Any) -> None:
    """Refuse several inputs, or several targets: arrays that are not as many as the samples.

    Raises
    ------
    Refused
        x or y is a tuple or a list of arrays; the message says what can be done.
    """
    for of, part, other in (("x", x, y), ("y", y, x)):
        if not isinstance(part, tuple | list) or not part:
            continue
        samples = (len(other),) if isinstance(other, tuple | list) else np.shape(other)[:1]
        if all(getattr(each, "shape", ()) for each in part) and samples != (len(part),):
            raise Refused(
                f"{name}: {of} is {len(part)} arrays; expected one. A net of several inputs, or a "
                "loss of several targets, is trained in a loop of your own, as in docs/training.md"
            )


def expect_weights(what: str, weights: Any, samples: int) -> None:
    """Refuse weights that are not a number for each sample.

    Raises
    ------
    Refused
        The message has their shape.
    """
    if np.shape(weights) != (samples,):
        raise Refused(
            f"{what} is {np.shape(weights)}; expected ({samples},), a number for each sample"
        )


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
    x: np.ndarray,
    y: np.ndarray,
    size: int,
    rng: np.random.Generator | None = None,
    *more: np.ndarray,
) -> Iterator[tuple[np.ndarray, ...]]:
    """Batches of at most `size` samples of x, y and `more`, in an order that `rng` draws.

    Their sizes differ by one at most: in a small last batch each sample would count for more.
    """
    order = np.arange(len(x)) if rng is None else rng.permutation(len(x))
    for rows in np.array_split(order, steps(len(x), size)):
        yield tuple(part[rows] for part in (x, y, *more))
