"""Labels of classes: each has to be one that the net has an output for."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from layers import SoftmaxLoss
from layers.engine import gluon, nd

from . import Refused
from .data import ArrayBatches, Batches, numbers_of
from .metrics import axis_of_classes, ignored_label

__all__ = ["check_labels"]

SPARSE = (gluon.loss.SoftmaxCrossEntropyLoss, SoftmaxLoss)


def check_labels(loss: gluon.Block, metric: str, outputs: Any, name: str, batches: Batches) -> None:
    """Refuse labels that the net has no output for: those of arrays at once, others as they come.

    Labels are numbers of classes where the loss is a cross entropy of them, or the metric accuracy.

    Parameters
    ----------
    outputs : NDArray
        What the net gives for some samples.
    name : str
        The argument of `fit` that has the labels.

    Raises
    ------
    Refused
        The message has the first such label and its place.
    """
    if isinstance(loss, SPARSE) and loss._sparse_label:
        taker = type(loss).__name__
    else:
        taker = "accuracy" if metric == "accuracy" else ""
    if batches is None or not taker or not isinstance(outputs, nd.NDArray):
        return
    axis = axis_of_classes(loss) % outputs.ndim
    check = partial(expect_labels, name, taker, outputs.shape, axis, ignored_label(loss))
    if not isinstance(batches, ArrayBatches):
        batches.inspect = check
    elif not isinstance(batches.y, tuple):
        check(batches.y, "")


def expect_labels(
    name: str, taker: str, outputs: tuple, axis: int, ignored: float | None, labels: Any, at: str
) -> None:
    """Refuse labels that are no numbers of classes; `at` is the place of the batch.

    Raises
    ------
    Refused
        A sample has one for each output, or a label is none of an output.
    """
    y = numbers_of(labels, f"{name}: {at}y")
    expect_shape(name, taker, outputs, axis, y.shape)
    count = outputs[axis]
    right = (y >= 0) & (y < count)
    if y.dtype.kind == "f":
        right &= y == np.floor(y)
    if ignored is not None:
        right |= y == ignored
    if not right.all():
        row = tuple(np.argwhere(~right)[0].tolist())
        raise Refused(
            f"{name}: {at}y[{', '.join(map(str, row))}] is the label {float(y[row]):g}, and the "
            f"net has {count} output{'s' * (count != 1)}; expected labels of classes, whole "
            f"numbers from 0 to {count - 1}"
        )


def expect_shape(name: str, taker: str, outputs: tuple, axis: int, shape: tuple) -> None:
    """Refuse labels of other places than the outputs have; sizes of 1 make no difference.

    Raises
    ------
    Refused
        A sample has a label for each output, or not one for each place.
    """
    places = outputs[1:axis] + outputs[axis + 1 :]
    given, wanted = ([size for size in each if size > 1] for each in (shape[1:], places))
    if given == wanted:
        return
    texts = ["n", *map(str, shape[1:])], ["n", *map(str, places)]
    has, takes = (f"({', '.join(each)}{',' * (len(each) == 1)})" for each in texts)
    expected = f"expected y {takes}"
    if len(shape) == len(outputs) and shape[axis] > 1:
        expected = f"expected y.argmax({axis}), where y is one-hot"
        if taker == "accuracy":
            expected = f"expected another metric, or a loss of class numbers and {expected[9:]}"
    raise Refused(f"{name}: y is {has}, and {taker} takes class numbers {takes}; {expected}")
