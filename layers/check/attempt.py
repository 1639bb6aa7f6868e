"""A first run, and what it gives against what is declared."""

from __future__ import annotations

import numpy as np

from .report import Failure, Unchecked, told
from .subject import Values
from .trial import Trial

__all__ = ["Attempt"]


class Attempt:
    """A first run in one dtype: the operator's own code, then through the engine.

    Attributes
    ----------
    reached : int
        0 where its code fails, 1 where it gives other than it declares or the engine refuses it, 2.
    problem : str
        Why nothing more is to be checked, if so.
    complaint : str
        What is wrong, in a line.
    """

    def __init__(self, trial: Trial, values: Values):
        self.trial, self.subject = trial, trial.subject
        self.reached, self.problem, self.complaint = 0, "", ""
        self.outputs: list[np.ndarray] = []
        self.lies: dict[str, list[str]] = {"shapes": [], "types": []}
        self.declared: tuple[dict, dict] | None = None
        self.error: Exception | None = None
        try:
            self._run(values)
        except Exception as error:  # the operator's, of any kind
            self.error, self.problem = error, "it does not run"
            self.complaint = str(error) if isinstance(error, Failure) else told(error)

    def _run(self, values: Values) -> None:
        trial = self.trial
        arrays = trial.place(values)
        code = self.subject.direct(arrays)
        if code is not None:
            try:
                self.outputs = trial.own_forward(code, arrays)
            finally:
                self._settle(code.lies)
            self._look(values, self.outputs)
        if not self.problem:
            self.outputs = trial.forward(values)
            self._look(values, self.outputs)
        self.reached = 1 if self.problem else 2

    def _settle(self, lies: dict[str, list[str]]) -> None:
        """Add what is other than declared."""
        for what, found in lies.items():
            self.lies[what] += [lie for lie in found if lie not in self.lies[what]]
        every = [lie for found in self.lies.values() for lie in found]
        if every:
            self.reached, self.problem = 1, "it gives other than it declares"
            self.complaint = every[0]

    def _look(self, values: Values, outputs: list[np.ndarray]) -> None:
        """Compare what it gives with what it declares."""
        try:
            shapes, types = self.declared = self.subject.declared(values, self.trial.dtype)
        except Unchecked:
            return
        found = dict(zip(self.subject.outputs, outputs))
        real = {n: v.shape for n, v in (values | found).items()}
        self._settle(
            {
                "shapes": [
                    f"{n} is {real[n]}, declared {tuple(s)}"
                    for n, s in shapes.items()
                    if n in real and tuple(s) != real[n]
                ],
                "types": [
                    f"{n} is {y.dtype}, declared {np.dtype(types[n])}"
                    for n, y in found.items()
                    if n in types and np.dtype(types[n]) != y.dtype
                ],
            }
        )

    def ran(self) -> str:
        """The line of the run."""
        if self.error is not None:
            raise self.error
        names = zip(self.subject.outputs, self.outputs)
        return ", ".join(f"{n} {y.shape} {y.dtype}" for n, y in names)

    def shapes(self) -> str:
        """The line of the shapes."""
        return self._line("shapes", 0)

    def types(self) -> str:
        """The line of the types."""
        return self._line("types", 1)

    def _line(self, what: str, i: int) -> str:
        if self.error is not None and not self.lies[what]:
            raise Unchecked("it does not run")
        if self.lies[what]:
            raise Failure("; ".join(self.lies[what]))
        if self.declared is None or not self.declared[i]:
            raise Unchecked("it declares none")
        return "as declared"
