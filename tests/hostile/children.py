"""Verdicts from a process of its own, which code in C++ may end: that is a verdict, too."""

from __future__ import annotations

import faulthandler
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import torch

from .judge import PATIENCE, Reader, Verdict, judge

LONGEST = PATIENCE + 30  # for a call into C that hangs, which no signal ends


def in_place(
    name: str, reader: Reader, seeds: Iterable[int], home: Path
) -> Iterator[tuple[int, Verdict]]:
    """Judge the files of each seed in an empty folder of their own."""
    for seed in seeds:
        folder = home / str(seed)
        folder.mkdir()
        yield seed, judge(name, reader, seed, folder)
        shutil.rmtree(folder)


def in_child(
    name: str, reader: Reader, seeds: Iterable[int], home: Path
) -> Iterator[tuple[int, Verdict]]:
    """Judge in a fork of this process; where it crashes, go on in another with the other seeds."""
    left = list(seeds)
    while left:
        status = yield from _of_fork(lambda: in_place(name, reader, left, home), left)
        if left:
            how = f"signal {signal.Signals(os.WTERMSIG(status)).name}" if status else "it ended"
            crash = f"{how}, or hung for {LONGEST} s"
            yield left.pop(0), Verdict("crash", crash)


def _of_fork(verdicts: Callable[[], Iterator], left: list[int]) -> Iterator[tuple[int, Verdict]]:
    """Yield the verdicts of a fork, and take their seeds off `left`; return how the fork ended."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        status = 1
        try:
            torch.set_num_threads(1)  # a fork has none of the threads that it would wait for
            with open(writing, "w", buffering=1) as file, open(os.devnull, "w") as nowhere:
                faulthandler.dump_traceback_later(LONGEST, exit=True, file=nowhere)
                for seed, verdict in verdicts():
                    print(json.dumps([seed, *verdict]), file=file)
                    faulthandler.dump_traceback_later(LONGEST, exit=True, file=nowhere)
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(writing)
    with open(reading) as file:
        for line in file:
            seed, *verdict = json.loads(line)
            left.remove(seed)
            yield seed, Verdict(*verdict)
    _, status = os.waitpid(pid, 0)
    return status if os.WIFSIGNALED(status) else 0
