"""The types of settings: each reads one from text, and checks one from a file or an argument."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from layers._errors import quoted

from . import Refused

__all__ = [
    "Type",
    "choice",
    "contexts",
    "expect",
    "flag",
    "holdout",
    "joined",
    "names",
    "not_negative",
    "options",
    "path",
    "patterns",
    "positive",
    "rates",
    "share",
    "size",
    "sizes",
    "some",
    "text",
    "whole",
]


def as_text(value: str) -> Any:
    return value


def as_number(value: str) -> Any:
    """Return the number that a text writes, or the text, which no check of numbers passes."""
    try:
        return int(value) if re.fullmatch(r"[-+]?\d{1,18}", value) else float(value)
    except ValueError:
        return value


@dataclass(frozen=True)
class Type:
    """A type of settings.

    Attributes
    ----------
    expected : str
        Its values in words, for a message.
    convert : callable
        Returns a value in the form in which the programs use it, or None for a wrong value.
    metavar : str
        Its place in the help: ``--epochs N``.
    read : callable
        Makes a value of a text of the command line, which `convert` then checks.
    """

    expected: str
    convert: Callable[[Any], Any]
    metavar: str = ""
    read: Callable[[str], Any] = as_text

    def check(self, value: Any) -> Any:
        """Return a value as the programs use it.

        Raises
        ------
        ValueError
            It is not of this type.
        """
        if (found := self.convert(value)) is None:
            raise ValueError(f"expected {self.expected}, not {quoted(value)}")
        return found

    def parse(self, given: str) -> Any:
        """Return the value that a text of the command line writes; raises as `check`."""
        try:
            return self.check(self.read(given))
        except ValueError:
            raise ValueError(f"expected {self.expected}, not {quoted(given)}") from None


def whole(least: int) -> Type:
    """Return the type of whole numbers from this one."""

    def convert(value: Any) -> int | None:
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        return int(value) if is_whole and least <= value < 2**31 else None

    return Type(f"a whole number from {least}", convert, "N", as_number)


def number(is_right: Callable[[float], bool], expected: str, metavar: str) -> Type:
    """Return the type of numbers for which a condition holds."""

    def convert(value: Any) -> float | None:
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        return float(value) if is_number and is_right(float(value)) else None

    return Type(expected, convert, metavar, as_number)


positive = number(lambda value: 0 < value < math.inf, "a number above 0, such as 0.01", "RATE")
not_negative = number(lambda value: 0 <= value < math.inf, "a number from 0", "X")
share = number(lambda value: 0 <= value < 1, "a number from 0 to below 1, such as 0.1", "SHARE")


def seconds_of(value: Any) -> float | None:
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smhd]?)", str(value))
    seconds = (
        float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]] if found else 0
    )
    return seconds or None


duration = Type("a time above 0, such as 90s, 15m or 2h", seconds_of, "TIME")


def text_of(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def text(metavar: str) -> Type:
    """Return the type of texts."""
    return Type("text", text_of, metavar)


flag = Type("true or false", lambda value: value if isinstance(value, bool) else None)


def path_of(value: Any) -> Path | None:
    return Path(os.path.expanduser(value)) if isinstance(value, str | Path) else None


path = Type("a path", path_of, "PATH")


def choice(*values: str) -> Type:
    """Return the type of settings that have one of these values."""
    metavar = "|".join(values)
    return Type(
        f"one of {', '.join(values)}",
        lambda value: value if value in values else None,
        metavar if len(metavar) < 50 else "NAME",
    )


def some(*known: str) -> Type:
    """Return the type of settings that have some of these values, in the order of these."""

    def convert(value: Any) -> tuple[str, ...] | None:
        given = value.split(",") if isinstance(value, str) else value
        found = {str(each).strip() for each in given} if isinstance(given, list | tuple) else {""}
        return tuple([each for each in known if each in found]) if found <= {*known} else None

    return Type(f"some of {', '.join(known)}, such as {','.join(known[:2])}", convert, "A,B")


def sizes_of(value: Any) -> list[int] | None:
    parts = value if isinstance(value, list | tuple) else str(value).split(",")
    right = all(re.fullmatch(r"\s*0*[1-9]\d{0,6}\s*", str(part)) for part in parts)
    return [int(part) for part in parts] if parts and right else None


sizes = Type("sizes of layers, such as 128 or 128,64", sizes_of, "N,N")


def size_of(value: Any) -> tuple[int, int] | None:
    found = sizes_of(value) or []
    return (found[0], found[-1]) if 1 <= len(found) <= 2 and max(found) < 10_000 else None


size = Type("height and width in pixels, such as 32 or 32,48", size_of, "H,W")


SPLIT = re.compile(r"(?:(0?\.\d+)|(\d{1,3})/(\d{1,3}))?,?(?:(group|time):(.+))?", re.DOTALL)


def holdout_of(value: Any) -> str | None:
    text = str(value) if isinstance(value, str | float) else ""
    share, fold, folds, _, column = (match := SPLIT.fullmatch(text)) and match.groups() or [""] * 5
    right = float(share or 1) > 0 and (not folds or 1 <= int(fold) <= int(folds) > 1)
    return text if right and (share or folds or column) else None


holdout = Type(
    "a share such as 0.2, a fold such as 2/5, group:COLUMN, time:COLUMN, or 0.1,time:COLUMN "
    "(--validation names a file)",
    holdout_of,
    "HOW",
)


def names_of(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        try:
            value = [name.strip() for name in next(csv.reader([value]), [])]
        except csv.Error:  # it ends a line, or has more than 131,072 characters in a name
            return None
    is_list = isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)
    return tuple(value) if is_list and all(value) and len({*value}) == len(value) > 0 else None


names = Type("names of columns, each once, such as age,height", names_of, "A,B")


def joined(values: Iterable) -> str:
    """Return the text from which `names` reads these; one with a comma in it is quoted."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()


def contexts_of(value: Any) -> tuple[tuple[str, int], ...] | None:
    parts = value.split(",") if isinstance(value, str) else []
    found = [re.fullmatch(r"(cpu|gpu)(?::(\d{1,4}))?", part.strip()) for part in parts]
    named = tuple([(match[1], int(match[2] or 0)) for match in found if match])
    return named if len({*named}) == len(found) > 0 else None


contexts = Type("contexts, each once, such as cpu, gpu or gpu:0,gpu:1", contexts_of, "CTX")


def option_of(given: str) -> Any:
    """Return {name: value} of a text such as ``momentum=0.9``."""
    name, equals, value = (part.strip() for part in given.partition("="))
    words = {"true": True, "false": False, "none": None}
    if not (equals and name.isidentifier() and value):
        return None
    return {name: words[value.lower()] if value.lower() in words else as_number(value)}


def options_of(value: Any) -> dict[str, Any] | None:
    try:
        found = dict(value) if isinstance(value, dict | list) else {None: None}
    except (TypeError, ValueError):
        return None
    right = all(isinstance(name, str) and name.isidentifier() for name in found)
    return found if right else None


def rates_of(value: Any) -> dict[str, float] | None:
    given = value if isinstance(value, dict) else {"*": value}
    found = {pattern: positive.convert(rate) for pattern, rate in given.items()}
    return found if all(isinstance(p, str) and p and rate for p, rate in found.items()) else None


def rate_of(given: str) -> Any:
    """Return {pattern: rate} of a text such as ``output.*=0.01``, or the rate of all."""
    pattern, equals, rate = given.rpartition("=")
    return {pattern.strip(): as_number(rate)} if equals else as_number(given)


rates = Type(f"{positive.expected}, or PATTERN=RATE", rates_of, "RATE", rate_of)


def patterns_of(value: Any) -> tuple[str, ...] | None:
    parts = value.split(",") if isinstance(value, str) else value
    right = isinstance(parts, list | tuple) and all(isinstance(p, str) and p for p in parts)
    return tuple(parts) if right else None


patterns = Type("patterns of parameters' names, such as features.*", patterns_of, "PATTERN")

options = Type("a name and its value, such as momentum=0.9", options_of, "NAME=VALUE", option_of)


def expect(kind: Type, name: str, value: Any) -> Any:
    """Return an argument as the programs use it; None stays None.

    Raises
    ------
    Refused
        It is not of the type; the message has its name and value.
    """
    try:
        return None if value is None else kind.check(value)
    except ValueError as error:
        raise Refused(f"{name}: {error}") from error
