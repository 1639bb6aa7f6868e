"""The last affine map and the cross entropy, block by block, each block in place."""

from __future__ import annotations

import torch

from .._op.lookups import classes
from .._table.product import linear, mm
from . import are_alike, wide

HEIGHT = 1024  # most rows of a block of scores


class linear_cross_entropy:
    saves = ("level",)

    def fits(x, w, label, b, ignore_label, smoothing, z_loss, block):
        fit = x.dim() > 1 and w.dim() == 2 and x.shape[-1:] == w.shape[1:] and x.numel() > 0
        fit = fit and label.shape == x.shape[:-1] and are_alike(x, w)
        return fit and (b is None or (b.shape == w.shape[:1] and b.dtype is x.dtype))

    def forward(x, w, label, b, *, ignore_label, smoothing, z_loss, block):
        v, m = x.reshape(-1, x.shape[-1]), len(w)
        number = classes("linear_cross_entropy", label.reshape(-1), m, ignore_label)
        level = wide(v).new_empty(len(v))
        own = torch.empty_like(level)
        for r, columns in blocks(len(v), m, block):
            # Written into one array: small ones between the blocks would scatter these in memory.
            found = level.new_empty((len(columns), r.stop - r.start))
            for c, part in zip(columns, found):
                torch.logsumexp(scores(v[r], w, b, c), 1, out=part)
            level[r] = found.logsumexp(0)
            own[r] = (wide(v[r]) * wide(w[number[r]])).sum(1)
        if b is not None:
            own += b[number]
        y = level - own
        if smoothing:
            mean = wide(v) @ wide(w).mean(0) + (0 if b is None else wide(b).mean())
            y += (own - mean) * smoothing
        if z_loss:
            y += level.square() * z_loss
        y = y.reshape(label.shape).to(x.dtype)
        return y if ignore_label is None else y.masked_fill(label == ignore_label, 0), level

    def backward(dy, x, w, label, b, level, ignore_label, smoothing, z_loss, block):
        v, m = x.reshape(-1, x.shape[-1]), len(w)
        number = label.reshape(-1).long().clamp(0, m - 1)
        if ignore_label is not None:
            dy = dy.masked_fill(label == ignore_label, 0)
        dy = wide(dy).reshape(-1, 1)
        dx, dw = torch.zeros_like(v), torch.zeros_like(w)
        db = None if b is None else torch.zeros_like(b)
        for r, columns in blocks(len(v), m, block):
            for c in columns:
                slope = scores(v[r], w, b, c)
                to_slope(slope, level[r].unsqueeze(1), number[r] - c.start, z_loss, smoothing, m)
                slope = slope.mul_(dy[r]).to(x.dtype)
                dx[r] += mm(slope, w[c])
                dw[c] += mm(slope.t(), v[r])
                if db is not None:
                    db[c] += slope.sum(0)
                del slope  # before the next block is made
        return {"x": dx.reshape(x.shape), "w": dw} | ({} if db is None else {"b": db})


def to_slope(s, level, number, z_loss, smoothing, classes):
    """Turn a block of scores into the derivative of y by them, in place."""
    s.sub_(level).exp_()
    if z_loss:
        s.mul_(1 + 2 * z_loss * level)
    place = number.unsqueeze(1)
    here = (place >= 0) & (place < s.shape[1])
    less = here.to(s.dtype).mul_(smoothing - 1)
    s.scatter_add_(1, place.clamp_(0, s.shape[1] - 1), less)
    if smoothing:
        s.sub_(smoothing / classes)


def scores(v, w, b, c):
    """Return a block of scores, in float32 where the inputs have 16 bits."""
    return wide(linear(v, w[c], None if b is None else b[c]))


def blocks(rows, columns, block):
    """Yield slices of rows, each with the slices of columns of at most `block` scores."""
    for start in range(0, rows, HEIGHT):
        r = slice(start, min(start + HEIGHT, rows))
        width = max(1, block // (r.stop - r.start))
        yield r, [slice(i, min(i + width, columns)) for i in range(0, columns, width)]
