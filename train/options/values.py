"""The values of options: each function reads one from its text."""

from __future__ import annotations

import argparse
import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from layers._errors import quoted

__all__ = [
    "AddSetting",
    "contexts",
    "integer_from",
    "is_utf8",
    "joined",
    "last_values",
    "names",
    "not_negative",
    "path",
    "rate",
    "setting",
    "share",
    "size",
    "sizes",
    "some_of",
    "wrong",
]


def integer_from(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text) if re.fullmatch(r"-?\d{1,18}", text) else None
        if value is None or not least <= value < 2**31:
            raise wrong(text, f"a whole number from {least}")
        return value

    return read


def number(is_right: Callable[[float], bool], expected: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not is_right(value):
            raise wrong(text, expected)
        return value

    return read


rate = number(lambda value: 0 < value < math.inf, "a number above 0, such as 0.01")
not_negative = number(lambda value: 0 <= value < math.inf, "a number from 0")
share = number(lambda value: 0 <= value < 1, "a number from 0 to below 1, such as 0.1")


def setting(text: str) -> tuple[str, Any]:
    """A name and its value: a number, true, false, none, or else a text."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (equals and name.isidentifier() and value):
        raise wrong(text, "a name and its value, such as momentum=0.9")
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return name, words[value.lower()]
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, value


class AddSetting(argparse.Action):
    """Add a name and its value to a list; of a name that is given again the last value counts."""

    def __call__(self, parser, namespace, values: Any, option_string=None):
        setattr(namespace, self.dest, last_values([*getattr(namespace, self.dest), values]))


def last_values(settings: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The settings, each name once, with the last of its values."""
    return [*dict(settings).items()]


def sizes(text: str) -> list[int]:
    parts = text.split(",")
    if not all(re.fullmatch(r"\s*0*[1-9]\d{0,6}\s*", part) for part in parts):
        raise wrong(text, "sizes of layers, such as 128 or 128,64")
    return [int(part) for part in parts]


def names(text: str) -> tuple[str, ...]:
    try:
        found = tuple([name.strip() for name in next(csv.reader([text]), [])])
    except csv.Error:  # it ends a line, or has more than 131,072 characters in a name
        found = ()
    if not found or not all(found) or len({*found}) < len(found):
        raise wrong(text, "names of columns, each once, such as age,height")
    return found


def some_of(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    def read(text: str) -> tuple[str, ...]:
        found = {name.strip() for name in text.split(",")}
        if not found <= {*known}:
            raise wrong(text, f"some of {', '.join(known)}, such as {','.join(known[:2])}")
        return tuple(name for name in known if name in found)

    return read


def joined(values: Iterable) -> str:
    """The text from which `names` reads these: one with a comma in it is quoted."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()


def size(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) > 2 or not all(re.fullmatch(r"\s*0*[1-9]\d{0,3}\s*", part) for part in parts):
        raise wrong(text, "height and width in pixels, such as 32 or 32,48")
    return int(parts[0]), int(parts[-1])


def contexts(text: str) -> list[tuple[str, int]]:
    found = [re.fullmatch(r"(cpu|gpu)(?::(\d{1,4}))?", part.strip()) for part in text.split(",")]
    named = [(match[1], int(match[2] or 0)) for match in found if match]
    if len(named) < len(found) or len({*named}) < len(named):
        raise wrong(text, "contexts, each once, such as cpu, gpu or gpu:0,gpu:1")
    return named


def path(text: str) -> Path:
    return Path(os.path.expanduser(text))


def is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def wrong(text: Any, expected: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"expected {expected}, not {quoted(text)}")
