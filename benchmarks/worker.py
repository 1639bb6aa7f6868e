"""One process for each engine: it builds contestants and times them, when it is told to.

The two engines do not share a process, so neither's threads and memory are in the other's way, and
what is written for MXNet's API runs on both.
"""

from __future__ import annotations

import gc
import os
import traceback
from collections.abc import Callable
from importlib import import_module
from itertools import repeat
from time import perf_counter
from typing import Any, NamedTuple

PACKAGES = {"torch": "layers.mxnet", "mxnet": "mxnet"}
DONE, ABSENT, FAILED = "done", "absent", "failed"  # absent: the machine or installation has it not


class Entry(NamedTuple):
    """What the `build` of a contestant gives: one call, and numbers in which all must agree."""

    step: Callable[[], Any]
    check: Callable[[], list[float]]


def serve(pipe, engine: str, threads: int) -> None:
    """Answer requests, ``(method, *arguments)``, by ``(DONE, result)``, or by how it failed."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["MXNET_CPU_WORKER_NTHREADS"] = "2"  # with 1, custom operators hang
    os.environ["LAYERS_ENGINE"] = engine
    worker = None
    while True:
        try:
            method, *arguments = pipe.recv()
        except EOFError:  # nobody asks any more
            return
        try:
            if worker is None:
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
        self.engine, self.mx = engine, import_module(PACKAGES[engine])
        self.sync = self.mx.nd.waitall
        self.entries: dict[tuple, Entry] = {}
        if engine == "torch":
            import_module("torch").set_num_threads(threads)
        gc.disable()

    def facts(self) -> dict[str, Any]:
        """The versions in use, and whether there is a GPU for this engine."""
        found = {"gpu": self.mx.context.num_gpus() > 0}
        if self.engine == "mxnet":
            return found | {"versions": {"mxnet": self.mx.__version__}}
        torch = import_module("torch")
        found["versions"] = {n: import_module(n).__version__ for n in ("numpy", "torch")}
        found["gemm"] = import_module("layers.engine").describe()["gemm"]
        if found["gpu"]:
            found["gpu_name"] = torch.cuda.get_device_name(0)
        return found

    def build(self, home: str, suite: str, variant: str, device: str, case: dict) -> list[float]:
        """Make a contestant; the numbers by which it is checked."""
        module = import_module(f"benchmarks.{home}.{suite}")
        entry = module.build(variant, device, **case)
        self.entries[home, variant] = entry
        return entry.check()

    def clear(self) -> None:
        """Forget all contestants."""
        self.entries.clear()
        gc.collect()

    def time(self, home: str, variant: str, count: int, blocks: int) -> float:
        """Seconds of a call: `count` calls and a synchronization, the best of some blocks."""
        step, sync, best = self.entries[home, variant].step, self.sync, float("inf")
        sync()
        for _ in range(blocks):
            start = perf_counter()
            for _ in repeat(None, count):
                step()
            sync()
            best = min(best, perf_counter() - start)
        return best / count
