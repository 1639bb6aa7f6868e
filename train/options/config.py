"""Options from a file, in JSON or YAML."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from layers._errors import quoted

from .. import Refused
from .values import joined, last_values, wrong

__all__ = ["check_same", "from_file", "naming_files"]

# What may change where a run is resumed.
FREE = ("epochs", "patience", "out", "checkpoint_steps", "tensorboard")
EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+")
LONGEST_YAML = 1 << 16
NOT_IN_FILES = ("config", "resume", "overwrite", "help")


def from_file(path: Path, parser: argparse.ArgumentParser, resume: bool = False) -> dict[str, Any]:
    """The options in a file, as the parser would read them; in that of a run, all but ``--out``.

    Parameters
    ----------
    resume : bool
        The file has to be that of a run.

    Raises
    ------
    Refused
        It cannot be read, or a key is unknown or has a wrong value; the message names it.
    """
    content = read(path)
    if isinstance(content, dict) and isinstance(content.get("options"), dict):
        content = {name: value for name, value in content["options"].items() if name != "out"}
    elif resume:
        raise Refused(f"--resume: {path} is of no run; expected another --out")
    if not isinstance(content, dict):
        raise Refused(f"--config {path}: expected options by their names")
    actions = {a.dest: a for a in parser._actions if a.dest not in NOT_IN_FILES}
    values = {}
    for key, value in content.items():
        action = actions.get(str(key).replace("-", "_"))
        if action is None:
            known = ", ".join(name.replace("_", "-") for name in actions)
            raise Refused(
                f"--config {path}: there is no option {quoted(key)}; expected some of {known}"
            )
        try:
            values[action.dest] = value_of(action, value)
        except argparse.ArgumentTypeError as error:
            raise Refused(f"--config {path}: {key}: {error}") from error
    return values


def read(path: Path) -> Any:
    try:
        text = path.read_text("utf-8")
        if path.suffix not in (".yaml", ".yml"):
            return json.loads(text)
    except OSError as error:
        raise Refused(f"--config {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Refused(f"--config {path}: it is not JSON: {error}") from error
    try:
        yaml = import_module("yaml")
    except ImportError as error:
        raise Refused(f"--config {path}: YAML needs: pip install pyyaml; JSON does not") from error
    if len(text) > LONGEST_YAML:  # which PyYAML reads in seconds
        raise Refused(
            f"--config {path}: it has {len(text):,} characters; expected at most "
            f"{LONGEST_YAML:,} of YAML, or JSON"
        )

    class Loader(yaml.SafeLoader):
        """One that is given what is plain.

        An alias repeats a part, so that a small file becomes a large tree; a tag asks for Python's
        types, for which PyYAML raises errors of any kind.
        """

        def compose_node(self, parent, index):
            event = self.peek_event()
            if isinstance(event, yaml.AliasEvent) or event.tag:
                raise Refused(
                    f"--config {path}: line {event.start_mark.line + 1} has an alias or a tag of "
                    "YAML; expected the values themselves, without *, << and !"
                )
            return super().compose_node(parent, index)

    try:
        return with_exponents(yaml.load(text, Loader))
    except Refused:
        raise
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise Refused(f"--config {path}: it is not YAML: {' '.join(str(error).split())}") from error


def with_exponents(content: Any) -> Any:
    """What is in a file, with numbers such as 1e-3, which older YAML reads as text."""
    if isinstance(content, dict):
        return {name: with_exponents(value) for name, value in content.items()}
    if isinstance(content, list):
        return [with_exponents(value) for value in content]
    is_number = isinstance(content, str) and EXPONENT.fullmatch(content)
    return float(content) if is_number else content


def value_of(action: argparse.Action, value: Any) -> Any:
    """What the parser makes of a value; raises ArgumentTypeError for a wrong one."""
    if value is None:
        return action.default
    if action.nargs == 0:  # a flag
        if not isinstance(value, bool):
            raise wrong(value, "true or false")
        return value or action.default
    if isinstance(action.default, list) and action.dest.endswith("_option"):  # given repeatedly
        return last_values([typed(action, f"{name}={setting}") for name, setting in pairs(value)])
    if isinstance(value, list | tuple) and not any(
        isinstance(v, list | dict | bool) for v in value
    ):
        return typed(action, joined([*value])) if value else action.default
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise wrong(value, "text, a number or a list")
    found = typed(action, str(value))
    if isinstance(found, int | float) and isinstance(value, str):
        raise wrong(value, "a number")
    if isinstance(found, str | Path) and not isinstance(value, str):
        raise wrong(value, "text")
    return found


def typed(action: argparse.Action, text: str) -> Any:
    value = action.type(text) if callable(action.type) else text
    if action.choices and value not in action.choices:
        raise wrong(text, f"one of {', '.join(action.choices)}")
    return value


def pairs(value: Any) -> list[tuple[str, Any]]:
    """Names and settings: {"beta1": 0.9}, or [["beta1", 0.9]]."""
    found = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(found, list) or not all(
        isinstance(p, list | tuple) and len(p) == 2 and isinstance(p[0], str) for p in found
    ):
        raise wrong(value, 'settings by their names, such as {"momentum": 0.9}')
    return [(name, setting) for name, setting in found]


@contextmanager
def naming_files(options: argparse.Namespace) -> Iterator[None]:
    """Name the files that options are from in what is refused within the `with` statement."""
    try:
        yield
    except Refused as error:
        files = [options.config] if options.config else []
        if options.resume and options.out and (options.out / "config.json").exists():
            files.append(options.out / "config.json")
        if not files:
            raise
        told = " and ".join(map(str, files))
        raise type(error)(f"{error}; options are from {told}, too") from error


def check_same(options: argparse.Namespace, before: dict[str, Any], path: Path) -> None:
    """Refuse to resume a run with other options than it had.

    Raises
    ------
    Refused
        The message names the first one that differs.
    """
    for name, value in before.items():
        if name not in FREE and (now := getattr(options, name)) != value:
            free = ", ".join(f"--{each.replace('_', '-')}" for each in FREE)
            raise Refused(
                f"--resume: --{name.replace('_', '-')} is {now!r}, and {value!r} in {path}; "
                f"only {free} may differ"
            )
