"""What a training does beside learning: `fit` and the program take the same ones."""

from __future__ import annotations

import numpy as np

from .averaging import Average
from .checkpoint import Checkpoint
from .progress import Logging
from .results import History
from .schedules import Schedule
from .settings import expect, whole
from .state import Callback, Epoch, Run
from .tensorboard import TensorBoard
from .trouble import Guard

__all__ = [
    "Average",
    "Callback",
    "Checkpoint",
    "EarlyStopping",
    "Guard",
    "History",
    "Logging",
    "Schedule",
    "TensorBoard",
]


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
