"""What the programs have in common: options, engine, errors, exit status."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from layers import _atomic
from layers._programs import command

from . import Diverged, Interrupted, Lost, Refused
from .command_line import Parser, check_utf8
from .own_file import load_file
from .screen import one_line, open_closed_streams, say
from .settings import path

__all__ = ["ExitStatus", "Program", "add_engine", "start_engine", "write_whole"]


PACKAGES = {"sklearn": "scikit-learn"}  # with another name than their module


CODES = {Refused: 2, Diverged: 3, Lost: 4, KeyboardInterrupt: 130}


class ExitStatus:
    """The exit status of a program after a `with` block; an error in it is told in one line.

    Parameters
    ----------
    program : str
        ``"train.export"``: what the line begins with.
    interrupted : str
        What is said after Ctrl-C.

    Attributes
    ----------
    code : int
    """

    def __init__(self, program: str, interrupted: str):
        self.program, self.interrupted, self.code = program, interrupted, 0

    def __enter__(self) -> ExitStatus:
        open_closed_streams()
        # MXNet would name its own parts on stderr.
        os.environ.setdefault("MXNET_SUBGRAPH_VERBOSE", "0")
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        code = next((code for of, code in CODES.items() if isinstance(error, of)), 0)
        if isinstance(error, Interrupted):
            code = 128 + error.signal
        if not code:
            return False
        self.code = code
        is_ctrl_c = isinstance(error, KeyboardInterrupt)
        say(f"{self.program}: {self.interrupted if is_ctrl_c else error}", sys.stderr)
        return True


def start_engine(requested: str | None, libraries: tuple[str, ...]) -> None:
    """Start the requested engine, or else the one that `layers.engine` chooses.

    Raises
    ------
    Refused
        One of these libraries is not installed, or the engine cannot be had in this process.
    """
    if missing := [PACKAGES.get(n, n) for n in libraries if find_spec(n) is None]:
        raise Refused(f"not installed: pip install {' '.join(missing)}")
    if requested:
        os.environ["LAYERS_ENGINE"] = requested
    from layers import engine

    try:
        running = engine.mx and engine.name()
    except engine.EngineError as error:
        raise Refused(one_line(error, None)) from error
    if requested and requested != running:
        raise Refused(f"--engine {requested}: this process runs on {running} already")
    engine.tune()


def nothing(_: argparse.Namespace) -> None:
    pass


@dataclass(frozen=True)
class Program:
    """A program beside the training: its options, and what it does with them.

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
        """Run it; return the exit status, which ``--help`` explains."""
        with ExitStatus(f"train.{self.name}", self.interrupted) as status:
            options = self.parse(argv)
            start_engine(options.engine, self.libraries)
            if options.operators:
                load_file(options.operators, f"--operators {options.operators}")
            status.code = self.work(options) or 0
        return status.code

    def parse(self, argv: list[str] | None = None) -> argparse.Namespace:
        """The options.

        Raises
        ------
        Refused
            One is unknown, has a wrong value, is not text in UTF-8, or does not go with another.
        """
        check_utf8(argv)
        name = command(f"layers-{self.name.replace('_', '-')}", f"train.{self.name}")
        parser = Parser(name, self.description, self.more.format(command=name))
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
        type=path.parse,
        metavar="FILE.py",
        help="run this first: a file with operators of the network, as that of --net may be",
    )


def write_whole(out: Path, pieces: Iterator[str] | Iterator[bytes]) -> None:
    """Write texts or bytes to a file, whole or not at all; or to a device or a pipe.

    Raises
    ------
    Refused
        It cannot be written.
    """
    if out.is_dir():  # as is the folder that an empty name stands for
        raise Refused(f"--out {out}: it is a folder")
    try:
        content = (
            each.encode("utf-8", "backslashreplace") if isinstance(each, str) else each
            for each in pieces
        )  # fmt: skip
        _atomic.write({out: content})
    except OSError as error:
        raise Refused(f"--out {out}: {error.strerror or error}") from error
