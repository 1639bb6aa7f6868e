"""``python -m train.report``: one page about one run, or about several beside each other."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import Refused
from .command_line import Parser
from .program import Program, add_engine, write_whole
from .screen import say
from .settings import path

__all__ = ["main"]

KIND, TITLE = b"<!DOCTYPE html>", b"<title>Report of "  # of a report
HEAD = 1000  # bytes in which both are
DESCRIPTION = """\
Write one HTML page about runs of `python -m train`: curves, results, confusions, worst mistakes,
statistics of the layers, and how the runs differ. It needs no network and no other file.
"""
MORE = """\
examples:
  {command} runs/digits
  {command} runs/a runs/b runs/c --out comparison.html

The data is read again as config.json names it, relative to the current folder; the screen says
which file that is, and with --no-data none is opened: for the run of somebody else. Where it is no
longer there, or is not what the run was trained with, the page says so and goes without
confusions, mistakes and activations; the screen says what is wrong, and the page has nothing of
the file.

exit status:
  0    written
  2    cannot be done as asked, and nothing is written
  130  interrupted by Ctrl-C"""


def add(parser: Parser) -> None:
    option, default = parser.add_argument, Path("report.html")
    option("runs", type=path.parse, nargs="+", metavar="RUN", help="folder of a run: its --out")
    option("--out", type=path.parse, default=default, metavar="FILE", help=f"({default})")
    option(
        "--no-data",
        action="store_true",
        help="open no file that config.json names: it may be another's",
    )
    add_engine(parser)


def check(options: argparse.Namespace) -> None:
    """Refuse a run that is named twice, and to replace a file that is no report.

    Raises
    ------
    Refused
        A run is named twice, or the file exists and is no report.
    """
    if twice := next((run for run in options.runs if options.runs.count(run) > 1), None):
        raise Refused(f"{twice} is named twice; expected different runs")
    check_out(options.out)


def check_out(out: Path) -> None:
    """Refuse to replace a file that is no report, such as the data or another page.

    Raises
    ------
    Refused
        The file exists and is no report.
    """
    try:
        with open(out, "rb") as file:
            head = file.read(HEAD)
    except OSError:  # it is not there, or `write_whole` says what is wrong
        return
    if not (head.startswith(KIND) and TITLE in head):
        raise Refused(f"--out {out}: it exists, and is no report; expected another file")


def work(options: argparse.Namespace) -> None:
    from .reports import page, read_runs  # not before the engine

    runs = read_runs(options.runs, with_data=not options.no_data)
    write_whole(options.out, iter([page(runs)]))
    for line in (note for run in runs for note in run.notes):
        say(line, sys.stdout)
    say(f"{options.out}: a report of {', '.join(map(str, options.runs))}", sys.stdout)


main = Program("report", DESCRIPTION, MORE, add, work, check, ("matplotlib",)).main

if __name__ == "__main__":
    sys.exit(main())
