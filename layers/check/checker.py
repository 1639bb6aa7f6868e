"""The checks in their order, and what one needs of those before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import mx, nd
from . import graph, memory
from .attempt import Attempt
from .report import Check, Failure, Report, Unchecked, told
from .subject import Subject, Values
from .trial import PRECISION, Trial, compare, differs, number, same

__all__ = ["Checker"]

REST = "everything else"


class Checker:
    """The checks of one subject.

    Attributes
    ----------
    trial : Trial
        In float64 on cpu(0), or in float32 where the operator takes nothing else.
    outputs : list of numpy.ndarray
    heads : list of numpy.ndarray
        Gradients of the outputs.
    gradients : dict of str to numpy.ndarray
        What the subject gives for them, by input; those that could be had.
    other : dict of str to numpy.ndarray, or None
        Values of another batch size, that it runs with.
    """

    def __init__(self, subject: Subject, compiled: bool, seeded: bool):
        self.subject, self.compiled, self.seeded = subject, compiled, seeded
        self.values, self.report = subject.values, Report("")
        self.trial = Trial(subject, "float64", mx.cpu(), seeded)
        self.outputs: list[np.ndarray] = []
        self.heads: list[np.ndarray] = []
        self.gradients: Values = {}
        self.other: Values | None = None
        self.broken: Exception | None = None  # what the operator's own backward raises

    def check(self, name: str, function: Callable, *args: Any) -> bool:
        """Add a line to the report; whether it is a good one."""
        status = "passed"
        try:
            text = function(*args) or ""
        except Unchecked as reason:
            status, text = "not checked", str(reason)
        except Failure as problem:
            status, text = "failed", str(problem)
        except Exception as error:  # the operator's, of any kind: it is what was found
            status, text = "failed", told(error)
            settle()
        self.report.checks.append(Check(name, status, text))
        return status == "passed"

    def run(self) -> Report:
        """Make all the checks."""
        self._title()
        reason = self._first() or self._steady()
        if reason:
            self.report.checks.append(Check(REST, "not checked", reason))
            return self.report
        self.check("inputs unchanged", memory.inputs, self)
        self.check("outputs its own", memory.outputs, self)
        self.check("states", memory.states, self)
        self._gradients()
        if self.subject.wanted:
            for req in ("write", "add", "null"):
                self.check(f"req {req}", memory.requests, self, req)
        self.check("another batch size", self._another_batch)
        if self.trial.dtype == "float64":
            self.check("float32", self._float32)
        self.check("replayed = eager", graph.replayed, self)
        self.check("compiled = eager", graph.compiled, self)
        for context in graph.contexts():
            self.check(f"{context} = cpu(0)", graph.on, self, context)
        for name in self.subject.kept:
            self.check(name, {"pickle": graph.pickled, "parameters' file": graph.saved}[name], self)
        if self.subject.wanted:
            self.check("second order", self._second_order)
            self.check("finite", self._finite)
        settle()
        return self.report

    def _title(self) -> None:
        subject = self.subject
        arrays = [f"{n} {v.shape}" for n, v in subject.values.items()]
        given = [f"{n}={v!r}" for n, v in subject.attributes.items()]
        self.report.title = f"{subject.title}: {', '.join([*arrays, *given])}"

    # It runs, and is what it says

    def _first(self) -> str:
        """Whether it runs and gives what it declares; if not, why nothing more is checked."""
        found, reason = self._attempt("float64"), ""
        if found.problem or self._rounds(found):
            single = self._attempt("float32")
            if single.reached > found.reached or not (found.problem or single.problem):
                reason = found.complaint or "its code rounds to float32"
                found = single
        self.trial, self.outputs = found.trial, found.outputs
        self.check("runs", found.ran)
        if found.reached > 0 and self.subject.declares:
            self.check("shapes", found.shapes)
            self.check("types", found.types)
        if found.problem:
            return found.problem
        self.check("float64", self._float64, reason)
        self.heads = self.trial.heads(self.outputs)
        try:
            memory.direct_gradients(self)
        except Exception as error:  # the operator's: it is told of each gradient
            self.broken = error
        return ""

    def _attempt(self, dtype: str) -> Attempt:
        return Attempt(Trial(self.subject, dtype, mx.cpu(), self.seeded), self.values)

    def _rounds(self, attempt: Attempt) -> bool:
        """Whether the digits of its outputs are those of float32."""
        if not short(attempt.outputs):
            return False
        values = {  # with digits that float32 has not
            n: v * (1 + 1e-9 * np.random.RandomState(5).uniform(0.1, 1, v.shape))
            if v.dtype.kind == "f"
            else v
            for n, v in self.values.items()
        }
        return short(attempt.trial.forward(values))

    def _float64(self, reason: str) -> str:
        tolerance = PRECISION[self.trial.dtype][1]
        if reason:
            raise Unchecked(f"{reason}; in float32, gradients are compared to {tolerance:g}")
        return f"gradients are compared to {tolerance:g}"

    # The same again

    def _steady(self) -> str:
        """Whether it gives the same twice; if not, why nothing more is checked."""
        good = self.check("deterministic", self._deterministic)
        return "" if good else "it gives other values at each call"

    def _deterministic(self) -> str:
        trial = self.trial
        for name, a, b in zip(self.subject.outputs, self.outputs, trial.forward(self.values)):
            if not same(a, b):
                raise Failure(f"{name} differs by {number(differs(a, b))} in a second call")
        try:
            self.differentiable()
            first, second = (trial.gradients(self.values, self.heads) for _ in range(2))
        except Exception:  # there is a line for gradients
            settle()
            return "forward"
        for name in first:
            if not same(first[name], second[name]):
                far = number(differs(first[name], second[name]))
                raise Failure(f"the gradient of {name} differs by {far} in a second backward")
        return "forward and backward" if first else "forward"

    # Gradients

    def _gradients(self) -> None:
        for name in (n for n in self.values if n not in self.subject.states):
            self.check(f"gradient of {name}", self._gradient, name)
        if self.subject.is_loss and self.subject.wanted:
            self.check("head gradient", self._head_gradient)

    def finite_outputs(self) -> None:
        """Go on only where the outputs are numbers."""
        for name, y in zip(self.subject.outputs, self.outputs):
            wrong = int((~np.isfinite(y)).sum())
            if wrong:
                raise Unchecked(
                    f"{wrong} of {y.size} values of {name} are not finite: give inputs inside "
                    "its domain"
                )

    def _gradient(self, name: str) -> str:
        subject = self.subject
        if name in subject.silent:
            raise Unchecked(subject.silent[name])
        self.differentiable()
        self.finite_outputs()
        if name not in self.gradients:
            self.gradients |= self._asked(name)
        gradient, x = self.gradients[name], self.values[name]
        if not gradient.any() and x.size and (x == np.round(x)).all() and subject.loss is None:
            raise Unchecked("it is 0, and the input holds whole numbers only: a label?")
        return self.trial.check_gradient(name, self.values, self.heads, gradient)

    def _asked(self, name: str) -> Values:
        """All gradients, or where that fails, one."""
        try:
            return self.trial.gradients(self.values, self.heads)
        except Exception:  # it may be another input's
            settle()
            return self.trial.gradients(self.values, self.heads, (name,))

    def differentiable(self) -> None:
        """Go on only where there is something to differentiate."""
        if not self.subject.wanted:
            raise Unchecked("it has no gradients")
        if not any(y.dtype.kind == "f" for y in self.outputs):
            raise Unchecked("no output is of floats")
        if self.broken is not None:
            raise self.broken

    def graded(self) -> tuple[str, ...]:
        """The inputs whose gradients could be had."""
        if self.broken is None:
            self.differentiable()
        if not self.gradients:
            raise Unchecked("there are no gradients to compare")
        return tuple(self.gradients)

    def _head_gradient(self) -> str:
        names = self.graded()
        heads = [3 * dy for dy in self.heads]
        found = self.trial.gradients(self.values, heads, names)
        for name in names:
            compare(f"with another head gradient, that of {name}", self.gradients[name],
                    found[name], 1e-12)  # fmt: skip
        return "not used: it is a loss"

    # Elsewhere

    def _another_batch(self) -> str:
        candidates = list(batches(self.subject, self.values))
        if not candidates:
            raise Unchecked("no input has a batch axis")
        problems = []
        for values in candidates:
            try:
                return self._at(values)
            except Unchecked as reason:
                problems.append(reason)
            except Exception as error:
                problems.append(error)
        raise next((p for p in problems if not isinstance(p, Unchecked)), problems[0])

    def moved(self, values: Values) -> str:
        """What has another shape in other values."""
        found = [n for n in values if values[n].shape != self.values[n].shape]
        return ", ".join(f"{n} {values[n].shape}" for n in found)

    def _at(self, values: Values) -> str:
        """Shapes and gradients with values of another batch size."""
        subject = self.subject
        what = self.moved(values)
        shapes, told_of = {}, False
        try:
            shapes = subject.declared(values, self.trial.dtype)[0]
            told_of = bool(shapes)
        except Unchecked:
            pass
        except Exception as error:
            raise Unchecked(f"{what} is refused: {told(error)}") from error
        for name in values:
            if name in shapes and tuple(shapes[name]) != values[name].shape:
                raise Unchecked(f"{what} does not fit {name}")
        try:
            self.trial.own(values)
            outputs = self.trial.forward(values)
        except Exception as error:
            kind = Failure if told_of else Unchecked
            raise kind(f"{what}: {told(error)}") from error
        self.other = values
        for name, y in zip(subject.outputs, outputs):
            if name in shapes and tuple(shapes[name]) != y.shape:
                raise Failure(f"{what}: {name} is {y.shape}, declared {tuple(shapes[name])}")
        heads = self.trial.heads(outputs)
        found = self.trial.gradients(values, heads, tuple(self.gradients)) if self.gradients else {}
        for name in self._right():
            try:
                self.trial.check_gradient(name, values, heads, found[name])
            except Failure as problem:
                raise Failure(f"{what}: the gradient of {name} is {problem}") from problem
        return what

    def _right(self) -> list[str]:
        """The inputs whose gradients have passed."""
        return [n for n in self.gradients if self.report[f"gradient of {n}"].status == "passed"]

    def _float32(self) -> str:
        if self.seeded:
            raise Unchecked("in float32 it may draw other numbers")
        tolerance = PRECISION["float32"][1]
        trial = Trial(self.subject, "float32", mx.cpu(), self.seeded)
        found = trial.forward(self.values)
        far = [
            compare(f"in float32, {n}", a, b, tolerance)
            for n, a, b in zip(self.subject.outputs, self.outputs, found)
        ]
        if self.gradients:
            gradients = trial.gradients(self.values, self.heads, tuple(self.gradients))
            far += [
                compare(f"in float32, the gradient of {n}", a, gradients[n], tolerance)
                for n, a in self.gradients.items()
            ]
        return f"max difference {number(max(far))} from float64"

    # Further

    def _second_order(self) -> str:
        names = self.graded()
        self.finite_outputs()
        try:
            found = graph.second_order(self, names)
        except Exception as error:  # refused, as it should be where it cannot be right
            return f"refused: {told(error).partition(';')[0]}"
        return graph.check_second_order(self, names, found)

    def _finite(self) -> str:
        names = self.graded()
        self.finite_outputs()
        for name in names:
            if not np.isfinite(self.gradients[name]).all():
                raise Failure(f"y is finite, and the gradient of {name} is not")
        seen = ["at these inputs"]
        for where, factor in (("at 0", 0.0), ("at 1000 times the inputs", 1000.0)):
            scaled = {n: v * factor if n in names else v for n, v in self.values.items()}
            if graph.finite_at(self, scaled, where):
                seen.append(where)
        return ", ".join(seen)


def settle() -> None:
    """Let MXNet raise what it has still to raise: it does so wherever it waits next."""
    try:
        nd.waitall()
    except Exception:  # it has been told
        pass


def batches(subject: Subject, values: Values) -> Any:
    """Values of another batch size: of all inputs that may have a batch axis, of the first only."""
    owned = getattr(subject, "parameters", ())
    inputs = [n for n in values if n not in subject.states and n not in owned]
    if not inputs:
        return
    size = len(values[inputs[0]])
    alike = [n for n in inputs if len(values[n]) == size]
    for chosen in (alike, inputs[:1])[: 2 if len(alike) > 1 else 1]:
        yield {n: longer(v) if n in chosen else v for n, v in values.items()}


def short(outputs: list[np.ndarray]) -> bool:
    """Whether floats among the outputs have the digits of float32, and are no whole numbers."""
    floats = [y for y in outputs if y.dtype.kind == "f"]
    whole = all((y == np.round(y)).all() for y in floats)
    return not whole and all((y == y.astype("float32")).all() for y in floats)


def longer(x: np.ndarray) -> np.ndarray:
    """An array with one more row."""
    row = x[:1] * 0.9 if x.dtype.kind == "f" else x[:1]
    return np.concatenate([x, row])
