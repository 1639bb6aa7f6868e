"""Random programs of a strategy, judged; and the smallest one of a group."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from .judge import Judge, Verdict
from .program import Program


def explore(
    strategy: SearchStrategy[Program], judge: Judge, examples: int, start: int
) -> list[Verdict]:
    """The verdicts of random programs, each different one once. `start` is the seed."""
    found: dict[int, Verdict] = {}

    def note(program: Program) -> None:
        verdict = judge(program)
        found[id(verdict)] = verdict

    _run(strategy, note, examples, start, Phase.generate)
    return list(found.values())


def smallest(
    strategy: SearchStrategy[Program], judge: Judge, examples: int, start: int, group: str
) -> Verdict:
    """The smallest program of a group that a run with the same arguments has found."""
    found: list[Verdict] = []

    class Found(Exception):
        pass

    def raise_for(program: Program) -> None:
        verdict = judge(program)
        if verdict.bad and verdict.group == group:
            found.append(verdict)
            raise Found

    try:
        _run(strategy, raise_for, examples, start, Phase.generate, Phase.shrink)
    except Found:
        return found[-1]
    raise LookupError(f"no program of the group {group!r}")


def _run(strategy, test, examples: int, start: int, *phases: Phase) -> None:
    options = settings(
        max_examples=examples,
        phases=phases,
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    seed(start)(options(given(strategy)(test)))()
