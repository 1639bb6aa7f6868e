"""Runs of a subject, with NumPy's arrays on both sides; and numeric gradients of it."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ..engine import autograd, mx, nd
from .report import Failure
from .subject import Subject, Values

__all__ = ["Trial", "compare", "differs", "number", "same"]

# Step of the central differences, absolute and relative tolerance; by the precision in which the
# operator computes. The absolute one is multiplied by the largest value, if that is above 1.
PRECISION = {"float64": (1e-6, 1e-5, 1e-3), "float32": (2.0**-7, 2e-3, 1e-2)}
SAMPLE = 32  # elements of an input that are moved one by one; what is larger is sampled


class Trial:
    """A subject in one dtype, on one context."""

    def __init__(self, subject: Subject, dtype: str, context: Any, seeded: bool = False):
        self.subject, self.dtype, self.context = subject, dtype, context
        self.seeded = seeded

    def seed(self) -> None:
        """Draw the same numbers again, if asked to."""
        if self.seeded:
            mx.random.seed(0)
            np.random.seed(0)

    def place(self, values: Values, req: Any = None) -> dict[str, Any]:
        """NDArrays of the values."""
        return self.subject.place(values, self.dtype, self.context, req)

    def forward(self, values: Values) -> list[np.ndarray]:
        """The outputs, in training."""
        arrays = self.place(values)
        self.seed()
        with autograd.train_mode():
            return [y.asnumpy() for y in self.subject.call(arrays)]

    def own_forward(self, code: Any, arrays: dict[str, Any]) -> list[np.ndarray]:
        """The outputs of a subject's own code, without the engine."""
        self.seed()
        with self.context, autograd.train_mode():
            return [y.asnumpy() for y in code.forward(arrays)]

    def own(self, values: Values) -> None:
        """Run a subject's own code, if it has any: an error is told better, and hangs nothing."""
        arrays = self.place(values)
        code = self.subject.direct(arrays)
        if code is not None:
            self.own_forward(code, arrays)

    def record(self, arrays: dict[str, Any]) -> list:
        """The outputs, with a past."""
        self.seed()
        with autograd.record():
            return self.subject.call(arrays)

    def backward(self, outputs: list, heads: list[np.ndarray]) -> None:
        """Go back from the outputs that are floats."""
        placed = [
            (y, nd.array(dy, ctx=y.context, dtype=y.dtype))
            for y, dy in zip(outputs, heads)
            if np.dtype(y.dtype).kind == "f"
        ]
        autograd.backward([y for y, _ in placed], [dy for _, dy in placed])

    def gradients(self, values: Values, heads: list[np.ndarray], names: tuple = ()) -> Values:
        """The gradients of the inputs that have one, or of `names`."""
        names = names or self.subject.wanted
        arrays = self.place(values, dict.fromkeys(names, "write"))
        self.backward(self.record(arrays), heads)
        return {n: arrays[n].grad.asnumpy() for n in names}

    def heads(self, outputs: list[np.ndarray], seed: int = 1) -> list[np.ndarray]:
        """Random gradients of the outputs; ones for a loss."""
        if self.subject.is_loss:
            return [np.ones(y.shape) for y in outputs]
        random = np.random.RandomState(seed)
        return [
            random.uniform(0.5, 1.5, y.shape) * random.choice([-1, 1], y.shape) for y in outputs
        ]

    def objective(self, values: Values, heads: list[np.ndarray]) -> float:
        """The number whose gradient the operator's gradients are."""
        subject = self.subject
        if subject.loss is None:
            outputs = self.forward(values)
            pairs = [(y, dy) for y, dy in zip(outputs, heads) if y.dtype.kind == "f"]
            return float(sum((y.astype("float64") * dy).sum() for y, dy in pairs))
        arrays = self.place(values)
        self.seed()
        with autograd.train_mode():
            known = dict(zip(subject.outputs, subject.call(arrays)))
        known = self.place(values) | subject.attributes | known
        names = list(inspect.signature(subject.loss).parameters)
        if unknown := [n for n in names if n not in known]:
            raise Failure(f"loss asks for {unknown[0]!r}, expected of {', '.join(known)}")
        loss = subject.loss(**{n: known[n] for n in names})
        return float(loss.asnumpy().astype("float64").sum())

    def numeric(self, name: str, values: Values, heads: list[np.ndarray]) -> tuple:
        """Where in an input differences were taken, and what they are."""
        eps = PRECISION[self.dtype][0]
        x = values[name]
        places = list(np.ndindex(*x.shape))
        if len(places) > SAMPLE:
            chosen = np.random.RandomState(0).choice(len(places), SAMPLE, replace=False)
            places = [places[i] for i in sorted(chosen)]
        slopes = []
        for at in places:
            step = np.zeros_like(x)
            step[at] = eps * max(1.0, abs(x[at]))
            slopes.append(self._difference(name, values, heads, step) / step[at] / 2)
        return places, np.array(slopes)

    def along(self, name: str, values: Values, heads: list[np.ndarray]) -> tuple:
        """A random direction in an input, and the slope along it."""
        eps = PRECISION[self.dtype][0]
        direction = np.random.RandomState(2).standard_normal(values[name].shape)
        return direction, self._difference(name, values, heads, eps * direction) / eps / 2

    def _difference(self, name: str, values: Values, heads: list, step: np.ndarray) -> float:
        ends = [self.objective(values | {name: values[name] + s}, heads) for s in (step, -step)]
        return ends[0] - ends[1]

    def check_gradient(self, name: str, values: Values, heads: list, gradient: np.ndarray) -> str:
        """Compare a gradient with differences; tell how near it is.

        Raises
        ------
        Failure
        """
        _, atol, rtol = PRECISION[self.dtype]
        if gradient.shape != values[name].shape:
            raise Failure(f"it is {gradient.shape}, and {name} is {values[name].shape}")
        places, slopes = self.numeric(name, values, heads)
        found = np.array([gradient[at] for at in places], dtype="float64")
        distance = np.abs(found - slopes)
        allowed = atol * max(1.0, np.abs(slopes).max(initial=0)) + rtol * np.abs(slopes)
        if not (distance <= allowed).all():
            worst = int(np.nanargmax(np.where(np.isnan(distance), np.inf, distance - allowed)))
            raise Failure(
                f"{number(found[worst])} at {shown(places[worst])}, numeric "
                f"{number(slopes[worst])}; {int((~(distance <= allowed)).sum())} of {len(places)} "
                "elements are wrong"
            )
        text = f"max difference {number(distance.max(initial=0))}"
        if len(places) == gradient.size:
            return text
        direction, slope = self.along(name, values, heads)
        found = float((gradient * direction).sum())
        scale = max(1.0, abs(slope), float(np.abs(gradient * direction).sum()))
        if not abs(found - slope) <= atol * scale + rtol * abs(slope):
            raise Failure(
                f"{number(found)} along a random direction, numeric {number(slope)}; "
                f"the {len(places)} elements tried one by one are right"
            )
        return f"{text}; {len(places)} of {gradient.size} elements, and a random direction"


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
    """How far b is from a, at most; relative to the largest value, if that is above 1.

    Raises
    ------
    Failure
        Farther than `tolerance`; the message begins with `what`.
    """
    if a.shape != b.shape:
        raise Failure(f"{what} is {b.shape}, not {a.shape}")
    found = differs(a, b)
    if not found <= tolerance:
        distance = np.where(np.isfinite(a) & np.isfinite(b) | (a == b), _distance(a, b), np.inf)
        at = np.unravel_index(int(np.argmax(distance)), a.shape)
        raise Failure(f"{what} is {number(b[at])} at {shown(at)}, not {number(a[at])}")
    return found


def differs(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of two arrays; NaN and infinities are equal to themselves."""
    finite = np.abs(a[np.isfinite(a)]).astype("float64")
    return float(_distance(a, b).max(initial=0)) / max(1.0, finite.max(initial=0))


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = a.astype("float64"), b.astype("float64")
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        distance = np.where(equal, 0.0, np.abs(a - b))
    return np.where(np.isnan(distance), np.inf, distance)
