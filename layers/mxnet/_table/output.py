"""Heads of a network: each gives a prediction, and has the gradient of a loss.

They need no head gradient; one that comes is left aside.
"""

from __future__ import annotations

import math
from typing import Literal

import torch

from ..base import ShapeError
from .registry import Tensor, op

Normalization = Literal["batch", "null", "valid"]


@op("Softmax")
def SoftmaxOutput(
    data: Tensor,
    label: Tensor,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: Normalization = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
) -> Tensor:
    """softmax, with the gradient of the cross entropy, softmax(x) - onehot(label).

    data : (n, ...), taken as (n, k)      label : (n,), indices; or of data's shape, probabilities
    with `multi_output`   data : (n, k, ...)    label : (n, ...), or (n, m) of as many
    with `preserve_shape` data : (..., k)       label : (...)

    Labels equal to `ignore_label` give no gradient with `use_ignore`. The gradient is multiplied by
    `grad_scale`, and divided by 1 (``null``), by the number of labels (``batch``) or of those not
    ignored (``valid``); with `multi_output` and ``null`` by the number of labels in a sample.
    `smooth_alpha` moves that much of each label's weight to the other classes (not with
    `multi_output`). `out_grad` multiplies by the head gradient.

    Raises
    ------
    ShapeError
        `label` is neither of the shape of `data` nor an index for each distribution.
    """
    if label.shape != data.shape and label.numel() != _count(
        data.shape, multi_output, preserve_shape
    ):
        raise ShapeError(
            f"SoftmaxOutput: label is {tuple(label.shape)} for data {tuple(data.shape)}\n"
            f"  expected {_label_shape(tuple(data.shape), multi_output, preserve_shape)}"
        )
    if multi_output or preserve_shape:
        return torch.softmax(data, 1 if multi_output else -1)
    return torch.softmax(_rows(data), 1).reshape(data.shape)


def _rows(x):
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


@SoftmaxOutput.shaped
def _like_data(data):
    return data


@SoftmaxOutput.infer
def _(data, multi_output, preserve_shape):
    return {"label": _label_shape(data, multi_output, preserve_shape)}


def _label_shape(data, multi_output, preserve_shape):
    if multi_output:
        return data[0], math.prod(data[2:])
    return data[:-1] if preserve_shape else data[:1]


def _count(data, multi_output, preserve_shape):
    return math.prod(_label_shape(data, multi_output, preserve_shape))


@SoftmaxOutput.grad
def _(
    dy, y, label, grad_scale, ignore_label, multi_output, use_ignore, preserve_shape,
    normalization, out_grad, smooth_alpha,
):  # fmt: skip
    if label.shape == y.shape:
        dx = (y - label) * grad_scale
    else:
        # the classes on axis 1, what else there is on axis 2
        if multi_output:
            rows, index = y.reshape(*y.shape[:2], -1), label.reshape(y.shape[0], -1)
        else:
            rows = y.reshape(-1, y.shape[-1]) if preserve_shape else _rows(y)
            rows, index = rows.unsqueeze(2), label.reshape(-1, 1)
        alpha = 0.0 if multi_output else smooth_alpha
        dx = rows - _targets(index, rows, alpha)
        kept = index != ignore_label if use_ignore else None
        if kept is not None:
            dx = dx * kept.unsqueeze(1)
        dx = dx * (grad_scale / _divisor(index, kept, multi_output, normalization))
        dx = dx.reshape(y.shape)
    return dx * dy if out_grad else dx


def _targets(index, rows, alpha):
    """1 for the class that the label names, 0 for the others; smoothed by alpha."""
    classes = rows.shape[1]
    at = torch.arange(classes, device=rows.device).reshape(-1, 1) == index.long().unsqueeze(1)
    if not alpha:
        return at.to(rows.dtype)
    return torch.where(at, 1 - alpha, alpha / max(classes - 1, 1)).to(rows.dtype)


def _divisor(index, kept, multi_output, normalization):
    if normalization == "null":
        return index.shape[1] if multi_output else 1
    if normalization == "batch" or kept is None:
        return index.numel()
    return kept.sum().clamp(min=1)


def _regression(name, doc, link, slope):
    """Register y = link(data), whose gradient is grad_scale / k slope(y - label)."""

    def row(data: Tensor, label: Tensor, grad_scale: float = 1.0) -> Tensor:
        if label.numel() != data.numel() or data.shape[:1] != label.shape[:1]:
            raise ShapeError(
                f"{name}: label is {tuple(label.shape)}\n  expected {tuple(data.shape)}, as data is"
            )
        return link(data)

    row.__name__ = row.__qualname__ = name
    row.__doc__ = doc
    operator = op(view=True)(row)
    operator.shaped(_like_data)

    @operator.infer
    def _(data):
        return {"label": data[:1] if len(data) == 2 and data[1] == 1 else data}

    @operator.grad
    def _(dy, y, label, grad_scale):
        count = math.prod(y.shape[1:])
        return slope(y - label.reshape(y.shape)) * (grad_scale / max(count, 1))


def _itself(x):
    return x


def _side(x):
    """The sign of x, with -1 at 0 as in MXNet."""
    return torch.where(x > 0, torch.ones_like(x), -torch.ones_like(x))


_regression(
    "LinearRegressionOutput",
    """data itself, with the gradient of the squared error: grad_scale / k (y - label).

    data, label : (n, ...), k numbers in a sample; (n, 1) also has labels (n,)
    """,
    _itself,
    _itself,
)
_regression(
    "LogisticRegressionOutput",
    """sigmoid, with the gradient of the cross entropy: grad_scale / k (y - label).

    data, label : (n, ...), k numbers in a sample; (n, 1) also has labels (n,)
    """,
    torch.sigmoid,
    _itself,
)
_regression(
    "MAERegressionOutput",
    """data itself, with the gradient of the absolute error: grad_scale / k sign(y - label).

    data, label : (n, ...), k numbers in a sample; (n, 1) also has labels (n,)
    """,
    _itself,
    _side,
)


@op(view=True)
def SVMOutput(
    data: Tensor,
    label: Tensor,
    margin: float = 1.0,
    regularization_coefficient: float = 1.0,
    use_linear: bool = False,
) -> Tensor:
    """data itself, with the gradient of a support vector machine's loss.

    data : (..., k)      label : (...), indices

    The loss is c Σ max(0, margin - s x)², with s = 1 for the class of the label and -1 for the
    others, c the `regularization_coefficient`; with `use_linear` without the square.

    Raises
    ------
    ShapeError
        `label` is not of the shape of `data` without its last axis.
    """
    if label.shape != data.shape[:-1]:
        raise ShapeError(
            f"SVMOutput: label is {tuple(label.shape)}\n  expected {tuple(data.shape[:-1])}"
        )
    return data


@SVMOutput.infer
def _(data):
    return {"label": data[:-1]}


@SVMOutput.shaped
def _(data):
    return data


@SVMOutput.grad
def _(dy, y, label, margin, regularization_coefficient, use_linear):
    classes = torch.arange(y.shape[-1], device=y.device)
    side = torch.where(label.long().unsqueeze(-1) == classes, 1.0, -1.0).to(y.dtype)
    short = margin - side * y
    slope = (short > 0).to(y.dtype) if use_linear else 2 * short.clamp(min=0)
    return -regularization_coefficient * side * slope


@op(view=True, names_input=True)
def MakeLoss(
    data: Tensor,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Normalization = "null",
) -> Tensor:
    """data itself, as a loss: its gradient is grad_scale, whatever comes from above.

    It is divided by 1 (``null``), by the product of all sizes of data but the last (``batch``), or
    by the number of elements larger than `valid_thresh` (``valid``).
    """
    return data


@MakeLoss.grad
def _(dy, y, grad_scale, valid_thresh, normalization):
    if normalization == "valid":
        return torch.ones_like(y) * (grad_scale / (y > valid_thresh).sum().clamp(min=1))
    return torch.full_like(
        y, grad_scale / (math.prod(y.shape[:-1]) if normalization == "batch" else 1)
    )


@op(view=True, same=True)
def make_loss(data: Tensor) -> Tensor:
    """data itself, as a loss: its gradient is 1, whatever comes from above."""
    return data


@make_loss.grad
def _(dy):
    return torch.ones_like(dy)
