"""``python -m train.report``: one page about one run, or about several beside each other."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .. import Refused
from ..command_line import Parser
from ..program import Program, add_engine, write_whole
from ..screen import say
from ..settings import path
from ..varied import STATE

__all__ = ["main"]

KIND, TITLE = b"<!DOCTYPE html>", b"<title>Report of "  # of a report
HEAD = 1000  # bytes in which both are
DESCRIPTION = """\
Write one HTML page about runs of `python -m train`: curves, results, metrics beside those of a
guess, confusions, calibration, worst mistakes, statistics of the layers, and how the runs differ.
It needs no network and no other file.
"""
MORE = """\
examples:
  {command} runs/digits
  {command} runs/a runs/b runs/c --out comparison.html
  {command} runs/houses --importance
  {command} runs/sweep                   its trials, and the run of the best
  {command} runs/iris --data data/iris.csv

The data is read again from where the run has read it, or else relative to the current folder; the
screen says which file that is. With --no-data none is opened: for somebody else's run. Where it is
no longer there, or is not what the run was trained with, the page says so and goes without metrics,
confusions, mistakes and activations; the screen says what is wrong, and the page has nothing of
the file.

exit status:
  0    written
  2    cannot be done as asked, and nothing is written
  130  interrupted by Ctrl-C"""


def add(parser: Parser) -> None:
    option, default = parser.add_argument, Path("report.html")
    option("runs", type=path.parse, nargs="+", metavar="RUN", help="folder of a run, or a sweep")
    option("--out", type=path.parse, default=default, metavar="FILE", help=f"({default})")
    option("--data", metavar="DATA", help="read this, and not what the runs name")
    option("--validation", metavar="DATA", help="with --data: the held-out samples")
    option(
        "--no-data",
        action="store_true",
        help="open no file that config.json names: it may be another's",
    )
    option(
        "--importance",
        action="store_true",
        help="of columns: how much worse the metric is where one of them is shuffled",
    )
    add_engine(parser)


def check(options: argparse.Namespace) -> None:
    """Refuse a run that is named twice, and to replace a file that is no report.

    Raises
    ------
    Refused
        A run is named twice, --validation is without --data, or the file exists and is no report.
    """
    if twice := next((run for run in options.runs if options.runs.count(run) > 1), None):
        raise Refused(f"{twice} is named twice; expected different runs")
    if options.validation is not None and options.data is None:
        raise Refused("--validation: expected --data, to which the held-out samples belong")
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
    from .page import page  # not before the engine
    from .read import Source, read_runs
    from .sweeps import read_sweep

    given = None if options.data is None else Source(options.data, options.validation)
    sweeps = [read_sweep(folder) for folder in options.runs if (folder / STATE).is_file()]
    best = {sweep.folder: sweep.best_run for sweep in sweeps}
    folders = [best.get(folder, folder) for folder in options.runs]
    runs = read_runs(folders, given, options.importance, with_data=not options.no_data)
    write_whole(options.out, iter([page(runs, sweeps)]))
    say(f"{options.out}: a report of {', '.join(map(str, options.runs))}", sys.stdout)


LIBRARIES = ("matplotlib", "jinja2", "sklearn")
main = Program("report", DESCRIPTION, MORE, add, work, check, LIBRARIES).main
