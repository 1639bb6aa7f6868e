"""The objects that a configuration asks for: data, batches, contexts, metric and callbacks."""

from __future__ import annotations

import sys
from dataclasses import replace

from layers import engine
from layers.engine import mx

from . import Refused
from .averaging import Average
from .callbacks import EarlyStopping, Limit, TensorBoard
from .config import DETECT, MIXES, Config
from .data import ArrayBatches, Data, Reading, steps
from .data.augment import Augmented
from .data.images import image_shape
from .data.samples import Split
from .metrics import chosen
from .profile import Profile
from .schedules import Schedule, check
from .scores import ROWS, fitting
from .screen import say
from .state import Callback, Measure
from .workers import Workers

__all__ = [
    "batches_for",
    "check_batches",
    "contexts",
    "learning",
    "limited",
    "measure_of",
    "reading",
]


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
    size, weights = options.batch_size * options.accumulate, data.weights
    if options.class_weight:
        from sklearn.utils.class_weight import compute_sample_weight

        balanced = compute_sample_weight(options.class_weight, data.y)
        weights = balanced if weights is None else balanced * weights
    if weights is not None:
        weights = (weights / weights.mean()).astype("float32")  # the learning rate means the same
    learned = ArrayBatches(data.x, data.y, size, weights)
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


def limited(data: Data, options: Config) -> Data:
    """Return the first samples of data, where --limit-batches or --overfit-batches ask for them."""
    if not (count := options.overfit_batches or options.limit_batches):
        return data
    rows = slice(count * options.batch_size)
    weights = data.weights if data.weights is None else data.weights[rows]
    data = replace(data, x=data.x[rows], y=data.y[rows], weights=weights)
    if options.overfit_batches:
        return replace(data, held_out_x=data.x, held_out_y=data.y)
    return replace(data, held_out_x=data.held_out_x[rows], held_out_y=data.held_out_y[rows])


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
        weights=options.weights,
        split=Split(options.holdout, options.seed),
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
    if row not in (known := fitting(classes)):
        has = f"{classes} classes" if classes else "numbers"
        names = ", ".join(each.name for each in known)
        raise Refused(f"--metric {name}: what is learned is {has}; expected {names}")
    if workers.count > 1:
        raise Refused(f"--metric {name}: of several processes expected {task.metric}")
    return chosen(name)


def learning(options: Config) -> list[Callback]:
    """The callbacks that the options of learning ask for."""
    found: list[Callback] = []
    if options.tensorboard is not None:
        if not options.resume and any(options.tensorboard.glob("events.out.tfevents.*")):
            say(f"--tensorboard {options.tensorboard}: other curves are there already", sys.stderr)
        found.append(TensorBoard(options.tensorboard))
    if options.max_steps or options.max_time:
        found.append(Limit(options.max_steps, options.max_time))
    if options.profile:
        found.append(Profile())
    if options.patience is not None:
        found.append(EarlyStopping(options.patience))
    if options.average is not None:
        found.append(Average(options.average))
    check(options.schedule, options.schedule_option, options.warmup, options.epochs)
    if options.schedule != "constant" or options.warmup:
        found.append(Schedule(options.schedule, options.warmup, **options.schedule_option))
    return found


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
