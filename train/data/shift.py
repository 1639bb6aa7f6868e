"""What is subtracted in float64 where float32 is too coarse for numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Shift", "moments"]

COARSE = 1e-3  # of the size of numbers: of a spread below it float32 has fewer than five digits
SAME = 1e-15  # of their size: numbers that differ by less are one number in float64
RANGE = 1e-30, 1e30  # in which squares and sums of a few are far from float32's ends
ONE = np.ones((1, 1))
CHUNK = 1 << 22  # numbers that are looked at together


@dataclass(frozen=True)
class Shift:
    """The numbers x / unit - offset, which a network computes with in float32.

    Ordinary numbers have the unit 1 and the offset 0: they are given to the network as they are.

    Attributes
    ----------
    offset, unit : array (1, k), or (1, 1) for all numbers together
    """

    offset: np.ndarray
    unit: np.ndarray

    @classmethod
    def none(cls) -> Shift:
        return cls(np.zeros((1, 1)), np.ones((1, 1)))

    @classmethod
    def of(cls, x: np.ndarray, alike: bool = False, numbers: int | None = None) -> Shift:
        """Return what the samples (n, k) need, each feature by itself or all `alike`.

        Features after so many `numbers` are codes, which stay as they are.
        """
        if x.dtype == np.uint8 or not x.size:
            return cls.none()
        axis = None if alike else 0
        size = np.maximum(
            np.abs(x.min(axis, keepdims=True).astype("float64")),
            np.abs(x.max(axis, keepdims=True).astype("float64")),
        ).reshape(1, -1)
        unit = np.ones_like(size)
        is_far = (size > 0) & ((size < RANGE[0]) | (size > RANGE[1]))
        unit[is_far] = 10.0 ** np.clip(np.floor(np.log10(size[is_far])), -307, 307)
        mean, std = moments(x, alike, unit)
        size = size / unit
        offset = np.where((std > SAME * size) & (std < COARSE * size), mean, 0.0)
        offset = np.where((unit == 1) & (std > 1), np.round(offset), offset)  # of whole numbers
        if numbers is not None:
            offset[:, numbers:], unit[:, numbers:] = 0, 1
        return cls(offset, unit)

    @property
    def is_none(self) -> bool:
        return bool((self.offset == 0).all() and (self.unit == 1).all())

    def take(self, x: np.ndarray) -> np.ndarray:
        """Return numbers as the network is given them, in float32; pixels stay as they are."""
        if x.dtype == np.uint8:
            return x
        with np.errstate(over="ignore"):
            return (x if self.is_none else x / self.unit - self.offset).astype("float32")

    def back(self, y: np.ndarray) -> np.ndarray:
        """Return the numbers, in float64, of what a network gives."""
        return (y.astype("float64") + self.offset) * self.unit

    def described(self, i: int) -> str:
        """Describe the shift of a feature in words; "" where there is none."""
        offset, unit = (each[0, i % each.size].item() for each in (self.offset, self.unit))
        parts = [f"in units of {unit:g}"] * (unit != 1) + [f"less {offset:.17g}"] * (offset != 0)
        return ", ".join(parts) + " in float64" * bool(parts)

    def json(self) -> dict[str, Any]:
        """Return what a config.json has of it: a number where it is one for all."""
        return {name: plain(each[0]) for name, each in vars(self).items()}

    @classmethod
    def from_json(cls, offset: Any, unit: Any) -> Shift:
        return cls(*(np.array(each, "float64").reshape(1, -1) for each in (offset, unit)))


def plain(values: np.ndarray) -> float | list[float]:
    return float(values[0]) if (values == values[0]).all() else values.tolist()


def moments(x: np.ndarray, alike: bool, unit: Any = ONE) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and deviation of x / unit, (1, k), of each feature or (1, 1) of all `alike`.

    In float64, of some rows at a time: pixels of eight bits are never all converted.
    """
    size = max(1, CHUNK // max(1, x.shape[1]))
    rows = [slice(i, i + size) for i in range(0, len(x), size)]
    mean = np.sum([(x[r] / unit).sum(axis=0) for r in rows], axis=0) / len(x)
    variance = np.sum([np.square(x[r] / unit - mean).sum(axis=0) for r in rows], axis=0) / len(x)
    if alike:
        variance = (variance + np.square(mean - mean.mean())).mean(keepdims=True)
        mean = mean.mean(keepdims=True)
    return mean[None], np.sqrt(variance)[None]
