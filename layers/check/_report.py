"""What the checker found: a line per check."""

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
    """At least one check failed; the message is those lines of the report."""


class WrongArguments(TypeError):
    """The checker is called with other inputs than the operator takes."""


class Failure(Exception):
    """A check has found what is wrong.

    Attributes
    ----------
    input : str or None
        The input whose gradient is wrong, where it is one's alone.
    """

    def __init__(self, text: str, input: str | None = None):
        super().__init__(text)
        self.input = input


class Unchecked(Exception):
    """A check cannot be made, and why."""


@dataclass(frozen=True)
class Check:
    """One line of a report.

    Attributes
    ----------
    name : str
        What was checked, such as 'gradient of x'.
    status : {'passed', 'failed', 'not checked'}
    text : str
        The numbers, or the reason.
    """

    name: str
    status: str
    text: str = ""


@dataclass
class Report:
    """The checks of one operator or layer, in their order.

    ``print(report)`` shows them, ``report["gradient of x"]`` is one, iteration gives all.

    Attributes
    ----------
    title : str
    checks : list of Check
    advice : list of str
        What is no failure, and worth knowing: a value from outside that a function reads, which a
        graph keeps, or that it changes.
    """

    title: str
    checks: list[Check] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    @property
    def failed(self) -> list[Check]:
        """The checks that failed."""
        return self._of("failed")

    @property
    def not_checked(self) -> list[Check]:
        """The checks that could not be made; their `text` has the reason."""
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
        """Raise what failed; give the report itself when nothing did.

        Raises
        ------
        CheckFailed
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
    """An exception: its type, what a call of the subject says, and the line of code it is from."""
    told = [str(error), *getattr(error, "__notes__", ())]
    lines = [line.strip() for text in told for line in text.splitlines() if line.strip()]
    if lines and lines[0].startswith("Traceback"):  # MXNet's own, of its C++ code
        lines = lines[-1:]
    lines = [line for line in lines if not line.startswith(("in forward of", "in backward of"))]
    text = "\n".join(lines).removeprefix("MXNetError: ")
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return f"{type(error).__name__}: {text}{_place(error)}".rstrip(": ")


def _place(error: BaseException) -> str:
    """The last line of the operator's own code that the exception passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [i for i, f in enumerate(frames) if f.filename.startswith(CHECKER)]
    users = [f for f in frames[ours[-1] + 1 if ours else 0 :] if is_users_file(f.filename)]
    return f" ({Path(users[-1].filename).name}, line {users[-1].lineno})" if users else ""


def is_users_file(path: str) -> bool:
    """Whether a file is neither of this library nor of Python's or an installed one."""
    return not path.startswith((LIBRARY, STANDARD, "<")) and "site-packages" not in path
