"""Losses: one number for each sample."""

from __future__ import annotations

from .engine import expect, gluon
from .ops import (
    focal,
    info_nce,
    linear_cross_entropy,
    sigmoid_cross_entropy,
    triplet,
)

__all__ = [
    "CTCLoss",
    "ContrastiveLoss",
    "FocalLoss",
    "HuberLoss",
    "InfoNCELoss",
    "LinearCrossEntropyLoss",
    "SigmoidLoss",
    "SoftmaxLoss",
    "TripletLoss",
]


class Weighted(gluon.loss.Loss):
    """A loss whose samples may have weights.

    Parameters
    ----------
    weight : float, optional
        A factor for all samples.
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def __call__(self, x, *others):
        expect(self.name, (x, *others))
        return super().__call__(x, *others)

    def _weighted(self, F, loss, sample_weight):
        if sample_weight is not None:
            loss = F.broadcast_mul(loss, sample_weight)
        return loss if self._weight is None else loss * self._weight


class SoftmaxLoss(Weighted):
    """Cross entropy of softmax(x) with class numbers, -log softmax(x)[label].

    Parameters
    ----------
    weight : float, optional
        A factor for all samples.
    sparse_label : bool
        Labels are class numbers; else they are probabilities, and the loss is
        -Σ label log softmax(x).
    ignore_label : int, optional
        The class number of samples whose loss and gradient are 0, such as -1.
    smoothing : float
        The share of a label that is given to all classes alike.
    z_loss : float
        The factor of log² Σ eˣ, which keeps scores from growing.

    Inputs:
        - **x**: (n, m) scores, before softmax; or (..., m)
        - **label**: (n,) class numbers below m, or (...); (n, m) with ``sparse_label=False``
        - **sample_weight**: (n,) a factor for each sample, optional
    Outputs:
        - **loss**: (n,), or (...)

    Raises
    ------
    ValueError
        Probabilities come with `ignore_label`, or `smoothing` is not from 0 to 1.
    """

    def __init__(
        self,
        weight: float | None = None,
        batch_axis: int = 0,
        sparse_label: bool = True,
        ignore_label: int | None = None,
        smoothing: float = 0.0,
        z_loss: float = 0.0,
        **kwargs,
    ):
        super().__init__(weight, batch_axis, **kwargs)
        options = target_options(self, ignore_label, smoothing, z_loss)
        if not sparse_label and ignore_label is not None:
            raise ValueError(
                f"{type(self).__name__}: ignore_label is {ignore_label} for probabilities\n"
                "  expected None with sparse_label=False"
            )
        self._sparse_label, self._options = sparse_label, options

    def hybrid_forward(self, F, x, label, sample_weight=None):
        # Built-in operators take half the time of an operator with a gradient of its own:
        # 54 and 114 us for 64 x 10, forward and backward.
        log_p = F.log_softmax(x)
        own = F.pick(log_p, label) if self._sparse_label else F.sum(log_p * label, axis=-1)
        return self._weighted(F, self._regularized(F, x, label, log_p, -own), sample_weight)

    def _regularized(self, F, x, label, log_p, loss):
        for name, value in self._options.items():
            if name == "smoothing":
                loss = loss * (1 - value) - F.mean(log_p, axis=-1) * value
            elif name == "z_loss":
                loss = loss + F.square(log_sum_exp(F, x)) * value
        if (ignored := self._options.get("ignore_label")) is not None:
            loss = F.where(label == ignored, F.zeros_like(loss), loss)
        return loss


def log_sum_exp(F, x):
    """log Σ eˣ over the last axis, without overflow."""
    top = F.BlockGrad(F.max(x, axis=-1, keepdims=True))
    return F.squeeze(F.log(F.sum(F.exp(F.broadcast_sub(x, top)), -1, True)) + top, axis=-1)


def target_options(loss, ignore_label, smoothing, z_loss):
    """The attributes of a cross entropy that are not the defaults."""
    if not 0 <= smoothing <= 1:
        raise ValueError(
            f"{type(loss).__name__}: smoothing is {smoothing}\n  expected a number from 0 to 1"
        )
    options = {
        "ignore_label": ignore_label,
        "smoothing": smoothing or None,
        "z_loss": z_loss or None,
    }
    return {name: value for name, value in options.items() if value is not None}


class LinearCrossEntropyLoss(Weighted):
    """The last fully connected layer and `SoftmaxLoss` in one, for many classes.

    The scores x wᵀ + b are never whole in memory. A layer that computes them for predictions shares
    the Parameters: ``DenseBlock(in_channels, channels, params=loss.params)``.

    Parameters
    ----------
    in_channels : int
        Size of the last axis of the input; with 0 it is that of the first call's input.
    channels : int
        The number of classes.
    bias : bool
        Whether there is one.
    weight : float, optional
        A factor for all samples.
    ignore_label, smoothing, z_loss
        As for `SoftmaxLoss`.
    weight_initializer, bias_initializer : str or Initializer, optional
        By default the initializer passed to `initialize`, and zeros.
    dtype : str

    Inputs:
        - **x**: (..., in_channels)
        - **label**: (...) class numbers below channels
        - **sample_weight**: (...) a factor for each sample, optional
    Outputs:
        - **loss**: (...)

    Raises
    ------
    ValueError
        `smoothing` is not from 0 to 1.
    """

    def __init__(
        self,
        in_channels: int,
        channels: int,
        bias: bool = True,
        weight: float | None = None,
        ignore_label: int | None = None,
        smoothing: float = 0.0,
        z_loss: float = 0.0,
        weight_initializer=None,
        bias_initializer="zeros",
        dtype: str = "float32",
        **kwargs,
    ):
        super().__init__(weight, **kwargs)
        self._options = target_options(self, ignore_label, smoothing, z_loss)
        with self.name_scope():
            self.weight = self.params.get(
                "weight",
                shape=(channels, in_channels),
                dtype=dtype,
                init=weight_initializer,
                allow_deferred_init=True,
            )
            if bias:
                self.bias = self.params.get(
                    "bias", shape=(channels,), dtype=dtype, init=bias_initializer
                )

    def hybrid_forward(self, F, x, label, sample_weight=None, weight=None, bias=None):
        loss = linear_cross_entropy(x, weight, label, bias, **self._options)
        return self._weighted(F, loss, sample_weight)

    def __repr__(self) -> str:
        channels, in_channels = self.weight.shape
        return f"{type(self).__name__}({in_channels or None} -> {channels})"


class OfElements(Weighted):
    """The mean loss of a sample's elements."""

    def _loss(self, F, x, label):
        raise NotImplementedError

    def hybrid_forward(self, F, x, label, sample_weight=None):
        loss = self._weighted(F, self._loss(F, x, label), sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class SigmoidLoss(OfElements):
    """Cross entropy of sigmoid(x) with yes or no, -t log p - (1 - t) log(1 - p).

    Parameters
    ----------
    weight : float, optional
        A factor for all samples.

    Inputs:
        - **x**: (n, ...) scores, before the logistic function
        - **label**: as many elements, from 0 to 1
        - **sample_weight**: broadcast to x, optional
    Outputs:
        - **loss**: (n,), the mean over the other axes
    """

    def _loss(self, F, x, label):
        return sigmoid_cross_entropy(x, F.reshape_like(label, x))


class FocalLoss(OfElements):
    """Cross entropy of yes or no in which what is right already counts little, -α (1 - p)ᵞ log p.

    Parameters
    ----------
    gamma : float
        How little: with 0 all count alike.
    alpha : float
        The weight of labels 1; that of labels 0 is 1 - alpha.
    weight : float, optional
        A factor for all samples.

    Inputs:
        - **x**: (n, ...) scores, before the logistic function
        - **label**: the shape of x, 0 or 1
        - **sample_weight**: broadcast to x, optional
    Outputs:
        - **loss**: (n,), the mean over the other axes
    """

    def __init__(self, gamma: float = 2.0, alpha: float = 0.25, weight=None, **kwargs):
        super().__init__(weight, **kwargs)
        self._attributes = {"gamma": float(gamma), "alpha": float(alpha)}

    def _loss(self, F, x, label):
        return focal(x, label, **self._attributes)


class HuberLoss(OfElements):
    """e² / (2 rho) for errors e = |x - label| up to rho, e - rho / 2 beyond.

    It is the built-in operator `smooth_l1` of x - label.

    Parameters
    ----------
    rho : float
        Errors beyond it have gradients of one size.
    weight : float, optional
        A factor for all samples.

    Inputs:
        - **x**: (n, ...)
        - **label**: as many elements
        - **sample_weight**: broadcast to x, optional
    Outputs:
        - **loss**: (n,), the mean over the other axes

    Raises
    ------
    ValueError
        `rho` is not positive.
    """

    def __init__(self, rho: float = 1.0, weight: float | None = None, **kwargs):
        super().__init__(weight, **kwargs)
        if not rho > 0:
            raise ValueError(f"HuberLoss: rho is {rho}\n  expected a positive number")
        self._scalar = float(rho) ** -0.5

    def _loss(self, F, x, label):
        return F.smooth_l1(x - F.reshape_like(label, x), scalar=self._scalar)


class ContrastiveLoss(Weighted):
    """Loss of pairs, ½ t d² + ½ (1 - t) max(0, margin - d)² with their distance d = |x - z|.

    It is composed of built-in operators, of which only x - z is as large as the inputs.

    Parameters
    ----------
    margin : float
        The distance beyond which pairs that do not belong together count no more.
    weight : float, optional
        A factor for all samples.

    Inputs:
        - **x**, **z**: (n, k)
        - **label**: (n,), 1 for a pair that belongs together, else 0
        - **sample_weight**: (n,) a factor for each pair, optional
    Outputs:
        - **loss**: (n,)
    """

    def __init__(self, margin: float = 1.0, weight: float | None = None, **kwargs):
        super().__init__(weight, **kwargs)
        self._margin = float(margin)

    def hybrid_forward(self, F, x, z, label, sample_weight=None):
        square = F.sum(F.square(x - z), axis=1)
        d = F.sqrt(F.maximum(square, 1e-12))  # of 0 it has no derivative
        loss = F.where(label, square, F.square(F.relu(self._margin - d))) / 2
        return self._weighted(F, loss, sample_weight)


class TripletLoss(Weighted):
    """Loss of triplets, max(0, |x - near|² - |x - far|² + margin).

    Parameters
    ----------
    margin : float
        How much nearer the one has to be.
    weight : float, optional
        A factor for all samples.

    Inputs:
        - **x**, **near**, **far**: (n, k)
        - **sample_weight**: (n,) a factor for each triplet, optional
    Outputs:
        - **loss**: (n,)
    """

    def __init__(self, margin: float = 1.0, weight: float | None = None, **kwargs):
        super().__init__(weight, **kwargs)
        self._margin = float(margin)

    def hybrid_forward(self, F, x, near, far, sample_weight=None):
        return self._weighted(F, triplet(x, near, far, margin=self._margin), sample_weight)


class InfoNCELoss(Weighted):
    """Loss of pairs, each of which is told from all others, -log softmax(x zᵀ / temperature)[own].

    The matrix x zᵀ is never whole in memory.

    Parameters
    ----------
    temperature : float
        The smaller, the more the nearest of the others count.
    normalize : bool
        Whether rows of x and z are scaled to length 1 first.
    symmetric : bool
        The mean of the loss and that of x and z exchanged, as for images and their texts.
    weight : float, optional
        A factor for all samples.

    Inputs:
        - **x**, **z**: (n, k); rows of the same number belong together
        - **sample_weight**: (n,) a factor for each pair, optional
    Outputs:
        - **loss**: (n,)

    Raises
    ------
    ValueError
        `temperature` is not positive.

    (van den Oord et al. 2018, Representation learning with contrastive predictive coding)
    """

    def __init__(
        self,
        temperature: float = 0.07,
        normalize: bool = True,
        symmetric: bool = False,
        weight: float | None = None,
        **kwargs,
    ):
        super().__init__(weight, **kwargs)
        if not temperature > 0:
            raise ValueError(
                f"InfoNCELoss: temperature is {temperature}\n  expected a positive number"
            )
        self._temperature, self._normalize = float(temperature), normalize
        self._symmetric = symmetric

    def hybrid_forward(self, F, x, z, sample_weight=None):
        if self._normalize:
            x, z = F.L2Normalization(x), F.L2Normalization(z)
        loss = info_nce(x, z, temperature=self._temperature)
        if self._symmetric:
            loss = (loss + info_nce(z, x, temperature=self._temperature)) / 2
        return self._weighted(F, loss, sample_weight)


class CTCLoss(gluon.loss.CTCLoss):
    """-log p(label | softmax(x)) of sequences whose labels have no places in time.

    It is Gluon's, with either end of the classes for blank. Labels that do not fit into the time
    have loss and gradient 0.

    Parameters
    ----------
    layout : {'NTC', 'TNC'}
        The axes of x: samples, time, classes.
    label_layout : {'NT', 'TN'}
        The axes of the label.
    weight : float, optional
        A factor for all samples.
    blank : {'last', 'first'}
        The class that is no label: the last, with -1 behind the end of labels; or 0, with 0 there.

    Inputs:
        - **pred**: (n, time, classes) scores, before softmax
        - **label**: (n, length) class numbers
        - **pred_lengths**: (n,), how much of the time is valid, optional
        - **label_lengths**: (n,), how many labels there are, optional
        - **sample_weight**: (n,) a factor for each sample, optional
    Outputs:
        - **loss**: (n,)

    Raises
    ------
    ValueError
        `blank` is neither.

    (Graves et al. 2006, Connectionist temporal classification)
    """

    def __init__(
        self,
        layout: str = "NTC",
        label_layout: str = "NT",
        weight: float | None = None,
        blank: str = "last",
        **kwargs,
    ):
        super().__init__(layout, label_layout, weight, **kwargs)
        if blank not in ("first", "last"):
            raise ValueError(f"CTCLoss: blank is {blank!r}\n  expected 'first' or 'last'")
        self._axes, self._blank = (layout, label_layout), blank

    def __call__(self, pred, label, *others):
        expect(self.name, (pred, label, *others))
        return super().__call__(pred, label, *others)

    def hybrid_forward(
        self, F, pred, label, pred_lengths=None, label_lengths=None, sample_weight=None
    ):
        if self._axes[0] == "NTC":
            pred = F.swapaxes(pred, dim1=0, dim2=1)
        if self._axes[1] == "TN":
            label = F.swapaxes(label, dim1=0, dim2=1)
        lengths = {"data_lengths": pred_lengths, "label_lengths": label_lengths}
        given = {name: length for name, length in lengths.items() if length is not None}
        used = {f"use_{name}": True for name in given}
        loss = F.CTCLoss(pred, label, **given, **used, blank_label=self._blank)
        if sample_weight is not None:
            loss = F.broadcast_mul(loss, sample_weight)
        return loss if self._weight is None else loss * self._weight
