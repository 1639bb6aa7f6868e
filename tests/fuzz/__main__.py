"""The long run: ``make fuzz MINUTES=60``, or ``python -m fuzz --minutes 60`` in tests/.

Prints each difference once, as the smallest program that shows it, then the counts.
"""

from __future__ import annotations

import argparse
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
    """Fuzz in rounds, each with the next seed, until the time is over."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--units", nargs="*", choices=[*UNITS, "nets"], help="only these")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    end = time.monotonic() + 60 * options.minutes
    verdicts: list[Verdict] = []
    groups: dict[str, int] = {}
    with MXNet() as mxnet:
        units = {name: (s, n, beside_mxnet(mx, mxnet)) for name, (s, n) in UNITS.items()}
        if not PYTHON.exists():
            print(ABSENT)
            units = {}
        units["nets"] = (nets(), 2, in_all_ways(mx))
        chosen = {name: unit for name, unit in units.items() if name in (options.units or units)}
        start = options.seed
        while time.monotonic() < end:
            for strategy, share, verdict in chosen.values():
                if time.monotonic() < end:
                    judge = Judge(verdict)
                    found = explore(strategy, judge, ROUND * share // 10, start)
                    verdicts += found
                    _show_new(groups, found, strategy, judge, ROUND * share // 10, start)
            start += 1
    print(report.counts(verdicts), report.excuses(verdicts), sep="\n\n")


def _show_new(groups, found, strategy, judge, examples, start) -> None:
    """Print the smallest program of each group that was not seen before."""
    for group in dict.fromkeys(v.group for v in found if v.bad):
        if group not in groups:
            print(
                report.difference(smallest(strategy, judge, examples, start, group)),
                "\n",
                flush=True,
            )
        groups[group] = groups.get(group, 0) + 1


if __name__ == "__main__":
    main()
