"""The trials of a sweep: what is varied, one training after another, and the file of their results.

Optuna chooses the values. Its study is made anew from the file whenever a sweep goes on: what it
draws for a trial follows from the seed, the number of the trial and the results before it.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from argparse import Namespace
from collections.abc import Mapping
from contextlib import redirect_stdout
from itertools import accumulate
from pathlib import Path
from typing import Any

import optuna

from layers import _atomic

from . import Diverged, Refused
from .command_line import merged
from .config import Config
from .learner import learner_of
from .results import locked
from .run import run as run_one
from .screen import say
from .state import Callback, Epoch, Run
from .varied import DIVERGED, DONE, PRUNED, RUNNING, STATE, best_of, described, folder_of

__all__ = ["sweep"]

OF_OPTUNA = {DONE: "COMPLETE", PRUNED: "PRUNED", DIVERGED: "PRUNED"}
KINDS = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}


class Follow(Callback):
    """Tells Optuna of the best metric so far, and ends a trial that is pruned."""

    def __init__(self, trial: Any):
        self.trial, self.run, self.pruned = trial, None, False

    @property
    def so_far(self) -> list[float]:
        """The best quality until each epoch; what is not finite is the worst there is."""
        run: Any = self.run
        found = (run.measure.quality(epoch.held_out_metric) for epoch in run.history)
        return [*accumulate((v if math.isfinite(v) else -sys.float_info.max for v in found), max)]

    def begin(self, run: Run) -> None:
        self.run = run
        for epoch, value in enumerate(self.so_far, 1):
            self.trial.report(value, epoch)

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        if run.partial:
            return
        self.trial.report(self.so_far[-1], epoch.epoch)
        if epoch.epoch < run.epochs and self.trial.should_prune():
            self.pruned = True
            run.stop = "the trial is pruned: others were better after as many epochs"


def sweep(options: Namespace) -> None:
    """Run the trials that are still to do; write their results after each.

    Raises
    ------
    Refused
        The folder cannot be written, or the settings of a trial do not fit together or the data.
    Interrupted
        A signal ended a training.
    """
    base = Config.of("train", options.settings).as_json()
    fixed = {name: value for name, value in base.items() if name in options.settings}
    state = options.state or {
        "options": fixed, "vary": options.vary, "sampler": options.sampler, "seed": options.seed,
        "trials": [],
    }  # fmt: skip
    try:
        with locked(options.out):
            study = study_of(options, state)
            while len([t for t in state["trials"] if t["state"] != RUNNING]) < options.trials:
                say(one_trial(options, state, study), sys.stdout)
    except BlockingIOError as error:
        raise Refused(f"--out {options.out}: another sweep is writing there") from error
    except OSError as error:
        raise Refused(f"--out {options.out}: {error.strerror or error}") from error
    best = best_of(state)
    if best is None:
        raise Refused(f"{options.out}: no trial has a result; try lower learning rates")
    folder = options.out / folder_of(best)
    say(f"the best is {folder}: {described(best)}", sys.stdout)


def study_of(options: Namespace, state: Mapping[str, Any]) -> Any:
    """Return Optuna's study, with the trials that have ended.

    Raises
    ------
    Refused
        They do not fit the study.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.NopPruner if options.no_pruning else optuna.pruners.MedianPruner
    study = optuna.create_study(direction="maximize", pruner=pruner())
    distributions = {each.name: each.distribution for each in options.varied}
    try:
        for record in state["trials"]:
            if record["state"] == RUNNING:
                study.enqueue_trial(record["values"])
                continue
            study.add_trial(
                optuna.trial.create_trial(
                    state=optuna.trial.TrialState[OF_OPTUNA[record["state"]]],
                    params=record["values"],
                    distributions=distributions,
                    value=record["quality"] if record["state"] == DONE else None,
                    intermediate_values=dict(enumerate(record["so_far"], 1)),
                )
            )
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f"{options.out}: its trials are of no such sweep: {error}") from error
    return study


def one_trial(options: Namespace, state: dict[str, Any], study: Any) -> str:
    """Run a trial, or go on with the one that was running; return a line about it.

    Raises
    ------
    Refused
        Its settings do not fit together, or the data; the message has its values.
    """
    trials = state["trials"]
    number = len(trials) + (not trials or trials[-1]["state"] != RUNNING)
    study.sampler = KINDS[options.sampler](seed=(options.seed * 10_007 + number) % 2**32)
    trial = study.ask({each.name: each.distribution for each in options.varied})
    record = {
        "number": number, "values": trial.params, "state": RUNNING, "quality": None,
        "metric": None, "shown": "", "so_far": [], "seconds": 0.0,
    }  # fmt: skip
    trials[number - 1 :] = [record]
    write(options.out, state)
    settings = {each.name: each.setting(trial.params[each.name]) for each in options.varied}
    own = {"out": options.out / folder_of(record), "resume": True, "quiet": True}
    follow, start = Follow(trial), time.perf_counter()
    try:
        config = Config.of("train", merged(options.settings, settings) | own)
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            run_one(config, learner_of, [follow])
        record["state"] = PRUNED if follow.pruned else DONE
    except Diverged:
        record["state"] = DIVERGED
    except Refused as error:
        raise Refused(f"trial {number}, {described(record)}: {error}") from error
    if follow.run is not None and follow.run.history:
        best, record["so_far"] = follow.run.best(), follow.so_far
        record |= {"quality": follow.so_far[-1], "metric": best.held_out_metric}
        record["shown"] = follow.run.measure.result(best.held_out_metric)
    record["seconds"] = time.perf_counter() - start
    done = record["state"] == DONE
    study.tell(
        trial,
        record["quality"] if done else None,
        state=optuna.trial.TrialState[OF_OPTUNA[record["state"]]],
    )
    write(options.out, state)
    return f"trial {number}/{options.trials}: {described(record)}, {record['seconds']:.1f} s"


def write(folder: Path, state: Mapping[str, Any]) -> None:
    _atomic.write({folder / STATE: [json.dumps(state, indent=1).encode()]})
