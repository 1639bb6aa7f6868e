"""Data about a subject while it is checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine import mx
from ..ops.ways.guards import Guards
from ._report import Report, Unchecked
from ._subject import Subject
from ._trial import Trial, UnprotectedTrial
from ._values import Results, Values


class Checker:
    """A subject under check, and the results with which its checks compare.

    Attributes
    ----------
    trial : Trial
        A trial on the CPU, in float64, or in float32 if only that runs.
    reference : Results
        The results of the first run; not set before it.
    larger_batch : Results or None
        The results for a batch with one more row, if the subject takes one.
    backward_error : Exception or None
        The error of the operator's own backward, or an error about the shape of a gradient.
    guards : Guards
        Guards around the arrays of the library functions that it calls.
    """

    reference: Results
    guards: Guards

    def __init__(
        self,
        subject: Subject,
        compiled: bool,
        seeded: bool,
        quick: bool = False,
        progress: Callable[[str], Any] | None = None,
    ):
        self.subject, self.compiled = subject, compiled
        self.quick, self.progress = quick, progress
        self.values = subject.values
        self.trial = Trial(subject, "float64", mx.cpu(), seeded)
        self.larger_batch: Results | None = None
        self.backward_error: Exception | None = None
        arrays = [f"{n} {v.shape}" for n, v in subject.values.items()]
        given = [f"{n}={v!r}" for n, v in subject.attributes.items()]
        self.report = Report(f"{subject.title}: {', '.join([*arrays, *given])}")

    def unprotected(self, values: Values | None = None) -> UnprotectedTrial | None:
        """Return a trial of the subject's own functions, or None; `values` replace its values."""
        return UnprotectedTrial.of(self.trial, self.values if values is None else values)

    def trials(self) -> list[Trial]:
        """Return the trials: without the engine, if the subject has functions, and through it."""
        unprotected = self.unprotected()
        return [self.trial] if unprotected is None else [unprotected, self.trial]

    def has_passed(self, name: str) -> bool:
        """True if a check has passed."""
        return self.report[name].status == "passed"

    @property
    def differentiable(self) -> bool:
        """True if there are gradients to compute."""
        return not self._reason_without_gradients and self.backward_error is None

    @property
    def _reason_without_gradients(self) -> str:
        if not self.subject.differentiated:
            return "it has no gradients"
        floats = any(y.dtype.kind == "f" for y in self.reference.outputs)
        return "" if floats else "no output is of floats"

    def expect_differentiable(self) -> None:
        """Raise Unchecked, or the error of backward, if there are no gradients to compute."""
        if self._reason_without_gradients:
            raise Unchecked(self._reason_without_gradients)
        if self.backward_error is not None:
            raise self.backward_error

    def expect_gradients(self) -> tuple[str, ...]:
        """Return the inputs with computed gradients; raise Unchecked if there are none."""
        if self.backward_error is None:
            self.expect_differentiable()
        if not self.reference.gradients:
            raise Unchecked("there are no gradients to compare")
        return tuple(self.reference.gradients)
