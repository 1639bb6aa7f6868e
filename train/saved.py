"""A checkpoint on the disk: a folder whose files are written and read whole, or not at all.

It is written into a folder beside it, and gets its name when all files are on the disk. The last of
them, state.json, has the length and hash of the others. Nothing in it is pickled.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import re
import reprlib
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from layers._atomic import remove_folder, replacing
from layers.engine import nd
from layers.saving import NamedArrays

from . import Refused
from .state import Callback, Epoch, Meter, Run
from .tensors import file_content, read_tensors, tensors_as_bytes

__all__ = [
    "FILES", "NAME", "Saved", "by_name", "checkpoints", "expect_torn", "identity", "name_of",
    "position", "read", "remove", "write",
]  # fmt: skip

FILES = ("model.safetensors", "model.params", "state.safetensors", "state.json")
WEIGHTS, PARAMS, STATE, INDEX = FILES
FORMAT = "layers.train checkpoint 1"
SUMS = ("samples", "steps", "loss", "metric", "counted", "seconds")  # of a meter
NAME = re.compile(r"epoch-(\d{4,})(?:-step-(\d{6,}))?")


def name_of(epoch: int, step: int) -> str:
    """``epoch-0007`` is after that epoch, ``epoch-0007-step-000012`` within it."""
    return f"epoch-{epoch:04}" + (f"-step-{step:06}" if step else "")


def position(path: Path) -> tuple[int, int]:
    """Return the number of epochs done at a checkpoint, and of steps of the next one."""
    match = NAME.fullmatch(path.name)
    assert match, path  # `checkpoints` lists no others
    epoch, step = match.groups()
    return (int(epoch) - 1, int(step)) if step else (int(epoch), 0)


def checkpoints(folder: Path) -> list[Path]:
    """Return the checkpoints in a folder, the last one first."""
    found = folder.iterdir() if folder.is_dir() else ()
    named = (path for path in found if NAME.fullmatch(path.name) and path.is_dir())
    return sorted(named, key=position, reverse=True)


def remove(path: Path) -> None:
    """Remove a checkpoint.

    Raises
    ------
    OSError
        It has other files, or cannot be removed.
    """
    expect_own(path)
    remove_folder(path)


def expect_own(path: Path) -> None:
    """Refuse to remove a folder that has other files than those of a checkpoint.

    Raises
    ------
    OSError
        The message has the name of one.
    """
    if others := sorted({each.name for each in path.iterdir()} - {*FILES}):
        reason = f"{path.name} has {others[0]!r}, which is of no checkpoint; expected it elsewhere"
        raise OSError(errno.ENOTEMPTY, reason)


def expect_torn(path: Path) -> None:
    """Refuse to replace a checkpoint that is not torn: it is of another training.

    Raises
    ------
    OSError
        It is whole, or has other files than those of a checkpoint.
    """
    expect_own(path)
    with suppress(ValueError):
        read(path)
        reason = "there is one of another training; expected another folder"
        raise OSError(errno.EEXIST, reason)


def write(path: Path, run: Run, meter: Meter) -> None:
    """Write a checkpoint: all of it appears, or nothing.

    Raises
    ------
    OSError
        It cannot be written, or a whole one has its name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        expect_torn(path)
    with replacing(path) as new:
        new.mkdir()
        weights = run.learner.weights()
        state = {f"learner/{name}": array for name, array in run.learner.state().items()}
        for key, callback in by_name(run):
            state |= {f"{key}/{name}": array for name, array in arrays_of(callback).items()}
        (new / WEIGHTS).write_bytes(tensors_as_bytes(weights))
        nd.save(str(new / PARAMS), {n: nd.array(w, dtype=w.dtype) for n, w in weights.items()})
        (new / STATE).write_bytes(tensors_as_bytes(state))
        content = {"format": FORMAT, **describe(run, meter)}
        names = FILES[:-1]
        content["files"] = {name: fingerprint((new / name).read_bytes()) for name in names}
        content["sha256"] = hash_of(content)
        (new / INDEX).write_bytes((json.dumps(content, indent=1) + "\n").encode())


def arrays_of(callback: Callback) -> NamedArrays:
    """Return the state of a callback as arrays.

    Raises
    ------
    Refused
        Something of it is no array of numbers; the message has its name.
    """
    arrays = {name: np.asarray(value) for name, value in callback.state().items()}
    for name, array in arrays.items():
        if array.dtype.kind in "OSU":
            raise Refused(
                f"callback {type(callback).__name__}: its state {name!r} is "
                f"{reprlib.repr(array.tolist())}; expected an array of numbers"
            )
    return arrays


def by_name(run: Run) -> Iterator[tuple[str, Callback]]:
    """Yield callbacks with their names; the second of a class is ``callback/Average.1``."""
    counts: Counter[str] = Counter()
    for callback in run.callbacks:
        name = type(callback).__name__
        yield f"callback/{name}.{counts[name]}", callback
        counts[name] += 1


def describe(run: Run, meter: Meter) -> dict[str, Any]:
    """Return the position of a training, and its results until there."""
    return {
        "epochs_done": len(run.history),
        "step": run.step,
        **identity(run),
        "settings": run.settings,
        "options": run.options,
        "meter": {
            "samples": meter.samples,
            "steps": meter.steps,
            "loss": meter.loss,
            "metric": meter.metric,
            "counted": meter.counted,
            "seconds": time.perf_counter() - run.started if run.step else 0.0,
        },
        "history": [without_nan(asdict(epoch)) for epoch in run.history],
    }


def identity(run: Run) -> dict[str, Any]:
    """Return what has to be the same for a training to go on."""
    return {
        "seed": run.seed,
        "optimizer": run.learner.optimizer_name,
        "data": run.data.description,
        "validation data": run.validation and run.validation.description,
    }


def without_nan(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN."""
    return {
        name: without_nan(value) if name == "more" else None if math.isnan(value) else value
        for name, value in row.items()
    }


def with_nan(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row that `without_nan` was given."""
    more = {"more": with_nan(row["more"])} if "more" in row else {}
    return {name: math.nan if value is None else value for name, value in row.items()} | more


def hash_of(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def fingerprint(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


@dataclass
class Saved:
    """The content of a checkpoint; `content` is that of its index."""

    weights: NamedArrays
    state: NamedArrays
    history: list[Epoch]
    meter: Meter
    content: dict[str, Any]


def read(path: Path) -> Saved:
    """Return the content of a checkpoint.

    Raises
    ------
    ValueError
        It is torn, or no checkpoint; the message names the file in it and what is wrong.
    """
    content = read_index(path / INDEX)
    if (found := (content["epochs_done"], content["step"])) != position(path):
        done, step = found
        raise ValueError(f"{INDEX}: it is that of {name_of(done + (step > 0), step)}")
    for name in FILES[:-1]:
        try:
            found = fingerprint(file_content(path / name))
        except OSError as error:
            raise ValueError(f"{name}: {error.strerror}") from error
        expected = content["files"][name]
        if found != expected:
            what = "bytes" if found["bytes"] != expected["bytes"] else "sha256"
            raise ValueError(
                f"{name}: {what} {found[what]}; expected {expected[what]}, as {INDEX} says"
            )
    try:
        history = [Epoch(**with_nan(row)) for row in content["history"]]
        sums = with_nan(content["meter"])
        sums = {"counted": sums["samples"]} | sums  # earlier ones count samples
        meter = Meter("", **{name: sums.pop(name) for name in SUMS})
        if sums:
            raise TypeError(f"the meter has {reprlib.repr(sums)}, too")
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{INDEX} is not as a checkpoint's: {error}") from error
    return Saved(read_tensors(path / WEIGHTS), read_tensors(path / STATE), history, meter, content)


def read_index(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(file_content(path))
        found = content.pop("sha256")
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}; expected {FORMAT!r}")
    except OSError as error:
        raise ValueError(f"{INDEX}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{INDEX}: it is no checkpoint's: {error!r}") from error
    if found != hash_of(content):
        raise ValueError(f"{INDEX}: it was changed: its sha256 is not that of its content")
    expect_form(content)
    return content


def expect_form(content: dict[str, Any]) -> None:
    """Refuse an index with parts of other types: a hash proves no author.

    Raises
    ------
    ValueError
        The message says what is wrong.
    """
    for name in ("epochs_done", "step"):
        count = content.get(name)
        if type(count) is not int or not 0 <= count < 1 << 63:
            raise ValueError(
                f"{INDEX} is not as a checkpoint's: {name} is {reprlib.repr(count)}; "
                "expected a whole number"
            )
    files = content.get("files")
    for name in FILES[:-1]:
        entry = files.get(name) if isinstance(files, dict) else None
        size, sha256 = (
            (entry.get("bytes"), entry.get("sha256")) if isinstance(entry, dict) else (0, 0)
        )
        if type(size) is not int or not isinstance(sha256, str) or len(sha256) != 64:
            raise ValueError(
                f"{INDEX} is not as a checkpoint's: {name} is {reprlib.repr(entry)}; "
                "expected its bytes and sha256"
            )
    expect_results(content)


def expect_results(content: dict[str, Any]) -> None:
    """Refuse results in an index that are no numbers, or not those of all its epochs.

    Raises
    ------
    ValueError
        The message says what is wrong.
    """
    history, done = content.get("history"), content["epochs_done"]
    rows = history if isinstance(history, list) else []
    numbers = [row.get("epoch") if isinstance(row, dict) else 0 for row in rows]
    if len(rows) != done or numbers != [*range(1, 1 + done)]:
        raise ValueError(
            f"{INDEX} is not as a checkpoint's: its history is {reprlib.repr(history)}; "
            f"expected {done} epochs"
        )
    for row in rows:
        what, numbers = f"epoch {row['epoch']}", {n: v for n, v in row.items() if n != "more"}
        expect_numbers(what, numbers, ("epoch", "samples"))
        expect_numbers(what, row.get("more", {}))
        if not (row.get("seconds") or 0) > 0:
            raise ValueError(f"{INDEX} is not as a checkpoint's: {what} took no time")
    expect_numbers("the meter", content.get("meter"), ("samples", "steps"))


def expect_numbers(what: str, found: Any, counts: tuple[str, ...] = ()) -> None:
    """Refuse what is no dict of numbers, of whole ones by the names of counts.

    Raises
    ------
    ValueError
        The message has the one that is wrong.
    """
    for name, value in found.items() if isinstance(found, dict) else [(what, found)]:
        is_count = type(value) is int and 0 <= value < 1 << 63
        if not is_count and (name in counts or type(value) not in (float, type(None))):
            raise ValueError(
                f"{INDEX} is not as a checkpoint's: {what} has {reprlib.repr({name: value})}; "
                f"expected a {'whole ' * (name in counts)}number"
            )
