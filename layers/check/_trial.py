"""Runs of a subject, through the engine and without it, with NumPy arrays on both sides."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..engine import autograd, mx, nd
from ._report import Failure
from ._subject import Subject
from ._values import Values


class OtherShape(Failure):
    """Failure because an output has another shape in a second call."""


@dataclass
class Trial:
    """A subject in one dtype, on one context."""

    subject: Subject
    dtype: str
    context: Any
    seeded: bool

    def seed(self) -> None:
        """Seed the random numbers, if asked to, so that each call draws the same."""
        if self.seeded:
            mx.random.seed(0)
            np.random.seed(0)

    def place(self, values: Values, req: Any = None) -> dict[str, Any]:
        """Return NDArrays of the values."""
        return self.subject.place(values, self.dtype, self.context, req)

    def call(self, arrays: dict[str, Any]) -> list:
        """Return the outputs, in training mode."""
        self.seed()
        with autograd.train_mode():
            return _computed(self.subject.call(arrays))

    def record(self, arrays: dict[str, Any]) -> list:
        """Return the outputs, recorded for backward."""
        self.seed()
        with autograd.record():
            return _computed(self.subject.call(arrays))

    def backward(self, outputs: list, heads: list) -> Any:
        """Run backward from the floating outputs."""
        pairs = [(y, dy) for y, dy in zip(outputs, heads) if np.dtype(y.dtype).kind in "fV"]
        autograd.backward([y for y, _ in pairs], [dy for _, dy in pairs])

    def forward(self, values: Values) -> list[np.ndarray]:
        """Return the outputs as NumPy arrays."""
        return [y.asnumpy() for y in self.call(self.place(values))]

    def gradients(self, values: Values, heads: list[np.ndarray], names: tuple) -> Values:
        """Return the gradients of the inputs in `names`."""
        if not names:
            return {}
        arrays = self.place(values, dict.fromkeys(names, "write"))
        outputs = self.record(arrays)
        self.backward(outputs, arrays_like(outputs, heads))
        return {n: arrays[n].grad.asnumpy() for n in names}

    def heads(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        """Return random gradients of the outputs; ones for a loss."""
        if self.subject.is_loss:
            return [np.ones(y.shape) for y in outputs]
        random = np.random.RandomState(1)
        return [
            random.uniform(0.5, 1.5, y.shape) * random.choice([-1, 1], y.shape) for y in outputs
        ]

    def in_python(self, values: Values) -> Trial:
        """Return a trial in which the Python of each operator runs in each call."""
        if getattr(self.subject.operator, "surrogate", None) is not None:
            return UnprotectedTrial.of(self, values) or self
        return replace(self, subject=self.subject.eager)

    def objective(self, values: Values, heads: list[np.ndarray]) -> float:
        """Return the number whose gradients are compared: the loss, or Σ outputs · heads."""
        subject, arrays = self.subject, self.place(values)
        outputs = self.call(arrays)
        for name, y, dy in zip(subject.outputs, outputs, heads):
            if y.shape != dy.shape:
                told = getattr(subject.operator, "surrogate", None)
                whose = "a second call" if told is None else "the surrogate"
                raise OtherShape(f"{whose} gives {name} {y.shape}, and forward {dy.shape}")
        if subject.loss is None:
            pairs = [(y.asnumpy(), dy) for y, dy in zip(outputs, heads)]
            pairs = [(y.astype("float64"), dy) for y, dy in pairs if y.dtype.kind == "f"]
            return float(sum((y * dy).sum() for y, dy in pairs))
        known = arrays | subject.defaults | subject.attributes | dict(zip(subject.outputs, outputs))
        names = list(inspect.signature(subject.loss).parameters)
        if unknown := [n for n in names if n not in known]:
            raise Failure(f"loss asks for {unknown[0]!r}, expected one of {', '.join(known)}")
        loss = subject.loss(**{n: known[n] for n in names})
        return float(loss.asnumpy().astype("float64").sum())


class UnprotectedTrial(Trial):
    """A trial of the subject's own functions, called without the engine."""

    def __init__(self, trial: Trial, code: Any):
        super().__init__(trial.subject, trial.dtype, trial.context, trial.seeded)
        self.code = code

    @classmethod
    def of(cls, trial: Trial, values: Values) -> UnprotectedTrial | None:
        """Return the trial of a subject's functions for these values; None if it has none."""
        code = trial.subject.code(trial.place(values))
        return code and cls(trial, code)

    def call(self, arrays: dict[str, Any], **options: Any) -> list:
        self.arrays = arrays  # needed by backward
        self.seed()
        with self.context, autograd.train_mode():
            return self.code.forward(arrays, **options)

    record = call

    def backward(self, outputs: list, heads: list, **options: Any) -> dict[str, Any]:
        """Return the gradients, by input."""
        with self.context, autograd.train_mode():
            return self.code.backward(self.arrays, outputs, heads, **options)

    def all_gradients(self, values: Values, heads: list[np.ndarray], **options: Any) -> Values:
        """Return all gradients from backward, requested or not."""
        outputs = self.call(self.place(values))
        found = self.backward(outputs, arrays_like(outputs, heads), **options)
        # The engine refuses results that are no arrays.
        return {n: g.asnumpy() for n, g in found.items() if isinstance(g, nd.NDArray)}


def _computed(arrays: list) -> list:
    """Return the arrays when they are computed: MXNet raises errors where it waits."""
    for array in arrays:
        array.wait_to_read()
    return arrays


def arrays_like(arrays: list, values: list[np.ndarray]) -> list:
    """Return NDArrays of the values, each in the dtype and context of one of `arrays`."""
    return [nd.array(v, ctx=a.context, dtype=a.dtype) for a, v in zip(arrays, values)]


def drop_pending_errors() -> None:
    """Wait for MXNet here, and drop errors that were reported already and would come up later."""
    try:
        nd.waitall()
    except Exception:
        pass
