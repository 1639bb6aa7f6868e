"""The contest: all contestants of a case in turns, round after round, compared within a round."""

from __future__ import annotations

import math
import multiprocessing
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from .suite import (
    JAX,
    KERAS,
    LIGHTNING,
    MXNET,
    MXNET_1,
    NUMPY_1,
    OURS,
    TORCH_FIRST,
    Suite,
)
from .worker import ABSENT, DONE


class Settings(NamedTuple):
    """How long to measure: in each round, the best of some blocks of about so many seconds.

    Slow calls have fewer blocks. Of suites that compile only the first cases may be wanted.
    """

    rounds: int
    blocks: int
    seconds: float
    compiled_cases: int | None = None


LONG = Settings(rounds=15, blocks=10, seconds=0.003)
QUICK = Settings(rounds=3, blocks=2, seconds=0.001, compiled_cases=1)


ROUND = 0.1  # seconds that a contestant's round may have, or two blocks if those are longer
STEADY = 1.1  # a best time is trusted when a quarter of the rounds came as near to it as this
HANGS, COMPILES = 60, 600  # seconds within which MXNet, which can hang, and the others answer
ROOT = Path(__file__).resolve().parents[1]


class ContestError(RuntimeError):
    """The contest cannot go on; the text says why."""


class Absent(ContestError):
    """Something is not installed, or not on this machine."""


class Hung(ContestError):
    """A worker does not answer."""


class Contest:
    """The workers, and what is asked of them.

    Parameters
    ----------
    device : 'cpu', 'gpu' or None
        None is the GPU, if there is one.
    threads : int
        Of each contestant.
    settings : Settings
    processes : iterable of str
        Of the contestants that will be asked for.
    pythons : dict of str or Path
        For JAX, Keras and Lightning, the interpreter that has it where it is another one.

    Attributes
    ----------
    left_out : list of str
        A line for each who cannot take part, and why.
    facts : dict
        What the workers tell of themselves.
    """

    def __init__(
        self,
        device: str | None,
        threads: int,
        settings: Settings,
        processes: Iterable[str],
        pythons: Mapping[str, str | Path] = MappingProxyType({}),
    ):
        self.threads, self.settings = threads, settings
        self.left_out: list[str] = []
        self.device = device or "cpu"
        self._workers = {OURS: _Remote("torch", threads)}
        self.facts = self._workers[OURS].ask("facts")  # without PyTorch there is no contest
        if device is None and self.facts["gpu"]:
            self.device = "gpu"
        ours = {TORCH_FIRST: {"first": "torch"}, NUMPY_1: {"blas_threads": 1}}
        for process in ours.keys() & {*processes}:
            self._workers[process] = _Remote("torch", threads, **ours[process])
        peers = {
            "MXNet": {MXNET: ("mxnet", threads), MXNET_1: ("mxnet", 1)},
        }
        for name, process in {"JAX": JAX, "Keras": KERAS, "Lightning": LIGHTNING}.items():
            python = pythons.get(process, sys.executable)
            peers[name] = {process: (process, threads, python)}
        for name, workers in peers.items():
            if asked := {k: how for k, how in workers.items() if k in processes}:
                self._add(name, {k: _Remote(*how) for k, how in asked.items()})

    def _add(self, name: str, workers: dict[str, _Remote]) -> None:
        try:
            facts = [worker.ask("facts") for worker in workers.values()][0]
            if self.device == "gpu" and not facts["gpu"]:
                raise Absent("it is built without CUDA")
        except Absent as error:
            self.left_out.append(f"left out, {name}: {error}")
            for worker in workers.values():
                worker.stop()
            return
        self.facts["versions"] |= facts["versions"]
        self._workers |= workers

    def __enter__(self) -> Contest:
        return self

    def __exit__(self, *_) -> None:
        for worker in self._workers.values():
            worker.stop()

    def run(self, suite: Suite) -> dict[str, Any]:
        """Measure all cases of a suite: ``{case: {contestant: row}}``.

        There are none where the contestant that ratios refer to cannot take part.
        """
        cases = suite.cases[: self.settings.compiled_cases] if suite.compiles else suite.cases
        found = {case.name: self._try(suite, case) for case in cases}
        return {case: rows for case, rows in found.items() if rows}

    def _try(self, suite: Suite, case) -> dict[str, dict[str, float]]:
        """Measure a case; a worker that hangs is out for good, and the others begin again."""
        while True:
            try:
                return self._case(suite, case)
            except Hung as error:
                hung = [k for k, worker in self._workers.items() if not worker.answers]
                if OURS in hung:
                    raise
                for process in hung:
                    self._workers.pop(process)
                    self.left_out.append(
                        f"left out from {suite.name}, {case.name} on, {process}: {error}"
                    )

    def _case(self, suite: Suite, case) -> dict[str, dict[str, float]]:
        taking_part = self._build(suite, case)
        if suite.reference not in taking_part:
            return {}
        counts = {c: self._calibrate(c) for c in taking_part}
        best: dict[Any, list[float]] = {c: [] for c in taking_part}
        for k in range(min(self.settings.rounds, suite.most_rounds)):
            first = k % len(taking_part)
            for c in taking_part[first:] + taking_part[:first]:
                best[c].append(self._time(c, *counts[c]))
        reference = best[suite.reference]
        rows = {c.name: row(times, reference) for c, times in best.items()}
        if suite.slowest:
            for c in taking_part:
                count = max(1, round(self.settings.rounds * ROUND / min(best[c])))
                rows[c.name]["p99"] = self._ask(c, "slowest", count)
        if suite.memory and self.device == "cpu":
            for c in taking_part:
                rows[c.name]["peak"] = self._ask(c, "peak")
        for worker in self._workers.values():
            worker.ask("clear")
        return rows

    def _build(self, suite: Suite, case) -> list:
        """Who takes part: all who can, when they compute the same as the first."""
        expected, taking_part = None, []
        for c in suite.contestants:
            if c.process not in self._workers:
                continue
            arguments = c.home, suite.module, c.variant, self.device, case.arguments
            try:
                found = self._workers[c.process].ask("build", *arguments)
            except Absent as error:
                self.left_out.append(f"left out, {c.name}, {case.name}: {error}")
                continue
            expected = expected or found
            if not agree(found, expected, suite.tolerance):
                raise ContestError(
                    f"{suite.name}, {case.name}: {c.name} gives {found[:4]}\n"
                    f"  expected {expected[:4]}, as {taking_part[0].name}"
                )
            taking_part.append(c)
        return taking_part

    def _calibrate(self, contestant) -> tuple[int, int]:
        """How many calls a block has, and how many blocks a round; on the way, they are warm."""
        count, seconds = 1, self.settings.seconds
        while (took := self._time(contestant, count, 2) * count) <= seconds / 2:
            count *= 4
        calls = max(1, round(count * seconds / took))
        blocks = round(ROUND * count / (calls * took))
        return calls, max(2, min(self.settings.blocks, blocks))

    def _time(self, contestant, count: int, blocks: int) -> float:
        return self._ask(contestant, "time", count, blocks)

    def _ask(self, contestant, method: str, *arguments) -> float:
        worker = self._workers[contestant.process]
        return worker.ask(method, contestant.home, contestant.variant, *arguments)


def agree(found: list[float], expected: list[float], tolerance: float) -> bool:
    """Whether two contestants compute the same."""
    return len(found) == len(expected) and all(
        math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) for a, b in zip(found, expected)
    )


def row(times: list[float], reference: list[float]) -> dict[str, float]:
    """What the best times of all rounds tell, beside the reference's.

    The best of all is compared: what else runs on a machine only adds. Not the medians, which
    another program moves by as much as it likes, and not all contestants' alike.
    """
    low, _, high = _quartiles([t / r for t, r in zip(times, reference)])
    first, median, _ = _quartiles(times)
    best = min(times)
    return {
        "seconds": best,
        "median": median,
        "steady": first <= STEADY * best,
        "ratio": best / min(reference),
        "ratio_low": low,
        "ratio_high": high,
    }


def _quartiles(values: list[float]) -> list[float]:
    return statistics.quantiles(values, n=4, method="inclusive")


class _Remote:
    """A worker in a process of its own, with this interpreter or another one."""

    def __init__(
        self, engine: str, threads: int, python: str | Path = sys.executable, **settings: Any
    ):
        self._pipe, theirs = multiprocessing.Pipe()
        descriptor = theirs.fileno()
        arguments = f"{descriptor}, {engine!r}, {threads}, **{settings!r}"
        serving = f"from benchmarks.worker import serve; serve({arguments})"
        self._process = subprocess.Popen(
            [python, "-c", serving], cwd=ROOT, stdin=subprocess.DEVNULL, pass_fds=[descriptor]
        )
        theirs.close()
        self._patience = HANGS if engine == "mxnet" else COMPILES
        self.answers = True

    def ask(self, method: str, *arguments) -> Any:
        """The worker's answer. Raises ContestError when it has none."""
        try:
            self._pipe.send((method, *arguments))
            if not self._pipe.poll(self._patience):
                self.answers = False
                self.stop()
                raise Hung(f"no answer to {method}{arguments} in {self._patience} seconds")
            outcome, result = self._pipe.recv()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise ContestError(f"the process ended with {self._process.wait()}") from None
        if outcome != DONE:
            raise (Absent if outcome == ABSENT else ContestError)(result)
        return result

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
