"""A program's verdict: run on both engines, or in all ways of one, and compared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from . import compare
from .compare import DIFFER, EQUAL, MXNETS_OWN, REFUSED
from .excused import excuse, shown
from .nets import WAYS, in_way
from .oracle import MXNet
from .program import Program, run


@dataclass(frozen=True)
class Verdict:
    """What came of a program: `theirs` and `ours` are answers of `program.run`."""

    program: Program
    outcome: str
    theirs: dict
    ours: dict
    reason: str = ""

    @property
    def bad(self) -> bool:
        """Whether it counts against `layers.mxnet`."""
        return self.outcome in (DIFFER, REFUSED)

    @property
    def group(self) -> str:
        """Verdicts of one cause: what it is about, the outcome, and what of it differs."""
        if self.outcome == DIFFER:
            detail = compare.difference(self.theirs["shown"], self.ours["shown"])
        else:
            detail = re.sub(r"[\d.-]+", "#", shown(self.ours).splitlines()[0])
        return f"{self.program['about']}: {self.outcome}, {detail}"


class Judge:
    """Judges each program once, by a `verdict` function."""

    def __init__(self, verdict: Callable[[Program], Verdict]):
        self.verdict = verdict
        self.known: dict[str, Verdict] = {}

    def __call__(self, program: Program) -> Verdict:
        key = json.dumps(program)
        if key not in self.known:
            self.known[key] = self.verdict(program)
        return self.known[key]


def beside_mxnet(mx: Any, mxnet: MXNet) -> Callable[[Program], Verdict]:
    """The verdict of comparing an engine with MXNet."""
    confirmed: set[str] = set()  # groups of which one was the same in a process of its own

    def verdict(program: Program) -> Verdict:
        theirs, ours = mxnet.run(program), run(mx, program)
        found = Verdict(program, compare.outcome(theirs, ours), theirs, ours)
        if not found.bad:
            return found
        reason = excuse(program, theirs, ours)
        if reason is None and found.group not in confirmed:
            again = compare.outcome(mxnet.run_afresh(program), theirs)
            if again != EQUAL:
                reason = "MXNet answers otherwise in a fresh process"
            else:
                confirmed.add(found.group)
        return replace(found, outcome=MXNETS_OWN, reason=reason) if reason else found

    return verdict


def in_all_ways(mx: Any) -> Callable[[Program], Verdict]:
    """The verdict of comparing the ways of running a net with the eager one."""

    def verdict(program: Program) -> Verdict:
        eager = run(mx, program)
        for way in WAYS:
            changed = in_way(program, way)
            found = run(mx, changed)
            outcome = compare.outcome(eager, found)
            if outcome in (DIFFER, REFUSED):
                return Verdict(changed, outcome, eager, found)
        return Verdict(program, outcome, eager, eager)

    return verdict
