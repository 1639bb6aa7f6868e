"""The parser of the options, group by group."""

from __future__ import annotations

import argparse
import os
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from layers._programs import command

from .. import Refused
from .config import check_same, from_file, naming_files
from .data import add_data, add_images
from .help import describe
from .learning import add_learning, check_learning
from .nets import add_net, complete_net, refuse_code
from .values import is_utf8
from .where import add_where

__all__ = ["Parser", "check_utf8", "parse"]


class Parser(argparse.ArgumentParser):
    """A parser that raises the message that it would print, in one line and without the usage.

    `--help` shows the description before the options, and `more` after them.
    """

    def __init__(self, name: str, description: str, more: str):
        super().__init__(
            prog=name,
            description=description,
            epilog=more,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            add_help=False,
        )

    def error(self, message: str) -> NoReturn:
        raise Refused(message.removeprefix("argument ") + self.near(message))

    def near(self, message: str) -> str:
        """A hint for the message about unknown arguments; "" where there is none."""
        words = message.removeprefix("unrecognized arguments: ").split()
        if len(words) == len(message.split()):
            return ""
        known = self._option_string_actions
        names = [word.partition("=")[0] for word in words if word.startswith("--")]
        of_train = parser("train")._option_string_actions
        if others := [name for name in names if name in of_train and name not in known]:
            return f"; python -m train has {', '.join(others)}, and {self.prog} has not"
        if "--data" in known and os.path.exists(words[0]):  # False too where no file can have it
            return f"; did you mean --data {words[0]}?"
        near = get_close_matches(names[0][:100], [*known], 1, cutoff=0.8) if names else []
        return f"; did you mean {near[0]}?" if near else ""


def parse(argv: list[str] | None = None, program: str = "train") -> argparse.Namespace:
    """The options of a program, ``train``, ``train.module`` or ``train.detect``, as a namespace.

    Raises
    ------
    Refused
        One is unknown, has a wrong value, or is not text in UTF-8.
    """
    check_utf8(argv)
    arguments = parser(program)
    options = arguments.parse_args(argv)
    named = net_of(options)
    given = from_file(options.config, arguments) if options.config else {}
    arguments.set_defaults(**given)
    options = arguments.parse_args(argv)
    default = Path(f"build/{program}")
    written = (options.out or default) / "config.json"
    if options.resume and written.exists():
        before = from_file(written, parser(program), resume=True)
        set_in_file = {name: value for name, value in given.items() if value is not None}
        arguments.set_defaults(**before | set_in_file)
        options = arguments.parse_args(argv)
        check_same(options, before, written)
    if net_of(options) != named:
        refuse_code(net_of(options), options.config if "net" in given else written)
    if options.out is None:
        options.out, options.overwrite = default, True
    with naming_files(options):
        complete_net(options)
        check_learning(options)
    return options


def net_of(options: argparse.Namespace) -> str:
    return getattr(options, "net", "mlp")  # train.module has the one net


def check_utf8(argv: list[str] | None) -> None:
    """Refuse arguments that are no text: engines cannot write files of such names.

    Raises
    ------
    Refused
        One is not UTF-8.
    """
    for text in sys.argv[1:] if argv is None else argv:
        if not is_utf8(text):
            raise Refused(f"{text!r} is not UTF-8")


def parser(program: str) -> argparse.ArgumentParser:
    name = command(f"layers-{program.removeprefix('train.')}", program)
    description, more = describe(program, name)
    result = Parser(name, description, more)
    what = result.add_argument_group("what to learn").add_argument
    (add_images if program == "train.detect" else add_data)(what)
    add_net(what, program)
    add_learning(result.add_argument_group("how").add_argument, program)
    add_where(result.add_argument_group("where").add_argument, program)
    return result
