"""The long run: ``make hostile COUNT=100000``, or ``python -m hostile --count 100000`` in tests/.

Prints each kind of unclean outcome with the seeds that show it, and the counts of each reader.
"""

from __future__ import annotations

import argparse
import sys
import warnings

from .campaign import campaign, table
from .readers import EARLY, READERS


def main() -> int:
    """Judge so many files of all readers, or of some; the exit status says if all were clean."""
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="files of all readers together")
    parser.add_argument("--first", type=int, default=0, help="the first seed of each reader")
    parser.add_argument("--readers", nargs="*", choices=READERS, default=list(READERS))
    options = parser.parse_args()
    warnings.simplefilter("error")  # what warns in a test would fail it
    warnings.filterwarnings("ignore", EARLY)
    results = campaign(options.readers, options.count, options.first)
    print(table(results))
    return any(result.unclean for result in results.values())


if __name__ == "__main__":
    sys.exit(main())
