"""The checks of the arguments of `fit`."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from layers import LinearCrossEntropyLoss
from layers.engine import gluon, mx

from . import NotFound, Refused
from .checkpoint import Checkpoint
from .config import checked
from .learner import Learner
from .metrics import Metric, chosen, is_computed
from .saved import checkpoints
from .state import Callback
from .workers import TOGETHER, Workers, refusing

__all__ = ["check", "check_start", "contexts_of", "metrics_of"]

# Methods of callbacks of other libraries (Keras, Lightning, MXNet's Estimator), and ours.
ELSEWHERE = {
    "on_train_begin": "begin",
    "on_train_start": "begin",
    "train_begin": "begin",
    "on_epoch_begin": "before_epoch",
    "on_epoch_start": "before_epoch",
    "on_train_epoch_start": "before_epoch",
    "epoch_begin": "before_epoch",
    "on_batch_end": "after_step",
    "on_train_batch_end": "after_step",
    "batch_end": "after_step",
    "on_epoch_end": "after_epoch",
    "on_train_epoch_end": "after_epoch",
    "epoch_end": "after_epoch",
    "on_train_end": "end",
    "train_end": "end",
}


def check(net: Any, loss: Any, callbacks: Any, learner: Any, resume: Any, hybridize: str) -> None:
    """Refuse arguments that are not of the kinds that are expected.

    Raises
    ------
    Refused
        The message begins with the name of the argument.
    NotFound
        There is no checkpoint in the folder `resume`.
    """
    expect_blocks(net=net, loss=loss)
    check_callbacks(callbacks)
    check_learner_class(learner)
    check_resume(resume, callbacks)
    check_compiled(hybridize, net=net, loss=loss)


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


def metrics_of(
    metric: Any, loss: gluon.Block, validation: Any, workers: Workers
) -> tuple[Metric, list]:
    """Return the metric that tells which epoch is best, and those of all held-out samples.

    Raises
    ------
    Refused
        There is none of a name, the loss makes the scores, there is no validation, or there are
        several processes, of which none has all held-out samples.
    """
    measure, metrics = chosen(metric)
    check_outputs(loss, measure, metrics)
    if metrics and validation is None:
        raise Refused(f"metric: {metrics[0].name}: expected validation, on which it is measured")
    if metrics and workers.count > 1:
        raise Refused(f"metric: {metrics[0].name}: of several processes expected accuracy or mae")
    return measure, metrics


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


def check_learner_class(learner: Any) -> None:
    """Refuse what is no class of learners.

    Raises
    ------
    Refused
        The message has the value.
    """
    if not (isinstance(learner, type) and issubclass(learner, Learner)):
        raise Refused(f"learner: expected Learner or a subclass of it, not {reprlib.repr(learner)}")


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
