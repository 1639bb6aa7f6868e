"""Losses of outputs and labels: one loss for each sample."""

from __future__ import annotations

from ._inputs import (
    expect_bias,
    expect_number,
    expect_numbers,
    expect_shapes,
    expect_sizes,
    expect_weights,
    in_order,
)
from ._renamed import formerly
from ._weighted import Weighted, weighted
from .engine import adapter, expect, gluon, mxnet_error, nd
from .ops import focal, linear_cross_entropy, sigmoid_cross_entropy, softmax_cross_entropy

__all__ = [
    "CTCLoss",
    "FocalLoss",
    "HuberLoss",
    "LinearCrossEntropyLoss",
    "SigmoidLoss",
    "SoftmaxLoss",
]


class SoftmaxLoss(Weighted):
    """Cross entropy of logits with class numbers, -log softmax(x)[label].

    Parameters
    ----------
    weight : float, optional
        A factor for all losses.
    batch_axis : int
        The axis of samples.
    sparse_label : bool
        If True, labels are class numbers; if False, labels are probabilities, and the loss is -Σ
        label log softmax(x).
    ignore_label : int, optional
        The class number of samples to ignore, such as -1: their loss and gradient are 0.
    smoothing : float
        Label smoothing: the share of each label that is spread over all classes evenly.
    z_loss : float
        Factor of the penalty log² Σ eˣ, which keeps logits from growing.

    Attributes
    ----------
    ignore_label : int or None

    Inputs:
        - **x**: (n, m) logits; or (n, ..., m)
        - **label**: (n,) class numbers below m, or (n, ...); the shape of x with
          ``sparse_label=False``
        - **sample_weight**: (n,) a factor for each sample, or any shape that broadcasts to the loss
          from its first axis on; optional
    Outputs:
        - **loss**: (n,), or (n, ...), where gluon's SoftmaxCrossEntropyLoss gives means (n,)

    Raises
    ------
    ValueError
        Labels are probabilities and `ignore_label` is given; `smoothing` is not from 0 to 1, or
        `z_loss` is below 0; the shapes of the inputs do not fit together.
    IndexError
        A label is no class: negative, too large, or not a whole number. Labels on a GPU are not
        checked, because a check would have to wait for the GPU, nor are labels inside a larger
        compiled graph, such as that of `compiled_step`. There, the nearest class is taken.
    """

    @formerly("weight batch_axis sparse_label ignore_label smoothing z_loss")
    def __init__(
        self,
        *,
        weight: float | None = None,
        batch_axis: int = 0,
        sparse_label: bool = True,
        ignore_label: int | None = None,
        smoothing: float = 0.0,
        z_loss: float = 0.0,
        **kwargs,
    ):
        super().__init__(weight=weight, batch_axis=batch_axis, **kwargs)
        options = target_options(self, ignore_label, smoothing, z_loss)
        if not sparse_label and ignore_label is not None:
            raise mxnet_error(
                ValueError,
                f"{type(self).__name__}: ignore_label is {ignore_label} for probabilities\n"
                "  expected None with sparse_label=False",
            )
        self._sparse_label, self._options, self.ignore_label = sparse_label, options, ignore_label
        # If the operator itself refuses labels of no class, it computes the loss by itself.
        self._is_one_operator = sparse_label and not options and adapter().refuses_classes

    def _expect(self, x, label, sample_weight=None):
        who, shape = type(self).__name__, x.shape[:-1]
        allowed = (shape, (*shape, 1)) if self._sparse_label else (x.shape,)
        expect_shapes(len(x.shape) > 1, who, "scores (n, m), or (n, ..., m)", x=x)
        if label.shape not in allowed:
            expect_shapes(False, who, self._expected_label(x, label), x=x, label=label)
        # Eagerly, the operator itself refuses a label of no class; compiled code does not.
        if self._sparse_label and (self._active or not self._is_one_operator):
            expect_classes(who, label, x.shape[-1], self._options)
        self._expect_weights(sample_weight, shape)

    def _expected_label(self, x, label):
        shape = x.shape[:-1]
        if not self._sparse_label:
            classes = "; class numbers are for sparse_label=True" if label.shape == shape else ""
            return f"a label {x.shape}, probabilities{classes}"
        others = "; probabilities are for sparse_label=False" if label.shape == x.shape else ""
        return f"a label {shape}, class numbers{others}"

    def hybrid_forward(self, F, x, label, sample_weight=None):
        if self._is_one_operator:
            return self._weighted(F, softmax_cross_entropy(x, label), sample_weight)
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
            label = F.reshape_like(label, loss)
            loss = F.where(label == ignored, F.zeros_like(loss), loss)
        return loss


def log_sum_exp(F, x):
    """Return log Σ eˣ over the last axis, without overflow."""
    top = F.BlockGrad(F.max(x, axis=-1, keepdims=True))
    return F.squeeze(F.log(F.sum(F.exp(F.broadcast_sub(x, top)), -1, True)) + top, axis=-1)


def expect_classes(who, label, count, options):
    """Refuse a label that is neither a class nor the ignored label."""
    ignored = options.get("ignore_label")
    beside = "" if ignored is None else f", or ignore_label {ignored}"
    expected = f"one of the {count} classes, whole numbers from 0 to {count - 1}{beside}"
    expect_numbers(f"{who}: label", label, count, ignored, expected)


def target_options(loss, ignore_label, smoothing, z_loss):
    """Return the attributes of a cross entropy that differ from their defaults.

    Raises
    ------
    ValueError
        `smoothing` is not from 0 to 1, or `z_loss` is below 0.
    """
    who = type(loss).__name__
    expect_number(who, "a number from 0 to 1", lambda v: 0 <= v <= 1, smoothing=smoothing)
    expect_number(who, "a number from 0", lambda v: v >= 0, z_loss=z_loss)
    options = {
        "ignore_label": ignore_label,
        "smoothing": smoothing or None,
        "z_loss": z_loss or None,
    }
    return {name: value for name, value in options.items() if value is not None}


class LinearCrossEntropyLoss(Weighted):
    """Last fully connected layer of a classifier and `SoftmaxLoss` in one, for many classes.

    The logits x wᵀ + b are never whole in memory. For predictions, make a layer that computes them
    with the same Parameters: ``DenseBlock(in_channels, channels, params=loss.params)``.

    Parameters
    ----------
    in_channels : int
        Size of the last axis of the input; 0 takes it from the first call's input.
    channels : int
        Number of classes.
    weight : float, optional
        A factor for all losses.
    batch_axis : int
        The axis of samples.
    bias : bool
        If True, the layer has a bias.
    ignore_label, smoothing, z_loss
        As for `SoftmaxLoss`.
    weight_initializer, bias_initializer : str or Initializer, optional
        By default the initializer passed to `initialize`, and zeros.
    dtype : str

    Inputs:
        - **x**: (n, in_channels), or (n, ..., in_channels)
        - **label**: (n,) class numbers below channels, or (n, ...)
        - **sample_weight**: as for `SoftmaxLoss`
    Outputs:
        - **loss**: (n,), or (n, ...)

    Raises
    ------
    ValueError
        `channels` is not a whole number from 1, or `in_channels` from 0; `smoothing` is not from 0
        to 1; the shapes of the inputs do not fit together.
    TypeError
        `bias` is neither True nor False.
    IndexError
        A label is no class; it is checked in the same cases as for `SoftmaxLoss`.

    E. Wijmans et al., Cut your losses in large-vocabulary language models, ICLR 2025.
    """

    @formerly(
        "in_channels channels bias weight ignore_label smoothing z_loss weight_initializer "
        "bias_initializer dtype"
    )
    def __init__(
        self,
        in_channels: int,
        channels: int,
        *,
        weight: float | None = None,
        batch_axis: int = 0,
        bias: bool = True,
        ignore_label: int | None = None,
        smoothing: float = 0.0,
        z_loss: float = 0.0,
        weight_initializer=None,
        bias_initializer="zeros",
        dtype: str = "float32",
        **kwargs,
    ):
        expect_sizes("LinearCrossEntropyLoss", 0, in_channels=in_channels)
        expect_sizes("LinearCrossEntropyLoss", channels=channels)
        bias = expect_bias("LinearCrossEntropyLoss", bias)
        super().__init__(weight=weight, batch_axis=batch_axis, **kwargs)
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

    def _expect(self, x, label, sample_weight=None):
        who, shape = type(self).__name__, x.shape[:-1]
        expect_shapes(label.shape == shape, who, f"a label {shape}", x=x, label=label)
        expect_classes(who, label, self.weight.shape[0], self._options)
        self._expect_weights(sample_weight, shape)

    def hybrid_forward(self, F, x, label, sample_weight=None, *, weight, bias=None):
        loss = linear_cross_entropy(x, weight, label, bias, **self._options)
        return self._weighted(F, loss, sample_weight)

    def __repr__(self) -> str:
        channels, in_channels = self.weight.shape
        return f"{type(self).__name__}({in_channels or None} -> {channels})"


class OfElements(Weighted):
    """A loss that is the mean over a sample's elements."""

    def _loss(self, F, x, label):
        raise NotImplementedError

    def _expect(self, x, label, sample_weight=None):
        wanted, given = ([*a.shape[:1], *(k for k in a.shape[1:] if k > 1)] for a in (x, label))
        if given != wanted:
            expected = self._expected_label(x, label)
            expect_shapes(False, type(self).__name__, expected, x=x, label=label)
        self._expect_weights(sample_weight, x.shape)

    def _expected_label(self, x, label):
        return f"a label {x.shape}"

    def hybrid_forward(self, F, x, label, sample_weight=None):
        # Flatten each sample, so that a label with its elements in another order is refused.
        rows = (F.reshape(a, shape=(0, -1)) for a in (x, label))
        loss = self._weighted(F, F.reshape_like(self._loss(F, *rows), x), sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class OfYesOrNo(OfElements):
    """Mean binary cross entropy over the logits of a sample."""

    def _expected_label(self, x, label):
        *rows, count = x.shape
        is_class = list(label.shape) in (rows, [*rows, 1])
        hint = f"; nd.one_hot(label, {count}) makes it of class numbers" if is_class else ""
        return f"a label {x.shape}, a number from 0 to 1 for each score{hint}"


class SigmoidLoss(OfYesOrNo):
    """Binary cross entropy of logits, -t log p - (1 - t) log(1 - p) with p = sigmoid(x).

    Parameters
    ----------
    weight : float, optional
        A factor for all losses.
    batch_axis : int
        The axis of samples.

    Inputs:
        - **x**: (n, ...) logits
        - **label**: the shape of x, where axes of size 1 after the first may differ; numbers from 0
          to 1, of any dtype
        - **sample_weight**: (n,) a factor for each sample, or any shape that broadcasts to x from
          its first axis on; optional
    Outputs:
        - **loss**: (n,), the mean over the other axes

    Raises
    ------
    ValueError
        The shapes of the inputs do not fit together.
    """

    def _loss(self, F, x, label):
        return sigmoid_cross_entropy(x, label)


class FocalLoss(OfYesOrNo):
    """Binary cross entropy that gives well-classified samples little weight, -α (1 - p)ᵞ log p.

    Parameters
    ----------
    weight : float, optional
        A factor for all losses.
    batch_axis : int
        The axis of samples.
    gamma : float
        Exponent: the larger, the less weight have well-classified samples; 0 gives cross entropy.
    alpha : float
        Weight of labels 1; labels 0 have 1 - alpha.

    Inputs:
        - **x**: (n, ...) logits
        - **label**: the shape of x, where axes of size 1 after the first may differ; 0 or 1, of any
          dtype
        - **sample_weight**: (n,) a factor for each sample, or any shape that broadcasts to x from
          its first axis on; optional
    Outputs:
        - **loss**: (n,), the mean over the other axes

    Raises
    ------
    ValueError
        `gamma` is below 0, `alpha` is not from 0 to 1, or the shapes of the inputs do not fit
        together.

    T.-Y. Lin et al., Focal loss for dense object detection, ICCV 2017.
    """

    @formerly("gamma alpha weight")
    def __init__(
        self,
        *,
        weight: float | None = None,
        batch_axis: int = 0,
        gamma: float = 2.0,
        alpha: float = 0.25,
        **kwargs,
    ):
        super().__init__(weight=weight, batch_axis=batch_axis, **kwargs)
        expect_number("FocalLoss", "a number from 0", lambda v: v >= 0, gamma=gamma)
        expect_number("FocalLoss", "a number from 0 to 1", lambda v: 0 <= v <= 1, alpha=alpha)
        self._attributes = {"gamma": float(gamma), "alpha": float(alpha)}

    def _loss(self, F, x, label):
        return focal(x, label, **self._attributes)


class HuberLoss(OfElements):
    """Huber loss, e² / (2 rho) for errors e = |x - label| up to rho, e - rho / 2 beyond.

    It is the built-in operator `smooth_l1` of x - label.

    Parameters
    ----------
    weight : float, optional
        A factor for all losses.
    batch_axis : int
        The axis of samples.
    rho : float
        The error from which on all gradients have one size.

    Inputs:
        - **x**: (n, ...)
        - **label**: the shape of x, where axes of size 1 after the first may differ
        - **sample_weight**: (n,) a factor for each sample, or any shape that broadcasts to x from
          its first axis on; optional
    Outputs:
        - **loss**: (n,), the mean over the other axes

    Raises
    ------
    ValueError
        `rho` is not positive, or the shapes of the inputs do not fit together.

    P. J. Huber, Robust estimation of a location parameter, Ann. Math. Statist. 35, 1964.
    """

    @formerly("rho weight")
    def __init__(
        self, *, weight: float | None = None, batch_axis: int = 0, rho: float = 1.0, **kwargs
    ):
        super().__init__(weight=weight, batch_axis=batch_axis, **kwargs)
        expect_number("HuberLoss", "a positive number", lambda v: v > 0, rho=rho)
        self._scalar = float(rho) ** -0.5

    def _loss(self, F, x, label):
        return F.smooth_l1(x - label, scalar=self._scalar)


class CTCLoss(gluon.loss.CTCLoss):
    """Connectionist temporal classification, -log p(label | softmax(x)), of unaligned sequences.

    It is Gluon's loss with a choice of the blank class. If a label is longer than the time allows,
    its loss and gradient are 0.

    Parameters
    ----------
    weight : float, optional
        A factor for all losses.
    layout : {'NTC', 'TNC'}
        The axes of x: samples, time, classes. It takes the place of `batch_axis`.
    label_layout : {'NT', 'TN'}
        The axes of the label.
    blank : {'last', 'first'}
        The blank class: the last class, with labels padded by -1; or class 0, with padding 0.

    Inputs:
        - **pred**: (n, time, classes) logits
        - **label**: (n, length) class numbers
        - **pred_lengths**: (n,) the number of valid time steps; optional
        - **label_lengths**: (n,) the number of labels; optional
        - **sample_weight**: (n,) a factor for each sample, optional
    Outputs:
        - **loss**: (n,)

    Raises
    ------
    ValueError
        `blank` is neither, or the shape of the weights does not fit.

    (Graves et al. 2006, Connectionist temporal classification)
    """

    @formerly("layout label_layout weight blank")
    def __init__(
        self,
        *,
        weight: float | None = None,
        layout: str = "NTC",
        label_layout: str = "NT",
        blank: str = "last",
        **kwargs,
    ):
        super().__init__(layout, label_layout, weight, **kwargs)
        if blank not in ("first", "last"):
            raise mxnet_error(
                ValueError, f"CTCLoss: blank is {blank!r}\n  expected 'first' or 'last'"
            )
        self._axes, self._blank = (layout, label_layout), blank

    def __call__(self, *inputs, **named):
        """Return the loss of each sample; inputs are given by position or by name.

        Raises
        ------
        TypeError
            An input is missing, unknown, or of the other engine.
        ValueError
            The shape of the weights does not fit.
        """
        inputs = in_order(self, inputs, named)
        expect(self.name, inputs)
        if len(inputs) == 5 and isinstance(inputs[4], nd.NDArray):
            samples = inputs[0].shape[self._axes[0].index("N")]
            expect_weights(type(self).__name__, inputs[4], (samples,))
        return super().__call__(*inputs)

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
        return weighted(F, loss, sample_weight, self._weight)
