"""What the programs beside the training have in common: options, engine, errors, exit status."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from layers._programs import command

from . import Refused
from .__main__ import fail, start
from .atomic import replacing
from .options import Parser, check_utf8
from .options.values import path
from .own_file import load_file
from .screen import open_closed_streams

__all__ = ["Program", "add_engine", "write_whole"]


def nothing(_: argparse.Namespace) -> None:
    pass


@dataclass(frozen=True)
class Program:
    """A program: its options, and what it does with them.

    Attributes
    ----------
    name : str
        ``"export"`` of ``python -m train.export``, or ``layers-export``.
    description, more : str
        What ``--help`` says before and after the options; {command} is how it was started.
    add : callable
        Adds its options to a parser.
    work : callable
        Does what the options say, once the engine has started; returns the exit status, or None.
    check : callable
        Refuses options that do not go together, before the engine starts.
    libraries : tuple of str
        The packages that it needs.
    interrupted : str
        What is said after Ctrl-C.
    """

    name: str
    description: str
    more: str
    add: Callable[[Parser], None]
    work: Callable[[argparse.Namespace], int | None]
    check: Callable[[argparse.Namespace], None] = nothing
    libraries: tuple[str, ...] = ()
    interrupted: str = "interrupted"

    def main(self, argv: list[str] | None = None) -> int:
        """Run it; returns the exit status, which ``--help`` explains."""
        open_closed_streams()
        # MXNet would name its own parts on stderr.
        os.environ.setdefault("MXNET_SUBGRAPH_VERBOSE", "0")
        module = f"train.{self.name}"
        try:
            options = self.parse(argv)
            start(options.engine, self.libraries)
            if file := getattr(options, "operators", None):
                load_file(file, f"--operators {file}")
            return self.work(options) or 0
        except Refused as error:
            return fail(module, 2, error)
        except KeyboardInterrupt:
            return fail(module, 130, self.interrupted)

    def parse(self, argv: list[str] | None = None) -> argparse.Namespace:
        """The options.

        Raises
        ------
        Refused
            One is unknown, has a wrong value, is not text in UTF-8, or does not go with another.
        """
        check_utf8(argv)
        name = command(f"layers-{self.name.replace('_', '-')}", f"train.{self.name}")
        parser = Parser(
            prog=name,
            description=self.description,
            epilog=self.more.format(command=name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            add_help=False,
        )
        self.add(parser)
        options = parser.parse_args(argv)
        self.check(options)
        return options


def add_engine(parser: Parser) -> None:
    """The options of programs that read a run."""
    add = parser.add_argument
    add("--engine", choices=["torch", "mxnet"], metavar="NAME", help="torch or mxnet (torch)")
    add(
        "--operators",
        type=path,
        metavar="FILE.py",
        help="run this first: a file with operators of the network, as that of --net may be",
    )
    add("-h", "--help", action="help", help="show this and leave")


def write_whole(out: Path, lines: Iterator[str]) -> None:
    """Write lines to a file, whole or not at all.

    Raises
    ------
    Refused
        It cannot be written.
    """
    if out.is_dir():  # as is the folder that an empty name stands for
        raise Refused(f"--out {out}: it is a folder")
    try:
        with (
            replacing(out) as new,
            new.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
        ):
            file.writelines(lines)
    except OSError as error:
        raise Refused(f"--out {out}: {error.strerror or error}") from error
