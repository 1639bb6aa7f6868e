"""Learning rates that follow a schedule, after a warm-up."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from layers.engine import mx

from . import Refused
from .config import SCHEDULES
from .state import Callback, Run

__all__ = ["Schedule", "check", "schedule"]

SETTINGS = {  # of schedules: what is right, and what to call it
    "every": (lambda epochs: 0 < epochs < math.inf, "a number of epochs above 0"),
    "factor": (lambda factor: 0 < factor <= 1, "a factor above 0, at most 1"),
    "final": (lambda share: 0 <= share <= 1, "a share of the rate, from 0 to 1"),
    "power": (lambda power: 0 < power < math.inf, "a number above 0"),
}


class Schedule(Callback):
    """A learning rate that rises from 0 to the optimizer's for some epochs, and then changes.

    It begins with the training, also where the optimizer has been used before. Until its end it
    takes the place of the optimizer's own `lr_scheduler`.

    Parameters
    ----------
    name : str
        ``"constant"``; ``"step"``: times `factor` after each `every` epochs, by default 0.1 and
        a third of all; ``"cosine"``: half a cosine, down to the share `final` of the rate; or
        ``"poly"``: (1 - done) ** `power`, by default squared, down to `final`.
    warmup : float
        Epochs in which the rate rises.
    **settings
        Those of the schedule.

    Raises
    ------
    Refused
        There is no such schedule, or it has no such setting.
    """

    def __init__(self, name: str = "cosine", warmup: float = 0.0, **settings: float):
        check(name, settings, warmup)
        self.name, self.warmup, self.settings = name, warmup, settings
        self.optimizer: Any = None  # while it has the schedule
        self.earlier: Any = None  # the scheduler that it had before
        self.start = 0  # its updates before the training

    def begin(self, run: Run) -> None:
        """Set the optimizer's scheduler; raises Refused where an epoch has no known length."""
        if run.steps is None:
            raise Refused(
                "Schedule: how many batches an epoch has is not known; expected a len(), or "
                "steps_per_epoch"
            )
        if (count := sum(isinstance(each, Schedule) for each in run.callbacks)) > 1:
            raise Refused(f"callbacks: there are {count} Schedules; expected one")
        check(self.name, self.settings, self.warmup, run.epochs)
        learner: Any = run.learner  # one of Gluon
        optimizer = self.optimizer = learner.trainer.optimizer
        self.earlier = optimizer.lr_scheduler
        if not (run.history or run.step):
            self.start = optimizer.num_update
        scheduler = schedule(
            self.name,
            optimizer.lr,
            epochs=run.epochs,
            steps=run.steps,
            warmup=self.warmup,
            settings=self.settings,
        )
        # Without updates before, a file of the trainer's states has the scheduler by its name.
        after = partial(rate_after, self.start, scheduler) if self.start else scheduler
        optimizer.lr_scheduler = after

    def end(self, run: Run) -> None:
        """Put the optimizer's earlier scheduler back, unless `begin` has refused."""
        if self.optimizer is not None:
            self.optimizer.lr_scheduler = self.earlier
            self.optimizer = self.earlier = None

    def state(self) -> dict[str, np.ndarray]:
        """Return the updates of the optimizer before the training, and which schedule it is."""
        name = np.frombuffer(self.name.encode(), np.uint8)
        numbers = {option: np.array(value) for option, value in self.options().items()}
        return {"start": np.array(self.start), "name": name, **numbers}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over a `state`; raises ValueError where it is that of another schedule."""
        if "name" in state and (its := bytes(state["name"]).decode()) != self.name:
            raise ValueError(f"its schedule is {its}, that of this training {self.name}")
        for option, value in self.options().items():
            its = state[option].item() if option in state else value
            if its != value and not (math.isnan(its) and math.isnan(value)):
                its, own = ("the default" if math.isnan(v) else f"{v:g}" for v in (its, value))
                raise ValueError(
                    f"the schedule's {option} is {its} in it, and {own} in this training"
                )
        self.start = int(state["start"])

    def options(self) -> dict[str, float]:
        """Return the warm-up and the schedule's options, those by default too; NaN for None."""
        known = {"warmup": self.warmup} | SCHEDULES[self.name] | self.settings
        return {n: math.nan if value is None else float(value) for n, value in known.items()}


def rate_after(start: int, scheduler: Callable[[int], float], update: int) -> float:
    """Return the learning rate of an update, the first one being that after `start` others."""
    return scheduler(update - start)


def schedule(
    name: str,
    rate: float,
    *,
    epochs: int,
    steps: int,
    warmup: float,
    settings: dict[str, Any],
):
    """Return a learning rate that rises for some epochs, and then follows a schedule.

    Parameters
    ----------
    name : str
        'constant', 'step', 'cosine' or 'poly': see `train.config.SCHEDULES` for their settings.
    rate : float
        The learning rate after the warm-up.
    epochs, steps : int
        Of the training, and of an epoch.
    warmup : float
        Epochs in which the rate rises from 0.
    settings : dict
        Those of the schedule.

    Returns
    -------
    LRScheduler
        Of the number of updates.

    """
    known = SCHEDULES[name] | settings
    begin = round(warmup * steps)
    common = {"base_lr": rate, "warmup_steps": begin}
    schedulers = mx.lr_scheduler
    if name == "constant":
        return schedulers.FactorScheduler(step=2**62, **common)
    if name == "step":
        every = known["every"] or epochs / 3
        ends = [begin + math.ceil(every * steps * i) for i in range(1, math.ceil(epochs / every))]
        ends = [end for end in dict.fromkeys(ends) if end < epochs * steps] or [2**62]
        return schedulers.MultiFactorScheduler(step=ends, factor=known["factor"], **common)
    common |= {"max_update": epochs * steps, "final_lr": known["final"] * rate}
    if name == "cosine":
        return schedulers.CosineScheduler(**common)
    return schedulers.PolyScheduler(pwr=known["power"], **common)


def check(name: str, settings: dict[str, Any], warmup: float, epochs: float = math.inf) -> None:
    """Refuse a schedule that there is not, or settings that it cannot have.

    Raises
    ------
    Refused
        There is no such schedule, it has no such setting, a setting has a wrong value, or the
        warm-up is below 0 or takes all epochs.
    """
    if not isinstance(name, str) or name not in SCHEDULES:
        raise Refused(f"name: expected one of {', '.join(SCHEDULES)}, not {name!r}")
    if unknown := [setting for setting in settings if setting not in SCHEDULES[name]]:
        has = ", ".join(SCHEDULES[name])
        raise Refused(
            f"{unknown[0]}: {name} has no such option; expected "
            + (f"some of {has}" if has else f"no options with {name}")
        )
    if not (isinstance(warmup, Real) and 0 <= warmup < epochs):
        most = f"0 to below the {epochs} epochs" if epochs < math.inf else "a number from 0"
        raise Refused(f"warmup: expected {most}, not {warmup!r}")
    for setting, value in settings.items():
        right, expected = SETTINGS[setting]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and right(value)):
            raise Refused(f"{setting}: expected {expected}, not {value!r}")
