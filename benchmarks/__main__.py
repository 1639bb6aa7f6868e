"""Compare this library with its peers: ``python -m benchmarks [--quick] [--only NAME ...]``.

``--without TEXT`` leaves out the contestants whose names contain it: those that are compiled take
an hour for GluonCV's models.

The contestants take turns (A B C A B C ...), and what counts is their ratio. Before they are timed
they must compute the same. The table goes to the terminal, everything to a JSON file, by default
``benchmarks/results/<label>.json``::

    date
    machine     label, device, CPU, cores, threads, versions, and how matrices are multiplied
    settings    rounds, most blocks of a round, seconds of a block, and how many cases of a suite
                that compiles (null: all)
    left_out    who could not take part, and why
    suites      {suite: {case: {contestant: row}}}. A row has the seconds of a call in the best
                block and in the median round, whether a quarter of the rounds came near the best
                (steady), the ratio of the best to that of the first contestant, the quartiles of
                the ratio over the rounds, and in some suites the seconds of a single call at the
                99th percentile (p99), or the peak of memory in a call, in bytes beside those before
                it (peak)
    targets     what is to be reached, what was measured, and whether it is met; null where it was
                not measured, or not steady
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path

from . import machine, page, report
from .contest import LONG, QUICK, ROOT, Contest, ContestError
from .page import RESULTS
from .suite import Suite
from .suites import SUITES
from .targets import TARGETS

# Peers that have environments of their own, made by make bench.
PYTHONS = {name: ROOT / f".venv-{name}/bin/python" for name in ("jax", "keras", "lightning")}


def main(argv: list[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    if options.page:
        print(*page.write(), sep="\n")
        return 0
    suites = [s for s in SUITES if not options.only or s.name in options.only]
    if options.without:
        suites = [without(options.without, suite) for suite in suites]
    settings = QUICK if options.quick else LONG
    processes = {c.process for suite in suites for c in suite.contestants}
    results = {}
    try:
        pythons = {name: getattr(options, name) for name in PYTHONS}
        with Contest(options.device, options.threads, settings, processes, pythons) as contest:
            facts = machine.facts(contest)
            print(report.heading(facts), flush=True)
            for suite in suites:
                if suite.device not in (None, contest.device):
                    contest.left_out.append(f"left out, {suite.name}: for a {suite.device} only")
                    continue
                if found := contest.run(suite):
                    results[suite.name] = found
                    print(report.table(suite, found), flush=True)
    except ContestError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    for line in contest.left_out:
        print(f"\n{line}")
    judged = [t.judge(results, facts) for t in TARGETS if t.case in results.get(t.suite, {})]
    print(report.targets(judged))
    whole = not (options.quick or options.only or options.without)
    out = options.out or (RESULTS / f"{facts['label']}.json" if whole else None)
    if out:
        written = {
            "date": time.strftime("%Y-%m-%d"),
            "machine": facts,
            "settings": settings._asdict(),
            "left_out": contest.left_out,
            "suites": results,
            "targets": judged,
        }
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"\nwritten to {out}")
    return 0


def without(text: str, suite: Suite) -> Suite:
    """The suite without the contestants whose names contain the text, but for the reference."""
    others = [c for c in suite.contestants[1:] if text not in c.name]
    return suite._replace(contestants=[suite.reference, *others])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split(":")[0])
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes; rough")
    parser.add_argument(
        "--page", action="store_true", help="measure nothing: write docs/benchmarks.md"
    )
    names = [s.name for s in SUITES]
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help="these suites")
    parser.add_argument(
        "--without", metavar="TEXT", help="contestants whose names do not contain this"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="the JSON file; without it --quick, --only and --without write none",
    )
    parser.add_argument(
        "--device", choices=("cpu", "gpu"), help="by default the GPU if there is one"
    )
    parser.add_argument("--threads", type=int, default=2, help="of each contestant (2)")
    for name, python in PYTHONS.items():
        parser.add_argument(
            f"--{name}",
            type=_interpreter,
            metavar="PYTHON",
            default=python if python.exists() else sys.executable,
            help=f"an interpreter that has {name} (.venv-{name}'s, or this one)",
        )
    return parser


def _interpreter(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise argparse.ArgumentTypeError(f"there is no program {name!r}")
    return str(Path(found).absolute())


if __name__ == "__main__":
    sys.exit(main())
