"""Losses: one number for each sample of a batch."""

from __future__ import annotations

import math

from ..base import ArgumentError, ParameterError, numeric_types
from .block import HybridBlock

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]


class Loss(HybridBlock):
    """The base of losses.

    Parameters
    ----------
    weight : float or None
        A factor of the loss.
    batch_axis : int
        The axis of samples; over the others, most losses take the mean.
    """

    def __init__(self, weight, batch_axis, **kwargs):
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def hybrid_forward(self, F, x, *args, **kwargs):
        """The loss of each sample."""
        raise NotImplementedError(f"{type(self).__name__}.hybrid_forward")

    def _per_sample(self, F, loss, sample_weight, weight=None):
        """Weight element losses, and take the mean of each sample."""
        loss = _apply_weighting(F, loss, self._weight if weight is None else weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


def _apply_weighting(F, loss, weight=None, sample_weight=None):
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is not None:
        if not isinstance(weight, numeric_types):
            raise ArgumentError(f"loss: weight is {weight!r}\n  expected a number")
        loss = loss * weight
    return loss


def _reshape_like(F, x, y):
    """x in the shape of y: labels may come as (n,) or (n, 1)."""
    return F.reshape_like(x, y)


class L2Loss(Loss):
    """Half the squared error, ½ weight (label - pred)².

    Inputs:
        - **pred**: any shape.
        - **label**: as many elements.
        - **sample_weight**: broadcast to pred, such as (batch_size, 1); optional.

    Outputs:
        - **loss**: (batch_size,)
    """

    def __init__(self, weight=1.0, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        """The loss of each sample."""
        loss = F.square(_reshape_like(F, label, pred) - pred)
        return self._per_sample(F, loss, sample_weight, self._weight / 2)


class L1Loss(Loss):
    """The absolute error, |label - pred|. Inputs and outputs as those of `L2Loss`."""

    def __init__(self, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        """The loss of each sample."""
        loss = F.abs(_reshape_like(F, label, pred) - pred)
        return self._per_sample(F, loss, sample_weight)


class SigmoidBinaryCrossEntropyLoss(Loss):
    """The cross entropy of yes or no, -label log p - (1 - label) log(1 - p), p = sigmoid(pred).

    Parameters
    ----------
    from_sigmoid : bool
        `pred` is p already; without, the loss is computed so that it neither over- nor underflows.
    weight, batch_axis
        As for `Loss`.

    Inputs:
        - **pred**: any shape.
        - **label**: as many elements, from 0 to 1.
        - **sample_weight**: broadcast to pred; optional.
        - **pos_weight**: a factor of the first term, broadcast to label; optional.

    Outputs:
        - **loss**: (batch_size,)
    """

    def __init__(self, from_sigmoid=False, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(self, F, pred, label, sample_weight=None, pos_weight=None):
        """The loss of each sample."""
        label = _reshape_like(F, label, pred)
        if self._from_sigmoid:
            yes, no = F.log(pred + 1e-12) * label, F.log(1.0 - pred + 1e-12) * (1.0 - label)
            if pos_weight is not None:
                yes = F.broadcast_mul(yes, pos_weight)
            loss = -(yes + no)
        elif pos_weight is None:
            loss = _logistic(F, pred, label)
        else:
            factor = 1 + F.broadcast_mul(pos_weight - 1, label)
            loss = pred - pred * label + factor * (_softplus(F, -F.abs(pred)) + F.relu(-pred))
        return self._per_sample(F, loss, sample_weight)


def _softplus(F, x):
    return F.Activation(x, act_type="softrelu")


def _logistic(F, pred, label):
    """log(1 + eᵖʳᵉᵈ) - label pred, without overflow."""
    return F.relu(pred) - pred * label + _softplus(F, -F.abs(pred))


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """The cross entropy of one class of several, -log softmax(pred)[label].

    Parameters
    ----------
    axis : int
        The axis of classes.
    sparse_label : bool
        Labels are numbers of classes; else probabilities in the shape of `pred`.
    from_logits : bool
        `pred` is log softmax already.
    weight, batch_axis
        As for `Loss`.

    Inputs:
        - **pred**: any shape, with classes along `axis`.
        - **label**: without that axis, or in the shape of pred with ``sparse_label=False``.
        - **sample_weight**: broadcast to the shape of pred with size 1 along `axis`; optional.

    Outputs:
        - **loss**: (batch_size,)
    """

    def __init__(
        self,
        axis=-1,
        sparse_label=True,
        from_logits=False,
        weight=None,
        batch_axis=0,
        **kwargs,
    ):
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        """The loss of each sample."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            label = _reshape_like(F, label, pred)
            loss = -F.sum(pred * label, axis=self._axis, keepdims=True)
        return self._per_sample(F, loss, sample_weight)


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """The Kullback-Leibler divergence, label (log label - pred), of log probabilities pred.

    Parameters
    ----------
    from_logits : bool
        `pred` are log probabilities; else log softmax is taken along `axis`.
    axis : int
    weight, batch_axis
        As for `Loss`.

    Inputs:
        - **pred**: any shape.
        - **label**: probabilities in that shape.
        - **sample_weight**: broadcast to pred; optional.

    Outputs:
        - **loss**: (batch_size,), the sum over the other axes.
    """

    def __init__(self, from_logits=True, axis=-1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        """The loss of each sample.

        Raises
        ------
        ArgumentError
            The loss's weight is no number.
        """
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        loss = label * (F.log(label + 1e-12) - pred)
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.sum(loss, axis=self._batch_axis, exclude=True)


class HuberLoss(Loss):
    """e² / (2 rho) for errors e = |label - pred| up to rho, e - rho / 2 beyond.

    Inputs and outputs as those of `L2Loss`.
    """

    def __init__(self, rho=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        """The loss of each sample."""
        error, rho = F.abs(_reshape_like(F, label, pred) - pred), self._rho
        loss = F.where(error > rho, error - 0.5 * rho, (0.5 / rho) * F.square(error))
        return self._per_sample(F, loss, sample_weight)


class HingeLoss(Loss):
    """max(0, margin - pred label), for labels -1 and 1. Inputs and outputs as for `L2Loss`."""

    def __init__(self, margin=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        """The loss of each sample."""
        loss = F.relu(self._margin - pred * _reshape_like(F, label, pred))
        return self._per_sample(F, loss, sample_weight)


class SquaredHingeLoss(HingeLoss):
    """max(0, margin - pred label)², for labels -1 and 1. Inputs and outputs as for `L2Loss`."""

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        """The loss of each sample."""
        loss = F.square(F.relu(self._margin - pred * _reshape_like(F, label, pred)))
        return self._per_sample(F, loss, sample_weight)


class LogisticLoss(Loss):
    """log(1 + exp(-pred label)), for labels -1 and 1. Inputs and outputs as for `L2Loss`.

    Parameters
    ----------
    weight, batch_axis
        As for `Loss`.
    label_format : {'signed', 'binary'}
        Labels are -1 and 1, or 0 and 1.

    Raises
    ------
    ArgumentError
        `label_format` is neither.
    """

    def __init__(self, weight=None, batch_axis=0, label_format="signed", **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ArgumentError(
                f"LogisticLoss: label_format is {label_format!r}\n  expected 'signed' or 'binary'"
            )
        self._label_format = label_format

    def hybrid_forward(self, F, pred, label, sample_weight=None):
        """The loss of each sample."""
        label = _reshape_like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        return self._per_sample(F, _logistic(F, pred, label), sample_weight)


class TripletLoss(Loss):
    """max(0, |pred - positive|² - |pred - negative|² + margin).

    Inputs:
        - **pred**, **positive**, **negative**: one shape; sums are over all but the batch axis.

    Outputs:
        - **loss**: (batch_size,)
    """

    def __init__(self, margin=1, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F, pred, positive, negative):
        """The loss of each sample.

        Raises
        ------
        ArgumentError
            The loss's weight is no number.
        """
        near = F.square(_reshape_like(F, positive, pred) - pred)
        far = F.square(_reshape_like(F, negative, pred) - pred)
        distance = F.sum(near - far, axis=self._batch_axis, exclude=True)
        return _apply_weighting(F, F.relu(distance + self._margin), self._weight)


class PoissonNLLLoss(Loss):
    """The negative log likelihood of Poisson counts; the mean over all, of shape (1,).

    Parameters
    ----------
    weight : float, optional
    from_logits : bool
        `pred` is the log of the mean, eᵖʳᵉᵈ - target pred; else the mean itself,
        pred - target log(pred + epsilon).
    batch_axis : int
        Not used.
    compute_full : bool
        Add log target! for targets above 1, by Stirling's formula.

    Inputs:
        - **pred**: any shape.
        - **target**: as many elements.
        - **sample_weight**: broadcast to pred; optional.
        - **epsilon**: 1e-8 by default.
    """

    def __init__(self, weight=None, from_logits=True, batch_axis=0, compute_full=False, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(self, F, pred, target, sample_weight=None, epsilon=1e-8):
        """The loss, one number.

        Raises
        ------
        ArgumentError
            The loss's weight is no number.
        """
        target = _reshape_like(F, target, pred)
        if self._from_logits:
            loss = F.exp(pred) - target * pred
        else:
            loss = pred - target * F.log(pred + epsilon)
        if self._compute_full:
            # n is 1 where the target is less: log 0 times 0 would make all of it NaN.
            n = F.broadcast_maximum(target, F.ones_like(target))
            stirling = n * F.log(n) - n + 0.5 * F.log(2 * math.pi * n)
            loss = loss + stirling * (target > 1)
        return F.mean(_apply_weighting(F, loss, self._weight, sample_weight))


class CosineEmbeddingLoss(Loss):
    """1 - cos(input1, input2) for label 1, max(0, cos - margin) for label -1.

    Inputs:
        - **input1**, **input2**: one shape; the cosine is that of vectors along the last axis.
        - **label**: (batch_size,) or (batch_size, 1), of 1 and -1.
        - **sample_weight**: broadcast to the loss; optional.

    Outputs:
        - **loss**: (batch_size, 1)
    """

    def __init__(self, weight=None, batch_axis=0, margin=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F, input1, input2, label, sample_weight=None):
        """The loss of each sample.

        Raises
        ------
        ArgumentError
            The loss's weight is no number.
        """
        input1 = _reshape_like(F, input1, input2)
        dot, square1, square2 = (
            F.reshape(F.sum(a * b, axis=-1), shape=(-1, 1))
            for a, b in ((input1, input2), (input1, input1), (input2, input2))
        )
        norms = F.sqrt(square1) * F.sqrt(square2)
        cosine = dot / F.broadcast_maximum(norms, F.ones_like(dot) * 1e-12)
        label = F.reshape(label, shape=(-1, 1))
        apart = F.clip(cosine - self._margin, 0, 1 - self._margin)
        loss = (label == 1) * (1 - cosine) + (label == -1) * apart
        return _apply_weighting(F, loss, self._weight, sample_weight)


class CTCLoss(Loss):
    """-log p(label | softmax(pred)) of sequences whose labels have no places in time.

    The last class is blank: labels are numbers from 0 to classes - 2, and -1 behind their end.

    Parameters
    ----------
    layout : {'NTC', 'TNC'}
        The axes of `pred`: samples, time, classes.
    label_layout : {'NT', 'TN'}
        The axes of `label`.
    weight : float, optional

    Inputs:
        - **pred**: (batch_size, time, classes), before softmax, or as `layout` says.
        - **label**: (batch_size, length), or as `label_layout` says.
        - **pred_lengths**: (batch_size,), how much of the time is valid; optional.
        - **label_lengths**: (batch_size,), how many labels are; optional.
        - **sample_weight**: broadcast to the loss; optional.

    Outputs:
        - **loss**: (batch_size,)

    Raises
    ------
    ParameterError
        A layout is another.

    (Graves et al. 2006, Connectionist temporal classification)
    """

    def __init__(self, layout="NTC", label_layout="NT", weight=None, **kwargs):
        if layout not in ("NTC", "TNC"):
            raise ParameterError(f"CTCLoss: layout is {layout!r}\n  expected 'NTC' or 'TNC'")
        if label_layout not in ("NT", "TN"):
            raise ParameterError(
                f"CTCLoss: label_layout is {label_layout!r}\n  expected 'NT' or 'TN'"
            )
        self._layout, self._label_layout = layout, label_layout
        super().__init__(weight, label_layout.index("N"), **kwargs)

    def hybrid_forward(
        self, F, pred, label, pred_lengths=None, label_lengths=None, sample_weight=None
    ):
        """The loss of each sample.

        Raises
        ------
        ArgumentError
            The loss's weight is no number.
        """
        if self._layout == "NTC":
            pred = F.swapaxes(pred, dim1=0, dim2=1)
        if self._label_layout == "TN":
            label = F.swapaxes(label, dim1=0, dim2=1)
        lengths = {"data_lengths": pred_lengths, "label_lengths": label_lengths}
        given = {name: length for name, length in lengths.items() if length is not None}
        used = {f"use_{name}": True for name in given}
        loss = F.CTCLoss(pred, label, **given, **used, blank_label="last")
        return _apply_weighting(F, loss, self._weight, sample_weight)


class SDMLLoss(Loss):
    """A loss of pairs that belong together: each is nearer to its own than to all others.

    Of the squared distances d of all x1 to all x2, the Kullback-Leibler divergence of softmax(-d)
    along each row from 1 - smoothing for its own and smoothing / (n - 1) for each other.

    Parameters
    ----------
    smoothing_parameter : float
        The probability that is given to the others.
    weight, batch_axis
        Not used, as in MXNet.

    Inputs:
        - **x1**, **x2**: (batch_size, features); rows of the same number belong together.

    Outputs:
        - **loss**: (batch_size,)

    (Bonadiman et al. 2019, Large scale question paraphrase retrieval)
    """

    def __init__(self, smoothing_parameter=0.3, weight=1.0, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F, x1, x2):
        """The loss of each pair."""
        rows, columns = F.expand_dims(x1, axis=1), F.expand_dims(x2, axis=0)
        distances = F.sum(F.square(F.broadcast_sub(rows, columns)), axis=2)
        own = F.diag(F.ones_like(F.sum(distances, axis=1)))
        others = 1 - own
        shares = F.broadcast_div(others, F.sum(others, axis=1, keepdims=True))
        smoothing = self.smoothing_parameter
        labels = own * (1 - smoothing) + shares * smoothing
        return self.kl_loss(F.log_softmax(-distances, axis=1), labels)
