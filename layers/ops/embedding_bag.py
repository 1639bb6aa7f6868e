"""Sums of rows of a table, one sum for each bag of ids."""

from __future__ import annotations

from ..engine import adapter, mxnet_error, nd
from ._arrays import narrow, widen
from .ways.class_form import operator

__all__ = ["embedding_bag"]


WHO = "operator 'layers.embedding_bag'"


@operator(name="layers.embedding_bag")
class embedding_bag:
    """Sum or mean of the rows of w that each bag of ids names, yᵢ = Σⱼ weightsᵢⱼ w[idsᵢⱼ].

    A bag is a row of ids, where `padding` is ignored; or, with offsets, the ids between two
    offsets. The mean is taken over the ids that are not padding; it is 0 for a bag without any.

    w : (m, d)      ids : (n, k), or (t,) with offsets      weights : the shape of ids, for the sum
    offsets : (n,) the start of each bag in ids, in ascending order from 0      y : (n, d)

    On a CPU with PyTorch, an id outside of w or with a fraction is an IndexError, and offsets in
    another order are a ValueError. On a GPU a check would have to wait for the GPU, and MXNet has
    no such check. There, invalid ids name the nearest row, and invalid offsets split ids into other
    bags.

    The gradient of w is dense; Embedding has `sparse_grad` to avoid that. It is filled with zeros
    once, which costs m d writes; apart from that, only the rows that ids name are touched. An
    optimizer still updates all rows; the block `EmbeddingBag` also has `sparse_grad`.

    For 4096 bags of 100 ids and w (10000, 64) in float32, a step takes 23 MB, including output and
    gradient; the composition of Embedding and sum takes 106 MB. On one core, it takes half the time
    of the composition for 1024 bags of 50 and w (100000, 64). It takes as long for 256 bags of 20
    and w (10000, 128), and 2.6 times as long for 32 bags of 4. On Apache MXNet it also makes the
    array of all rows.
    """

    saves = ("numbers", "starts")  # row numbers, and the start of each bag in them

    def forward(
        w, ids, offsets=None, weights=None, *, mode: str = "sum", padding: int | None = None
    ):
        expect_bags(w, ids, offsets, weights, mode, padding)
        if not ids.size:
            count = (ids if offsets is None else offsets).shape[0]
            nothing = nd.zeros((0,), ctx=w.context)
            return nd.zeros((count, w.shape[1]), ctx=w.context, dtype=w.dtype), nothing, nothing
        numbers, starts = numbers_and_starts(w, ids, offsets, padding)
        y = weighted_sums(w, numbers, starts, factors(w, ids, weights, padding))
        if mode == "mean":
            y = nd.broadcast_div(y, sizes(y, ids, offsets, padding))
        return y, numbers, starts

    def dw(dy, w, ids, offsets, weights, mode, padding, numbers, starts):
        if not ids.size:
            return nd.zeros_like(w)
        dy = widen(dy)  # in 16 bits, a sum of many small gradients would be too small
        if mode == "mean":
            dy = nd.broadcast_div(dy, sizes(dy, ids, offsets, padding))
        dw = gradient_of_rows(dy, w, numbers, starts, factors(dy, ids, weights, padding))
        return narrow(dw, w)

    def dweights(dy, w, ids, offsets, weights, padding, numbers, starts):
        if not ids.size:
            return nd.zeros_like(weights)
        rows = widen(nd.take(dy, bags(starts, numbers)))
        dweights = nd.sum(rows * widen(nd.take(w, numbers)), axis=1)
        counts = factors(dweights, ids, None, padding)
        dweights = dweights if counts is None else dweights * counts
        return dweights.reshape(weights.shape).astype(weights.dtype)

    def shapes(w, ids, offsets):
        return {"offsets": offsets, "weights": ids, "y": ((offsets or ids)[0], w[1])}


def weighted_sums(w, numbers, starts, factors):
    """Return Σ factor w[number] for each bag."""
    rows = widen(nd.take(w, numbers))
    if factors is not None:
        rows = nd.broadcast_mul(rows, widen(factors).reshape((-1, 1)))
    return narrow(add_rows(rows, bags(starts, numbers), starts.shape[0]), w)


def gradient_of_rows(dy, w, numbers, starts, factors):
    """Return the gradient of w: each number's row gets factor times dy of the number's bag."""
    rows = nd.take(dy, bags(starts, numbers))
    if factors is not None:
        rows = nd.broadcast_mul(rows, factors.reshape((-1, 1)))
    return add_rows(rows, numbers, w.shape[0])


def add_rows(rows, numbers, count):
    """Return `count` rows; row i is the sum of the rows with the number i."""
    return adapter().add_rows(rows, numbers, count)


def bags(starts, numbers):
    """Return the bag of each id."""
    count = numbers.shape[0]
    ones = nd.ones((starts.shape[0], 1), ctx=starts.context)
    begun = add_rows(ones, starts, count + 1).reshape((-1,))  # bags that start at each place
    bag = nd.cumsum(nd.slice_axis(begun, axis=0, begin=0, end=count), axis=0) - 1
    return nd.relu(bag)  # ids before the first offset, which should be 0, count to bag 0


def numbers_and_starts(w, ids, offsets, padding):
    """Return the row numbers of all ids in one axis, and the start of each bag in them."""
    numbers = ids.reshape((-1,))
    if padding is not None:
        numbers = nd.where(numbers == padding, nd.zeros_like(numbers), numbers)
    numbers, starts = adapter().bag_numbers(WHO, numbers, offsets, w.shape[0])
    if starts is None:
        first = nd.slice_axis(ids, axis=1, begin=0, end=1).astype("float64")
        starts = nd.contrib.arange_like(first, axis=0) * ids.shape[1]
    return numbers, starts


def factors(x, ids, weights, padding):
    """Return the factors of rows, (t,), in x's dtype: weights, 0 for padding; None for ones."""
    given = None if weights is None else weights.reshape((-1,)).astype(x.dtype)
    if padding is None:
        return given
    counts = (ids != padding).reshape((-1,)).astype(x.dtype)
    return counts if given is None else given * counts


def sizes(x, ids, offsets, padding):
    """Return the number of ids in each bag without padding, at least 1: (n, 1) or (1, 1)."""
    if offsets is not None:
        begin = offsets.astype("float32")
        end = nd.full((1,), ids.shape[0], ctx=ids.context)
        count = nd.concat(nd.slice_axis(begin, axis=0, begin=1, end=None), end, dim=0) - begin
    elif padding is None:
        count = nd.full((1,), ids.shape[1], ctx=ids.context)
    else:
        count = nd.sum((ids != padding).astype("float32"), axis=1)
    return nd.maximum(count, 1).reshape((-1, 1)).astype(x.dtype)


def expect_bags(w, ids, offsets, weights, mode, padding):
    problem = ""
    if w.ndim != 2 or ids.ndim != (2 if offsets is None else 1) or 0 in w.shape:
        problem = "expected w (m, d), and ids (n, k), or ids (t,) with offsets (n,)"
    elif weights is not None and (weights.shape != ids.shape or mode != "sum"):
        problem = "expected weights of the shape of ids, for the mode 'sum'"
    elif mode not in ("sum", "mean"):
        problem = "expected the mode 'sum' or 'mean'"
    elif offsets is not None and (offsets.ndim != 1 or padding is not None):
        problem = "expected offsets (n,), and no padding beside them"
    if problem:
        arrays = {"w": w, "ids": ids, "offsets": offsets, "weights": weights}
        shown = [f"{n} is {a.shape}" for n, a in arrays.items() if a is not None]
        raise mxnet_error(
            ValueError,
            f"{WHO}: {', '.join(shown)}, mode is {mode!r}, padding is {padding}\n  {problem}",
        )
