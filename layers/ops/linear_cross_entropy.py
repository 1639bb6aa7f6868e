"""Last affine map of a classifier and its cross entropy in one."""

from __future__ import annotations

import numpy as np

from ..engine import mxnet_error, nd
from ._arrays import class_numbers, nearest_classes, numbered, rows, spans
from .ways.class_form import operator

__all__ = ["linear_cross_entropy"]

HEIGHT, BLOCK = 1024, 2**20  # most rows, and most elements, of a block of logits


@operator(name="layers.linear_cross_entropy")
class linear_cross_entropy:
    """Cross entropy of the logits s = x wᵀ + b, y = -Σ t log softmax(s) + z_loss log² Σ eˢ.

    The matrix of logits is never whole in memory: forward and backward compute it in blocks of at
    most `block` elements, and backward needs only log Σ eˢ. The target t is 1 at the class `label`;
    with `smoothing` a it is 1 - a + a/m there, and a/m at the other classes. Where the label is
    `ignore_label`, y and its gradients are 0.

    For x of 8192 x 512 and 32000 classes in float32, a step takes 25 to 50 MB besides inputs and
    gradients; its composition takes 3.1 GB, and as much time on two threads of a CPU. On one thread
    a step takes 1.4 of the composition's time, for x of 1024 x 128 and 8000 classes. Gradients are
    computed together and written in place, so there is no second derivative. With PyTorch it has a
    kernel, which takes half of the memory of this formula.

    x : (..., k)      w : (m, k)      b : (m,), optional      y : (...)
    label : (...) class numbers; see `layers.ops` for invalid ones

    E. Wijmans et al., Cut your losses in large-vocabulary language models, ICLR 2025.
    """

    saves = ("level",)  # log Σ eˢ of each row

    def forward(
        x,
        w,
        label,
        b=None,
        *,
        ignore_label: int | None = None,
        smoothing: float = 0.0,
        z_loss: float = 0.0,
        block: int = BLOCK,
    ):
        expect_label(x, label)
        if not label.size:
            return nd.zeros(label.shape, ctx=x.context, dtype=x.dtype), numbered(0, x)
        v, m = rows(x), w.shape[0]
        number = class_numbers("linear_cross_entropy", label, m, ignore_label)
        levels, owns = [], []
        for r in spans(v.shape[0], HEIGHT):
            width, columns = spans_of_columns(r, m, block)
            # Results go into one array. Small arrays that are made between the blocks would be
            # placed where the next block was to be, and memory would grow with each block.
            found = nd.zeros(
                (2, len(columns), r.stop - r.start), ctx=v.context, dtype=score_dtype(v)
            )
            for i, c in enumerate(columns):
                found[0, i], found[1, i] = block_forward(v[r], number[r], w, b, c)
            levels.append(log_sum_exp(found[0], axis=0))
            # Each block gave one logit per row; take the one from the block of the label's class.
            owns.append(nd.pick(found[1], nd.floor(number[r] / width), axis=0))
        level, own = nd.concat(*levels, dim=0), nd.concat(*owns, dim=0)
        y = level - own
        if smoothing:
            mean = nd.dot(v, nd.mean(w, axis=0))
            mean = mean if b is None else nd.broadcast_add(mean, nd.mean(b))
            y = y + (own - mean.astype(y.dtype)) * smoothing
        if z_loss:
            y = y + nd.square(level) * z_loss
        y = y.reshape(label.shape).astype(x.dtype)
        if ignore_label is not None:
            y = nd.where(label == ignore_label, nd.zeros_like(y), y)
        return y, level

    def backward(dy, x, w, label, b, level, ignore_label, smoothing, z_loss, block):
        if not label.size:
            zeros = {"x": nd.zeros_like(x), "w": nd.zeros_like(w)}
            return zeros | ({} if b is None else {"b": nd.zeros_like(b)})
        v, m = rows(x), w.shape[0]
        number = nearest_classes(label.reshape((-1,)), m)
        if ignore_label is not None:
            dy = nd.where(label == ignore_label, nd.zeros_like(dy), dy)
        dy = dy.reshape((-1, 1))
        dx, dw = nd.zeros_like(v), nd.zeros_like(w)
        db = None if b is None else nd.zeros_like(b)
        for r in spans(v.shape[0], HEIGHT):
            weighted, dv = nd.broadcast_mul(v[r], dy[r]), None
            for c in spans_of_columns(r, m, block)[1]:
                slope = block_slope(v[r], number[r], w, b, c, level[r], smoothing, z_loss)
                part = nd.dot(slope, w[c])
                if dv is None:
                    dv = part
                else:
                    dv += part
                more = nd.dot(slope, weighted, transpose_a=True)
                dw[c] = more if r.start == 0 else dw[c] + more
                if b is not None:
                    db[c] = db[c] + nd.dot(slope, dy[r], transpose_a=True).reshape((-1,))
            dx[r] = nd.broadcast_mul(dv, dy[r])
        return {"x": nd.reshape_like(dx, x), "w": dw} | ({} if b is None else {"b": db})

    def shapes(x, w):
        return {"w": (w[0], x[-1]), "label": x[:-1], "b": w[:1], "y": x[:-1]}


def expect_label(x, label):
    if label.shape != x.shape[:-1]:
        raise mxnet_error(
            ValueError,
            f"operator 'layers.linear_cross_entropy': x is {x.shape}, label is {label.shape}\n"
            f"  expected a label {x.shape[:-1]}",
        )


def block_forward(v, number, w, b, c):
    """Return log Σ eˢ of a block of logits, and its logit nearest to the label's class."""
    s = scores(v, w, b, c)
    return log_sum_exp(s), nd.pick(s, number - c.start)


def block_slope(v, number, w, b, c, level, smoothing, z_loss):
    """Return the derivative of y by a block of logits."""
    s = scores(v, w, b, c)
    if smoothing or z_loss:
        level = level.expand_dims(1)
        p = nd.exp(nd.broadcast_sub(s, level))
        if z_loss:
            p = nd.broadcast_mul(p, 1 + level * (2 * z_loss))
        hot = nd.one_hot(number - c.start, depth=c.stop - c.start, dtype=p.dtype)
        slope = p - (hot * (1 - smoothing) + smoothing / w.shape[0])
    else:
        slope = softmax_less_label(s, level, number, c.start)
    return slope if slope.dtype == v.dtype else slope.astype(v.dtype)


def softmax_less_label(s, level, number, start):
    """Return e^(s - level), less 1 in the label's column; `start` is the number of column 0."""
    p = nd.exp(nd.broadcast_sub(s, level.expand_dims(1)))
    return p - nd.one_hot(number - start, depth=s.shape[1], dtype=s.dtype)


def scores(v, w, b, c):
    """Return a block of logits, in float32 if the inputs have 16 bits."""
    b = None if b is None else b[c]
    s = nd.FullyConnected(v, w[c], b, num_hidden=c.stop - c.start, no_bias=b is None)
    return s if s.dtype == score_dtype(s) else s.astype(score_dtype(s))


def score_dtype(a):
    """Return the dtype for the logits of an array."""
    return a.dtype if a.dtype in (np.float32, np.float64) else np.float32


def log_sum_exp(s, axis=1):
    return nd.max(s, axis=axis) - nd.max(nd.log_softmax(s, axis=axis), axis=axis)


def spans_of_columns(r, m, block):
    """Return the width of the blocks of logits for some rows, and the blocks' columns."""
    columns = spans(m, max(1, block // (r.stop - r.start)))
    return columns[0].stop, columns
