"""One run, from the options to the files."""

from __future__ import annotations

import os
import platform
import sys
import time
from contextlib import ExitStack
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from layers import engine
from layers.engine import mx, nd

from . import Diverged, Interrupted, Refused, results
from .averaging import Average
from .callbacks import EarlyStopping
from .checkpoint import Checkpoint, checkpoints
from .config import DETECT, MIXES, Config
from .data import ArrayBatches, Data, Reading, load, shown, steps
from .data.augment import Augmented
from .data.images import image_shape
from .epochs import results_of, table
from .loop import Callback, Epoch, Learner, Measure, Meter, Run, train
from .metrics import chosen, joined, probabilities
from .nets import width
from .optimizers import settings_of
from .progress import Logging
from .results import History
from .resuming import expect_same_last, resume
from .schedules import Schedule, check
from .scores import GUESSES, ROWS, compared, lines_of
from .screen import say
from .stop import Stop
from .tensorboard import TensorBoard
from .trouble import Guard
from .workers import Workers

__all__ = ["run"]

LIBRARIES = ("layers", "torch", "mxnet", "numpy", "scikit-learn", "matplotlib", "tqdm")


def run(options: Config, learner_class: type[Learner]) -> list[Epoch]:
    """Train a learner of this class by the options, show the results, and write the files.

    Raises
    ------
    Refused
        The options ask for something that is missing; nothing was trained.
    Diverged
        The loss is not finite or has exploded, and the last checkpoint is from before; or it ended
        above twice that before the training and that of guessing, and the files are written.
    Interrupted
        A signal ended the training; the results until then are measured and written.
    """
    workers = Workers(options.kvstore)
    with workers.training():
        return train_together(options, learner_class, workers)


def train_together(options: Config, learner_class: type[Learner], workers: Workers) -> list[Epoch]:
    """Train with the other processes, of which the first writes."""
    with ExitStack() as stack:
        with workers.agreeing():  # which has the others wait until the folder is open, too
            settings_of(options)  # which checks them
            if workers.is_first:
                names, replace = results.files(learner_class), options.overwrite
                stack.enter_context(results.opened(options.out, names, replace, options.resume))
        return read_and_train(options, learner_class, workers)


def read_and_train(options: Config, learner_class: type[Learner], workers: Workers) -> list[Epoch]:
    """Read the data, make the net, and train it.

    Raises
    ------
    Diverged
        The training diverged; the message says what to try.
    Interrupted
        A signal ended the training.
    Refused
        The options do not fit the data, or the folder of the run cannot be written.
    """
    with workers.agreeing():
        callbacks = learning(options)
        ctx = contexts(workers.contexts(options.ctx))
        data = load(options.data, options.validation, reading(options))
        check_batches(len(data.x), options.batch_size, workers.count * len(ctx))
        measure, metrics = measure_of(options.metric, data, workers)
        parts = batches_for(data, options)

    mx.random.seed(options.seed)
    learner = learner_class.of(data, ctx, options, workers)
    learner.metrics = [*learner.metrics, *metrics]
    config = describe(options, data, learner) | {"metric": measure.metric}
    for line in (*data.notes, headline(options, config), *learner.summary()):
        say(line, sys.stdout)

    start = time.perf_counter()
    with Stop() as stop:
        try:
            run = train_learner(
                learner, parts, measure, options, config, [stop, *callbacks], workers
            )
        except Diverged as error:
            raise Diverged(f"{error}; {advice(options)}{good(options)}") from error
        except OSError as error:
            raise Refused(f"--out {options.out}: {error.strerror or error}") from error
        show_and_write(run, data, options, config, time.perf_counter() - start)
    if stop.signal:
        raise Interrupted(interruption(run, data, options), stop.signal)
    judge(run, data.task.guessing, options)
    return run.history


def judge(run: Run, guessing: float, options: Config) -> None:
    """Say where the loss has ended, if that is far above that of guessing.

    Raises
    ------
    Diverged
        It has grown. An untrained network's is above that of guessing, too, and a few epochs may
        not be enough: such a training has only not ended yet.
    """
    last = run.history[-1]
    before = next(each.start for each in run.callbacks if isinstance(each, Guard))
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


def train_learner(
    learner: Learner,
    parts: tuple[ArrayBatches, ArrayBatches],
    measure: Measure,
    options: Config,
    config: dict[str, Any],
    callbacks: list[Callback],
    workers: Workers,
) -> Run:
    """The training at its end, with the parameters of the best epoch."""
    folder = options.out / results.CHECKPOINTS
    run = Run(
        learner,
        *parts,
        options.epochs,
        measure,
        options.seed,
        [
            *callbacks,
            Logging(lines=not sys.stderr.isatty()),  # a file or a pipe has no bar
            History(options.out / "history.csv"),
            Guard(),
            Checkpoint(folder, every=options.checkpoint_steps, restore_best=True),
        ],
        metrics=[*learner.metrics],
        steps_per_epoch=options.steps_per_epoch,
        workers=workers,
    )
    expect_same_last(workers, folder if options.resume else None)
    with workers.agreeing():
        begin(run, folder, options, config)
    train(run)
    return run


def begin(run: Run, folder: Path, options: Config, config: dict[str, Any]) -> None:
    """Go on from the last checkpoint, or from nothing."""
    if options.resume and (path := resume(run, folder, tell=lambda line: say(line, sys.stderr))):
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
    config["result"] = results_of(best, run) | {
        **r2(best, data),
        **guessed(data),
        "epochs_done": len(epochs),
        "seconds": seconds,
        "samples_per_second": rate,
    }
    title = f"{options.data}: {summary(best, data, run.measure)}"
    try:
        described = f"{title}\n{headline(options, config)}"
        if run.workers.is_first:
            results.write_results(options.out, run, config, described, data.task)
    finally:
        say(f"{table(run)}{scores_of(run, data)}", sys.stdout)
        say(
            f"{title} by the best epoch, {best.epoch}, after {seconds:.1f} s; "
            f"{rate:,.0f} samples/s in training",
            sys.stdout,
        )
    if run.stop and not run.partial:
        say(f"ended after epoch {epochs[-1].epoch}: {run.stop}", sys.stdout)
    names = ", ".join(results.files(run.learner))
    say(f"{options.out}: {names}; the parameters are those of epoch {best.epoch}", sys.stdout)


def check_batches(samples: int, batch_size: int, parts: int) -> None:
    """Refuse batches that have not a sample for each context of all processes.

    Raises
    ------
    Refused
        A batch has fewer samples than there are contexts in all processes.
    """
    if samples // steps(samples, batch_size) < parts:
        raise Refused(f"--batch-size {batch_size}: not a sample for each of {parts} contexts")


def batches_for(data: Data, options: Config) -> tuple[ArrayBatches, ArrayBatches]:
    """Return the batches to learn from, as --augment changes them, and those that are held out.

    Raises
    ------
    Refused
        Samples that are no images are to be changed.
    """
    learned = ArrayBatches(data.x, data.y, options.batch_size * options.accumulate)
    held_out = ArrayBatches(data.held_out_x, data.held_out_y, options.batch_size)
    how = options.augment
    if not how:
        return learned, held_out
    if image_shape(data.shape) is None:
        raise Refused(f"--augment: it changes images, and a sample is {data.shape}")
    values = (0, data.pixels) if data.pixels else (float(data.x.min()), float(data.x.max()))
    classes = len(data.task.classes) if {*MIXES} & {*how} else 0
    first, second = (Augmented(p, data.shape, how, values, classes) for p in (learned, held_out))
    return first, second


def reading(options: Config) -> Reading:
    """How the options say that the data is read."""
    return Reading(
        options.task == "regression",
        options.target,
        options.features,
        options.ignore,
        options.image_size,
        boxes=options.program == DETECT,
        columns=options.columns,
        encoding=options.encoding,
        decimal=options.decimal,
        asked=options.task is None,
        skip_broken=options.skip_broken,
    )


def measure_of(name: str | None, data: Data, workers: Workers) -> tuple[Measure, list]:
    """The metric of --metric, and what is measured for it; by default the task's.

    Raises
    ------
    Refused
        It is none of what is learned, or there are several processes, of which none has all
        held-out samples.
    """
    task = data.task
    if name in (None, task.metric):
        return task, []
    row, classes = ROWS[name], len(task.classes)
    if row.of_classes != bool(classes) or (row.only_two and classes != 2):
        has = f"{classes} classes" if classes else "numbers"
        fitting = [
            other.name
            for other in ROWS.values()
            if other.of_classes == bool(classes) and (classes == 2 or not other.only_two)
        ]
        raise Refused(f"--metric {name}: what is learned is {has}; expected {', '.join(fitting)}")
    if workers.count > 1:
        raise Refused(f"--metric {name}: of several processes expected {task.metric}")
    return chosen(name)


def scores_of(run: Run, data: Data) -> str:
    """Metrics of the held-out samples beside those of a guess, as lines of text.

    There are none of a detector, nor of several processes, of which each has a part of the samples.
    """
    classes = data.task.classes
    if data.task.name == "detection" or run.workers.count > 1 or run.validation is None:
        return ""
    meter = Meter("held out", outputs=[])
    for x, y in run.validation.batches():
        run.learner.evaluate(x, y, meter)
    labels, outputs = joined(meter.outputs or [])
    values = probabilities(nd.array(outputs)).asnumpy() if classes else outputs
    rows = compared(labels, values, data.guess)
    return f"\n\n{lines_of(rows, GUESSES[bool(classes)])}\n"


def summary(last: Epoch, data: Data, measure: Measure) -> str:
    """The results on the held-out samples."""
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
    """The share of the held-out targets' variance that is predicted, if they are numbers."""
    variance = data.held_out_y.var(dtype="float64")
    if data.task.classes or not variance:
        return {}
    return {"held_out_r2": 1 - last.held_out_loss * data.task.std**2 / float(variance)}


def learning(options: Config) -> list[Callback]:
    """The callbacks that the options of learning ask for."""
    found: list[Callback] = []
    if options.tensorboard is not None:
        if not options.resume and any(options.tensorboard.glob("events.out.tfevents.*")):
            say(f"--tensorboard {options.tensorboard}: other curves are there already", sys.stderr)
        found.append(TensorBoard(options.tensorboard))
    if options.patience is not None:
        found.append(EarlyStopping(options.patience))
    if options.average is not None:
        found.append(Average(options.average))
    check(options.schedule, options.schedule_option, options.warmup, options.epochs)
    if options.schedule != "constant" or options.warmup:
        found.append(Schedule(options.schedule, options.warmup, **options.schedule_option))
    return found


def advice(options: Config) -> str:
    return f"try a --lr below {settings_of(options)['learning_rate']:g}"


def good(options: Config) -> str:
    """The last checkpoint, which is from before the trouble."""
    found = checkpoints(options.out / results.CHECKPOINTS)
    return f"; {found[0]} is from before" if found else ""


def interruption(run: Run, data: Data, options: Config) -> str:
    """A message that says when the training was interrupted."""
    last, best = run.history[-1], run.best()
    if last.epoch == options.epochs and last.samples == len(data.x):
        return "interrupted after the last epoch; the files are complete"
    files = "of that moment" if best is last else f"of the best whole epoch, {best.epoch}"
    return (
        f"interrupted in epoch {last.epoch}, after {last.samples:,} of its {len(data.x):,} "
        f"samples; the files are {files}, and --resume goes on"
    )


def contexts(names: list[tuple[str, int]]) -> list:
    """The contexts of these names; refuse those that the machine does not have.

    Raises
    ------
    Refused
        The machine has no such GPU.
    """
    gpus = mx.context.num_gpus()
    for kind, number in names:
        if kind == "gpu" and number >= gpus:
            devices = ", ".join(["cpu", *(f"gpu:{i}" for i in range(gpus))])
            raise Refused(
                f"--ctx {kind}:{number}: {engine.name()} finds no such device; there is {devices}"
            )
    return [mx.Context(kind, number) for kind, number in names]


def describe(options: Config, data: Data, learner: Learner) -> dict[str, Any]:
    """The information for repeating the run, and for using its parameters."""
    task = data.task
    return {
        "options": options.as_json()
        | {"engine": engine.name(), "lr": settings_of(options)["learning_rate"]},
        "engine": engine.describe(),
        "data": described(data),
        "network": {
            **network(options, data),
            "parameters": learner.parameters,
            "inputs": learner.inputs,
            "outputs": learner.outputs if task.classes else "values",
        },
        "optimizer": {
            "name": options.optimizer,
            **settings_of(options),
        },
        "folder": os.getcwd(),  # from which paths in the options are relative
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "libraries": {name: found for name in LIBRARIES if (found := installed(name))},
    }


def described(data: Data) -> dict[str, Any]:
    """The information for using the network on other data."""
    task, single = data.task, data.mean.size == 1
    return {
        "samples": len(data.x),
        "held_out": len(data.held_out_x),
        "shape": data.shape,
        "task": task.name,
        "classes": task.classes,
        "target": {
            "name": data.target,
            "mean": task.mean,
            "std": task.std,
            **data.target_shift.json(),
        },
        "columns": data.columns,
        "codes": data.codes,
        "table": [column.json() for column in data.table],
        "pixels": data.pixels,
        "resized": data.resized,
        "skipped": data.skipped,
        "mean": data.mean.item() if single else data.mean[0].tolist(),
        "std": data.std.item() if single else data.std[0].tolist(),
        **data.shift.json(),
    }


def network(options: Config, data: Data) -> dict[str, Any]:
    """The net by its name, and the sizes of a perceptron's layers."""
    if options.net != "mlp":
        return {"net": options.net}
    units = [width(data), *options.of_net("hidden"), data.task.outputs]
    return {"net": options.net, "units": units}


def installed(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def headline(options: Config, config: dict[str, Any]) -> str:
    data, network = config["data"], config["network"]
    classes, target = data["classes"], data["target"]["name"]
    what = f"{len(classes)} classes" if classes else "a number"
    title = " - ".join(map(str, network.get("units", [network["net"]])))
    return (
        f"{options.data}: {what}{f' in {target!r}' if target else ''}, "
        f"{data['samples']:,} samples to learn from, "
        f"{data['held_out']:,} held out\n"
        f"{title}: {network['parameters']:,} parameters, "
        f"{options.optimizer} with learning rate {config['optimizer']['learning_rate']:g}, "
        f"{config['engine']['name']} on {config['options']['ctx']}\n"
    )
