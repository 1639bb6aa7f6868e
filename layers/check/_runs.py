"""It runs, and gives what it declares, the same each time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ._own import Own
from ._report import Failure, Unchecked, told
from ._trial import PRECISION, Trial, Values, differs, number, same, settle

if TYPE_CHECKING:
    from ._checks import Checker


class FirstRun:
    """A first run in one dtype: the operator's own code, then through the engine."""

    def __init__(self, trial: Trial, values: Values):
        self.trial, self.values = trial, values
        self.outputs: list[np.ndarray] = []
        self.declared: dict[str, dict] = {}
        self.lies: dict[str, list[str]] = {"shapes": [], "types": []}  # other than declared
        self.error: Exception | None = None
        try:
            self._run()
        except Exception as error:  # the operator's, of any kind
            self.error = error

    def _run(self) -> None:
        own = Own.of(self.trial, self.values)
        if own is not None:
            try:
                self.outputs = own.forward(self.values)
            finally:
                self._found(own.code.lies)
            self._compare()
        if not self.problem:
            self.outputs = self.trial.forward(self.values)
            self._compare()

    def _compare(self) -> None:
        """Compare what it gives with what it declares."""
        subject = self.trial.subject
        shapes, types = subject.declared(self.values, self.trial.dtype)
        self.declared = {"shapes": shapes, "types": types}
        found = dict(zip(subject.outputs, self.outputs))
        real = {n: v.shape for n, v in (self.values | found).items()}
        dtypes = {n: np.dtype(types[n]) for n in types if n in found}
        self._found(
            {
                "shapes": [
                    f"{n} is {real[n]}, declared {tuple(s)}"
                    for n, s in shapes.items()
                    if n in real and tuple(s) != real[n]
                ],
                "types": [
                    f"{n} is {found[n].dtype}, declared {dtype}"
                    for n, dtype in dtypes.items()
                    if dtype != found[n].dtype
                ],
            }
        )

    def _found(self, lies: dict[str, list[str]]) -> None:
        for what, found in lies.items():
            self.lies[what] = list(dict.fromkeys(self.lies[what] + found))

    @property
    def lied(self) -> list[str]:
        """All that is other than declared."""
        return [lie for found in self.lies.values() for lie in found]

    @property
    def problem(self) -> str:
        """Why nothing more is to be checked, if so."""
        if self.error is not None:
            return "it does not run"
        return "it gives other than it declares" if self.lied else ""

    @property
    def complaint(self) -> str:
        """What is wrong, in a line."""
        if self.error is not None:
            return str(self.error) if isinstance(self.error, Failure) else told(self.error)
        return "".join(self.lied[:1])

    @property
    def reached(self) -> int:
        """0 where it fails, 1 where it gives other than it declares, 2 where neither."""
        return 1 if self.lied else 2 if self.error is None else 0


def first_run(it: Checker) -> tuple[FirstRun, str]:
    """A run in float64; or in float32 where that gets further, with the reason."""
    found = FirstRun(it.trial, it.values)
    if not (found.problem or _rounds(found)):
        return found, ""
    single = FirstRun(replace(it.trial, dtype="float32"), it.values)
    if single.reached > found.reached or not (found.problem or single.problem):
        return single, found.complaint or "its code rounds to float32"
    return found, ""


def _rounds(run: FirstRun) -> bool:
    """Whether the digits of its outputs are those of float32."""
    random = np.random.RandomState(5)
    values = {  # with digits that float32 has not
        n: v * (1 + 1e-9 * random.uniform(0.1, 1, v.shape)) if v.dtype.kind == "f" else v
        for n, v in run.values.items()
    }
    return _short(run.outputs) and _short(FirstRun(run.trial, values).outputs)


def _short(outputs: list[np.ndarray]) -> bool:
    """Whether floats among the outputs have the digits of float32, and are no whole numbers."""
    floats = [y for y in outputs if y.dtype.kind == "f"]
    whole = all((y == np.round(y)).all() for y in floats)
    return not whole and all((y == y.astype("float32")).all() for y in floats)


def runs(it: Checker, run: FirstRun) -> str:
    """It runs."""
    if run.error is not None:
        raise run.error
    return ", ".join(f"{n} {y.shape} {y.dtype}" for n, y in zip(it.subject.outputs, run.outputs))


def declared(it: Checker, run: FirstRun, what: str) -> str:
    """Its shapes or types are as declared."""
    if run.lies[what]:
        raise Failure("; ".join(run.lies[what]))
    if run.error is not None:
        raise Unchecked("it does not run")
    if not run.declared.get(what):
        raise Unchecked(it.subject.undeclared)
    return "as declared"


def float64(it: Checker, reason: str) -> str:
    """It computes in float64."""
    tolerance = PRECISION[it.trial.dtype][1]
    if reason:
        raise Unchecked(f"{reason}; in float32, gradients are compared to {tolerance:g}")
    return f"gradients are compared to {tolerance:g}"


def deterministic(it: Checker) -> str:
    """It gives the same twice."""
    here, trial = it.here, it.trial
    for name, a, b in zip(it.subject.outputs, here.outputs, trial.forward(here.values)):
        if not same(a, b):
            raise Failure(f"{name} differs by {number(differs(a, b))} in a second call")
    if not it.differentiable:
        return "forward"
    names = it.subject.wanted
    try:
        first, second = (trial.gradients(here.values, here.heads, names) for _ in range(2))
    except Exception:  # there is a line for gradients
        settle()
        return "forward"
    for name in first:
        if not same(first[name], second[name]):
            far = number(differs(first[name], second[name]))
            raise Failure(f"the gradient of {name} differs by {far} in a second backward")
    return "forward and backward"
