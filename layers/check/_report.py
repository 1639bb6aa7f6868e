"""Report of the checker: one line per check."""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CHECKER = str(Path(__file__).parent)
LIBRARY = str(Path(__file__).parents[1])
STANDARD = sysconfig.get_path("stdlib")
LONGEST = 500  # characters of a message


class CheckFailed(AssertionError):
    """An error about failed checks; the message is their lines of the report."""


class WrongArguments(TypeError):
    """An error about inputs that the operator does not take."""


class Failure(Exception):
    """Failure of a check; the message is the fault that it found.

    Attributes
    ----------
    input : str or None
        The input whose gradient is wrong, if it is only one.
    """

    def __init__(self, text: str, input: str | None = None):
        super().__init__(text)
        self.input = input


class Unchecked(Exception):
    """Reason why a check cannot be made."""


@dataclass(frozen=True)
class Check:
    """One line of a report.

    Attributes
    ----------
    name : str
        The name of the check, such as 'gradient of x'.
    status : {'passed', 'failed', 'not checked'}
    text : str
        The numbers, or the reason.
    """

    name: str
    status: str
    text: str = ""


@dataclass
class Report:
    """Checks of one operator or layer, in order.

    ``print(report)`` shows them, ``report["gradient of x"]`` is one, iteration gives all.

    Attributes
    ----------
    title : str
    checks : list of Check
    advice : list of str
        Facts that are no failures but worth knowing: a function reads a value from outside, which a
        graph keeps, or changes one.
    """

    title: str
    checks: list[Check] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Return True if no check failed."""
        return not self.failed

    @property
    def failed(self) -> list[Check]:
        """Return the checks that failed."""
        return self._of("failed")

    @property
    def not_checked(self) -> list[Check]:
        """Return the checks that could not be made; their `text` has the reason."""
        return self._of("not checked")

    def _of(self, status: str) -> list[Check]:
        return [c for c in self.checks if c.status == status]

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        names = ", ".join(repr(c.name) for c in self.checks)
        raise KeyError(f"no check {name!r}\n  expected one of {names}")

    def raise_on_failure(self) -> Report:
        """Raise CheckFailed if a check failed; return the report otherwise.

        Raises
        ------
        CheckFailed
            At least one check failed.
        """
        if self.failed:
            raise CheckFailed("\n".join([self.title, *self._lines(self.failed), self._summary]))
        return self

    @property
    def _summary(self) -> str:
        statuses = ("passed", "failed", "not checked")
        return ", ".join(f"{len(self._of(status))} {status}" for status in statuses)

    def _lines(self, checks: list[Check]) -> list[str]:
        width = max((len(c.name) for c in self.checks), default=0)
        lines = []
        for check in checks:
            first, *rest = check.text.splitlines() or [""]
            lines.append(f"  {check.status:<11}  {check.name:<{width}}  {first}".rstrip())
            lines += [" " * (width + 17) + line.strip() for line in rest]
        return lines

    def __str__(self) -> str:
        advice = ["advice", *(f"  {text}" for text in self.advice), ""] if self.advice else []
        lines = [self.title, "", *self._lines(self.checks), "", *advice, self._summary]
        return "\n".join(lines)


def describe_error(error: BaseException) -> str:
    """Describe an exception by its type, its message, and the user's line of code."""
    told = [str(error), *getattr(error, "__notes__", ())]
    lines = [line.strip() for text in told for line in text.splitlines() if line.strip()]
    if lines and lines[0].startswith("Traceback"):  # MXNet's own, from its C++ code
        lines = lines[-1:]
    lines = [line for line in lines if not line.startswith(("in forward of", "in backward of"))]
    text = "\n".join(lines).removeprefix("MXNetError: ")
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return f"{type(error).__name__}: {text}{_place(error)}".rstrip(": ")


def _place(error: BaseException) -> str:
    """Return the last line of the operator's own code in the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [i for i, f in enumerate(frames) if f.filename.startswith(CHECKER)]
    users = [f for f in frames[ours[-1] + 1 if ours else 0 :] if is_users_file(f.filename)]
    return f" ({Path(users[-1].filename).name}, line {users[-1].lineno})" if users else ""


def is_users_file(path: str) -> bool:
    """True if a file is neither of this library, nor of Python, nor installed."""
    return not path.startswith((LIBRARY, STANDARD, "<")) and "site-packages" not in path
