"""Threads over which the iterations of a loop are spread."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache

__all__ = ["count", "spread"]

# Several pieces for each thread shorten the wait for the last one; more pieces cost more to start.
PIECES_PER_THREAD = 4

_pool: ThreadPoolExecutor | None = None
_lock = threading.Lock()


@cache
def count() -> int:
    """Return the number of threads: OMP_NUM_THREADS, at most the processors of this process."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    requested = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return max(1, min(usable or 1, int(requested)) if requested.isdigit() else usable or 1)


def spread(run: Callable[[range], None], iterations: range) -> None:
    """Call `run` with pieces of a range on the threads; raise the first error."""
    if count() == 1:
        run(iterations)
        return
    pieces = min(len(iterations), PIECES_PER_THREAD * count())
    edges = [len(iterations) * k // pieces for k in range(pieces + 1)]
    work = deque(enumerate(iterations[a:b] for a, b in zip(edges, edges[1:])))
    errors: dict[int, Exception] = {}

    def compute() -> None:
        while not errors:
            try:
                k, piece = work.popleft()
            except IndexError:  # another thread took the last piece
                return
            try:
                run(piece)
            except Exception as error:
                errors[k] = error

    others = [_threads().submit(compute) for _ in range(count() - 1)]
    compute()  # this thread computes, too, and does everything if the others are busy
    wait([other for other in others if not other.cancel()])
    if errors:
        raise errors[min(errors)]  # the error of the earliest piece, as in a loop


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(1, count() - 1), "layers-kernel")
        return _pool


def _reset_after_fork() -> None:
    """Reset the pool in a forked child, which has none of its parent's threads."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()
    count.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
