"""What a run found, for a person: counts, and a program to paste for each difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .compare import DIFFER, REFUSED
from .excused import shown
from .judge import Verdict
from .program import source

AIMS = {DIFFER: 2, REFUSED: 6}  # at most so many of a thousand programs
SHOWN = 2000  # characters of an answer


def counts(verdicts: Iterable[Verdict]) -> str:
    """How many programs came to what, and per thousand."""
    counted = Counter(v.outcome for v in verdicts)
    total = sum(counted.values()) or 1
    lines = [f"{n:7}  {1000 * n / total:6.1f} of 1000  {what}" for what, n in counted.most_common()]
    return "\n".join([*lines, f"{counted.total():7}  programs"])


def beyond_aims(verdicts: Iterable[Verdict]) -> str:
    """What occurs more often than `AIMS` allows, "" where nothing does."""
    counted = Counter(v.outcome for v in verdicts)
    return "\n".join(
        f"{1000 * counted[outcome] / counted.total():.1f} of 1000 programs: {outcome}, "
        f"at most {aim} are allowed"
        for outcome, aim in AIMS.items()
        if 1000 * counted[outcome] > aim * counted.total()
    )


def excuses(verdicts: Iterable[Verdict]) -> str:
    """How often each reason excused a difference."""
    counted = Counter(v.reason for v in verdicts if v.reason)
    return "\n".join(f"{n:7}  {reason}" for reason, n in counted.most_common())


def difference(verdict: Verdict) -> str:
    """A verdict as a program to run on both engines, with both answers."""
    return "\n".join(
        [
            f"# {verdict.group}",
            "import numpy as np",
            "from math import inf, nan",
            "import mxnet as mx  # or: import layers.mxnet as mx",
            source(verdict.program),
            _comment("MXNet", verdict.theirs),
            _comment("layers", verdict.ours),
        ]
    )


def _comment(who: str, answer: dict) -> str:
    lines = shown(answer).split("Stack trace")[0].strip()[:SHOWN].splitlines()
    return "\n".join([f"# {who}:", *(f"#   {line}" for line in lines)])
