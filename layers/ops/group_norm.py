"""Group normalization."""

from __future__ import annotations

from ..engine import mxnet_error, nd
from ._arrays import moments, narrow, widen
from .ways.class_form import operator

__all__ = ["group_norm"]


@operator(name="layers.group_norm")
class group_norm:
    """Normalization of groups of channels, y = gamma (x - mean) / √(variance + epsilon) + beta.

    Mean and variance are taken over the channels of one group and all positions of a sample.

    x : (n, c, ...), c a multiple of num_groups, else a ValueError      gamma, beta : (c,)
    y : (n, c, ...)

    For x (32, 256, 8, 8) in float32 and two groups it keeps 512 bytes besides its inputs; the
    composition of mean, square and so on keeps 4 MB. With PyTorch it has a kernel, which takes a
    third of the time of this formula on one core.

    Y. Wu, K. He, Group normalization, ECCV 2018. MXNet's GroupNorm has one gamma and one beta for
    each group; here each channel has its own, as in the paper.
    """

    saves = ("mean", "rstd")
    renamed = {"groups": "num_groups", "eps": "epsilon"}

    def forward(x, gamma, beta, *, num_groups: int = 1, epsilon: float = 1e-5):
        expect_groups(x.shape, num_groups)
        if not x.size:
            level = nd.zeros((x.shape[0], num_groups, 1), ctx=x.context, dtype=widen(x).dtype)
            return nd.zeros_like(x), level, level
        mean, centered, rstd = moments(widen(x).reshape((0, num_groups, -1)), epsilon)
        scale = rstd * widen(gamma).reshape((1, num_groups, -1))
        y = centered.reshape((x.shape[0], x.shape[1], -1)) * scale.reshape((0, -1, 1))
        shift = widen(beta).reshape((1, -1) + (1,) * (x.ndim - 2))
        return narrow(y.reshape(x.shape) + shift, x), mean, rstd

    def backward(dy, x, gamma, beta, num_groups, mean, rstd):  # beta is an input, as in layer_norm
        if not x.size:
            return {n: nd.zeros_like(a) for n, a in (("x", x), ("gamma", gamma), ("beta", beta))}
        centered = widen(x).reshape((0, num_groups, -1)) - mean
        head = widen(dy).reshape((x.shape[0], x.shape[1], -1))
        of_groups = (0, num_groups, -1)
        weight = widen(gamma).reshape((1, num_groups, -1))
        levels = nd.sum(head, axis=-1).reshape(of_groups)
        slopes = nd.sum(head * centered.reshape(head.shape), axis=-1).reshape(of_groups) * rstd
        size = centered.shape[-1]
        level = nd.sum(levels * weight, axis=-1, keepdims=True) * rstd / size
        slope = nd.sum(slopes * weight, axis=-1, keepdims=True) * nd.square(rstd) / size
        dx = (head * (rstd * weight).reshape((0, -1, 1))).reshape(centered.shape)
        return {
            "x": narrow((dx - centered * slope - level).reshape(x.shape), x),
            "gamma": narrow(nd.sum(slopes, axis=0).reshape((-1,)), gamma),
            "beta": narrow(nd.sum(levels, axis=0).reshape((-1,)), beta),
        }

    def shapes(x, num_groups):
        expect_groups(x, num_groups)
        return {"gamma": x[1:2], "beta": x[1:2], "y": x}


def expect_groups(shape, num_groups):
    if len(shape) < 2 or num_groups < 1 or shape[1] % num_groups:
        raise mxnet_error(
            ValueError,
            f"operator 'layers.group_norm': x is {tuple(shape)}, num_groups is {num_groups}\n"
            "  expected x (n, c, ...), c a multiple of num_groups",
        )
