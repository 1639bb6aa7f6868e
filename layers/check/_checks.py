"""The checks in their order, and what one needs of those before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..engine import mx
from . import _elsewhere, _gradients, _memory, _runs
from ._own import Own
from ._report import Check, Failure, Report, Unchecked, told
from ._subject import Subject
from ._trial import Point, Trial, Values, settle


def checks(it: Checker) -> Iterator[tuple]:
    """Each check: its name, the function that gives its line, and what that needs beside `it`."""
    run, reason = _runs.first_run(it)
    yield "runs", _runs.runs, run
    if it.subject.declares and run.reached:
        yield "shapes", _runs.declared, run, "shapes"
        yield "types", _runs.declared, run, "types"
    if run.problem:
        yield "everything else", _left, run.problem
        return
    it.go_on(run)
    yield "float64", _runs.float64, reason
    yield "deterministic", _runs.deterministic
    if not it.has_passed("deterministic"):
        yield "everything else", _left, "it gives other values at each call"
        return
    yield "inputs unchanged", _memory.inputs
    yield "outputs its own", _memory.outputs
    yield "states", _memory.states
    for name in (n for n in it.values if n not in it.subject.states):
        yield f"gradient of {name}", _gradients.gradient, name
    if it.subject.wanted:
        if it.subject.is_loss:
            yield "head gradient", _gradients.head_gradient
        for req in ("write", "add", "null"):
            yield f"req {req}", _memory.requests, req
    yield "another batch size", _elsewhere.another_batch
    if it.trial.dtype == "float64":
        yield "float32", _elsewhere.float32
    yield "replayed = eager", _elsewhere.replayed
    yield "compiled = eager", _elsewhere.compiled
    for context in _elsewhere.contexts():
        yield f"{context} = cpu(0)", _elsewhere.on, context
    if it.subject.shown is not None:
        yield "pickle", _elsewhere.pickled
    if it.subject.block is not None:
        yield "parameters' file", _elsewhere.saved
    if it.subject.wanted:
        yield "second order", _gradients.second_order
        yield "finite", _gradients.finite


def _left(it: Checker, reason: str) -> str:
    raise Unchecked(reason)


class Checker:
    """What is known of a subject while it is checked."""

    here: Point  # what it gives for the values

    def __init__(self, subject: Subject, compiled: bool, seeded: bool):
        self.subject, self.compiled = subject, compiled
        self.values = subject.values
        self.trial = Trial(subject, "float64", mx.cpu(), seeded)
        self.other: Point | None = None  # what it gives for another batch size
        self.broken: Exception | None = None  # what the operator's own backward raises
        arrays = [f"{n} {v.shape}" for n, v in subject.values.items()]
        given = [f"{n}={v!r}" for n, v in subject.attributes.items()]
        self.report = Report(f"{subject.title}: {', '.join([*arrays, *given])}")

    def run(self) -> Report:
        """Make all the checks."""
        for name, function, *needs in checks(self):
            self.report.checks.append(self._line(name, function, needs))
        settle()
        return self.report

    def _line(self, name: str, function: Callable, needs: list[Any]) -> Check:
        try:
            return Check(name, "passed", function(self, *needs))
        except Unchecked as reason:
            return Check(name, "not checked", str(reason))
        except Failure as problem:
            return Check(name, "failed", str(problem))
        except Exception as error:  # the operator's, of any kind: it is what was found
            settle()
            return Check(name, "failed", told(error))

    def go_on(self, run: _runs.FirstRun) -> None:
        """Check what has run."""
        self.trial = run.trial
        self.here = Point(self.values, run.outputs, self.trial.heads(run.outputs))
        try:
            _memory.own_gradients(self)
        except Exception as error:  # the operator's: it is told of each gradient
            self.broken = error

    def own(self, values: Values | None = None) -> Own | None:
        """A trial of the subject's own code, if it has any; for other values, if given."""
        return Own.of(self.trial, self.values if values is None else values)

    def trials(self) -> list[Trial]:
        """The subject's own code, if it has any, and the subject."""
        own = self.own()
        return [self.trial] if own is None else [own, self.trial]

    def has_passed(self, name: str) -> bool:
        """Whether a line is a good one."""
        return self.report[name].status == "passed"

    @property
    def differentiable(self) -> bool:
        """Whether there are gradients to ask for."""
        return not self._undifferentiable and self.broken is None

    @property
    def _undifferentiable(self) -> str:
        if not self.subject.wanted:
            return "it has no gradients"
        floats = any(y.dtype.kind == "f" for y in self.here.outputs)
        return "" if floats else "no output is of floats"

    def expect_differentiable(self) -> None:
        """Go on only where there are gradients to ask for."""
        if self._undifferentiable:
            raise Unchecked(self._undifferentiable)
        if self.broken is not None:
            raise self.broken

    def expect_gradients(self) -> tuple[str, ...]:
        """The inputs whose gradients could be had; go on only where there are some."""
        if self.broken is None:
            self.expect_differentiable()
        if not self.here.gradients:
            raise Unchecked("there are no gradients to compare")
        return tuple(self.here.gradients)
