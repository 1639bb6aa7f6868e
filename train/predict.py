"""``python -m train.predict``: what a trained network says of other samples."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from layers._programs import command

from . import Refused
from .__main__ import fail, start
from .options import Parser, check_utf8
from .own_file import load_file
from .screen import open_closed_streams

__all__ = ["main"]

DESCRIPTION = """\
Predict with a network that `python -m train` or `python -m train.module` has trained: the class of
each sample by its name, and its probability; or a number. The network scales the features itself.
"""
MORE = """\
examples:
  {command} build/train digit.png
  {command} build/iris flowers.csv --probabilities
  {command} build/houses houses.csv --out prices.csv
  {command} build/cats photos --format json

data:
  FILE.csv, FILE.tsv  a line for each sample, after a line with the names of the columns; those that
                      the network was trained with are found by their names, others are not used
  FILE.npz, FILE.npy  x (samples, ...), in the npz by this name or x_test
  IMAGE               PNG or JPEG of the size of those that it was trained with, if that was images;
                      it is resized if they were
  FOLDER              all images in it and in its folders

columns of the csv, which are also the keys of the objects in json:
  row or file         the number of the sample, from 1, or the name of the image
  class, probability  of the most probable class
  probability_NAME    of each class, with --probabilities; in json an object, probabilities
  value               instead, where a number is predicted

exit status:
  0    predicted
  2    cannot be done as asked
  130  interrupted by Ctrl-C"""


def main(argv: list[str] | None = None) -> int:
    """Predict; returns the exit status, which ``--help`` explains."""
    open_closed_streams()
    os.environ.setdefault("MXNET_SUBGRAPH_VERBOSE", "0")  # MXNet would name its own parts on stderr
    try:
        options = parse(argv)
        check_out(options.out, options.data, options.overwrite)
        start(options.engine, libraries=())
        run_operators(options.operators)
        from .prediction import predictions, write_csv, write_json  # not before the engine

        found = predictions(options.run, options.data)
        write = {"csv": write_csv, "json": write_json}[options.format]
        output(options.out, write(found, options.probabilities))
    except Refused as error:
        return fail("train.predict", 2, error)
    except KeyboardInterrupt:
        return fail("train.predict", 130, "interrupted")
    return 0


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The options.

    Raises
    ------
    Refused
        One is unknown, has a wrong value, or is not text in UTF-8.
    """
    check_utf8(argv)
    name = command("layers-predict", "train.predict")
    parser = Parser(
        prog=name,
        description=DESCRIPTION,
        epilog=MORE.format(command=name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add = parser.add_argument
    add("run", type=path, metavar="RUN", help="folder of a run: --out of the training")
    add("data", metavar="DATA", help="see below")
    add("--out", type=path, metavar="FILE", help="file of the results (the standard output)")
    add("--overwrite", action="store_true", help="replace the file that --out names")
    add("--format", choices=["csv", "json"], default="csv", metavar="KIND", help="csv or json")
    add("--probabilities", action="store_true", help="those of all classes")
    add("--engine", choices=["torch", "mxnet"], metavar="NAME", help="torch or mxnet (torch)")
    add_operators(add)
    add("-h", "--help", action="help", help="show this and leave")
    return parser.parse_args(argv)


def add_operators(add: Callable) -> None:
    add(
        "--operators",
        type=path,
        metavar="FILE.py",
        help="run this first: a file with operators of the network, as that of --net may be",
    )


def run_operators(file: Path | None) -> None:
    """Run a file that defines operators, once the engine has started."""
    if file:
        load_file(file, f"--operators {file}")


def path(text: str) -> Path:
    return Path(os.path.expanduser(text))


def check_out(out: Path | None, data: str, overwrite: bool) -> None:
    """Refuse to replace the samples, or another file that is not to be replaced."""
    if out is None or not out.is_file():
        return
    if path(data).exists() and out.samefile(path(data)):
        raise Refused(f"--out {out}: it is the file of the samples; expected another")
    if not overwrite:
        raise Refused(f"--out {out}: it exists already; expected --overwrite, or another file")


def output(out: Path | None, lines: Iterator[str]) -> None:
    """Write lines to the file, whole or not at all, or to the standard output."""
    if out is None:
        return show(lines)
    if out.is_dir():  # as is the folder that an empty name stands for
        raise Refused(f"--out {out}: it is a folder")
    unfinished = out.with_name(f".{out.name}.unfinished")
    try:
        with open(unfinished, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.writelines(lines)
        unfinished.replace(out)
    except OSError as error:
        raise Refused(f"--out {out}: {error.strerror or error}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def show(lines: Iterator[str]) -> None:
    """Print lines. A reader that has read enough, as `head`, is no error."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        for line in lines:
            sys.stdout.write(line.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        # The text is still in the buffer, and writing it would fail again at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        if not isinstance(error, BrokenPipeError):
            raise Refused(f"standard output: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main())
