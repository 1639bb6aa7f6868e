"""Runs of a subject, with NumPy's arrays on both sides."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine import autograd, mx, nd
from ._report import Failure

if TYPE_CHECKING:
    from ._subject import Subject

Values = dict[str, np.ndarray]

# Step of the central differences, absolute and relative tolerance; by the precision in which the
# operator computes. The absolute one is multiplied by the largest value, if that is above 1.
PRECISION = {"float64": (1e-6, 1e-5, 1e-3), "float32": (2.0**-7, 2e-3, 1e-2)}


@dataclass
class Point:
    """Values of the inputs, and what a subject gives for them.

    `heads` are gradients of the outputs, `gradients` those of the inputs that could be had.
    """

    values: Values
    outputs: list[np.ndarray]
    heads: list[np.ndarray]
    gradients: Values = field(default_factory=dict)


@dataclass
class Trial:
    """A subject in one dtype, on one context."""

    subject: Subject
    dtype: str
    context: Any
    seeded: bool

    def seed(self) -> None:
        """Draw the same numbers again, if asked to."""
        if self.seeded:
            mx.random.seed(0)
            np.random.seed(0)

    def place(self, values: Values, req: Any = None) -> dict[str, Any]:
        """NDArrays of the values."""
        return self.subject.place(values, self.dtype, self.context, req)

    def call(self, arrays: dict[str, Any]) -> list:
        """The outputs, in training."""
        self.seed()
        with autograd.train_mode():
            return _computed(self.subject.call(arrays))

    def record(self, arrays: dict[str, Any]) -> list:
        """The outputs, with a past."""
        self.seed()
        with autograd.record():
            return _computed(self.subject.call(arrays))

    def backward(self, outputs: list, heads: list) -> Any:
        """Go back from the outputs that are floats."""
        pairs = [(y, dy) for y, dy in zip(outputs, heads) if np.dtype(y.dtype).kind == "f"]
        autograd.backward([y for y, _ in pairs], [dy for _, dy in pairs])

    def forward(self, values: Values) -> list[np.ndarray]:
        """The outputs."""
        return [y.asnumpy() for y in self.call(self.place(values))]

    def gradients(self, values: Values, heads: list[np.ndarray], names: tuple) -> Values:
        """The gradients of the inputs in `names`."""
        if not names:
            return {}
        arrays = self.place(values, dict.fromkeys(names, "write"))
        outputs = self.record(arrays)
        self.backward(outputs, like(outputs, heads))
        return {n: arrays[n].grad.asnumpy() for n in names}

    def heads(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        """Random gradients of the outputs; ones for a loss."""
        if self.subject.is_loss:
            return [np.ones(y.shape) for y in outputs]
        random = np.random.RandomState(1)
        return [
            random.uniform(0.5, 1.5, y.shape) * random.choice([-1, 1], y.shape) for y in outputs
        ]

    def objective(self, values: Values, heads: list[np.ndarray]) -> float:
        """The number whose gradient the operator's gradients are."""
        subject, arrays = self.subject, self.place(values)
        outputs = self.call(arrays)
        if subject.loss is None:
            pairs = [(y.asnumpy(), dy) for y, dy in zip(outputs, heads)]
            pairs = [(y.astype("float64"), dy) for y, dy in pairs if y.dtype.kind == "f"]
            return float(sum((y * dy).sum() for y, dy in pairs))
        known = arrays | subject.defaults | subject.attributes | dict(zip(subject.outputs, outputs))
        names = list(inspect.signature(subject.loss).parameters)
        if unknown := [n for n in names if n not in known]:
            raise Failure(f"loss asks for {unknown[0]!r}, expected of {', '.join(known)}")
        loss = subject.loss(**{n: known[n] for n in names})
        return float(loss.asnumpy().astype("float64").sum())


def _computed(arrays: list) -> list:
    """The arrays, when they are there: MXNet raises what went wrong where it waits."""
    for array in arrays:
        array.wait_to_read()
    return arrays


def like(arrays: list, values: list[np.ndarray]) -> list:
    """NDArrays of the values, each of the dtype and context of one of `arrays`."""
    return [nd.array(v, ctx=a.context, dtype=a.dtype) for a, v in zip(arrays, values)]


def settle() -> None:
    """Let MXNet raise what it has still to raise: it does so wherever it waits next."""
    try:
        nd.waitall()
    except Exception:  # it has been told
        pass


def number(value: float) -> str:
    """A value with few digits."""
    return f"{float(value):.3g}"


def shown(at: tuple) -> str:
    """A place in an array."""
    return f"[{', '.join(map(str, at))}]"


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are equal to the bit."""
    return (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())


def compare(what: str, a: np.ndarray, b: np.ndarray, tolerance: float) -> float:
    """How far b is from a, as `differs` tells; farther than `tolerance` is a failure of `what`."""
    if a.shape != b.shape:
        raise Failure(f"{what} is {b.shape}, not {a.shape}")
    found = differs(a, b)
    if not found <= tolerance:
        at = np.unravel_index(int(np.argmax(_distance(a, b))), a.shape)
        raise Failure(f"{what} is {number(b[at])} at {shown(at)}, not {number(a[at])}")
    return found


def differs(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of two arrays, relative to the largest value, if that is above 1.

    NaN and infinities are equal to themselves.
    """
    finite = np.abs(a[np.isfinite(a)]).astype("float64")
    return float(_distance(a, b).max(initial=0)) / max(1.0, finite.max(initial=0))


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = a.astype("float64"), b.astype("float64")
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        distance = np.where(equal, 0.0, np.abs(a - b))
    return np.where(np.isnan(distance), np.inf, distance)
