"""Net, loss and metric, tried on the first samples of the data before a training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from layers import SoftmaxLoss
from layers.engine import gluon, mx

from . import Refused
from .data import Arrays, describe_not_finite, rows_not_finite
from .messages import one_line
from .metrics import values_of
from .nets import initialize
from .workers import lost

__all__ = ["refusing", "try_on_samples"]


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Raise errors, such as the engine's of shapes and types, as `Refused`, in one line."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:
        said = one_line(error) or type(error).__name__
        raise lost(error) or Refused(f"{what}: {said}") from error


def try_on_samples(
    net: gluon.Block, losses: tuple, contexts: list, metrics: list, batches: dict[str, Any]
) -> None:
    """Initialize what is not, and try net, loss and metrics on two samples of each of the batches.

    `losses` are the loss, and the loss with the metric that a step computes beside it; `batches`
    those of "data" and of "validation", which may be None.

    Raises
    ------
    Refused
        There is no batch; or net, loss or a metric cannot be computed of one.
    """
    with refusing("net"):
        initialize(net, contexts)
    with refusing("loss"):
        initialize(losses[0], contexts)
    batch: Any = None
    for name, part in batches.items():
        if part is None:
            continue
        with refusing(name):
            if (batch := next(iter(part.batches()), None)) is None:
                raise Refused(f"{name}: there is no batch")
            x, y = (mx.nd.array(each[:2], ctx=contexts[0]) for each in batch)
        with refusing(f"net: of x {x.shape} of {name}"):
            outputs = net(x)
        check_labels(name, part, classes_and_ignored(name, losses, outputs, y))
        try_losses(losses, outputs, y)
        check_targets(name, part, lambda x, y: losses[0](net(x), y), contexts[0])
    if metrics:
        x, y = (mx.nd.array(part, ctx=contexts[0]) for part in batch)
        values_of(metrics, [(y, net(x))])


def try_losses(losses: tuple, outputs: Any, y: Any) -> None:
    """See whether the loss of two samples is two numbers, and the metric fits them.

    Raises
    ------
    Refused
        The loss or the metric cannot be computed, or the loss is not a number for each sample.
    """
    loss, with_metric = losses
    shapes = f"outputs {getattr(outputs, 'shape', type(outputs).__name__)} and y {y.shape}"
    with refusing(f"loss: {type(loss).__name__} of {shapes}"):
        found = loss(outputs, y)
    if found.shape != y.shape[:1]:
        raise Refused(
            f"loss: of {len(y)} samples {type(loss).__name__} gives {found.shape}; "
            "expected a number for each sample, such as the mean over its other axes"
        )
    if with_metric is not loss:
        with refusing(f"metric: {with_metric.metric} of {shapes}"):
            with_metric(outputs, y)


def check_targets(name: str, batches: Any, loss: Callable, ctx: mx.Context) -> None:
    """Refuse targets that are not finite, unless the loss is: it may leave them out.

    It is tried on a batch that begins with these samples, and is filled up with others.

    Raises
    ------
    Refused
        The message has the first sample whose loss is not finite, and how many such targets there
        are.
    """
    if not isinstance(batches, Arrays) or not (wrong := rows_not_finite(batches.y)).size:
        return
    size = min(batches.size, batches.samples)
    rows = [*dict.fromkeys([*wrong[:size], *range(size)])][:size]
    x, y = (mx.nd.array(part[rows], ctx=ctx) for part in (batches.x, batches.y))
    finite = np.isfinite(loss(x, y).asnumpy())[: len(wrong)]
    if not finite.all():
        wrong = np.roll(wrong, -finite.argmin())
        raise Refused(f"{name}: y[{wrong[0]}] {describe_not_finite(batches.y, wrong)}")


def classes_and_ignored(
    name: str, losses: tuple, outputs: Any, y: mx.nd.NDArray
) -> tuple[int, int | None] | None:
    """How many classes labels may name, and the one that the loss ignores.

    None where labels are no numbers of classes, as far as loss and metric tell.

    Raises
    ------
    Refused
        They are numbers of classes, and a sample has one for each output.
    """
    loss, with_metric = losses
    if not isinstance(outputs, mx.nd.NDArray):
        return None
    sparse = (gluon.loss.SoftmaxCrossEntropyLoss, SoftmaxLoss)
    if isinstance(loss, sparse) and loss._sparse_label:
        taker, ignored = type(loss).__name__, getattr(loss, "_options", {}).get("ignore_label")
        count = outputs.shape[getattr(loss, "_axis", -1)]
    elif getattr(with_metric, "metric", "") == "accuracy":
        taker, ignored, count = "accuracy", None, outputs.shape[-1]
    else:
        return None
    if y.shape == outputs.shape and y.ndim == 2 and y.shape[1] > 1:
        expected = "y.argmax(1), where y is one-hot"
        if taker == "accuracy":
            expected = f"another metric, or a loss of class numbers and {expected}"
        raise Refused(
            f"{name}: y is (n, {y.shape[1]}), and {taker} takes class numbers (n,); "
            f"expected {expected}"
        )
    return count, ignored


def check_labels(name: str, batches: Any, classes: tuple[int, int | None] | None) -> None:
    """Refuse labels that the net has no output for: at once, or as an iterable yields them."""
    if classes is None:
        return

    def inspect(labels: Any, where: str) -> None:
        count, ignored = classes
        y = labels.asnumpy() if hasattr(labels, "asnumpy") else np.asarray(labels)
        right = (y >= 0) & (y < count)
        if y.dtype.kind == "f":
            right &= y == np.floor(y)
        if ignored is not None:
            right |= y == ignored
        if not right.all():
            row = tuple(np.argwhere(~right)[0].tolist())
            place = ", ".join(map(str, row))
            raise Refused(
                f"{name}: {where}y[{place}] is the label {float(y[row]):g}, and the net has "
                f"{count} output{'s' * (count != 1)}; expected labels of classes, whole numbers "
                f"from 0 to {count - 1}"
            )

    if isinstance(batches, Arrays):
        inspect(batches.y, "")
    else:
        batches.inspect = inspect
