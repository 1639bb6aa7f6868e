"""One process for each engine: it builds contestants and times them, when it is told to.

The engines do not share a process, so none's threads and memory are in another's way, and what is
written for MXNet's API runs on both. The process may have another interpreter, with what is
installed there.
"""

from __future__ import annotations

import gc
import os
import traceback
from collections.abc import Callable
from ctypes import CDLL
from importlib import import_module
from itertools import repeat
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Any, NamedTuple

PACKAGES = {"torch": "layers.mxnet"}  # of the others it is their name
THREADS = "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC", "PJRT_NPROC"
DONE, ABSENT, FAILED = "done", "absent", "failed"  # absent: the machine or installation has it not


class Entry(NamedTuple):
    """What the `build` of a contestant gives.

    One call; numbers in which all must agree; and, where the engine cannot be asked to wait for all
    calls, how to wait for those.
    """

    step: Callable[[], Any]
    check: Callable[[], list[float]]
    wait: Callable[[], Any] | None = None


def serve(
    descriptor: int, engine: str, threads: int, first: str = "", blas_threads: int = 0
) -> None:
    """Answer requests, ``(method, *arguments)``, by ``(DONE, result)``, or by how it failed.

    They come through the pipe that was left open under this file descriptor. `first` is a module
    to import before the engine; `blas_threads`, if not 0, how many threads NumPy has.
    """
    for name in THREADS:
        os.environ[name] = str(threads)
    if blas_threads:
        os.environ["OPENBLAS_NUM_THREADS"] = str(blas_threads)
    os.environ["MXNET_CPU_WORKER_NTHREADS"] = "2"  # with 1, custom operators hang
    os.environ["LAYERS_ENGINE"] = engine
    os.environ["KERAS_BACKEND"] = "jax"
    pipe, worker = Connection(descriptor), None
    while True:
        try:
            method, *arguments = pipe.recv()
        except EOFError:  # nobody asks any more
            return
        try:
            if worker is None:
                if first:
                    import_module(first)
                worker = Worker(engine, threads)
            pipe.send((DONE, getattr(worker, method)(*arguments)))
        except ModuleNotFoundError as error:
            pipe.send((ABSENT, f"{error.name} is not installed"))
        except NotImplementedError as error:
            pipe.send((ABSENT, str(error)))
        except Exception:
            pipe.send((FAILED, traceback.format_exc()))


class Worker:
    """Builds and times contestants on one engine."""

    def __init__(self, engine: str, threads: int):
        self.engine, self.package = engine, import_module(PACKAGES.get(engine, engine))
        self.entries: dict[tuple, Entry] = {}
        if engine in ("torch", "lightning"):
            import_module("torch").set_num_threads(threads)
        if engine == "torch":
            self.package.tune()
        gc.disable()

    def facts(self) -> dict[str, Any]:
        """The versions in use, and whether there is a GPU for this engine."""
        if self.engine in ("jax", "keras"):
            gpu = import_module("jax").default_backend() == "gpu"
        elif self.engine == "lightning":
            gpu = import_module("torch").cuda.is_available()
        else:
            gpu = self.package.context.num_gpus() > 0
        if self.engine != "torch":
            return {"gpu": gpu, "versions": {self.engine: self.package.__version__}}
        torch = import_module("torch")
        found = {"gpu": gpu, "gemm": import_module("layers.engine").describe()["gemm"]}
        found["versions"] = {n: import_module(n).__version__ for n in ("numpy", "torch")}
        if gpu:
            found["gpu_name"] = torch.cuda.get_device_name(0)
        return found

    def build(self, home: str, module: str, variant: str, device: str, case: dict) -> list[float]:
        """Make a contestant; the numbers by which it is checked."""
        made = import_module(f"benchmarks.{home}.{module}").build
        self.entries[home, variant] = entry = made(variant, device, **case)
        return entry.check()

    def clear(self) -> None:
        """Forget all contestants, and that compiled ones have had their shapes."""
        self.entries.clear()
        gc.collect()
        if self.engine == "torch":
            import_module("torch").compiler.reset()

    def time(self, home: str, variant: str, count: int, blocks: int) -> float:
        """Seconds of a call: `count` calls and a synchronization, the best of some blocks."""
        step, _, wait = self.entries[home, variant]
        sync, best = wait or self.package.nd.waitall, float("inf")
        sync()
        for _ in range(blocks):
            start = perf_counter()
            for _ in repeat(None, count):
                step()
            sync()
            best = min(best, perf_counter() - start)
        return best / count

    def peak(self, home: str, variant: str) -> int | None:
        """Most bytes of memory in a call, beside those before it; None where nothing tells them."""
        step, _, wait = self.entries[home, variant]
        sync = wait or self.package.nd.waitall
        step()
        sync()
        gc.collect()
        try:
            CDLL(None).malloc_trim(0)  # what earlier calls have left would be taken again
            before = _status("VmRSS")
            Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
        except (OSError, AttributeError):
            return None
        step()
        sync()
        return _status("VmHWM") - before

    def slowest(self, home: str, variant: str, count: int) -> float:
        """The 99th percentile of the seconds of `count` calls."""
        step, times = self.entries[home, variant].step, []
        for _ in range(count):
            start = perf_counter()
            step()
            times.append(perf_counter() - start)
        return quantiles(times, n=100, method="inclusive")[-1]


def _status(name: str) -> int:
    """Bytes of memory of this process, by their name in Linux's file of its status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
