"""Cross entropy of softmax."""

from __future__ import annotations

from ..engine import nd
from ._arrays import class_numbers
from .ways.class_form import operator

__all__ = ["softmax_cross_entropy"]


@operator(name="layers.softmax_cross_entropy")
class softmax_cross_entropy:
    """Cross entropy of each sample, y = -log softmax(x)[label].

    For backward it keeps x and the class numbers. With PyTorch it has a kernel, which takes 0.7 of
    the time of this formula for 256 x 1000, and 0.6 for 1024 x 32000, on one core.

    x : (..., m)      label : (...) or (..., 1) class numbers      y : (...)

    See `layers.ops` for invalid class numbers.
    """

    saves = ("number",)

    def forward(x, label):
        number = class_numbers("softmax_cross_entropy", label, x.shape[-1], None)
        number = number.reshape(x.shape[:-1])
        return -nd.pick(nd.log_softmax(x), number), number

    def dx(dy, x, label, number):  # a second derivative takes all inputs, label too
        hot = nd.one_hot(number, depth=x.shape[-1], dtype=x.dtype)
        return nd.broadcast_mul(nd.softmax(x) - hot, nd.expand_dims(dy, axis=-1))

    def shapes(x, label):
        rows = x[:-1]
        return {"label": label if label == (*rows, 1) else rows, "y": rows}
