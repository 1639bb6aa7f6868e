"""Attention without the whole matrix of scores: backward computes its blocks again."""

from __future__ import annotations

from ..engine import mxnet_error, nd
from ._arrays import narrow, spans, widen
from .ways.class_form import operator

__all__ = ["scaled_dot_product_attention"]

SIDE, BLOCK = 256, 2**20  # rows and columns of a block of scores; its elements over all heads
LOW = -1e30  # a score that vanishes beside any other


@operator(name="layers.scaled_dot_product_attention")
class scaled_dot_product_attention:
    """Attention, y = softmax(scale q kᵀ) v, for each head of each sample.

    With `causal`, a query attends only to keys up to its own position. The last query has the
    position of the last key, so that a few queries can follow a cache of keys. The mask leaves out
    keys of a sample. The row of a query that may attend to no key is 0, and so are its gradients.

    For 8 heads with 2048 queries and keys of size 64 in float32, a step takes 9 MB besides output
    and gradients; the composition of built-in operators takes 640 MB. A step takes about half the
    composition's time on a CPU, also for 512 queries and keys. These numbers are for a kernel,
    which PyTorch has on a CPU. On other devices, if d differs from e, or if a causal mask does not
    start at the first key, this formula computes the result. It takes 68 MB besides output and
    gradients.

    q : (batch, heads, queries, d)      k : (batch, heads, keys, d)      v : (batch, heads, keys, e)
    mask : (batch, keys), 0 for a key to leave out; or (batch,), the number of leading keys to
    attend to; optional      scale : 1/√d by default      y : (batch, heads, queries, e)
    Arrays of other shapes are a ValueError.

    A. Vaswani et al., Attention is all you need, NeurIPS 2017; blocks as in T. Dao et al.,
    FlashAttention, NeurIPS 2022.
    """

    low_precision = True
    saves = ("level",)  # log Σ eˢ of each query; 0 for a query without keys

    def forward(q, k, v, mask=None, *, causal: bool = False, scale: float | None = None):
        expect_attention(q.shape, k.shape, v.shape, None if mask is None else mask.shape)
        if not q.size:
            places = q.shape[:-1]
            y = nd.zeros((*places, v.shape[-1]), ctx=q.context, dtype=q.dtype)
            return y, nd.zeros(places, ctx=q.context, dtype=widen(q).dtype)
        return attention(q, k, v, allowed_keys(mask, k), causal, factor(scale, q))

    def backward(dy, q, k, v, mask, y, level, causal, scale):
        if not q.size:
            return {n: nd.zeros_like(a) for n, a in (("q", q), ("k", k), ("v", v))}
        known = allowed_keys(mask, k), y, level, causal, factor(scale, q)
        dq, dk, dv = attention_gradients(dy, q, k, v, *known)
        return {"q": dq, "k": dk, "v": dv}

    def shapes(q, v):
        return {"y": (*q[:-1], v[-1])} if q and v else {}


def attention(q, k, v, allowed, causal, scale):
    """Return the output, and log Σ eˢ of each query."""
    blocks = Blocks(q, k, allowed, causal, scale)
    heads = [flat(a) for a in (q, k, v)]
    parts = [
        nd.concat(*[attend(blocks, *heads, r, i) for i in blocks.rows], dim=1) for r in blocks.heads
    ]
    y = nd.concat(*parts, dim=0)  # the last column is the level
    size = v.shape[-1]
    level = nd.slice_axis(y, axis=-1, begin=size, end=size + 1).reshape(q.shape[:-1])
    y = nd.slice_axis(y, axis=-1, begin=0, end=size).reshape((*q.shape[:-1], size))
    return narrow(y, q), level


def attend(blocks, q, k, v, r, i):
    """Return the output of queries i of heads r, and log Σ eˢ; take one block of keys at a time."""
    query, top = widen(q[r, i]), None
    for j in blocks.columns(i):
        s, value = blocks.scores(query, k, r, i, j), widen(v[r, j])
        new = nd.max(s, axis=-1, keepdims=True)
        if top is None:
            top = new
            p = nd.exp(s - top)
            total, y = nd.sum(p, axis=-1, keepdims=True), nd.batch_dot(p, value)
            continue
        new = nd.maximum(top, new)
        p, shrink = nd.exp(s - new), nd.exp(top - new)
        total = total * shrink + nd.sum(p, axis=-1, keepdims=True)
        y, top = y * shrink + nd.batch_dot(p, value), new
    if top is None:
        return nd.zeros((*query.shape[:2], v.shape[-1] + 1), ctx=q.context, dtype=query.dtype)
    found = top > LOW / 2
    return nd.concat(y / total, top + nd.log(total), dim=-1) * found


def attention_gradients(dy, q, k, v, allowed, y, level, causal, scale):
    """Return the gradients of q, k and v; compute the scores again."""
    blocks = Blocks(q, k, allowed, causal, scale)
    slope = nd.sum(widen(dy) * widen(y), axis=-1, keepdims=True)
    heads = [flat(a) for a in (dy, q, k, v, level.expand_dims(-1), slope)]
    parts = zip(*[gradients_of_heads(blocks, *heads, r) for r in blocks.heads])
    found = [nd.concat(*part, dim=0) for part in parts]
    return [narrow(a.reshape(x.shape), x) for a, x in zip(found, (q, k, v))]


def gradients_of_heads(blocks, dy, q, k, v, level, slope, r):
    """Return the gradients of heads r."""
    keys = spans(k.shape[1], SIDE)
    dqs, dks, dvs = [], [None] * len(keys), [None] * len(keys)
    for i in blocks.rows:
        query, head, dq = widen(q[r, i]), widen(dy[r, i]), None
        for n, j in enumerate(blocks.columns(i)):
            p = nd.exp(blocks.scores(query, k, r, i, j) - level[r, i])
            ds = nd.batch_dot(head, widen(v[r, j]), transpose_b=True) - slope[r, i]
            ds = ds * p * blocks.scale
            dq = plus(dq, nd.batch_dot(ds, widen(k[r, j])))
            dks[n] = plus(dks[n], nd.batch_dot(ds, query, transpose_a=True))
            dvs[n] = plus(dvs[n], nd.batch_dot(p, head, transpose_a=True))
        dqs.append(nd.zeros_like(query) if dq is None else dq)
    dks = [widen(k[r, j]) * 0 if a is None else a for a, j in zip(dks, keys)]
    dvs = [widen(v[r, j]) * 0 if a is None else a for a, j in zip(dvs, keys)]
    return [nd.concat(*parts, dim=1) for parts in (dqs, dks, dvs)]


class Blocks:
    """Blocks of scores: some heads, some rows of queries, some columns of keys."""

    def __init__(self, q, k, allowed, causal, scale):
        queries, self.keys = q.shape[2], k.shape[2]
        self.shift, self.causal, self.scale = self.keys - queries, causal, scale
        self.rows = spans(queries, SIDE)
        size = min(queries, SIDE) * min(self.keys, SIDE)
        self.heads = spans(q.shape[0] * q.shape[1], max(1, BLOCK // size))
        self.bias = None
        if allowed is not None:
            bias = (1 - allowed.astype(widen(q[:1, :1, :1]).dtype)) * LOW
            self.bias = nd.repeat(bias, q.shape[1], axis=0).expand_dims(1)

    def columns(self, i):
        """Return the blocks of keys to which queries i attend."""
        last = i.stop + self.shift if self.causal else self.keys
        return [j for j in spans(self.keys, SIDE) if j.start < last]

    def scores(self, query, k, r, i, j):
        """Return the scores of queries i and keys j, about LOW for keys that are left out."""
        s = nd.batch_dot(query, widen(k[r, j]), transpose_b=True) * self.scale
        if self.bias is not None:
            s = nd.broadcast_add(s, self.bias[r, :, j])
        if self.causal and j.stop > i.start + self.shift + 1:
            places = nd.arange(i.start, i.stop, ctx=s.context, dtype=s.dtype) + self.shift
            others = nd.arange(j.start, j.stop, ctx=s.context, dtype=s.dtype)
            later = nd.broadcast_greater(others.reshape((1, 1, -1)), places.reshape((1, -1, 1)))
            s = nd.broadcast_add(s, later * LOW)
        return s


def allowed_keys(mask, k):
    """Return 1 for each key of each sample that is allowed, else 0: (batch, keys)."""
    if mask is None:
        return None
    if mask.ndim == 2:
        return mask != 0
    places = nd.arange(k.shape[2], ctx=mask.context).reshape((1, -1))
    return nd.broadcast_lesser(places, mask.astype("float32").reshape((-1, 1)))


def factor(scale, q):
    return q.shape[-1] ** -0.5 if scale is None else scale


def flat(x):
    """Return x with batch and heads in one axis."""
    return x.reshape((-1, *x.shape[2:]))


def plus(total, part):
    return part if total is None else total + part


def expect_attention(q, k, v, mask):
    fits = len(q) == len(k) == len(v) == 4 and q[:2] == k[:2] == v[:2]
    fits = fits and q[3] == k[3] and k[2] == v[2] and 0 not in (q[3], k[2], v[3])
    if not fits or mask not in (None, (q[0],), (q[0], k[2])):
        shown = "" if mask is None else f", mask is {tuple(mask)}"
        raise mxnet_error(
            ValueError,
            "operator 'layers.scaled_dot_product_attention': "
            f"q is {tuple(q)}, k is {tuple(k)}, v is {tuple(v)}{shown}\n"
            "  expected q (batch, heads, queries, d), k (batch, heads, keys, d), "
            "v (batch, heads, keys, e), mask (batch, keys) or (batch,), one key or more",
        )
