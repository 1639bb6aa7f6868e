"""Run GluonCV's models on MXNet and on layers.mxnet, and write docs/gluoncv.md.

Each model is made, computes, is hybridized, exported and imported again, and takes a step of
training; on layers.mxnet also with the parameters that MXNet wrote, whose outputs it must have.
What was found is kept in build/gluoncv.json, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import select
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from . import page

ROOT = Path(__file__).resolve().parents[2]
MOST_KIB = 4 << 20  # of memory: a process that has held more ends after its model


class Worker:
    """A process with one engine, started anew where it dies or takes too long."""

    def __init__(self, engine, python, folder, given):
        self.engine, self.seconds, self.process = engine, given.seconds, None
        flags = ["--small"] * given.small + ["--outputs-only"] * given.outputs_only
        self.command = [python, "-m", "zoo.worker", engine, folder, *flags]

    def ask(self, name):
        """What came of a model's steps."""
        if self.process is None or self.process.poll() is not None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self.process = subprocess.Popen(
                self.command, **pipes, stderr=subprocess.DEVNULL, text=True
            )
        print(name, file=self.process.stdin, flush=True)
        ready, _, _ = select.select([self.process.stdout], [], [], self.seconds)
        line = self.process.stdout.readline() if ready else ""
        if line:
            told = json.loads(line)
            if told.pop("peak_kib") > MOST_KIB:
                self.stop()
            return told
        self.process.kill()
        code = self.process.wait()
        why = "the process died" if ready else f"not done in {self.seconds} s"
        return {"name": name, "make": f"no: {why} ({code})"}

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


def names_of_the_zoo():
    import layers.mxnet as mx

    return [*mx.gluoncv().model_zoo.get_model_list()]


def options():
    ask = argparse.ArgumentParser(prog="python -m zoo", description=__doc__)
    ask.add_argument("names", nargs="*", help="models (all of the zoo)")
    ask.add_argument("--small", action="store_true", help="with small inputs where they may be")
    ask.add_argument("--outputs-only", action="store_true", help="of MXNet, to compare with")
    ask.add_argument("--again", action="store_true", help="also those that were run before")
    ask.add_argument("--seconds", type=int, default=1800, help="how long a model may take (1800)")
    ask.add_argument("--mxnet", default=ROOT / ".venv-mxnet/bin/python", help="MXNet's Python")
    ask.add_argument("--results", type=Path, default=ROOT / "build/gluoncv.json")
    ask.add_argument("--page", type=Path, default=ROOT / "docs/gluoncv.md")
    return ask.parse_args()


def main():
    given = options()
    found = json.loads(given.results.read_text()) if given.results.exists() else {}
    names = names_of_the_zoo()
    with tempfile.TemporaryDirectory() as folder:
        workers = [Worker("torch", sys.executable, folder, given)]
        if shutil.which(given.mxnet):
            workers.insert(0, Worker("mxnet", given.mxnet, folder, given))
        for name in given.names or names:
            if name in found and not given.again:
                continue
            found[name] = {worker.engine: worker.ask(name) for worker in workers}
            found[name]["small"] = given.small
            print(page.row(name, found[name]), flush=True)
            given.results.parent.mkdir(exist_ok=True)
            given.results.write_text(json.dumps(found, indent=1) + "\n")
            for path in Path(folder).iterdir():
                path.unlink()
        for worker in workers:
            worker.stop()
    given.page.write_text(page.text(found, names))


if __name__ == "__main__":
    main()
