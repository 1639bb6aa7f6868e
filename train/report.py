"""``python -m train.report``: one page about one run, or about several beside each other."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from layers._programs import command

from . import Refused
from .__main__ import fail, start
from .options import Parser, check_utf8
from .predict import add_operators, output, path, run_operators
from .screen import open_closed_streams, say

__all__ = ["main"]

START = b"<!DOCTYPE HTML>"  # of a page, in capitals
DESCRIPTION = """\
Write one HTML page about runs of `python -m train`: curves, results, confusions, worst mistakes,
statistics of the layers, and how the runs differ. It needs no network and no other file.
"""
MORE = """\
examples:
  {command} build/train
  {command} build/a build/b build/c --out comparison.html

The data is read again as config.json names it, relative to the current folder. Where it is no
longer there, or is not what the run was trained with, the page says so and goes without
confusions, mistakes and activations.

exit status:
  0    written
  2    cannot be done as asked, and nothing is written
  130  interrupted by Ctrl-C"""


def main(argv: list[str] | None = None) -> int:
    """Write a report; returns the exit status, which ``--help`` explains."""
    open_closed_streams()
    os.environ.setdefault("MXNET_SUBGRAPH_VERBOSE", "0")  # MXNet would name its own parts on stderr
    try:
        options = parse(argv)
        check_out(options.out)
        start(options.engine, libraries=("matplotlib",))
        run_operators(options.operators)
        from .reports import page, read_runs  # not before the engine

        runs = read_runs(options.runs)
        output(options.out, iter([page(runs)]))
        for line in (note for run in runs for note in run.notes):
            say(line, sys.stdout)
        say(f"{options.out}: a report of {', '.join(map(str, options.runs))}", sys.stdout)
    except Refused as error:
        return fail("train.report", 2, error)
    except KeyboardInterrupt:
        return fail("train.report", 130, "interrupted")
    return 0


def check_out(out: Path) -> None:
    """Refuse to replace a file that is no page, such as the data."""
    try:
        with open(out, "rb") as file:
            is_page = file.read(len(START)).upper() == START
    except OSError:  # it is not there, or `output` says what is wrong
        return
    if not is_page:
        raise Refused(f"--out {out}: it exists, and is no report; expected another file")


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The options.

    Raises
    ------
    Refused
        One is unknown, has a wrong value, or is not text in UTF-8.
    """
    check_utf8(argv)
    name = command("layers-report", "train.report")
    parser = Parser(
        prog=name,
        description=DESCRIPTION,
        epilog=MORE.format(command=name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add = parser.add_argument
    add("runs", type=path, nargs="+", metavar="RUN", help="folder of a run: --out of the training")
    add("--out", type=path, default=Path("report.html"), metavar="FILE", help="(report.html)")
    add("--engine", choices=["torch", "mxnet"], metavar="NAME", help="torch or mxnet (torch)")
    add_operators(add)
    add("-h", "--help", action="help", help="show this and leave")
    options = parser.parse_args(argv)
    if twice := next((run for run in options.runs if options.runs.count(run) > 1), None):
        raise Refused(f"{twice} is named twice; expected different runs")
    return options


if __name__ == "__main__":
    sys.exit(main())
