"""One run, from the configuration to the files."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from layers.engine import mx, nd

from . import Diverged, Interrupted, Refused, from_config, results
from .callbacks import History, Logging, Stop
from .checkpoint import Checkpoint, expect_same_last, resume
from .config import Config
from .data import Data, load, shown
from .description import describe, headline
from .epochs import results_of, table
from .loop import train
from .metrics import joined, probabilities
from .optimizers import settings_of
from .saved import checkpoints
from .scores import GUESSES, Compared, compared, lines_of, margins
from .screen import one_line, say
from .state import Callback, Epoch, Measure, Meter, Run
from .trouble import Guard
from .workers import Workers, lost

__all__ = ["run"]


def run(options: Config, learner_of: Callable, more: Sequence[Callback] = ()) -> list[Epoch]:
    """Train what `learner_of` makes, show the results, and write the files.

    Parameters
    ----------
    options : Config
    learner_of : callable
        (data, contexts, options, workers) to a learner.
    more : sequence of Callback
        Callbacks beside those that the options ask for.

    Raises
    ------
    Refused
        The options ask for something that is missing, or do not fit the data; nothing was trained.
        Or the folder of the run cannot be written.
    Diverged
        The loss is not finite or has exploded, and the last checkpoint is from before; or it ended
        above twice that before the training and that of guessing, and the files are written.
    Interrupted
        A signal ended the training; the results until then are measured and written.
    """
    workers = Workers(options.kvstore)
    with workers.training(), ExitStack() as stack:
        if options.fast_dev_run:
            folder = Path(stack.enter_context(TemporaryDirectory())) / "run"
            kept = {"resume": False, "tensorboard": None}
            options = replace(options, out=folder, epochs=1, limit_batches=1, **kept)
        with workers.agreeing():  # which has the others wait until the folder is open, too
            settings_of(options)  # which checks them
            if workers.is_first:
                how = options.overwrite, options.resume
                folder = results.opened(options.out, results.NAMES, *how)
                stack.enter_context(folder)
        with workers.agreeing():
            callbacks = from_config.learning(options)
            ctx = from_config.contexts(workers.contexts(options.ctx))
            data = load(options.data, options.validation, from_config.reading(options))
            data = from_config.limited(data, options)
            if options.folds and data.split is None:
                raise Refused("--folds: the data says what is held out; expected no --folds")
            from_config.check_batches(len(data.x), options.batch_size, workers.count * len(ctx))
            measure, metrics = from_config.measure_of(options.metric, data, workers)
            batches = from_config.batches_for(data, options)
        mx.random.seed(options.seed)
        learner = learner_of(data, ctx, options, workers)
        learner.metrics = [*learner.metrics, *metrics]
        config = describe(options, data, learner) | {"metric": measure.metric}
        for line in (*data.notes, headline(options, config), *learner.lines):
            say(line, sys.stdout)

        start = time.perf_counter()
        stop = stack.enter_context(Stop())
        callbacks = [stop, *callbacks, *more, *written(options)]
        state = Run(
            learner, *batches, options.epochs, measure, options.seed, callbacks,
            metrics=learner.metrics, steps_per_epoch=options.steps_per_epoch, workers=workers,
        )  # fmt: skip
        try:
            begin(state, options, config)
            train(state)
        except Diverged as error:
            raise Diverged(f"{error}; {advice(options)}{good(options)}") from error
        except mx.base.MXNetError as error:
            raise lost(error) or Refused(one_line(error)) from error
        except OSError as error:
            raise Refused(f"--out {options.out}: {error.strerror or error}") from error
        show_and_write(state, data, options, config, time.perf_counter() - start)
        if stop.signal:
            raise Interrupted(interruption(state, data, options), stop.signal)
        judge(state, data.task.guessing, options)
        return state.history


def written(options: Config) -> list:
    """Return the callbacks that every run has: what it shows, writes and guards against."""
    shown = [] if options.quiet else [Logging(lines=not sys.stderr.isatty())]  # a pipe has no bar
    return [
        *shown,
        History(options.out / "history.csv"),
        Guard(),
        Checkpoint(
            options.out / results.CHECKPOINTS, every=options.checkpoint_steps, restore_best=True
        ),
    ]


def begin(run: Run, options: Config, config: dict[str, Any]) -> None:
    """Go on from the last checkpoint, or from nothing."""
    folder = options.out / results.CHECKPOINTS
    expect_same_last(run.workers, folder if options.resume else None)
    with run.workers.agreeing():
        path = options.resume and resume(run, folder, tell=lambda line: say(line, sys.stderr))
        if path:
            steps_too = f" and {run.step} steps of the next" if run.step else ""
            say(f"resumed from {path}: {len(run.history)} epochs{steps_too} are done", sys.stdout)
        elif run.workers.is_first:
            results.remove_results(options.out)
        if run.workers.is_first:
            results.write_first_config(options.out, config)


def show_and_write(
    run: Run, data: Data, options: Config, config: dict[str, Any], seconds: float
) -> None:
    """Write the files, and show the results."""
    epochs, best = run.history, run.best()
    rate = median(epoch.samples / epoch.seconds for epoch in epochs)  # the first may compile
    found = predicted(run, data)  # before the net is exported
    rows: list[Compared] = compared(*found, data.guess) if found else []
    config["result"] = results_of(best, run) | {
        "scores": {row.name: row.number if math.isfinite(row.number) else None for row in rows},
        **r2(best, data),
        **guessed(data),
        "epochs_done": len(epochs),
        "seconds": seconds,
        "samples_per_second": rate,
    }
    title = f"{options.data}: {summary(best, data, run.measure)}"
    scores = f"\n\n{lines_of(rows, GUESSES[bool(data.task.classes)])}\n" if rows else ""
    if found and not data.task.classes:
        distances = np.abs(found[1].ravel() - found[0].ravel().astype("float64"))
        config["result"]["margins"] = margins(distances * data.task.unit)
    try:
        described = f"{title}\n{headline(options, config)}"
        if run.workers.is_first:
            results.write_results(options.out, run, config, described, data.task)
    finally:
        say(f"{table(run)}{scores}", sys.stdout)
        say(
            f"{title} by the best epoch, {best.epoch}, after {seconds:.1f} s; "
            f"{rate:,.0f} samples/s in training",
            sys.stdout,
        )
    if run.stop:
        at = "within" if run.partial else "after"
        say(f"ended {at} epoch {epochs[-1].epoch}: {run.stop}", sys.stdout)
    if options.fast_dev_run:
        return say("--fast-dev-run: everything works; no file is kept", sys.stdout)
    names = ", ".join(results.files(run.learner))
    say(f"{options.out}: {names}; the parameters are those of epoch {best.epoch}", sys.stdout)


def judge(run: Run, guessing: float, options: Config) -> None:
    """Say where the loss has ended, if that is far above that of guessing.

    Raises
    ------
    Diverged
        It has grown. An untrained network's is above that of guessing, too, and a few epochs may
        not be enough: such a training has only not ended yet.
    """
    last = run.history[-1]
    before = next(each.start for each in run.callbacks if isinstance(each, Guard))  # resumed too
    if last.loss <= 2 * guessing:
        return
    said = (
        f"epoch {last.epoch}: the loss is {last.loss:.4g}, before the training it was "
        f"{before:.4g}, and that of guessing is {guessing:.4g}"
    )
    if last.loss > 2 * before:
        raise Diverged(f"{said}; {advice(options)}")
    if run.workers.is_first:
        say(f"{said}: it has learned little yet; try more --epochs or another --lr", sys.stderr)


def predicted(run: Run, data: Data) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the targets of the held-out samples, and their probabilities or predicted numbers.

    There are none of a detector, nor of several processes, of which each has a part of the samples.
    """
    if data.task.name == "detection" or run.workers.count > 1 or run.validation is None:
        return None
    meter = Meter("held out", outputs=[])
    for x, y in run.validation.batches():
        run.learner.evaluate(x, y, meter)
    y, outputs = joined(meter.outputs or [])
    return y, probabilities(nd.array(outputs)).asnumpy() if data.task.classes else outputs


def summary(last: Epoch, data: Data, measure: Measure) -> str:
    """Return a sentence on the results of the held-out samples."""
    shares = "".join(f"R² {value:.4f}, " for value in r2(last, data).values())
    told = "".join(
        f" ({share:.2%} are of the largest class, {shown(data.task.classes[largest(data)])})"
        for share in guessed(data).values()
    )
    shares = "" if measure.metric == "r2" else shares
    return shares + measure.result(last.held_out_metric) + told


def largest(data: Data) -> int:
    """Return the class that most of the samples to learn from have."""
    return int(np.bincount(data.y.astype(int)).argmax())


def guessed(data: Data) -> dict[str, float]:
    """Return the accuracy of always saying the largest class."""
    if data.y.ndim > 1 or not data.task.classes:
        return {}
    return {"held_out_accuracy_of_largest_class": float((data.held_out_y == largest(data)).mean())}


def r2(last: Epoch, data: Data) -> dict[str, float]:
    """Return the share of the variance of held-out targets that is predicted, of numbers."""
    variance = data.held_out_y.var(dtype="float64")
    if data.task.classes or not variance:
        return {}
    return {"held_out_r2": 1 - last.held_out_loss * data.task.std**2 / float(variance)}


def advice(options: Config) -> str:
    return f"try a --lr below {settings_of(options)['learning_rate']:g}"


def good(options: Config) -> str:
    """Return a note of the last checkpoint, which is from before the trouble."""
    found = checkpoints(options.out / results.CHECKPOINTS)
    return f"; {found[0]} is from before" if found else ""


def interruption(run: Run, data: Data, options: Config) -> str:
    """Return a message that says when the training was interrupted."""
    last, best = run.history[-1], run.best()
    if last.epoch == options.epochs and last.samples == len(data.x):
        return "interrupted after the last epoch; the files are complete"
    files = "of that moment" if best is last else f"of the best whole epoch, {best.epoch}"
    return (
        f"interrupted in epoch {last.epoch}, after {last.samples:,} of its {len(data.x):,} "
        f"samples; the files are {files}, and --resume goes on"
    )
