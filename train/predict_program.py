"""``python -m train.predict``: what a trained network says of other samples."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Any

from layers._errors import printable

from . import Refused
from .command_line import Parser
from .program import Program, add_engine, write_whole
from .screen import say
from .settings import names, path

__all__ = ["main"]

FORMATS = {  # the function of `train.rows` that writes each
    "csv": "write_csv",
    "json": "write_json",
    "jsonl": "write_json_lines",
    "parquet": "write_parquet",
}
DESCRIPTION = """\
Predict with a network that `python -m train` or `python -m train.module` has trained: the class of
each sample by its name, and its probability; or a number; or, of `python -m train.detect`, the
objects in each image. The network scales the features itself.
"""
MORE = """\
examples:
  {command} runs/digits digit.png
  {command} runs/iris flowers.csv --probabilities
  {command} runs/houses houses.csv --out prices.csv
  {command} runs/cats photos --format json --skip-broken
  zcat big.csv.gz | {command} runs/iris - --out big.parquet

data:
  FILE.csv, ...       a table, in any form that `python -m train` reads: the columns that the
                      network was trained with are found by their names, and understood as there; of
                      the others ids are repeated, and those that --keep names. It is read some
                      rows at a time, and may be larger than the memory
  -                   such a table from the standard input, as csv
  FILE.npz, FILE.npy  x (samples, ...), in the npz by this name or x_test; of images with the
                      channels first or last
  IMAGE               PNG or JPEG of the size of those that it was trained with, if that was images;
                      it is resized if they were
  FOLDER              all images in it and in its folders

columns of csv and parquet, which are also the keys of the objects in json and jsonl:
  row or file         the number of the sample, from 1, or the name of the image
  class, probability  of the most probable class; a ' stands before a name that a spreadsheet
                      would take for a formula, such as =A1
  probability_NAME    of each class, with --probabilities; in json an object, probabilities
  value               instead, where a number is predicted; with --interval 0.9 also lower and
                      upper, which are as far from it as nine of ten held-out targets were at most
  left, upper,        the edges of an object's box in pixels; there is a line for each object whose
  right, lower        probability is a half or more, and none for an image without any

exit status:
  0    predicted
  2    cannot be done as asked
  130  interrupted by Ctrl-C"""


def add(parser: Parser) -> None:
    option = parser.add_argument
    option("run", type=path.parse, metavar="RUN", help="folder of a run: --out of the training")
    option("data", metavar="DATA", help="see below")
    option(
        "--out", type=path.parse, metavar="FILE", help="file of the results (the standard output)"
    )
    option("--overwrite", action="store_true", help="replace the file that --out names")
    option(
        "--format",
        choices=FORMATS,
        metavar="KIND",
        help=f"{', '.join(FORMATS)} (that of FILE's suffix; csv)",
    )
    option("--probabilities", action="store_true", help="those of all classes")
    option(
        "--interval",
        type=float,
        metavar="SHARE",
        help="of a number: an interval with this share of the targets in it: 0.5, 0.8, 0.9, ...",
    )
    option(
        "--keep", type=names.parse, default=(), metavar="A,B", help="columns of a table to repeat"
    )
    option("--skip-broken", action="store_true", help="leave out images that cannot be read")
    option("--encoding", default="utf-8", metavar="NAME", help="of a table: utf-16, ... (utf-8)")
    option("--decimal", choices=[",", "."], metavar="MARK", help="decimal mark of a table (.)")
    add_engine(parser)


def check(options: argparse.Namespace) -> None:
    """Find the format; refuse to replace the samples, or a file that is not to be replaced.

    Raises
    ------
    Refused
        The file is that of the samples, or exists and is not to be replaced; or there is none.
    """
    out, data = options.out, path.parse(options.data)
    suffix = "" if out is None else out.suffix.lower().removeprefix(".")
    options.format = options.format or (suffix if suffix in FORMATS else "csv")
    if options.format == "parquet" and out is None:
        raise Refused("--format parquet: it is no text; expected --out FILE.parquet")
    if out is None or not out.is_file():
        return
    if data.exists() and out.samefile(data):
        raise Refused(f"--out {out}: it is the file of the samples; expected another")
    if not options.overwrite:
        raise Refused(f"--out {out}: it exists already; expected --overwrite, or another file")


def work(options: argparse.Namespace) -> None:
    from . import rows  # not before the engine
    from .data import Reading
    from .prediction import Tally, predictions
    from .trained import read_run

    refuse_probabilities(options, read_run(options.run))
    how = Reading(
        features=options.keep,
        encoding=options.encoding,
        decimal=options.decimal,
        skip_broken=options.skip_broken,
    )
    tally = Tally()
    write = getattr(rows, FORMATS[options.format])
    pieces = tally.count(predictions(options.run, options.data, how, options.interval))
    if options.out is None:
        show(write(pieces, options.probabilities))
    else:
        write_whole(options.out, write(pieces, options.probabilities))
    for line in tally.notes:
        say(line, sys.stderr)
    if options.out is not None:
        n = tally.samples
        say(f"{options.out}: predictions for {n:,} sample{'s' * (n != 1)}", sys.stdout)


def refuse_probabilities(options: argparse.Namespace, run: Any) -> None:
    """Refuse --probabilities of a network without classes, or of objects.

    Raises
    ------
    Refused
        The message says what the network predicts.
    """
    if options.probabilities and run.size:
        raise Refused(
            f"--probabilities: the network of {options.run} finds objects, and has the probability "
            "of the likeliest class of each; expected no --probabilities"
        )
    if options.probabilities and not run.classes:
        raise Refused(
            f"--probabilities: the network of {options.run} predicts numbers and has no classes; "
            "expected no --probabilities"
        )


def show(lines: Iterator[str]) -> None:
    """Print lines. A reader that has read enough, as `head`, is no error.

    Raises
    ------
    Refused
        The lines cannot be written.
    """
    encoding = sys.stdout.encoding or "utf-8"
    try:
        for line in lines:
            if sys.stdout.isatty():  # else what follows in a pipe takes the names as they are
                line = printable(line, keep="\n")
            sys.stdout.write(line.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        # The text is still in the buffer, and writing it would fail again at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            raise Refused(f"standard output: {error.strerror}") from error


main = Program("predict", DESCRIPTION, MORE, add, work, check).main
