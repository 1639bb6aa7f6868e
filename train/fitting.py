"""Training a net of one's own: the loop of the program, called with a net, data and a loss."""

from __future__ import annotations

import inspect
import reprlib
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from layers import LinearCrossEntropyLoss
from layers.engine import gluon, mx

from . import NotFound, Refused, resuming
from .blocks import Learner, check_learner, trainer_of
from .checkpoint import Checkpoint, checkpoints
from .config import check_step, checked
from .data import ArrayBatches, batches_of
from .loop import Callback, Epoch, Run, train
from .metrics import Metric, WithMetric, chosen, is_computed
from .optimizers import check_arguments, numbers_of
from .trying import refusing, try_on_samples
from .workers import TOGETHER, Workers

__all__ = ["fit"]

# Methods of callbacks of other libraries (Keras, Lightning, MXNet's Estimator), and ours.
ELSEWHERE = {
    "on_train_begin": "begin",
    "on_train_start": "begin",
    "train_begin": "begin",
    "on_batch_end": "after_step",
    "on_train_batch_end": "after_step",
    "batch_end": "after_step",
    "on_epoch_end": "after_epoch",
    "on_train_epoch_end": "after_epoch",
    "epoch_end": "after_epoch",
    "on_train_end": "end",
    "train_end": "end",
}


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
    steps_per_epoch: int | None = None,
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
        factors of the losses of samples, not of other metrics; they are refused with
        ``hybridize="step"``.
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

    Returns
    -------
    list of Epoch
        The results of each epoch. The parameters of the net are those after the last one.

    Raises
    ------
    Refused
        An argument is not what is expected, arrays are not finite, or data, net, loss and metric
        do not fit together: the message begins with the argument's name or, where `callbacks` or
        `resume` cannot use a file or a folder, names that one. Whatever the engine says of the
        first samples, on which net, loss and metric are tried before the training, is raised as
        this, too. Where one process refuses, all do. A batch of an iterable that has fewer samples
        than there are contexts is refused as it comes.
    NotFound
        There is no checkpoint in `resume`, and no callback saves one there.
    Diverged
        The loss is no longer finite; the message says since which epoch and step.
    Lost
        Another process of the training has ended, or does not answer in time.
    """
    seed = check_start(seed, kvstore)
    workers = Workers(kvstore)
    with workers.telling_of_loss():
        with workers.agreeing():
            measure, metrics = chosen(metric)
            expect_blocks(net=net, loss=loss)
            epochs, batch_size, steps_per_epoch = checked(
                epochs=epochs, batch_size=batch_size, steps_per_epoch=steps_per_epoch
            ).values()
            how = checked(clip=clip, accumulate=accumulate, precision=precision)
            check_step(**checked(hybridize=hybridize), **how)
            check_callbacks(callbacks)
            check_resume(resume, callbacks)
            check_metrics(loss, measure, metrics, validation, workers)
            contexts = contexts_of(ctx)
            check_learner(hybridize, contexts, precision)
            check_compiled(hybridize, net=net, loss=loss)
            settings = check_arguments(optimizer, optimizer_params, learning_rate)
            batches = batches_of(data, batch_size * how["accumulate"], "data", steps_per_epoch)
            held_out = (
                None if validation is None else batches_of(validation, batch_size, "validation")
            )
            if seed is not None:
                mx.random.seed(seed)
            with_metric = WithMetric(loss, measure.metric) if is_computed(measure) else loss
            parts = {"data": batches, "validation": held_out}
            try_on_samples(net, (loss, with_metric), contexts, metrics, parts, precision)
        with refusing("net"):
            trainer = trainer_of(net, optimizer, settings, kvstore)  # all processes make it
        learner = Learner(net, with_metric, trainer, contexts, hybridize, **how, workers=workers)
        run = Run(
            learner, batches, held_out, epochs, measure, seed, [*callbacks], metrics=metrics,
            workers=workers, settings=numbers_of(optimizer, settings),
            options={"batch_size": batch_size, **how, "lr_scheduler": scheduler_of(trainer)},
            steps_per_epoch=steps_per_epoch,
        )  # fmt: skip
        return train_from(run, learner, resume)


def train_from(run: Run, learner: Learner, resume: str | Path | None) -> list[Epoch]:
    """Train, from the last checkpoint in the folder `resume`; returns the results of each epoch."""
    data = run.data
    try:
        if isinstance(data, ArrayBatches):
            learner.check_batch(data.samples // data.steps, data.weights)  # the smallest
        resuming.expect_same_last(run.workers, None if resume is None else Path(resume))
        with run.workers.agreeing():
            if resume is not None:
                resuming.resume(run, resume, partial(warnings.warn, stacklevel=4))
        return train(run)
    finally:
        learner.finish()


def scheduler_of(trainer: gluon.Trainer) -> str | None:
    """The class of the optimizer's scheduler, if it has one."""
    scheduler = trainer.optimizer.lr_scheduler
    return scheduler and type(scheduler).__name__


def check_outputs(loss: gluon.Block, measure: Metric, metrics: list) -> None:
    """Refuse a metric of the net's outputs where these are no scores.

    Raises
    ------
    Refused
        The loss is a LinearCrossEntropyLoss, whose own Parameters make scores of the outputs.
    """
    if isinstance(loss, LinearCrossEntropyLoss) and (is_computed(measure) or metrics):
        raise Refused(
            "metric: expected None beside a LinearCrossEntropyLoss, which computes the scores "
            "itself; the net's outputs are none"
        )


def check_metrics(
    loss: gluon.Block, measure: Metric, metrics: list, validation: Any, workers: Workers
) -> None:
    """Refuse metrics where outputs are no scores, or one process has not all held-out samples.

    Raises
    ------
    Refused
        The loss makes the scores, there is no validation, or there are several processes.
    """
    check_outputs(loss, measure, metrics)
    if metrics and validation is None:
        raise Refused(f"metric: {metrics[0].name}: expected validation, on which it is measured")
    if metrics and workers.count > 1:
        raise Refused(f"metric: {metrics[0].name}: of several processes expected accuracy or mae")


def expect_blocks(**values: Any) -> None:
    """Refuse arguments, by their names, that are no blocks.

    Raises
    ------
    Refused
        The message has the name and the value of the first one.
    """
    for name, value in values.items():
        if not isinstance(value, gluon.Block):
            raise Refused(f"{name}: expected a Block, not {reprlib.repr(value)}")


def check_callbacks(callbacks: Any) -> None:
    """Refuse what is no list of callbacks.

    Raises
    ------
    Refused
        The message has the place in the list, and what is expected.
    """
    if not isinstance(callbacks, Sequence):
        raise Refused(f"callbacks: expected a list of Callback, not {reprlib.repr(callbacks)}")
    for i, value in enumerate(callbacks):
        if not isinstance(value, Callback):
            found = reprlib.repr(value)
            if isinstance(value, type):
                found = f"the class {value.__name__}; make one: {value.__name__}(...)"
            raise Refused(f"callbacks[{i}]: expected a Callback, not {found}")
        check_methods(f"callbacks[{i}]", value)
        if found := next((name for name in ELSEWHERE if hasattr(value, name)), None):
            raise Refused(
                f"callbacks[{i}]: {type(value).__name__}.{found} would never be called; expected "
                f"the name {ELSEWHERE[found]}"
            )


def check_methods(name: str, callback: Callback) -> None:
    """Refuse a callback with a method that cannot be called as the training calls it.

    Methods without a signature, which some that are written in C do not have, are not looked at.

    Raises
    ------
    Refused
        The message has the names of the method, and of its arguments.
    """
    for method, expected in vars(Callback).items():
        if not inspect.isfunction(expected):
            continue
        arguments = [*inspect.signature(expected).parameters]
        try:
            inspect.signature(getattr(callback, method)).bind(*arguments[1:])
        except ValueError:  # there is no signature: it is written in C
            continue
        except TypeError as error:
            raise Refused(
                f"{name}: {type(callback).__name__}.{method}: {error}; expected the method "
                f"{method}({', '.join(arguments)})"
            ) from error


def check_compiled(mode: str, **blocks: gluon.Block) -> None:
    """Refuse blocks, by their names, that have no graph for a compiled step.

    Raises
    ------
    Refused
        A block is not hybrid; the message has its name and type.
    """
    for name, block in blocks.items():
        if mode == "step" and not isinstance(block, gluon.HybridBlock):
            raise Refused(
                f"{name}: expected a HybridBlock, which hybridize='step' compiles, not a "
                f"{type(block).__name__}"
            )


def check_start(seed: Any, kvstore: Any) -> int | None:
    """Return the seed as a number of Python's; refuse one, or a kvstore, that cannot be.

    Raises
    ------
    Refused
        The message has the name and the value.
    """
    seed, kvstore = checked(seed=seed, kvstore=kvstore).values()
    if seed is None and kvstore == TOGETHER:
        raise Refused(
            f"seed: expected a whole number from 0 with kvstore {TOGETHER!r}, by which all "
            "processes draw the same order; not None"
        )
    return seed


def check_resume(resume: Any, callbacks: Sequence[Callback]) -> None:
    """Refuse a folder to go on from that has no checkpoint, and in which none will be saved.

    Raises
    ------
    Refused
        `resume` is no path, or cannot be read.
    NotFound
        There is no checkpoint in the folder.
    """
    if resume is None:
        return
    if not isinstance(resume, str | Path):
        raise Refused(f"resume: expected the path of a folder, not {reprlib.repr(resume)}")
    folder = Path(resume).resolve()
    saved = [each.folder.resolve() for each in callbacks if isinstance(each, Checkpoint)]
    try:
        found = checkpoints(folder)
    except OSError as error:
        raise Refused(f"resume: {resume} cannot be read: {error.strerror or error}") from error
    if folder not in saved and not found:
        if folder.is_dir():
            reason = "has no checkpoint"
        else:
            reason = "is a file" if folder.exists() else "is not there"
        raise NotFound(
            f"resume: {resume} {reason}; expected a folder with checkpoints, or one in which a "
            "Checkpoint of callbacks saves them"
        )


def contexts_of(ctx: Any) -> list:
    """The contexts of the argument `ctx`, each of which the machine has.

    Raises
    ------
    Refused
        The argument is neither a context nor several, one is there twice, or the machine does not
        have one of them.
    """
    found = [*ctx] if isinstance(ctx, list | tuple) else [mx.cpu() if ctx is None else ctx]
    if not found or not all(isinstance(each, mx.Context) for each in found):
        raise Refused(f"ctx: expected a Context such as mx.gpu(0), or several, not {ctx!r}")
    if len({*found}) < len(found):
        raise Refused(f"ctx: {ctx!r}: expected each once")
    for each in found:
        with refusing("ctx"):
            mx.nd.zeros(1, ctx=each).wait_to_read()
    return found
