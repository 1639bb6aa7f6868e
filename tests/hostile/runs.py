"""Hostile folders of runs of `train`, with which is predicted, reported and gone on."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import tempfile
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from train import Diverged, Refused, saved
from train.command_line import parse
from train.learner import learner_of
from train.prediction import predictions
from train.report.page import page
from train.report.read import read_runs
from train.rows import write_csv, write_json
from train.run import run
from train.tensors import read_tensors, tensors_as_bytes

from .values import changed_bytes, changed_text, changed_tree, number, text

CONFIG, HISTORY, DATA = "config.json", "history.csv", "d.npz"
LAST = f"checkpoints/{saved.name_of(2, 0)}"
INDEX, STATE = f"{LAST}/{saved.INDEX}", f"{LAST}/{saved.STATE}"
# Those of the run, so that a file cannot ask for more epochs and larger layers.
SIZES = [
    "--epochs",
    "3",
    "--hidden",
    "4",
    "--net",
    "mlp",
    "--batch-size",
    "64",
    "--engine",
    "torch",
]
KEYS = ["callback", "callback/", "callback/x.0/a", "callback//", "learner", "learner/0/state/0/7"]


@cache
def whole() -> dict[str, bytes]:
    """The files of a run of two epochs, and its data."""
    with tempfile.TemporaryDirectory() as name, inside(Path(name)):
        draw = np.random.RandomState(0)
        np.savez(DATA, x=draw.rand(24, 4).astype("f4"), y=np.arange(24) % 3)
        more = ["--average", "0.9", "--patience", "3", "--schedule", "cosine"]
        run(parse(["--data", DATA, "--out", ".", *SIZES, "--epochs", "2", *more]), learner_of)
        return contents(Path(name))


def contents(folder: Path) -> dict[str, bytes]:
    """The files in a folder and in its folders."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@contextmanager
def inside(folder: Path):
    """Be in a folder, for names of files that a file may have; nothing is shown."""
    os.chdir(folder)
    try:
        with redirect_stdout(io.StringIO()) as said, redirect_stderr(said):
            yield
    finally:
        os.chdir("/")
    assert said.getvalue().replace("\n", "").isprintable(), ascii(said.getvalue()[:500])


def make(rng: random.Random) -> dict[str, bytes]:
    """Make the folder of a run, one of its files or two of them changed."""
    files = dict(whole())
    for name in sorted({rng.choice(OFTEN) for _ in range(rng.choice([0, 1, 1, 1, 2]))}):
        files[name] = CHANGES[name](rng, files[name])
    index = json.loads(files[INDEX]) if is_tree(files[INDEX]) else None
    if index is not None and rng.random() < 0.95:
        if STATE in files and isinstance(index.get("files"), dict):
            index["files"][saved.STATE] = saved.fingerprint(files[STATE])
        index.pop("sha256", None)
        index["sha256"] = saved.hash_of(index)
        files[INDEX] = json.dumps(index).encode()
    return files


def is_tree(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False


def _tree(rng: random.Random, data: bytes) -> bytes:
    """Change JSON: its values mostly, else its text."""
    if rng.random() < 0.8:
        return json.dumps(changed_tree(rng, json.loads(data))).encode()
    return changed_text(rng, data.decode())


def _table(rng: random.Random, data: bytes) -> bytes:
    """Change names and numbers of a table, repeat its lines, or change its bytes."""
    if rng.random() < 0.3:
        return changed_bytes(rng, data)
    rows = [line.split(",") for line in data.decode().splitlines()]
    for _ in range(rng.choice([1, 1, 3])):
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = str(number(rng)) if rng.random() < 0.6 else text(rng)
    if rng.random() < 0.2:
        rows[-1:] *= rng.choice([0, 2, 3000])
    file = io.StringIO()
    csv.writer(file).writerows(rows)
    return file.getvalue().encode("utf-8", "surrogatepass")


def _arrays(rng: random.Random, data: bytes) -> bytes:
    """Change names, shapes, dtypes or values of the arrays that are learned with."""
    if rng.random() < 0.2:
        return changed_bytes(rng, data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a")
        path.write_bytes(data)
        arrays: dict[str, Any] = read_tensors(path)
    for _ in range(rng.choice([1, 1, 2, 4])):
        name = rng.choice(list(arrays))
        array, change = arrays[name], rng.randrange(6)
        if change <= 1:
            parts = name.split("/")
            parts[rng.randrange(len(parts))] = text(rng)
            new = rng.choice([rng.choice(KEYS), "/".join(parts)])
            arrays[new.encode("utf-8", "replace").decode()] = array
        if change in (1, 2):
            arrays.pop(name)
        if change == 3:
            arrays[name] = np.zeros(rng.choice([(), (0,), (1,), (2, 3), (1,) * 40]), array.dtype)
        if change == 4:
            arrays[name] = array.astype(rng.choice(["f8", "f2", "i8", "u1", "?"]))
        if change == 5:
            values = np.array([np.nan, np.inf, 1e308, -1.0, 2.0**62, 0.0])
            with np.errstate(all="ignore"):
                arrays[name] = np.full(array.shape, rng.choice(values)).astype(array.dtype)
        if not arrays:
            break
    return tensors_as_bytes(arrays)


OFTEN = [CONFIG, CONFIG, HISTORY, INDEX, INDEX, STATE]
CHANGES = {CONFIG: _tree, HISTORY: _table, INDEX: _tree, STATE: _arrays}


def learned(folder: Path) -> dict[str, bytes]:
    """The files in a folder but those that a training begins with."""
    files = contents(folder)
    return {name: files[name] for name in files if name not in (CONFIG, HISTORY)}


def predict(folder: Path) -> None:
    """Do what `train.predict` does."""
    found = [*predictions(folder, DATA)]
    list(write_csv(found, bool(found[0].classes)))
    list(write_json(found, bool(found[0].classes)))


def report(folder: Path) -> None:
    """Do what `train.report` does, of this run and of another one."""
    other = folder / "other"
    for name, content in whole().items():
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_bytes(content)
    page(read_runs([folder, other]))


def resume(folder: Path) -> None:
    """Do what `train --resume` does; where it is refused, what was learned stays as it is."""
    before = learned(folder)
    try:
        run(parse(["--out", str(folder), "--resume", *SIZES]), learner_of)
    except Diverged as error:
        raise Refused(f"{folder}: {error}") from error
    except Refused:
        after = learned(folder)
        assert after == before, [n for n in {*before, *after} if before.get(n) != after.get(n)]
        raise


class Runs:
    """The folders, and the program that reads each."""

    def __init__(self):
        self.way = predict

    def make(self, rng: random.Random) -> dict[str, bytes]:
        self.way = rng.choice([predict, report, resume, resume])
        return make(rng)

    def read(self, folder: Path) -> None:
        with inside(folder):
            self.way(folder)
