"""Results for TensorBoard, by whichever of its writers is installed."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from typing import Any

from . import Refused
from .epochs import columns, results_of
from .state import Callback, Epoch, Run

__all__ = ["TensorBoard"]


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
