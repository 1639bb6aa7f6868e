"""Net, loss and metric, tried on the first samples of the data before a training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from layers import SoftmaxLoss
from layers.engine import gluon, mx

from . import Refused
from .data import ArrayBatches, describe_not_finite, rows_not_finite
from .messages import one_line
from .metrics import axis_of_classes, ignored_label, values_of
from .nets import initialize
from .precision import without_rounding
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
    net: gluon.Block,
    losses: tuple,
    contexts: list,
    metrics: list,
    batches: dict[str, Any],
    precision: str = "float32",
) -> None:
    """Initialize what is not, and try net, loss and metrics on two samples of each of the batches.

    `losses` are the loss, and the loss with the metric that a step computes beside it; `batches`
    those of "data" and of "validation", which may be None. The inputs are those of the `precision`.

    Raises
    ------
    Refused
        There is no batch; or net, loss or a metric cannot be computed of one.
    """

    def inputs(x: Any) -> mx.nd.NDArray:
        return mx.nd.array(without_rounding(x, precision), ctx=contexts[0])

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
            x, y = inputs(batch[0][:2]), mx.nd.array(batch[1][:2], ctx=contexts[0])
        with refusing(f"net: of x {x.shape} of {name}"):
            outputs = net(x)
        check_labels(name, part, classes_and_ignored(name, losses, outputs, y))
        try_losses(losses, outputs, y)
        check_targets(name, part, lambda x, y: losses[0](net(inputs(x)), y), contexts[0])
    if metrics:
        x, y = inputs(batch[0]), mx.nd.array(batch[1], ctx=contexts[0])
        values_of(metrics, [(y, net(x))], ignored_label(losses[0]))


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
            if with_metric.metric == "accuracy":
                expect_labels(outputs.shape, y.shape, with_metric.axis)
            with_metric(outputs, y)


def expect_labels(outputs: tuple[int, ...], y: tuple[int, ...], axis: int) -> None:
    """Refuse labels that are not one for each place of the outputs without the axis of classes.

    Raises
    ------
    ValueError
        The message has the axis, and the shape that is expected.
    """
    expected = [*outputs]
    classes = expected.pop(axis)
    given, wanted = ([shape[0], *(k for k in shape[1:] if k > 1)] for shape in (y, expected))
    if given != wanted:
        raise ValueError(f"axis {axis} has {classes} classes; expected y {(*expected,)}")


def check_targets(name: str, batches: Any, loss: Callable, ctx: mx.Context) -> None:
    """Refuse targets that are not finite, unless the loss is: it may leave them out.

    It is tried on a batch that begins with these samples, and is filled up with others.

    Raises
    ------
    Refused
        The message has the first sample whose loss is not finite, and how many such targets there
        are.
    """
    if not isinstance(batches, ArrayBatches) or not (wrong := rows_not_finite(batches.y)).size:
        return
    size = min(batches.size, batches.samples)
    rows = [*dict.fromkeys([*wrong[:size], *range(size)])][:size]
    x, y = batches.x[rows], mx.nd.array(batches.y[rows], ctx=ctx)
    finite = np.isfinite(loss(x, y).asnumpy())[: len(wrong)]
    if not finite.all():
        wrong = np.roll(wrong, -finite.argmin())
        raise Refused(f"{name}: y[{wrong[0]}] {describe_not_finite(batches.y, wrong)}")


def classes_and_ignored(
    name: str, losses: tuple, outputs: Any, y: mx.nd.NDArray
) -> tuple[int, float | None] | None:
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
        taker = type(loss).__name__
    elif getattr(with_metric, "metric", "") == "accuracy":
        taker = "accuracy"
    else:
        return None
    axis = axis_of_classes(loss) % outputs.ndim
    if y.ndim == outputs.ndim > 1 and y.shape[axis] > 1:
        given = ["n", *map(str, y.shape[1:])]
        numbers = given[:axis] + given[axis + 1 :]
        expected = f"y.argmax({axis}), where y is one-hot"
        if taker == "accuracy":
            expected = f"another metric, or a loss of class numbers and {expected}"
        raise Refused(
            f"{name}: y is ({', '.join(given)}), and {taker} takes class numbers "
            f"({', '.join(numbers)}{',' * (len(numbers) == 1)}); expected {expected}"
        )
    return outputs.shape[axis], ignored_label(loss)


def check_labels(name: str, batches: Any, classes: tuple[int, float | None] | None) -> None:
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

    if isinstance(batches, ArrayBatches):
        inspect(batches.y, "")
    else:
        batches.inspect = inspect
