"""Checks that a subject runs, returns the declared results, and the same ones each time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ._checker import Checker
from ._report import Failure, Unchecked, describe_error
from ._trial import Trial, UnprotectedTrial, drop_pending_errors
from ._values import PRECISION, Values, format_number, is_identical, largest_difference

SEED = "if it draws random numbers, seeded=True (--seeded) has it draw the same in each call"


class FirstRun:
    """A first run in one dtype: without the engine, then through it.

    Attributes
    ----------
    outputs : list of numpy.ndarray
    declared : dict of str to dict
        The declared 'shapes' and 'types', by name.
    mismatches : dict of str to list of str
        Descriptions of arrays whose 'shapes' or 'types' are not the declared ones.
    error : Exception or None
        The error of the run, of any kind.
    """

    def __init__(self, trial: Trial, values: Values):
        self.trial, self.values = trial, values
        self.outputs: list[np.ndarray] = []
        self.declared: dict[str, dict] = {}
        self.mismatches: dict[str, list[str]] = {"shapes": [], "types": []}
        self.error: Exception | None = None
        try:
            self._run()
        except Exception as error:
            self.error = error

    def _run(self) -> None:
        unprotected = UnprotectedTrial.of(self.trial, self.values)
        if unprotected is not None:
            try:
                self.outputs = unprotected.forward(self.values)
            finally:
                self._add(unprotected.code.mismatches)
            self._compare()
        if not self.problem:
            self.outputs = self.trial.forward(self.values)
            self._compare()

    def _compare(self) -> None:
        """Compare the results with the declarations."""
        subject = self.trial.subject
        shapes, types = subject.declared(self.values, self.trial.dtype)
        self.declared = {"shapes": shapes, "types": types}
        found = dict(zip(subject.outputs, self.outputs))
        real = {n: v.shape for n, v in (self.values | found).items()}
        dtypes = {n: np.dtype(types[n]) for n in types if n in found}
        self._add(
            {
                "shapes": [
                    f"{n} is {real[n]}, declared {tuple(s)}"
                    for n, s in shapes.items()
                    if n in real and tuple(s) != real[n]
                ],
                "types": [
                    f"{n} is {found[n].dtype}, declared {dtype}{subject.declared_by}"
                    for n, dtype in dtypes.items()
                    if dtype != found[n].dtype
                ],
            }
        )

    def _add(self, mismatches: dict[str, list[str]]) -> None:
        for what, found in mismatches.items():
            self.mismatches[what] = list(dict.fromkeys(self.mismatches[what] + found))

    @property
    def all_mismatches(self) -> list[str]:
        """Return all descriptions of arrays that differ from their declarations."""
        return [text for found in self.mismatches.values() for text in found]

    @property
    def problem(self) -> str:
        """Return the reason to check nothing more, or ""."""
        if self.error is not None:
            return "it does not run"
        return "its outputs are not as it declares" if self.all_mismatches else ""

    @property
    def description(self) -> str:
        """Describe the fault in one line, if there is one."""
        if self.error is not None:
            return (
                str(self.error) if isinstance(self.error, Failure) else describe_error(self.error)
            )
        return "".join(self.all_mismatches[:1])

    @property
    def reached(self) -> int:
        """Return 0 if it fails, 1 if its outputs are not as declared, else 2."""
        return 1 if self.all_mismatches else 2 if self.error is None else 0


def first_run(checker: Checker) -> tuple[FirstRun, str]:
    """Run in float64, or in float32 if that gets further; return the run and the reason."""
    found = FirstRun(checker.trial, checker.values)
    if not (found.problem or _computes_in_float32(found)):
        return found, ""
    single = FirstRun(replace(checker.trial, dtype="float32"), checker.values)
    if single.reached > found.reached or not (found.problem or single.problem):
        return single, found.description or "its code rounds to float32"
    return found, ""


def _computes_in_float32(run: FirstRun) -> bool:
    """True if outputs have only the digits of float32, or do not depend on further digits."""
    floats = _floats(run)
    if all((y == np.round(y)).all() for y in floats):  # whole numbers show nothing
        return False
    random = np.random.RandomState(5)
    known = getattr(run.trial.subject, "parameters", {})
    changed = {  # digits beyond float32
        n: v * (1 + 1e-12 * random.uniform(0.1, 1, v.shape))
        for n, v in run.values.items()
        if n not in known and v.dtype.kind == "f" and (v != np.round(v)).any()
    }
    again = _floats(FirstRun(run.trial, run.values | changed))
    if changed and all(np.array_equal(a, b) for a, b in zip(floats, again)):
        return True  # float32 somewhere inside
    return all((y == y.astype("float32")).all() for y in [*floats, *again])


def _floats(run: FirstRun) -> list[np.ndarray]:
    return [y for y in run.outputs if y.dtype.kind == "f"]


def runs(checker: Checker, run: FirstRun) -> str:
    """Check that the subject runs."""
    if run.error is not None:
        raise run.error
    return ", ".join(
        f"{n} {y.shape} {y.dtype}" for n, y in zip(checker.subject.outputs, run.outputs)
    )


def declared(checker: Checker, run: FirstRun, what: str) -> str:
    """Check that the shapes or types are the declared ones."""
    if run.mismatches[what]:
        raise Failure("; ".join(run.mismatches[what]))
    if run.error is not None:
        raise Unchecked("it does not run")
    if not run.declared.get(what):
        raise Unchecked(checker.subject.undeclared)
    return "as declared"


def float64(checker: Checker, reason: str) -> str:
    """Check that the subject computes in float64."""
    _, absolute, relative = PRECISION[checker.trial.dtype]
    of_each = f"{relative:g} of each"
    text = f"gradients are compared to {absolute:g} of the largest, or of 1 if that is more"
    if reason:
        raise Unchecked(
            f"{reason}; in float32, {text}; up to {of_each} is added where differences are inexact"
        )
    return f"{text}, plus {of_each}"


def deterministic(checker: Checker) -> str:
    """Check that a second call gives the same results."""
    known, trial = checker.reference, checker.trial
    for name, a, b in zip(checker.subject.outputs, known.outputs, trial.forward(known.values)):
        if not is_identical(a, b):
            far = format_number(largest_difference(a, b))
            raise Failure(f"{name} differs by {far} in a second call{_hint(trial)}")
    if not checker.differentiable:
        return "forward"
    names = checker.subject.differentiated
    try:
        first, second = (trial.gradients(known.values, known.heads, names) for _ in range(2))
    except Exception:  # another check reports gradients
        drop_pending_errors()
        return "forward"
    for name in first:
        if not is_identical(first[name], second[name]):
            far = format_number(largest_difference(first[name], second[name]))
            raise Failure(
                f"the gradient of {name} differs by {far} in a second backward{_hint(trial)}"
            )
    return "forward and backward"


def _hint(trial: Trial) -> str:
    return "" if trial.seeded else f"\n{SEED}"
