"""How PyTorch's and NumPy's threads share the cores.

PyTorch computes on the threads of OpenMP (libgomp), NumPy's matrix products run on those of
OpenBLAS. Both spin while they wait for more work, libgomp's for milliseconds after each
computation. A custom operator that multiplies in NumPy between PyTorch's computations finds the
cores occupied, and a small training step takes up to 40 times as long. Two things are done:

- libgomp is told to spin for a thirtieth of that time, unless the environment has GOMP_SPINCOUNT or
  OMP_WAIT_POLICY. It reads its environment once, when it is loaded, so this works where this module
  is imported before PyTorch.
- OpenBLAS computes on one thread while a custom operator has only small arrays in NumPy; larger
  products gain more from all cores than they lose.

Each thread of Python that computes in PyTorch has threads of OpenMP of its own. Once there are more
of them than cores, libgomp's no longer spin but sleep, for as long as the process runs, and a small
computation takes three times as long. So the threads that make batches compute on one thread.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable

import numpy as np

from ._state import this_thread

# libgomp's own default is 300,000. PyTorch's small training steps take as long with 10,000, but up
# to 1.1 times as long with 3,000 and 1.3 times with 1,000, as the threads sleep between operators.
SPIN_COUNT = "10000"
_set_by_user = "GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ
_too_late = "torch" in sys.modules
# A custom operator with at most so many elements in NumPy multiplies on one thread. Where libgomp
# spins briefly these are three matrices of 418 x 418, whose product takes 1.5 ms on one core; where
# it spins for long, three of 836 x 836, 12 ms. With as many, one thread and two take as long.
SMALL = 2**21 if _too_late and not _set_by_user else 2**19

if not _too_late and not _set_by_user:
    os.environ["GOMP_SPINCOUNT"] = SPIN_COUNT
    try:
        import torch  # noqa: F401 - libgomp is loaded with it
    finally:
        del os.environ["GOMP_SPINCOUNT"]  # a child process decides for itself


class _Locked:
    """What all threads of a process set, behind a lock."""

    def __init__(self):
        self._renew_lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew_lock)

    def _renew_lock(self) -> None:
        """Take a new lock: a child process lacks the thread that may hold the old one."""
        self._lock = threading.Lock()


class _OpenBLAS(_Locked):
    """The OpenBLAS of NumPy, whose number of threads is one for the whole process."""

    def __init__(self, get_num_threads: Callable[[], int], set_num_threads: Callable[[int], None]):
        self._get, self._set = get_num_threads, set_num_threads
        self._users, self._before = 0, 1
        super().__init__()

    def limit(self) -> None:
        """Compute on one thread, until `release` is called as often as this."""
        with self._lock:
            if self._users == 0:
                self._before = self._get()
                self._set(1)
            self._users += 1

    def release(self) -> None:
        """End one `limit`; after the last one the number of threads is what it was."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._set(self._before)


def _find_openblas() -> _OpenBLAS | None:
    """NumPy's OpenBLAS; None where NumPy has another library, or an OpenBLAS that uses OpenMP."""
    numpy_library = ctypes.PyDLL(np.linalg._umath_linalg.__file__)  # symbols of what it links too
    for prefix, suffix in (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", "")):
        try:
            get_parallel, get_num_threads, set_num_threads = (
                getattr(numpy_library, f"{prefix}openblas_{name}{suffix}")
                for name in ("get_parallel", "get_num_threads", "set_num_threads")
            )
        except AttributeError:
            continue
        set_num_threads.argtypes, set_num_threads.restype = [ctypes.c_int], None
        has_own_threads = get_parallel() == 1
        return _OpenBLAS(get_num_threads, set_num_threads) if has_own_threads else None
    return None


_openblas = _find_openblas()


class _NumberOfThreads(_Locked):
    """PyTorch's number of threads, which a thread of Python takes over where it first computes."""

    def set_to_one_here(self) -> None:
        """Set it to 1 in this thread alone."""
        import torch

        with self._lock:  # else a thread that begins meanwhile takes the 1 for everybody's number
            count = torch.get_num_threads()
            torch.set_num_threads(1)  # also for the threads that begin to compute after this
            for_later_threads = threading.Thread(target=torch.set_num_threads, args=(count,))
            for_later_threads.start()
            for_later_threads.join()


_number_of_threads = _NumberOfThreads()


def count() -> int:
    """Return the number of threads on which PyTorch computes in this thread of Python."""
    import torch

    return torch.get_num_threads()


def use_one_thread() -> None:
    """Let PyTorch's computations in this thread of Python run on it alone."""
    _number_of_threads.set_to_one_here()


def end_of_operator(elements: int) -> None:
    """End a custom operator that has given so many elements to NumPy."""
    if _is_small(elements):
        _openblas.release()


def give_to_numpy(elements: int) -> None:
    """An array with so many elements goes to NumPy."""
    state = this_thread.state
    before = state.elements_in_numpy
    if before is None:
        return
    state.elements_in_numpy = after = before + elements
    if _is_small(after) and not _is_small(before):
        _openblas.limit()
    elif _is_small(before) and not _is_small(after):
        _openblas.release()


def _is_small(elements: int) -> bool:
    """Whether a custom operator with so many elements in NumPy multiplies on one thread."""
    return _openblas is not None and 0 < elements <= SMALL
