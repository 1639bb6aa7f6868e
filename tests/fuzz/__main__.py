"""The fuzzer: ``make fuzz MINUTES=60``, or ``python -m fuzz --minutes 60`` in tests/.

Prints each difference once, as the smallest program that shows it, then the counts. It fails where
more programs differ, or are refused here alone, than `report.AIMS` allows.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings

import layers.mxnet as mx

from . import report
from .explore import explore, smallest
from .judge import Judge, Verdict, beside_mxnet, in_all_ways
from .nets import nets
from .oracle import ABSENT, PYTHON, MXNet
from .units import UNITS

ROUND = 100  # programs of a unit with a share of one hundredth in one round


def main() -> None:
    """Fuzz in rounds, each with the next seed, until the time is over or the rounds are done."""
    options = _options()
    warnings.simplefilter("ignore")
    end = time.monotonic() + 60 * options.minutes
    verdicts: list[Verdict] = []
    groups: set[str] = set()
    with MXNet() as mxnet:
        units = _units(mxnet, options.units)
        for start in itertools.count(options.seed):
            for strategy, share, verdict in units:
                if time.monotonic() < end:
                    examples = ROUND * share // 10
                    judge = Judge(verdict)
                    found = explore(strategy, judge, examples, start)
                    verdicts += found
                    _show_new(groups, found, strategy, judge, examples, start)
            if time.monotonic() >= end or start + 1 == options.seed + options.rounds:
                break
    print(report.counts(verdicts), report.excuses(verdicts), sep="\n\n")
    sys.exit(report.beyond_aims(verdicts) or None)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=0, help="end after so many, 0: go on")
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--units", nargs="*", choices=[*UNITS, "nets"], help="only these")
    return parser.parse_args()


def _units(mxnet: MXNet, chosen: list[str] | None) -> list[tuple]:
    """The strategy, the share and the verdict of each unit that is to run."""
    units = {name: (s, n, beside_mxnet(mx, mxnet)) for name, (s, n) in UNITS.items()}
    if not PYTHON.exists():
        print(ABSENT)
        units = {}
    units["nets"] = (nets(), 2, in_all_ways(mx))
    return [unit for name, unit in units.items() if name in (chosen or units)]


def _show_new(groups, found, strategy, judge, examples, start) -> None:
    """Print the smallest program of each group that was not seen before."""
    for group in dict.fromkeys(v.group for v in found if v.bad):
        if group not in groups:
            shown = smallest(strategy, judge, examples, start, group)
            print(report.difference(shown), "\n", flush=True)
        groups.add(group)


if __name__ == "__main__":
    main()
