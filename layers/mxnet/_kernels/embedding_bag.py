"""Sums of rows of a table by PyTorch's own, which makes no array of the rows."""

from __future__ import annotations

import torch

from .._op.lookups import bags
from . import wide

_sum_bags = torch.ops.aten._embedding_bag_forward_only.default
_sum_bags_backward = torch.ops.aten._embedding_bag_backward.default


class embedding_bag:
    saves = ("numbers", "starts")

    def fits(w, ids, offsets, weights, mode, padding):
        fit = w.dim() == 2 and ids.dim() == (2 if offsets is None else 1)
        fit = fit and w.is_floating_point()
        fit = fit and 0 not in (*w.shape, *ids.shape) and mode in ("sum", "mean")
        if offsets is not None:
            fit = fit and offsets.dim() == 1 and padding is None
        return fit and (weights is None or (weights.shape == ids.shape and mode == "sum"))

    def forward(w, ids, offsets, weights, *, mode, padding):
        numbers = ids.reshape(-1)
        if padding is not None:
            numbers = torch.where(numbers == padding, 0, numbers)
        numbers, starts = bags("operator 'layers.embedding_bag'", numbers, offsets, len(w))
        if starts is None:
            starts = torch.arange(0, ids.numel(), ids.shape[1], device=ids.device)
        given = factors(w, ids, weights, padding)
        y = _sum_bags(w, numbers, starts, per_sample_weights=given)[0]
        if mode == "mean":
            y = y / sizes(ids, offsets, padding).to(y.dtype)
        return y, numbers, starts

    def dw(dy, w, ids, offsets, weights, mode, padding, numbers, starts):
        dy = wide(dy)  # in 16 bits many small gradients of one row would add up to too little
        if mode == "mean":
            dy = dy / sizes(ids, offsets, padding).to(dy.dtype)
        none = starts.new_empty(0)  # what PyTorch then computes itself
        given = factors(dy, ids, weights, padding)
        found = _sum_bags_backward(
            dy, numbers, starts, none, none, none, len(w), False, 0, False, given
        )
        return found.to(w.dtype)

    def dweights(dy, w, ids, weights, padding, numbers, starts):
        places = torch.arange(len(numbers), device=numbers.device)
        bag = torch.bucketize(places, starts, right=True) - 1
        found = (wide(dy)[bag] * wide(w)[numbers]).sum(1)
        if padding is not None:
            found = found * (ids.reshape(-1) != padding)
        return found.reshape(weights.shape).to(weights.dtype)


def factors(x, ids, weights, padding):
    """Return the factors of rows, in the dtype of x, 0 for padding; None if all are 1."""
    given = None if weights is None else weights.reshape(-1).to(x.dtype)
    if padding is None:
        return given
    counts = (ids != padding).reshape(-1).to(x.dtype)
    return counts if given is None else given * counts


def sizes(ids, offsets, padding):
    """Return how many ids of each bag count, at least 1: (n, 1), or (1, 1)."""
    if offsets is not None:
        ends = torch.cat([offsets[1:], offsets.new_full((1,), len(ids))])
        counts = ends - offsets
    elif padding is None:
        counts = torch.full((1,), ids.shape[1], device=ids.device)
    else:
        counts = (ids != padding).sum(1)
    return counts.clamp(1).unsqueeze(1)
