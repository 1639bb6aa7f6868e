"""The command line of the programs, and files of settings."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import Field, fields, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from layers import __version__
from layers._errors import quoted, showable
from layers._programs import command

from . import Refused
from . import settings as of
from .config import DEFAULTS, GROUPS, NO_FILE_HAS, TYPES, Config, settings_of
from .help import describe
from .settings import Type

__all__ = ["Parser", "check_utf8", "new_folder", "parse"]

MAY_CHANGE = (  # in a resumed run
    *("epochs", "max_steps", "max_time", "profile", "patience", "out", "checkpoint_steps"),
    "tensorboard",
)
EXPONENT = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+")
LONGEST_YAML = 1 << 16


class Parser(argparse.ArgumentParser):
    """A parser that raises the message that it would print, in one line and without the usage.

    `--help` shows the description before the options, and `more` after them.
    """

    def __init__(self, name: str, description: str, more: str, **options: Any):
        super().__init__(
            prog=name,
            description=description,
            epilog=more,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **options,
        )
        self.add_argument("--version", action="version", version=f"layers {__version__}")

    def add_setting(self, group: Any, each: Field, program: str) -> None:
        """Add the option of a setting to a group of options."""
        kind, about = TYPES[each.name], each.metadata["help"]
        flag = f"--{(each.metadata['flag'] or each.name).replace('_', '-')}"
        default = DEFAULTS.get(program, {}).get(each.name, each.default)
        if "(" not in about and isinstance(default, str | int | float) and default is not False:
            about += f" ({default})"
        if kind is of.flag:
            group.add_argument(flag, dest=each.name, help=about, action="store_true")
            return
        action = AddOption if kind in (of.options, of.rates) else "store"
        group.add_argument(
            flag,
            dest=each.name,
            help=about,
            metavar=kind.metavar,
            type=argument(kind),
            action=action,
        )

    def error(self, message: str) -> NoReturn:
        raise Refused(message.removeprefix("argument ") + self.near(message))

    def near(self, message: str) -> str:
        """Return a hint for the message about unknown arguments; "" where there is none."""
        words = message.removeprefix("unrecognized arguments: ").split()
        if len(words) == len(message.split()):
            return ""
        known = self._option_string_actions
        flags = [word.partition("=")[0] for word in words if word.startswith("--")]
        of_train = [f"--{each.name.replace('_', '-')}" for each in settings_of("train")]
        if others := [flag for flag in flags if flag in of_train and flag not in known]:
            return f"; python -m train has {', '.join(others)}, and {self.prog} has not"
        if "--data" in known and os.path.exists(words[0]):  # False too where no file can have it
            return f"; did you mean --data {words[0]}?"
        near = get_close_matches(flags[0][:100], [*known], 1, cutoff=0.8) if flags else []
        return f"; did you mean {near[0]}?" if near else ""


class AddOption(argparse.Action):
    """Add a name and its value to those that are given; of a name the last value counts."""

    def __call__(self, parser, namespace, values: Any, option_string=None):
        setattr(namespace, self.dest, getattr(namespace, self.dest, {}) | values)


def argument(kind: Type) -> Any:
    """Return the function that reads a setting for argparse, with our message."""

    def parse(given: str) -> Any:
        try:
            return kind.parse(given)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse


def parse(argv: list[str] | None = None, program: str = "train") -> Config:
    """Return the settings of a program: of the command line, a file, the run that is resumed.

    Raises
    ------
    Refused
        One is unknown, has a wrong value, is not text in UTF-8, or does not go with another.
    """
    check_utf8(argv)
    given = vars(parser(program).parse_args(argv))
    file, before, source = {}, {}, None
    if path := given.get("config"):
        file = from_file(path, program)
    values = merged(file, given)
    if values.get("resume"):
        if not values.get("out"):
            raise Refused("--resume: expected --out too, the folder of the run to go on with")
        source = values["out"] / "config.json"
        before = from_file(source, program, resume=True) if source.exists() else {}
    config = Config.of(program, merged(before, values))
    if config.out is None:
        config = replace(config, out=new_folder(config.data))
    refuse_code(config.net, given.get("net"), path if "net" in file else source)
    for name in before.keys() - {*MAY_CHANGE}:
        if (now := getattr(config, name)) != before[name]:
            free = ", ".join(f"--{each.replace('_', '-')}" for each in MAY_CHANGE)
            raise Refused(
                f"--resume: --{name.replace('_', '-')} is {now!r}, and {before[name]!r} in "
                f"{source}; only {free} may differ"
            )
    return config


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge settings of several sources: a later source wins, and dicts are merged."""
    found: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.items():
            found[name] = found.get(name, {}) | value if isinstance(value, dict) else value
    return found


def from_file(path: Path, program: str, resume: bool = False) -> dict[str, Any]:
    """Return the settings in a file; in that of a run, all but ``--out``.

    Raises
    ------
    Refused
        It cannot be read, or a name is unknown or has a wrong value; the message has the file.
    """
    content = read(path)
    if isinstance(content, dict) and isinstance(content.get("options"), dict):
        content = {name: value for name, value in content["options"].items() if name != "out"}
    elif resume:
        raise Refused(f"--resume: {path} is of no run; expected another --out")
    if not isinstance(content, dict):
        raise Refused(f"--config {path}: expected settings by their names")
    known = [each.name for each in settings_of(program) if each.name not in NO_FILE_HAS]
    values = {}
    for key, value in content.items():
        name = str(key).replace("-", "_")
        if name not in known:
            expected = ", ".join(each.replace("_", "-") for each in known)
            raise Refused(
                f"--config {path}: there is no setting {quoted(key)}; expected some of {expected}"
            )
        if value is None or value == []:
            continue
        try:
            values[name] = TYPES[name].check(value)
        except ValueError as error:
            raise Refused(f"--config {path}: {showable(key)}: {error}") from error
    return values


def read(path: Path) -> Any:
    """Return the content of a file in JSON or YAML.

    Raises
    ------
    Refused
        It cannot be read, or is neither.
    """
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
        """A loader of plain values.

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
    """Return a content with numbers such as 1e-3, which older YAML reads as text."""
    if isinstance(content, dict):
        return {name: with_exponents(value) for name, value in content.items()}
    if isinstance(content, list):
        return [with_exponents(value) for value in content]
    is_number = isinstance(content, str) and EXPONENT.fullmatch(content)
    return float(content) if is_number else content


def refuse_code(net: str, given: str | None, file: Path | None) -> None:
    """Refuse a net that is a Python file which only a file of settings names.

    Raises
    ------
    Refused
        The message says what to give on the command line.
    """
    if net != given and net.rpartition(":")[0].endswith(".py"):
        raise Refused(
            f"{file}: its net is {net!r}, a Python file that would be run; expected "
            f"--net {shlex.quote(net)} on the command line too, if you trust it"
        )


def new_folder(data: str) -> Path:
    """Return a folder of its own for a run, such as ``runs/2026-11-28-150405-digits``."""
    name = "".join(c if c.isalnum() else "-" for c in Path(data.partition(":")[0]).stem)[:40]
    folder = Path("runs") / f"{time.strftime('%Y-%m-%d-%H%M%S')}-{name}"
    others = (folder.with_name(f"{folder.name}-{count}") for count in itertools.count(2))
    return next(each for each in itertools.chain([folder], others) if not each.exists())


def check_utf8(argv: list[str] | None) -> None:
    """Refuse arguments that are no text: engines cannot write files of such names.

    Raises
    ------
    Refused
        One is not UTF-8.
    """
    for given in sys.argv[1:] if argv is None else argv:
        try:
            given.encode()
        except UnicodeEncodeError:
            raise Refused(f"{given!r} is not UTF-8") from None


def parser(program: str) -> Parser:
    name = command(f"layers-{program.removeprefix('train.').replace('_', '-')}", program)
    result = Parser(name, *describe(program, name), argument_default=argparse.SUPPRESS)
    group: Any = result
    for each in fields(Config):
        if each.name in GROUPS:
            group = result.add_argument_group(GROUPS[each.name])
        if each in settings_of(program):
            result.add_setting(group, each, program)
    return result
