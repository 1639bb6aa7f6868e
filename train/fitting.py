"""Training a net of one's own: the loop of the program, called with a net, data and a loss."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from layers.engine import gluon, mx

from . import Refused, as_arguments, checkpoint
from .blocks import Learner, check_learner, trainer_of
from .data import Arrays, batches_of
from .loop import Callback, Epoch, Run, train
from .metrics import BUILT_IN, Metric, WithMetric, chosen, is_computed, values_of
from .nets import initialize
from .workers import Workers

__all__ = ["fit"]


def fit(
    net: gluon.Block,
    data: Any,
    loss: gluon.Block,
    *,
    validation: Any = None,
    metric: Any = None,
    epochs: int = 1,
    batch_size: int = 64,
    optimizer: Any = "adam",
    learning_rate: float | None = None,
    optimizer_params: dict[str, Any] | None = None,
    ctx: Any = None,
    seed: int | None = 0,
    hybridize: str = "none",
    clip: float | None = None,
    accumulate: int = 1,
    precision: str = "float32",
    callbacks: Sequence[Callback] = (),
    resume: str | Path | None = None,
    kvstore: str = "device",
) -> list[Epoch]:
    """Train a net, w ← w - lr · Σ ∂loss(net(x), y)/∂w / n in plain gradient descent.

    Parameters
    ----------
    net : Block
        Parameters that are not initialized yet are, on `ctx`, from `seed`.
    data, validation : (x, y), or an iterable of (x, y) such as a DataLoader
        What is learned, and what is measured after each epoch. Arrays are cut into batches of at
        most `batch_size` samples in an order that is drawn for each epoch. An iterable yields the
        batches of an epoch whenever it is iterated.
    loss : Block
        (outputs, y) to (n,), a number for each sample: a loss of gluon.
    metric : str, EvalMetric or list of them, optional
        What else is measured; the first tells which epoch is best. ``"accuracy"`` of classes and
        ``"mae"``, the mean absolute error, are measured in training too, where they are the first;
        all others of `mx.metric` on all samples of `validation` together, after each epoch. By
        default it is the loss.
    optimizer : str or Optimizer
        With `learning_rate` and the other `optimizer_params`, where it is a name.
    ctx : Context or list of Context
        Each batch is divided among several.
    seed : int or None
        Of initialization, order, and what is drawn while learning: NumPy's, Python's and the
        engine's generators are seeded before each step. None: nothing is seeded.
    hybridize : str
        ``"none"``, ``"recorded"``, ``"compiled"`` or ``"step"``, as the option of the program.
    clip : float, optional
        The norm of all gradients of a step together is at most this.
    accumulate : int
        A step learns from so many batches, of `batch_size` samples each, as if they were one; a
        batch of an iterable is learned in so many parts. The memory is that of one or a part.
    precision : str
        Of weights and activations while it learns: ``"bfloat16"``, or on a GPU ``"float16"`` with
        a factor of the loss. Updates are of float32, and after the training the parameters are.
        The net's inputs are cast unless they are integers.
    callbacks : list of Callback
    resume : str or Path, optional
        The folder of a `Checkpoint` from whose last one the training goes on, if there is one.
    kvstore : str
        ``"dist_sync"``: train together with the other processes that torchrun has started, each on
        its part of every batch. All are given the same data.

    Returns
    -------
    list of Epoch
        The results of each epoch. The parameters of the net are those after the last one.

    Raises
    ------
    Refused
        Something does not fit together.
    Diverged
        The loss is no longer finite; the message says since which epoch and step.
    """
    measure, metrics = chosen(metric)
    check(
        {"net": net, "loss": loss},
        callbacks,
        {"learning_rate": learning_rate, "clip": clip},
        {"epochs": epochs, "batch_size": batch_size, "accumulate": accumulate},
    )
    contexts = list(ctx) if isinstance(ctx, list | tuple) else [ctx or mx.cpu()]
    with as_arguments():
        check_learner(hybridize, contexts, clip, accumulate, precision)
    workers = Workers(kvstore)
    check_metrics(metrics, validation, workers)
    batches = batches_of(data, batch_size * accumulate)
    if seed is not None:
        mx.random.seed(seed)
    held_out = None if validation is None else batches_of(validation, batch_size)
    prepare(net, loss, contexts, (measure, metrics), {"data": batches, "validation": held_out})
    rate = {} if learning_rate is None else {"learning_rate": learning_rate}
    with as_arguments():
        trainer = trainer_of(net, optimizer, {**(optimizer_params or {}), **rate}, kvstore)
    measured = WithMetric(loss, measure.metric) if is_computed(measure) else loss
    how = {"clip": clip, "accumulate": accumulate, "precision": precision, "workers": workers}
    learner = Learner(net, measured, trainer, contexts, hybridize, **how)
    run = Run(
        learner, batches, held_out, epochs, measure, seed, [*callbacks], metrics=metrics,
        workers=workers,
    )  # fmt: skip
    try:
        if resume is not None:
            checkpoint.resume(run, resume)
        return train(run)
    finally:
        learner.finish()


def check_metrics(metrics: list, validation: Any, workers: Workers) -> None:
    """Refuse metrics of all held-out samples where one process does not have them."""
    if metrics and validation is None:
        raise Refused(f"metric: {metrics[0].name}: expected validation, on which it is measured")
    if metrics and workers.count > 1:
        raise Refused(f"metric: {metrics[0].name}: of several processes expected accuracy or mae")


def check(blocks: dict, callbacks: Any, rates: dict, counts: dict) -> None:
    """Refuse arguments that the options of the program cannot have either.

    Raises
    ------
    Refused
        The message has the name and the value of the argument, and what is expected.
    """
    for name, value in blocks.items():
        if not isinstance(value, gluon.Block):
            raise Refused(f"{name}: expected a Block, not {reprlib.repr(value)}")
    for name, value in rates.items():
        if value is not None and not (isinstance(value, Real) and 0 < value < math.inf):
            raise Refused(f"{name}: expected a number above 0, not {reprlib.repr(value)}")
    for name, value in counts.items():
        if not isinstance(value, Integral) or value < 1:
            raise Refused(f"{name}: expected a whole number from 1, not {reprlib.repr(value)}")
    if not isinstance(callbacks, Sequence):
        raise Refused(f"callbacks: expected a list of Callback, not {reprlib.repr(callbacks)}")
    for i, value in enumerate(callbacks):
        if not isinstance(value, Callback):
            found = reprlib.repr(value)
            if isinstance(value, type):
                found = f"the class {value.__name__}; make one: {value.__name__}(...)"
            raise Refused(f"callbacks[{i}]: expected a Callback, not {found}")


def prepare(
    net: gluon.Block, loss: gluon.Block, contexts: list, what: tuple[Metric, list], batches: dict
) -> None:
    """Initialize what is not, and see whether two samples give two losses, and labels have outputs.

    `batches` are those of "data" and of "validation", which may be None; the metrics in `what` are
    tried on the first of the latter.
    """
    measure, metrics = what
    for block in (net, loss):
        initialize(block, contexts)
    if (batch := next(iter(batches["data"].batches()), None)) is None:
        raise Refused("data: there is no batch")
    x, y = (mx.nd.array(part[:2], ctx=contexts[0]) for part in batch)
    outputs = net(x)
    found = loss(outputs, y)
    if found.shape != x.shape[:1]:
        raise Refused(
            f"loss: of {len(x)} samples {type(loss).__name__} gives {found.shape}; "
            "expected a number for each sample"
        )
    for name, part in batches.items():
        if measure is BUILT_IN["accuracy"] and isinstance(part, Arrays):
            check_labels(name, part.y, outputs.shape[-1])
    if metrics and (batch := next(iter(batches["validation"].batches()), None)) is not None:
        x, y = (mx.nd.array(part, ctx=contexts[0]) for part in batch)
        values_of(metrics, [(y, net(x))])


def check_labels(name: str, y: Any, outputs: int) -> None:
    """Refuse a label that the net has no output for: no answer could be right."""
    wrong = y[~((y >= 0) & (y < outputs))]
    if wrong.size:
        raise Refused(
            f"{name}: the label {float(wrong[0]):g} is none of the net's {outputs} outputs; "
            f"expected labels from 0 to {outputs - 1}"
        )
