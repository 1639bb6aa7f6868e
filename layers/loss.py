"""Losses: one number for each sample."""

from __future__ import annotations

from .engine import expect, gluon
from .ops import softmax_cross_entropy

__all__ = ["SoftmaxLoss"]


class SoftmaxLoss(gluon.loss.Loss):
    """Cross entropy of softmax(x) with class numbers, -log softmax(x)[label].

    Parameters
    ----------
    weight : float, optional
        A factor for all samples.

    Inputs:
        - **x**: (n, m) scores, before softmax
        - **label**: (n,) class numbers below m
        - **sample_weight**: (n,) a factor for each sample, optional
    Outputs:
        - **loss**: (n,)
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def __call__(self, x, label, *sample_weight):
        expect(self.name, (x, label, *sample_weight))
        return super().__call__(x, label, *sample_weight)

    def hybrid_forward(self, F, x, label, sample_weight=None):
        loss = softmax_cross_entropy(x, label)
        if sample_weight is not None:
            loss = F.broadcast_mul(loss, sample_weight)
        return loss if self._weight is None else loss * self._weight
