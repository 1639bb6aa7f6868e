"""Functions of `nd.contrib` that are put together from operators of the table."""

from __future__ import annotations

import math

import torch

from ..context import Context
from . import op
from .ndarray import NDArray

__all__ = ["isfinite", "isinf", "isnan", "rand_zipfian"]

_random = op.functions()["random_uniform"]


def isinf(data: NDArray) -> NDArray:
    """1 where an element is infinite, else 0, in the dtype of data."""
    return _told(torch.isinf, data)


def isfinite(data: NDArray) -> NDArray:
    """1 where an element is neither infinite nor NaN, else 0, in the dtype of data."""
    return _told(torch.isfinite, data)


def isnan(data: NDArray) -> NDArray:
    """1 where an element is NaN, else 0, in the dtype of data."""
    return _told(torch.isnan, data)


def _told(function, data: NDArray) -> NDArray:
    tensor = data._tensor.detach()
    return NDArray(function(tensor).to(tensor.dtype), data.context)


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Classes drawn by Zipf's law, P(c) = log((c + 2) / (c + 1)) / log(range_max + 1).

    Parameters
    ----------
    true_classes : NDArray
        (n,)
    num_sampled : int
        How many are drawn.
    range_max : int
        The number of classes.
    ctx : Context, optional
        Where they are drawn; by default where `true_classes` are.

    Returns
    -------
    samples, true_counts, sampled_counts
        The classes that were drawn, int64; how often each of `true_classes`, and each of those
        drawn, is to be expected among them, float64.
    """
    scale = math.log(range_max + 1)
    drawn = _random(
        0, scale, shape=(num_sampled,), dtype="float64", ctx=ctx or true_classes.context
    )
    sampled = (drawn.exp().astype("int64") - 1) % range_max
    true, found = (
        ((c + 2) / (c + 1)).log() / scale * num_sampled
        for c in (true_classes.astype("float64"), sampled.astype("float64"))
    )
    return sampled, true, found
