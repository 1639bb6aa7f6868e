"""``python -m train.find_lr``: a learning rate for a training, from a few steps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from . import Refused
from .options import (
    Parser,
    add_data,
    add_learning,
    add_net,
    add_where,
    check_learning,
    complete_net,
)
from .options.values import integer_from, rate
from .program import Program

__all__ = ["main", "parse"]

DESCRIPTION = """\
Find a learning rate for a training: `python -m train` with the same options. From a new network it
takes steps with a rate that rises from --from to --to, each by the same factor, until the loss has
grown far above its least. The rate to try is the one at which the smoothed loss falls most steeply,
between a hundredth and a tenth of the rate at which it is least.
"""
MORE = """\
examples:
  {command}
  {command} --net vit --units 32 --clip 1
  {command} --optimizer sgd --from 1e-4 --to 100 --steps 200

files in --out:
  find_lr.csv  the learning rate, the loss, and the smoothed loss of every step
  find_lr.png  the same as a picture, with the suggestion

Nothing is kept of what is learned. The rate goes with the size of batches: find it again for
another. With a schedule it is the highest one, after the warm-up.

exit status:
  0    there is a suggestion
  2    cannot be done as asked
  3    no rate can be suggested: the loss did not fall enough
  130  interrupted by Ctrl-C"""


def add(parser: Parser) -> None:
    what = parser.add_argument_group("what to learn").add_argument
    add_data(what)
    add_net(what, "train.find_lr")
    how = parser.add_argument_group("how").add_argument
    add_range(how)
    add_learning(how, "train.find_lr")
    add_where(parser.add_argument_group("where").add_argument, "train.find_lr")


def add_range(add: Callable) -> None:
    add("--from", dest="lowest", type=rate, default=1e-6, metavar="RATE", help="lowest rate (1e-6)")
    add("--to", dest="highest", type=rate, default=10.0, metavar="RATE", help="highest rate (10)")
    add("--steps", type=integer_from(10), default=150, metavar="N", help="steps, at most (150)")


def check(options: argparse.Namespace) -> None:
    """Complete the options, and refuse those that do not go together.

    Raises
    ------
    Refused
        The lowest learning rate is not below the highest.
    """
    complete_net(options)
    check_learning(options)
    if not options.lowest < options.highest:
        raise Refused(f"--from {options.lowest:g}: expected less than --to {options.highest:g}")
    options.lr = options.lowest


def work(options: argparse.Namespace) -> int:
    from .range_test import find  # not before the engine

    return 0 if find(options) else 3


PROGRAM = Program(
    "find_lr", DESCRIPTION, MORE, add, work, check, ("matplotlib",),
    interrupted="interrupted; no file was written",
)  # fmt: skip
main, parse = PROGRAM.main, PROGRAM.parse

if __name__ == "__main__":
    sys.exit(main())
