"""The loop: `fit`, a training, an epoch. A step is `train.learner.Learner.learn`."""

from __future__ import annotations

import itertools
import logging
import math
import random
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from layers.engine import gluon, mx

from . import Diverged, arguments, by_name, checkpoint
from .config import check_step, checked
from .data import ArrayBatches, Batches, batches_of
from .epochs import results_of
from .labels import check_labels
from .learner import Learner, check_learner, trainer_of
from .metrics import WithMetric, is_computed, values_of
from .nets import first_call
from .optimizers import check_arguments, numbers_of
from .state import Callback, Epoch, Meter, Run
from .workers import Workers, refusing

__all__ = ["fit", "remaining", "train"]


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
    learning_rate: float | dict[str, float] | None = None,
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
    steps_per_epoch: int | None = None,
    learner: type[Learner] = Learner,
    freeze: Sequence[str] = (),
) -> list[Epoch]:
    """Train a net, w ← w - lr · Σ weight ∂loss(net(x), y)/∂w / n in plain gradient descent.

    Parameters
    ----------
    net : Block
        Parameters that are not initialized yet are, on `ctx`, from `seed`.
    data, validation : (x, y) or (x, y, weights), or an iterable of these such as a DataLoader
        What is learned, and what is measured after each epoch. Arrays are cut into batches of at
        most `batch_size` samples in an order that is drawn for each epoch. An iterable yields the
        batches of an epoch whenever it is iterated. Labels of classes are numbers from 0, of any
        dtype; each is looked at once, whether the net has an output for it. Weights (n,) are
        factors of the losses of samples, not of other metrics. x or y may be a tuple of arrays, for
        ``net(*x)`` and ``loss(outputs, *y)``; a list of batches is an iterable, a tuple is not.
    loss : Block
        (outputs, y) to (n,), a number for each sample: a loss of gluon.
    metric : str, EvalMetric or list of them, optional
        What else is measured; the first tells which epoch is best. ``"accuracy"`` of classes and
        ``"mae"``, the mean absolute error, are measured in training too, where they are the first;
        scikit-learn's by the names of `train.scores`, such as ``"f1"``, and all others of
        `mx.metric` on all samples of `validation` together, after each epoch.
        Accuracy is of the class axis: the last, or the `axis` of gluon's SoftmaxCrossEntropyLoss.
        Labels that are the `ignore_label` of a SoftmaxLoss, which the loss is or has in it, are
        left out of all metrics. Cross entropy, negative log likelihood and perplexity are of
        probabilities: outputs that are scores go through softmax before. By default it is the loss.
    optimizer : str or Optimizer
        With `learning_rate` and the other `optimizer_params`, where it is a name. What they leave
        out is as in ``python -m train``: a learning rate of 0.005 for ``"adam"``; 0.3, with a
        momentum of 0.9, for ``"sgd"``; the optimizer's own settings for all others.
    learning_rate : float or dict, optional
        Or rates by patterns, as of `freeze`: ``{"*": 0.001, "output.*": 0.01}``. The last one that
        matches counts; ``"*"`` is the rate of the optimizer, and a schedule changes all alike.
    ctx : Context or list of Context
        Each batch is divided among several.
    seed : int or None
        Of initialization, order, and what is drawn while learning: NumPy's, Python's and the
        engine's generators are seeded before each step. None: nothing is seeded, which several
        processes cannot do.
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
        The net's inputs are cast, too, unless they are integers of more than 8 bits, which it would
        round: ids of an Embedding are given as integers, and features as floats.
    callbacks : list of Callback
    resume : str or Path, optional
        The folder of a `Checkpoint` from whose last one the training goes on. It is refused with
        another optimizer, other settings of it, or another `batch_size`, `clip`, `accumulate` or
        `precision` than those of this training. If it has none yet and `callbacks` has a
        `Checkpoint` of that folder, the training begins.
    kvstore : str
        ``"device"`` or ``"local"``: this process trains alone, and adds the gradients of its
        contexts as a KVStore of that name does. ``"dist_sync"``: train together with the other
        processes that torchrun has started, each on its part of every batch. All are given the
        same data.
    steps_per_epoch : int, optional
        Steps after which an epoch ends, where that is before the end of `data`; it is needed where
        an iterable has no end.
    learner : type
        `train.learner.Learner`, or a subclass of it with a step of its own.
    freeze : list of str
        Patterns of `fnmatch`, such as ``"features.*"``, of the names that `save_parameters` gives
        the parameters that are not learned. After the training they are as they were before.

    Returns
    -------
    list of Epoch
        The results of each epoch. The parameters of the net are those after the last one. The
        logger `train` is told of each, at the level INFO, and nothing is printed.

    Raises
    ------
    Refused
        An argument is not what is expected, arrays are not finite, or data, net, loss and metric
        do not fit together: the message begins with the argument's name or, where `callbacks` or
        `resume` cannot use a file or a folder, names that one. Where one process refuses, all do.
        A batch of an iterable that has fewer samples than there are contexts, or a label that the
        net has no output for, is refused as it comes.
    NotFound
        There is no checkpoint in `resume`, and no callback saves one there.
    Diverged
        The loss is no longer finite; the message says since which epoch and step.
    Lost
        Another process of the training has ended, or does not answer in time.
    """
    seed = arguments.check_start(seed, kvstore)
    workers = Workers(kvstore)
    with workers.telling_of_loss(), ExitStack() as stack:
        with workers.agreeing():
            arguments.check(net, loss, callbacks, learner, resume, hybridize)
            measure, metrics = arguments.metrics_of(metric, loss, validation, workers)
            frozen = stack.enter_context(by_name.freezing(net, **checked(freeze=freeze)))
            epochs, batch_size, steps_per_epoch = checked(
                epochs=epochs, batch_size=batch_size, steps_per_epoch=steps_per_epoch
            ).values()
            how = checked(clip=clip, accumulate=accumulate, precision=precision)
            check_step(**checked(hybridize=hybridize), **how)
            contexts = arguments.contexts_of(ctx)
            check_learner(hybridize, contexts, precision)
            settings = check_arguments(optimizer, optimizer_params, learning_rate)
            batches = batches_of(data, batch_size * how["accumulate"], "data", steps_per_epoch)
            held_out = None
            if validation is not None:
                held_out = batches_of(validation, batch_size, "validation")
            outputs = first_call(net, loss, batches, contexts, precision, seed)
            for name, part in (("data", batches), ("validation", held_out)):
                check_labels(loss, measure.metric, outputs, name, part)
        trainer = trainer_of(net, optimizer, settings, kvstore)  # all processes make it
        rates = by_name.set_rates(net, learning_rate, trainer.optimizer)
        loss = WithMetric(loss, measure.metric) if is_computed(measure) else loss
        learns = learner(net, loss, trainer, contexts, hybridize, **how, workers=workers)
        run = Run(
            learns, batches, held_out, epochs, measure, seed, [*callbacks], metrics=metrics,
            workers=workers, settings=numbers_of(optimizer, settings),
            options={"batch_size": batch_size, **how, "lr_scheduler": scheduler_of(trainer),
                     "freeze": frozen or None, "learning_rates": rates or None},
            steps_per_epoch=steps_per_epoch,
        )  # fmt: skip
        stack.callback(learns.finish)
        return train_from(run, resume)


def train_from(run: Run, resume: str | Path | None) -> list[Epoch]:
    """Train, from the last checkpoint in the folder `resume`; return the history."""
    if isinstance(run.data, ArrayBatches):
        run.learner.check_batch(run.data.samples // run.data.steps)  # the least
    checkpoint.expect_same_last(run.workers, resume and Path(resume))
    with run.workers.agreeing():
        if resume is not None:
            checkpoint.resume(run, resume, partial(warnings.warn, stacklevel=4))
    return train(run)


def scheduler_of(trainer: gluon.Trainer) -> str | None:
    """Return the class of the optimizer's scheduler, if it has one."""
    scheduler = trainer.optimizer.lr_scheduler
    return scheduler and type(scheduler).__name__


def train(run: Run) -> list[Epoch]:
    """Train until all epochs are done, or a callback sets a reason to stop; return the history.

    Raises
    ------
    Diverged
        The loss is no longer finite; the message says since which epoch and step.
    """
    if run.workers.count > 1:
        run.callbacks.append(EndTogether())
    try:
        measure_first(run)
        run.tell("begin")
        while run.epoch <= run.epochs and not run.stop:
            epoch = one_epoch(run)
            run.history.append(epoch)
            log(run, epoch)
            run.step, run.meter = 0, Meter(f"epoch {run.epoch}")
            run.tell("after_epoch", epoch)
    except Diverged as error:
        run.error = error
        run.tell("diverged", error)
        raise
    except BaseException as error:
        run.error = error
        raise
    finally:
        run.tell_end()
    return run.history


def log(run: Run, epoch: Epoch) -> None:
    """Tell the logger `train` of an epoch: a program sees it that has told `logging` to show it."""
    logger = logging.getLogger("train")
    if run.workers.is_first and logger.isEnabledFor(logging.INFO):
        found = results_of(epoch, run).items()
        told = [f"{name} {value:.6g}" for name, value in found if not math.isnan(value)]
        logger.info("%s", ", ".join(told))


def one_epoch(run: Run) -> Epoch:
    """Learn from the batches of an epoch, and measure; a resumed one goes on where it was."""
    run.tell("before_epoch")
    run.started = time.perf_counter() - run.meter.seconds
    for x, y, *weights in remaining(run):
        run.learner.learn(x, y, run.meter, *weights)
        run.step += 1
        run.tell("after_step")
        if run.stop and run.step != run.steps:
            run.tell("interrupted")
            run.partial = True  # not before: the last epoch of the history is still a whole one
        if run.stop or run.meter.bad:
            break
    learned = run.total(run.meter)  # which raises Diverged
    seconds = time.perf_counter() - run.started
    held_out = evaluated(run, run.validation)
    epoch = Epoch(run.epoch, *learned.read(), *run.total(held_out).read(), seconds, learned.samples)
    more = metrics_of(run, held_out)
    if more and (metric := more.pop(run.measure.metric, None)) is not None:
        epoch = replace(epoch, metric=math.nan, held_out_metric=metric)
    return replace(epoch, more=more)


def evaluated(run: Run, data: Batches | None, most: int | None = None) -> Meter:
    """Return the loss and metric of batches, at most so many, in a meter."""
    meter = Meter(f"epoch {run.epoch}, held out", outputs=[] if run.metrics else None)
    for x, y, *weights in itertools.islice(data.batches() if data else (), most):
        run.learner.evaluate(x, y, meter, *weights)
    return meter


def metrics_of(run: Run, meter: Meter) -> dict[str, float]:
    """Return the further metrics of the samples of a meter, by their names."""
    return values_of(run.metrics, meter.outputs, run.learner.ignored) if meter.outputs else {}


def measure_first(run: Run) -> None:
    """Measure the first batches, before anything is learned: what does not fit costs no epoch.

    Raises
    ------
    Refused
        Net, loss or a metric cannot be computed of them.
    """
    with run.workers.agreeing():
        with refusing("data"):
            first = evaluated(run, run.data, 1)
            first.read()
        with refusing("validation"):
            metrics_of(run, evaluated(run, run.validation, 1))
    loss, samples = run.workers.sums([first.loss, first.samples])
    run.start = loss / samples


def remaining(run: Run) -> Iterator:
    """Yield the batches of this epoch that are not learned yet.

    Each one is drawn, and then learned from, with generators seeded by epoch and step: the same
    numbers are drawn if those before it are skipped.
    """
    key = None if run.seed is None else [run.seed, run.epoch]
    base = 0 if key is None else int(np.random.SeedSequence(key).generate_state(1)[0])
    batches = iter(run.data.batches(np.random.default_rng(key)))
    for step in itertools.count():
        if step == run.steps_per_epoch:
            return
        if key is not None:
            seed_generators((base + step) % 2**31, run.learner.ctx)
        if (batch := next(batches, None)) is None:
            return
        if key is not None and run.workers.rank:  # what each draws for its part of the batch
            seed_generators((base + step + run.workers.rank * 2**20) % 2**31, run.learner.ctx)
        if step >= run.step:
            yield batch


def seed_generators(seed: int, contexts: Iterable) -> None:
    """Seed those of NumPy, Python, and the engine on these contexts."""
    random.seed(seed)
    np.random.seed(seed)
    for context in contexts:
        mx.random.seed(seed, context)


class EndTogether(Callback):
    """What ends one process ends all after the same step: the last callback."""

    def begin(self, run: Run) -> None:
        self.after_step(run)

    def after_step(self, run: Run) -> None:
        stopped, bad = run.workers.sums([run.stop is not None, run.meter.bad > 0])
        if stopped and run.stop is None:
            run.stop = "another process stops"
        if bad:
            run.total(run.meter)  # which raises Diverged

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        self.after_step(run)
