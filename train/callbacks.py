"""What a training does beside learning: `fit` and the program take the same ones."""

from __future__ import annotations

import csv
import math
import signal
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from layers._atomic import replacing

from . import Refused
from .averaging import Average
from .checkpoint import Checkpoint
from .epochs import columns, left_out, results_of, write_history
from .schedules import Schedule
from .screen import say
from .settings import expect, positive, whole
from .state import Callback, Epoch, Run
from .trouble import Guard

__all__ = [
    "Average",
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "Guard",
    "History",
    "Limit",
    "Logging",
    "Schedule",
    "TensorBoard",
]

PERIOD = 0.1  # seconds between two reads of the loss, which wait for the device
NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
SIGNALS = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]


class EarlyStopping(Callback):
    """End the training when it has not become better for some epochs.

    Parameters
    ----------
    patience : int
        Epochs without a better held-out metric, or a lower held-out loss at the same metric;
        without held-out samples, those of training.

    Raises
    ------
    Refused
        It is no whole number from 1.
    """

    def __init__(self, patience: int):
        expect(whole(1), "patience", patience)
        self.patience = patience
        self.start: int | None = None  # the epochs before it do not count

    def begin(self, run: Run) -> None:
        if self.start is None or not run.resumed:
            self.start = len(run.history)
        if run.history:
            self.after_epoch(run, run.history[-1])

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        best = run.best().epoch
        if epoch.epoch - max(best, self.start or 0) >= self.patience:
            run.stop = f"no epoch was better than {best} for {self.patience} epochs"

    def end(self, run: Run) -> None:
        self.start = None

    def state(self) -> dict[str, np.ndarray]:
        """How many epochs were done when it began, and the patience.

        The patience is not restored: a training that has ended goes on with a greater one.
        """
        return {"patience": np.array(self.patience), "start": np.array(self.start or 0)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.start = int(state.get("start", 0))


class Limit(Callback):
    """End the training after a number of steps, or a time; it can be resumed with a greater one.

    Parameters
    ----------
    steps : int, optional
        Steps in all epochs together.
    seconds : float, optional
        Since the training began in this process. It ends after the step in which they are over.

    Raises
    ------
    Refused
        `steps` is no whole number from 1, or `seconds` no number above 0.
    """

    def __init__(self, steps: int | None = None, seconds: float | None = None):
        self.steps = expect(whole(1), "steps", steps)
        self.seconds = expect(positive, "seconds", seconds)
        self.done, self.start = 0, 0.0

    def begin(self, run: Run) -> None:
        if not run.resumed:
            self.done = 0
        self.start = time.monotonic()
        self.check(run)

    def after_step(self, run: Run) -> None:
        self.done += 1
        self.check(run)

    def check(self, run: Run) -> None:
        if self.steps is not None and self.done >= self.steps:
            run.stop = run.stop or f"{self.steps} steps are done"
        elif self.seconds is not None and time.monotonic() - self.start >= self.seconds:
            run.stop = run.stop or f"{self.seconds:g} seconds are over"

    def state(self) -> dict[str, np.ndarray]:
        """The number of steps that are done."""
        return {"done": np.array(self.done)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.done = int(state["done"])


class Logging(Callback):
    """A bar with loss, metric, samples a second and the time left, where a terminal can show it.

    Parameters
    ----------
    lines : bool
        Print a line after each epoch, too.
    """

    first_only = True

    def __init__(self, lines: bool = True):
        self.lines, self.held_out, self.due = lines, "", 0.0
        self.bar: Any = None

    def begin(self, run: Run) -> None:
        """Show the bar; raises Refused where tqdm is not installed."""
        try:
            from tqdm import tqdm
        except ImportError as error:
            raise Refused("Logging: tqdm is not installed: pip install tqdm") from error
        samples = None if run.steps_per_epoch else run.data.samples
        self.bar = tqdm(
            total=samples and samples * run.epochs,
            initial=sum(epoch.samples for epoch in run.history) + run.meter.samples,
            unit=" samples",
            unit_scale=True,
            disable=None,
            mininterval=0,
            dynamic_ncols=True,
            bar_format="{desc} |{bar}| {rate_fmt}{postfix}"
            + (", {remaining} left") * bool(samples),
        )
        self.bar.set_description_str(f"epoch {run.epoch}/{run.epochs}")

    def after_step(self, run: Run) -> None:
        if time.monotonic() >= self.due and not self.bar.disable:
            done = sum(epoch.samples for epoch in run.history)
            loss, metric = run.meter.read()
            self.show(run, run.epoch, loss, metric, done + run.meter.samples * run.workers.count)

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        if not math.isnan(epoch.held_out_loss):
            name = f"{run.measure.metric} " if math.isnan(epoch.metric) else ""
            self.held_out = f", held out {name}{run.measure.show(epoch.held_out_metric)}"
            self.held_out += "".join(f", {name} {value:.4g}" for name, value in epoch.more.items())
        done = sum(each.samples for each in run.history)
        self.show(run, epoch.epoch, epoch.loss, epoch.metric, done)
        if self.lines:
            text = (
                f"epoch {epoch.epoch}/{run.epochs}: {self.results(run, epoch.loss, epoch.metric)}"
            )
            with self.bar.external_write_mode(sys.stdout):
                say(f"{text}, {epoch.seconds:.2f} s", sys.stdout)

    def end(self, run: Run) -> None:
        if self.bar is not None:
            self.bar.close()

    def results(self, run: Run, loss: float, metric: float) -> str:
        shown = f", {run.measure.metric} {run.measure.show(metric)}"
        if "metric" in left_out(run):
            shown = ""
        return f"loss {loss:.4f}{shown}{self.held_out}"

    def show(self, run: Run, epoch: int, loss: float, metric: float, samples: int) -> None:
        self.bar.set_description_str(f"epoch {epoch}/{run.epochs}", refresh=False)
        self.bar.set_postfix_str(self.results(run, loss, metric), refresh=False)
        self.bar.update(samples - self.bar.n)
        self.due = time.monotonic() + PERIOD


class History(Callback):
    """Write the results of each epoch into a csv file, after it.

    Parameters
    ----------
    path : str or Path
        Its folder is made if it is missing.
    """

    first_only = True

    def __init__(self, path: str | Path):
        self.path = Path(path)

    def begin(self, run: Run) -> None:
        """Write the epochs that are done already; raises Refused where it cannot be written."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self.path) as new:
                write_history(run, new)
        except OSError as error:
            raise Refused(f"{self.path} cannot be written: {error.strerror or error}") from error

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        """Write its results; raises Refused where they cannot be written."""
        try:
            with self.path.open("a", newline="") as file:
                names = columns(run)
                writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
                writer.writerow(results_of(epoch, run))
        except OSError as error:
            raise Refused(f"{self.path} cannot be written: {error.strerror or error}") from error


class TensorBoard(Callback):
    """Write the results of each epoch for TensorBoard: ``tensorboard --logdir FOLDER``.

    Parameters
    ----------
    folder : str or Path
        It is made if it is missing.

    Raises
    ------
    Refused
        TensorBoard is not installed.
    """

    first_only = True

    def __init__(self, folder: str | Path):
        self.folder, self.write = Path(folder), scalars()
        self.writer: Any = None

    def begin(self, run: Run) -> None:
        """Open a file in the folder; raises Refused where it cannot be written."""
        try:
            self.writer = self.write(self.folder, len(run.history) + 1)
        except OSError as error:
            raise Refused(f"{self.folder} cannot be written: {error.strerror or error}") from error

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        found = results_of(epoch, run)
        names = [name for name in columns(run) if name not in ("epoch", "samples")]
        values = {name: found[name] for name in names if found[name] == found[name]}  # not NaN
        self.writer.add(values | {"samples_per_second": epoch.samples / epoch.seconds}, epoch.epoch)

    def end(self, run: Run) -> None:
        if self.writer is not None:
            self.writer.close()


def scalars() -> Any:
    """What makes a writer of numbers.

    Raises
    ------
    Refused
        TensorBoard is not installed.
    """
    try:
        event = import_module("tensorboard.compat.proto.event_pb2").Event
        summary = import_module("tensorboard.compat.proto.summary_pb2").Summary
        files = import_module("tensorboard.summary.writer.event_file_writer").EventFileWriter
    except ImportError as error:
        raise Refused(f"TensorBoard: not installed: pip install tensorboard ({error})") from error
    return lambda folder, first: Events(files(str(folder)), event, summary, first)


class Events:
    """A file of events; those that an earlier process wrote from the first epoch on are hidden."""

    def __init__(self, file: Any, event: Any, summary: Any, first: int):
        self.file, self.event, self.summary = file, event, summary
        if first > 1:  # of a resumed training
            session = import_module("tensorboard.compat.proto.event_pb2").SessionLog
            log = session(status=session.START)
            self.file.add_event(event(step=first, session_log=log, wall_time=time.time()))

    def add(self, values: dict[str, float], step: int) -> None:
        value = self.summary.Value
        rows = [value(tag=name, simple_value=number) for name, number in values.items()]
        summary = self.summary(value=rows)
        self.file.add_event(self.event(step=step, summary=summary, wall_time=time.time()))
        self.file.flush()

    def close(self) -> None:
        self.file.close()


class Stop(Callback):
    """Inside its `with` statement a signal raises nothing: its number is stored in `signal`.

    An exception would be lost while MXNet calls an operator's Python code, and would lose the files
    while they are written. A second Ctrl-C does not wait: it raises KeyboardInterrupt.
    """

    def __init__(self):
        self.signal: int | None = None
        self.ctrl_c = False
        self.previous = {}

    def note(self, number: int, _) -> None:
        if number == signal.SIGINT:
            if self.ctrl_c:
                raise KeyboardInterrupt
            self.ctrl_c = True
        self.signal = self.signal or number

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():  # other threads get no signals
            # An ignored signal stays ignored: nohup ignores SIGHUP.
            handled = [n for n in SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
            self.previous = {number: signal.signal(number, self.note) for number in handled}
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)

    def after_step(self, run: Run) -> None:
        if self.signal:
            run.stop = signal.Signals(self.signal).name

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        self.after_step(run)
