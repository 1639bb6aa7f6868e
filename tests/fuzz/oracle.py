"""MXNet in a process beside, where its crashes end nothing but that process."""

from __future__ import annotations

import json
import os
import select
import subprocess
from pathlib import Path

from .program import Program

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("LAYERS_FUZZ_MXNET", ROOT / ".venv-mxnet/bin/python"))
ABSENT = f"MXNet is not installed in {PYTHON.parents[1].name}: make test-mxnet installs it"
TIMEOUT = 5.0  # seconds for one program
IMPORT_TIMEOUT = 120.0  # until MXNet is imported


class MXNet:
    """Runs programs on MXNet. A process that dies or hangs is replaced by a new one."""

    def __init__(self):
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> MXNet:
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def run(self, program: Program) -> dict:
        """What the program shows or raises, as `program.run`; {"crash": how} if MXNet dies."""
        if self.process is None:
            self.process = self._start()
        try:
            self.process.stdin.write(json.dumps(program).encode() + b"\n")
            self.process.stdin.flush()
            answer = _answer(self.process, TIMEOUT)
        except BrokenPipeError:
            answer = b""
        if answer:
            return json.loads(answer)
        hangs = self.process.poll() is None and answer is None
        self.stop()
        return {"crash": "it hangs" if hangs else "the process dies"}

    def run_afresh(self, program: Program) -> dict:
        """The same, in a process that has run nothing else before."""
        self.stop()
        return self.run(program)

    def stop(self) -> None:
        """End the process, if there is one."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def _start(self) -> subprocess.Popen:
        process = subprocess.Popen(
            [PYTHON, "-W", "ignore", "-m", "fuzz.server"],
            cwd=ROOT / "tests",
            env={**os.environ, "MXNET_CPU_WORKER_NTHREADS": "2", "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if _answer(process, IMPORT_TIMEOUT) != b"ready\n":
            process.kill()
            raise RuntimeError(f"MXNet cannot be imported in {PYTHON}")
        return process


def _answer(process: subprocess.Popen, timeout: float) -> bytes | None:
    """One line; empty at the end of the output, None where none came in time."""
    ready, _, _ = select.select([process.stdout], [], [], timeout)
    return process.stdout.readline() if ready else None
