"""The factor of a loss that keeps its gradients within the range of 16 bits."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import chain

from ..._old import missing
from ...context import Context
from ...gluon.parameter import Parameter
from ...ndarray import NDArray, multi_all_finite

__all__ = ["LossScaler"]


class LossScaler:
    """A factor that is halved when a gradient is infinite or NaN, and doubled when long none was.

    It is 2¹⁶ at first, grows after 2000 updates in a row, and never above 2²⁴. A change counts from
    the next update on.
    """

    def __init__(self):
        self._loss_scale = self._next_loss_scale = 2.0**16
        self._max_loss_scale = 2.0**24
        self._scale_seq_len = 2000
        self._unskipped = 0

    @property
    def loss_scale(self) -> float:
        """The factor now."""
        return self._loss_scale

    def has_overflow(self, params: Iterable[Parameter]) -> bool:
        """Whether a gradient is infinite or NaN, on any context; and set the next factor."""
        return self._has_overflow_in(chain.from_iterable(p._grad or () for p in params))

    def _has_overflow_in(self, gradients: Iterable[NDArray]) -> bool:
        by_context: dict[Context, list[NDArray]] = {}
        for gradient in gradients:
            by_context.setdefault(gradient.context, []).append(gradient)
        found = not all(
            multi_all_finite(*each, num_arrays=len(each)).asscalar() for each in by_context.values()
        )
        self._loss_scale = self._next_loss_scale
        if found:
            self._next_loss_scale = self._loss_scale / 2
            self._unskipped = 0
            logging.info("AMP: the loss scale is decreased to %f", self._next_loss_scale)
            return True
        self._unskipped += 1
        if self._unskipped == self._scale_seq_len:
            self._unskipped = 0
            self._next_loss_scale = min(self._max_loss_scale, self._loss_scale * 2)
            logging.info("AMP: the loss scale is increased to %f", self._next_loss_scale)
        return False


missing.watch(globals())
